//! From staged rows to the view.

use super::*;
use pieme::store::StoreError;

#[test]
fn a_view_named_as_the_task_can_be_queried_with_sqlite3() {
    let mut scene = Scene::new();
    let run = scene.go(CHANGED, &[&["Lord Nelson", "CAD 95.00"], &["Halliburton", "-"]]);
    let sql = "SELECT * FROM \"halifax-hotels\" ORDER BY name";
    let expected = format!(
        "Halliburton||{run}|2024-10-04T00:02:00.000Z|2024-10-04T00:03:00.000Z|0\n\
         Lord Nelson|CAD 95.00|{run}|2024-10-04T00:02:00.000Z|2024-10-04T00:03:00.000Z|0"
    );
    assert_eq!(scene.sqlite3(sql), expected);
    let columns = scene.sqlite3("SELECT group_concat(name) FROM pragma_table_info('halifax-hotels')");
    assert_eq!(columns, "name,price,_run,_first_seen,_last_seen,_page");
    assert_eq!(scene.sqlite3("SELECT strftime('%Y', _first_seen) FROM \"halifax-hotels\" LIMIT 1"), "2024");
}

#[test]
fn no_other_outcome_than_published_touches_the_published_rows() {
    let mut scene = Scene::new();
    scene.go(CHANGED, &[&["Lord Nelson", "95"]]);
    for outcome in bad_outcomes() {
        scene.go(outcome, &[&["rubbish", "0"], &["more rubbish", "0"]]);
        assert_eq!(scene.shown(), ["Lord Nelson=95"], "{outcome:?}");
        let run = scene.begin();
        scene.end(run, outcome, 0);
        assert_eq!(scene.shown(), ["Lord Nelson=95"], "{outcome:?} without rows");
    }
}

#[test]
fn a_record_keeps_its_first_seen_under_its_key() {
    let mut scene = Scene::new();
    scene.go(CHANGED, &[&["a", "1"], &["b", "1"]]);
    scene.go(CHANGED, &[&["c", "1"], &["a", "2"]]);
    let sql = "SELECT name, price, strftime('%M', _first_seen), strftime('%M', _last_seen) FROM \"halifax-hotels\"";
    assert_eq!(scene.sqlite3(sql), "c|1|05|06\na|2|02|06");
}

#[test]
fn the_same_rows_in_another_order_are_unchanged() {
    let mut scene = Scene::new();
    let first = scene.go(CHANGED, &[&["a", "1"], &["b", "1"]]);
    scene.go(CHANGED, &[&["a", "2"]]);
    let run = scene.begin();
    scene.stage(run, &["name", "price"], &[&["a", "2"]]);
    let ended = scene.end(run, CHANGED, 1);
    assert_eq!(ended.outcome, Outcome::Published(Publication::Unchanged));
    // `_run` and `_last_seen` move, `_first_seen` does not, and the generation before is still one that differs.
    let sql = "SELECT _run, strftime('%M', _first_seen), strftime('%M', _last_seen) FROM \"halifax-hotels\"";
    assert_eq!(scene.sqlite3(sql), format!("{run}|02|09"));
    let previous = scene.sqlite3("SELECT run FROM _generation WHERE state = 'previous'");
    assert_eq!(previous, first.to_string());
    assert_eq!(scene.row_tables().len(), 2);
    let row = &scene.store.tasks().expect("tasks")[0];
    assert_eq!((row.published_rows, row.previous_rows), (Some(1), Some(1)));

    for (rows, outcome) in [
        (vec![vec!["b", "1"], vec!["a", "2"]], Publication::Changed),
        (vec![vec!["a", "2"], vec!["b", "1"]], Publication::Unchanged),
        (vec![vec!["a", "2"], vec!["a", "2"], vec!["b", "1"]], Publication::Changed),
        (vec![vec!["a", "-"], vec!["b", "1"]], Publication::Changed),
    ] {
        let run = scene.begin();
        let rows: Vec<&[&str]> = rows.iter().map(Vec::as_slice).collect();
        scene.stage(run, &["name", "price"], &rows);
        let ended = scene.end(run, CHANGED, rows.len() as u64);
        assert_eq!(ended.outcome, Outcome::Published(outcome), "{rows:?}");
    }
}

#[test]
fn rows_lost_on_the_way_publish_nothing() {
    let mut scene = Scene::new();
    scene.go(CHANGED, &[&["a", "1"]]);
    let run = scene.begin();
    scene.stage(run, &["name", "price"], &[&["b", "1"]]);
    let ended = scene.end(run, CHANGED, 2);
    assert_eq!(ended.outcome, Outcome::Failed(Failure::Internal));
    assert_eq!(ended.sentence, "the run reported 2 rows and 1 arrived; nothing was published");
    assert_eq!(scene.shown(), ["a=1"]);
}

#[test]
fn zero_rows_are_never_a_silent_success() {
    let mut scene = Scene::new();
    scene.go(CHANGED, &[&["a", "1"]]);
    let run = scene.begin();
    let ended = scene.end(run, CHANGED, 0);
    assert_eq!(ended.outcome, Outcome::Empty(Emptiness::Unexpected));
    assert_eq!(scene.shown(), ["a=1"]);
}

#[test]
fn hostile_column_names_become_a_table_all_the_same() {
    let mut scene = Scene::new();
    let run = scene.begin();
    let columns =
        ["a\"; DROP TABLE _task; --", "_run", "_Key", "Name", "name", "", "x\0y", "select", "rowid", "'", "]"];
    let cells: Vec<String> = (0..columns.len()).map(|n| format!("v{n}")).collect();
    let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
    scene.stage(run, &columns, &[&cells]);
    scene.end(run, CHANGED, 1);
    assert_eq!(scene.shown(), ["v0=v1=v2=v3=v4=v5=v6=v7=v8=v9=v10"]);
    assert_eq!(scene.sqlite3("SELECT \"c_run\", \"name_2\", \"c6\", \"rowid\" FROM \"halifax-hotels\""), "v1|v4|v5|v8");
}

#[test]
fn a_column_that_only_the_second_page_has_is_empty_on_the_first() {
    let mut scene = Scene::new();
    let run = scene.begin();
    scene.stage(run, &["name"], &[&["a"]]);
    scene.stage(run, &["badge", "name"], &[&["new", "b"]]);
    scene.end(run, CHANGED, 2);
    assert_eq!(scene.shown(), ["a=-", "b=new"]);
}

#[test]
fn more_than_500_columns_are_refused_and_cost_only_the_run() {
    let mut scene = Scene::new();
    scene.go(CHANGED, &[&["a", "1"]]);
    let run = scene.begin();
    let columns: Vec<String> = (0..501).map(|n| format!("c{n}")).collect();
    let (task, now) = (scene.task.clone(), scene.now());
    let error = scene.store.stage_rows(run, &task, &columns, &[], &[], now).expect_err("too many");
    assert_eq!(error.to_string(), "501 columns are more than a table takes (500)");
    scene.end(run, Outcome::Failed(Failure::Limit), 0);
    assert_eq!(scene.shown(), ["a=1"]);
}

#[test]
fn a_run_that_has_ended_takes_nothing_more() {
    let mut scene = Scene::new();
    let run = scene.go(CHANGED, &[&["a", "1"]]);
    let now = scene.now();
    let again = scene.store.end_run(run, &verdict(CHANGED, 1), now);
    assert!(matches!(again, Err(StoreError::RunEnded(ended)) if ended == run));
    let task = scene.task.clone();
    let rows = scene.store.stage_rows(run, &task, &["name".to_owned()], &[], &[row(&["b"])], now);
    assert!(matches!(rows, Err(StoreError::RunEnded(_))));
    let unknown = scene.store.end_run(RunId::new(), &verdict(CHANGED, 1), now);
    assert!(matches!(unknown, Err(StoreError::NoSuchRun(_))));
}

#[test]
fn a_slot_has_one_run_and_runs_out_of_turn_have_none() {
    let mut scene = Scene::new();
    let slot = minute(600);
    let start = |run, slot| RunStart {
        run,
        task: name("halifax-hotels"),
        slot,
        trigger: Trigger::Schedule,
        started_at: minute(601),
        pid: None,
    };
    let mut begin = |run, slot| scene.store.begin_run(&start(run, slot)).expect("an answer");
    assert_eq!(begin(RunId::new(), Some(slot)), Begun::Started);
    assert_eq!(begin(RunId::new(), Some(slot)), Begun::SlotTaken);
    assert_eq!(begin(RunId::new(), None), Begun::Started);
    assert_eq!(begin(RunId::new(), None), Begun::Started);
    assert_eq!(begin(RunId::new(), Some(minute(660))), Begun::Started);
    let row = &scene.store.tasks().expect("tasks")[0];
    assert_eq!(row.last_slot, Some(minute(660)));
}

#[test]
fn deleting_a_task_keeps_its_rows_and_its_view() {
    let mut scene = Scene::new();
    scene.go(CHANGED, &[&["a", "1"]]);
    let (task, now) = (scene.task.clone(), scene.now());
    scene.store.forget_task(&task, now).expect("forgotten");
    assert_eq!(scene.shown(), ["a=1"]);
    assert!(scene.store.tasks().expect("tasks")[0].removed);
    scene.store.remember_task(&task, Some("Hotels"), now).expect("remembered");
    let row = &scene.store.tasks().expect("tasks")[0];
    assert_eq!((row.removed, row.title.as_deref(), row.published_rows), (false, Some("Hotels"), Some(1)));
}

#[test]
fn the_rows_before_are_kept_beside_the_published_ones() {
    let mut scene = Scene::new();
    for n in 0..6 {
        // Other columns in the middle: tables that do not fit are not used again.
        let columns = if n < 4 { ["name", "price"] } else { ["name", "cost"] };
        let run = scene.begin();
        let price = n.to_string();
        scene.stage(run, &columns, &[&["b", &price], &["a", &price]]);
        scene.end(run, CHANGED, 2);
        assert_eq!(scene.shown(), [format!("b={price}"), format!("a={price}")]);
        assert_eq!(scene.sqlite3("SELECT group_concat(DISTINCT _run) FROM \"halifax-hotels\""), run.to_string());
        assert_eq!(scene.sqlite3("SELECT DISTINCT strftime('%M', _first_seen) FROM \"halifax-hotels\""), "02");
        if n > 0 {
            let id = scene.sqlite3("SELECT id FROM _generation WHERE state = 'previous'");
            let column = if n < 5 { "price" } else { "cost" };
            let before = scene.sqlite3(&format!("SELECT name, {column} FROM _rows_{id}"));
            assert_eq!(before, format!("b|{0}\na|{0}", n - 1));
        }
    }
    assert_eq!(scene.row_tables().len(), 2);
}

#[test]
fn a_published_change_of_a_small_table_leaves_the_schema_alone() {
    let mut scene = Scene::new();
    let version = |scene: &mut Scene, price: &str| {
        scene.go(CHANGED, &[&["a", price]]);
        scene.sqlite3("PRAGMA schema_version")
    };
    version(&mut scene, "1");
    let second = version(&mut scene, "2");
    assert_eq!(version(&mut scene, "3"), second);
    assert_eq!(version(&mut scene, "3"), second);
}
