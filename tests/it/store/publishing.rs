//! Publishing: from staged rows to the view.

use super::*;
use pieme::store::StoreError;

on_both! {
    a_view_named_as_the_task_can_be_queried_by_anybody
    no_other_outcome_than_published_touches_the_published_rows
    a_record_keeps_its_first_seen_under_its_key
    the_same_rows_in_another_order_are_unchanged
    rows_lost_on_the_way_publish_nothing
    zero_rows_are_never_a_silent_success
    hostile_column_names_become_a_table_all_the_same
    a_column_that_only_the_second_page_has_is_empty_on_the_first
    more_columns_than_a_table_takes_are_refused_and_cost_only_the_run
    a_run_that_has_ended_takes_nothing_more
    a_slot_has_one_run_and_runs_out_of_turn_have_none
    deleting_a_task_keeps_its_rows_and_its_view
    the_rows_before_are_kept_beside_the_published_ones
    a_published_change_of_a_small_table_leaves_the_schema_alone
}

fn a_view_named_as_the_task_can_be_queried_by_anybody(kind: Kind) {
    let mut scene = Scene::on(kind);
    let run = scene.go(CHANGED, &[&["Lord Nelson", "CAD 95.00"], &["Halliburton", "-"]]);
    let sql = "SELECT * FROM \"halifax-hotels\" ORDER BY name";
    let (first, last, columns) = match kind {
        Kind::Sqlite => (
            "2024-10-04T00:02:00.000Z",
            "2024-10-04T00:03:00.000Z",
            "SELECT group_concat(name) FROM pragma_table_info('halifax-hotels')",
        ),
        Kind::Postgres => (
            "2024-10-04 00:02:00+00",
            "2024-10-04 00:03:00+00",
            "SELECT string_agg(column_name, ',' ORDER BY ordinal_position) FROM information_schema.columns
             WHERE table_schema = current_schema() AND table_name = 'halifax-hotels'",
        ),
    };
    let expected = format!("Halliburton||{run}|{first}|{last}|0\nLord Nelson|CAD 95.00|{run}|{first}|{last}|0");
    assert_eq!(scene.ask(sql), expected);
    assert_eq!(scene.ask(columns), "name,price,_run,_first_seen,_last_seen,_page");
    let minute = scene.minute_of("_first_seen");
    assert_eq!(scene.ask(&format!("SELECT {minute} FROM \"halifax-hotels\" LIMIT 1")), "02");
}

fn no_other_outcome_than_published_touches_the_published_rows(kind: Kind) {
    let mut scene = Scene::on(kind);
    scene.go(CHANGED, &[&["Lord Nelson", "95"]]);
    for outcome in bad_outcomes() {
        scene.go(outcome, &[&["rubbish", "0"], &["more rubbish", "0"]]);
        assert_eq!(scene.shown(), ["Lord Nelson=95"], "{outcome:?}");
        let run = scene.begin();
        scene.end(run, outcome, 0);
        assert_eq!(scene.shown(), ["Lord Nelson=95"], "{outcome:?} without rows");
    }
}

fn a_record_keeps_its_first_seen_under_its_key(kind: Kind) {
    let mut scene = Scene::on(kind);
    scene.go(CHANGED, &[&["a", "1"], &["b", "1"]]);
    scene.go(CHANGED, &[&["c", "1"], &["a", "2"]]);
    let (first, last) = (scene.minute_of("_first_seen"), scene.minute_of("_last_seen"));
    let sql = format!("SELECT name, price, {first}, {last} FROM \"halifax-hotels\" ORDER BY name DESC");
    assert_eq!(scene.ask(&sql), "c|1|05|06\na|2|02|06");
}

fn the_same_rows_in_another_order_are_unchanged(kind: Kind) {
    let mut scene = Scene::on(kind);
    let first = scene.go(CHANGED, &[&["a", "1"], &["b", "1"]]);
    scene.go(CHANGED, &[&["a", "2"]]);
    let run = scene.begin();
    scene.stage(run, &["name", "price"], &[&["a", "2"]]);
    let ended = scene.end(run, CHANGED, 1);
    assert_eq!(ended.outcome, Outcome::Published(Publication::Unchanged));
    // `_run` and `_last_seen` change, `_first_seen` does not, and the previous generation is still one that differs.
    let (first_seen, last_seen) = (scene.minute_of("_first_seen"), scene.minute_of("_last_seen"));
    let sql = format!("SELECT _run, {first_seen}, {last_seen} FROM \"halifax-hotels\"");
    assert_eq!(scene.ask(&sql), format!("{run}|02|09"));
    let previous = scene.ask("SELECT run FROM _generation WHERE state = 'previous'");
    assert_eq!(previous, first.to_string());
    assert_eq!(scene.generations().len(), 2);
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

fn rows_lost_on_the_way_publish_nothing(kind: Kind) {
    let mut scene = Scene::on(kind);
    scene.go(CHANGED, &[&["a", "1"]]);
    let run = scene.begin();
    scene.stage(run, &["name", "price"], &[&["b", "1"]]);
    let ended = scene.end(run, CHANGED, 2);
    assert_eq!(ended.outcome, Outcome::Failed(Failure::Internal));
    assert_eq!(ended.sentence, "row count mismatch: the run reported 2, 1 arrived; nothing was published");
    assert_eq!(scene.shown(), ["a=1"]);
}

fn zero_rows_are_never_a_silent_success(kind: Kind) {
    let mut scene = Scene::on(kind);
    scene.go(CHANGED, &[&["a", "1"]]);
    let run = scene.begin();
    let ended = scene.end(run, CHANGED, 0);
    assert_eq!(ended.outcome, Outcome::Empty(Emptiness::Unexpected));
    assert_eq!(scene.shown(), ["a=1"]);
}

fn hostile_column_names_become_a_table_all_the_same(kind: Kind) {
    let mut scene = Scene::on(kind);
    let run = scene.begin();
    let columns =
        ["a\"; DROP TABLE _task; --", "_run", "_Key", "Name", "name", "", "x\0y", "select", "rowid", "'", "]"];
    let cells: Vec<String> = (0..columns.len()).map(|n| format!("v{n}")).collect();
    let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
    scene.stage(run, &columns, &[&cells]);
    scene.end(run, CHANGED, 1);
    assert_eq!(scene.shown(), ["v0=v1=v2=v3=v4=v5=v6=v7=v8=v9=v10"]);
    assert_eq!(scene.ask("SELECT \"c_run\", \"name_2\", \"c6\", \"rowid\" FROM \"halifax-hotels\""), "v1|v4|v5|v8");
}

fn a_column_that_only_the_second_page_has_is_empty_on_the_first(kind: Kind) {
    let mut scene = Scene::on(kind);
    let run = scene.begin();
    scene.stage(run, &["name"], &[&["a"]]);
    scene.stage(run, &["badge", "name"], &[&["new", "b"]]);
    scene.end(run, CHANGED, 2);
    assert_eq!(scene.shown(), ["a=-", "b=new"]);
}

fn more_columns_than_a_table_takes_are_refused_and_cost_only_the_run(kind: Kind) {
    let mut scene = Scene::on(kind);
    scene.go(CHANGED, &[&["a", "1"]]);
    let run = scene.begin();
    let columns: Vec<String> = (0..1501).map(|n| format!("c{n}")).collect();
    let (task, now) = (scene.task.clone(), scene.now());
    let error = scene.store.stage_rows(run, &task, &columns, &[], &[], now).expect_err("too many");
    assert!(error.to_string().starts_with("1501 columns, counting the values of typed ones, are too many"), "{error}");
    scene.end(run, Outcome::Failed(Failure::Limit), 0);
    assert_eq!(scene.shown(), ["a=1"]);
}

fn a_run_that_has_ended_takes_nothing_more(kind: Kind) {
    let mut scene = Scene::on(kind);
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

fn a_slot_has_one_run_and_runs_out_of_turn_have_none(kind: Kind) {
    let mut scene = Scene::on(kind);
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
    assert_eq!(begin(RunId::new(), Some(slot)), BeginOutcome::Started);
    assert_eq!(begin(RunId::new(), Some(slot)), BeginOutcome::SlotTaken);
    assert_eq!(begin(RunId::new(), None), BeginOutcome::Started);
    assert_eq!(begin(RunId::new(), None), BeginOutcome::Started);
    assert_eq!(begin(RunId::new(), Some(minute(660))), BeginOutcome::Started);
    let row = &scene.store.tasks().expect("tasks")[0];
    assert_eq!(row.last_slot, Some(minute(660)));
}

fn deleting_a_task_keeps_its_rows_and_its_view(kind: Kind) {
    let mut scene = Scene::on(kind);
    scene.go(CHANGED, &[&["a", "1"]]);
    let (task, now) = (scene.task.clone(), scene.now());
    scene.store.mark_task_removed(&task, now).expect("forgotten");
    assert_eq!(scene.shown(), ["a=1"]);
    assert!(scene.store.tasks().expect("tasks")[0].removed);
    scene.store.upsert_task(&task, Some("Hotels"), now).expect("remembered");
    let row = &scene.store.tasks().expect("tasks")[0];
    assert_eq!((row.removed, row.title.as_deref(), row.published_rows), (false, Some("Hotels"), Some(1)));
}

fn the_rows_before_are_kept_beside_the_published_ones(kind: Kind) {
    let mut scene = Scene::on(kind);
    for n in 0..6 {
        // Other columns in between: tables that do not fit are not reused.
        let columns = if n < 4 { ["name", "price"] } else { ["name", "cost"] };
        let run = scene.begin();
        let price = n.to_string();
        scene.stage(run, &columns, &[&["b", &price], &["a", &price]]);
        scene.end(run, CHANGED, 2);
        assert_eq!(scene.shown(), [format!("b={price}"), format!("a={price}")]);
        assert_eq!(scene.ask("SELECT DISTINCT _run FROM \"halifax-hotels\""), run.to_string());
        let first_seen = scene.minute_of("_first_seen");
        assert_eq!(scene.ask(&format!("SELECT DISTINCT {first_seen} FROM \"halifax-hotels\"")), "02");
        if n > 0 {
            let column = if n < 5 { "price" } else { "cost" };
            assert_eq!(scene.previous(column), format!("b|{0}\na|{0}", n - 1));
        }
    }
    assert_eq!(scene.generations().len(), 2);
}

fn a_published_change_of_a_small_table_leaves_the_schema_alone(kind: Kind) {
    let mut scene = Scene::on(kind);
    let version = |scene: &mut Scene, price: &str| {
        scene.go(CHANGED, &[&["a", price]]);
        scene.ask(match kind {
            Kind::Sqlite => "PRAGMA schema_version",
            Kind::Postgres => {
                "SELECT count(*), max(oid::bigint) FROM pg_class \
                 WHERE relnamespace::regnamespace::text = current_schema()"
            }
        })
    };
    version(&mut scene, "1");
    let second = version(&mut scene, "2");
    assert_eq!(version(&mut scene, "3"), second);
    assert_eq!(version(&mut scene, "3"), second);
}
