//! Several daemons on one database: which of them owns which task, and that a dead one can write nothing.

use std::time::Duration;

use super::*;
use pieme::store::{HeartbeatReport, StoreError};

const LEASE: Duration = Duration::from_secs(3_600);

/// Two stores on one schema, as two daemons open them.
struct Pair {
    scene: Scene,
    other: Store,
}

impl Pair {
    fn new(tasks: usize) -> Pair {
        let mut scene = Scene::on(Kind::Postgres);
        for n in 0..tasks {
            scene.store.upsert_task(&name(&format!("t{n}")), None, minute(0)).expect("remembered");
        }
        let mut other = Store::open(scene.home.address()).expect("a second store");
        scene.store.join("a", "here", LEASE).expect("joined").expect("a member");
        other.join("b", "there", LEASE).expect("joined").expect("a member");
        Pair { scene, other }
    }

    /// The lease of the first daemon expired a second ago.
    fn a_is_silent(&self) {
        self.scene.ask("UPDATE _member SET until = now() - interval '1 second' WHERE name = 'a'");
    }
}

fn look(store: &mut Store) -> HeartbeatReport {
    store.heartbeat(&[], true).expect("a look").expect("a fleet")
}

fn names(look: &HeartbeatReport) -> Vec<&str> {
    look.own_tasks.iter().map(|(name, _)| name.as_str()).collect()
}

fn start(task: &TaskName, slot: Option<DateTime<Utc>>) -> RunStart {
    RunStart {
        run: RunId::new(),
        task: task.clone(),
        slot,
        trigger: Trigger::Schedule,
        started_at: minute(1),
        pid: None,
    }
}

#[test]
fn tasks_are_shared_out_evenly_and_each_has_one_daemon() {
    let Pair { mut scene, mut other } = Pair::new(5);
    assert_eq!(look(&mut scene.store).own_tasks.len(), 3, "a fair share, not all");
    assert_eq!(look(&mut other).own_tasks.len(), 2);
    let (a, b) = (look(&mut scene.store), look(&mut other));
    assert!(names(&a).iter().all(|name| !names(&b).contains(name)));
    other.leave().expect("gone");
    assert_eq!(look(&mut scene.store).own_tasks.len(), 5, "what is left belongs to who is left");
    other.join("b", "there", LEASE).expect("joined");
    let busy: Vec<TaskName> = (0..5).map(|n| name(&format!("t{n}"))).collect();
    assert_eq!(
        scene.store.heartbeat(&busy, true).expect("a look").expect("a fleet").own_tasks.len(),
        5,
        "nothing is given up that runs"
    );
    assert_eq!(look(&mut scene.store).own_tasks.len(), 3, "what is more than a fair share is");
    assert_eq!(look(&mut other).own_tasks.len(), 2);
}

#[test]
fn a_run_is_begun_only_by_the_daemon_whose_task_it_is() {
    let Pair { mut scene, mut other } = Pair::new(1);
    let task = name("t0");
    assert_eq!(names(&look(&mut scene.store)), ["t0"]);
    assert_eq!(other.begin_run(&start(&task, Some(minute(9)))).expect("an answer"), BeginOutcome::OwnedElsewhere);
    let run = start(&task, Some(minute(9)));
    assert_eq!(scene.store.begin_run(&run).expect("an answer"), BeginOutcome::Started);
    assert!(!other.claim(&task).expect("an answer"), "it runs elsewhere");
    scene.store.end_run(run.run, &verdict(Outcome::Failed(Failure::Http), 0), minute(2)).expect("an end");
    assert!(other.claim(&task).expect("an answer"), "a person takes it over");
    assert_eq!(
        scene.store.begin_run(&start(&task, Some(minute(10)))).expect("an answer"),
        BeginOutcome::OwnedElsewhere
    );
    assert_eq!(other.begin_run(&start(&task, Some(minute(9)))).expect("an answer"), BeginOutcome::SlotTaken);
}

#[test]
fn a_dead_daemons_run_is_recorded_as_crash_and_taken_over_and_the_late_writer_is_refused() {
    let Pair { mut scene, mut other } = Pair::new(1);
    scene.task = name("t0");
    assert_eq!(names(&look(&mut scene.store)), ["t0"]);
    scene.go(CHANGED, &[&["a", "1"]]);
    let run = scene.begin();
    scene.stage(run, &["name", "price"], &[&["b", "2"]]);
    assert_eq!(look(&mut other).crashed_runs, [], "it lives");
    scene.a_is_silent();
    let found = look(&mut other);
    assert_eq!(found.crashed_runs, [(run, name("t0"))]);
    assert_eq!(names(&found), ["t0"]);
    let row = &other.tasks().expect("tasks")[0];
    assert_eq!(row.last_run.as_ref().map(|run| run.verdict.outcome), Some(Outcome::Failed(Failure::Crash)));
    assert!(row.next_due.is_some_and(|due| due <= Utc::now()), "it is owed still");
    let theirs = start(&name("t0"), row.next_due);
    assert_eq!(other.begin_run(&theirs).expect("an answer"), BeginOutcome::Started);

    // It resumes as if nothing had happened.
    let (task, now) = (scene.task.clone(), scene.now());
    let staged = scene.store.stage_rows(run, &task, &["name".to_owned()], &[], &[row_of("c")], now);
    assert!(matches!(staged, Err(StoreError::LeaseExpired(late)) if late == run), "{staged:?}");
    let ended = scene.store.end_run(run, &verdict(CHANGED, 1), now);
    assert!(matches!(ended, Err(StoreError::LeaseExpired(_))), "{ended:?}");
    assert!(scene.store.begin_run(&start(&task, None)).is_ok_and(|begun| begun == BeginOutcome::OwnedElsewhere));
    scene.store.end_failed(run, &verdict(Outcome::Failed(Failure::Internal), 0), now);
    scene.store.write_pending_ends().expect("nothing is owed any more");
    scene.store.set_next_due(&task, Some(minute(0))).expect("heard, and not heeded");
    assert_ne!(other.tasks().expect("tasks")[0].next_due, Some(minute(0)));
    assert_eq!(scene.shown(), ["a=1"]);
    let found = look(&mut scene.store);
    assert_eq!(found.rejoined_as.as_ref().map(|member| member.name.as_str()), Some("a"));
    assert_eq!(names(&found), Vec::<&str>::new());
}

impl Scene {
    fn a_is_silent(&self) {
        self.ask("UPDATE _member SET until = now() - interval '1 second' WHERE name = 'a'");
    }
}

fn row_of(cell: &str) -> Row {
    row(&[cell])
}

#[test]
fn a_daemon_that_starts_again_is_itself_and_two_of_one_name_are_one_too_many() {
    let pair = Pair::new(1);
    let mut again = Store::open(pair.scene.home.address()).expect("a store");
    let member = again.join("a", "here", LEASE).expect("the same place").expect("a member");
    assert_eq!(member.fence, 2);
    let error = again.join("b", "elsewhere", LEASE).expect_err("b is alive there").to_string();
    assert!(error.starts_with("another daemon named `b` is alive (there)"), "{error}");
    pair.a_is_silent();
    again.join("a", "elsewhere", LEASE).expect("a name that nobody has");
}

#[test]
fn a_host_is_left_in_peace_by_all_daemons_together() {
    let Pair { mut scene, mut other } = Pair::new(0);
    let delay = Duration::from_secs(60);
    let mut waits = Vec::new();
    for _ in 0..2 {
        waits.push(scene.store.reserve_host_turn("shop.test", delay).expect("a turn").as_secs_f64());
        waits.push(other.reserve_host_turn("shop.test", delay).expect("a turn").as_secs_f64());
    }
    // Less the time that the queries themselves took.
    let is_about = |(n, wait): (usize, &f64)| (n as f64 * 60.0 - wait).abs() < 20.0;
    assert!(waits.iter().enumerate().all(is_about), "{waits:?}");
    scene.store.back_off_host("shop.test", Duration::from_secs(3_600)).expect("told");
    assert!(other.reserve_host_turn("shop.test", delay).expect("a turn") > Duration::from_secs(3_500));
    assert_eq!(other.reserve_host_turn("other.test", delay).expect("a turn"), Duration::ZERO);
}

#[test]
fn a_tasks_people_are_told_by_its_daemon_alone() {
    use pieme::model::task::Alert;
    use pieme::store::{AlertStateUpdate, AlertTaskFilter, OutgoingAlert};
    let Pair { mut scene, mut other } = Pair::new(2);
    let (a, b) = (look(&mut scene.store), look(&mut other));
    assert_eq!((a.own_tasks.len(), b.own_tasks.len()), (1, 1));
    let both = [a.own_tasks[0].0.clone(), b.own_tasks[0].0.clone()];
    for task in &both {
        scene.store.set_alert_configs(&[(task.clone(), Some(Alert::default()))]).expect("watched");
        let outgoing = OutgoingAlert { id: format!("id-{task}"), json: "{}".to_owned(), targets: vec!["x".to_owned()] };
        let told = AlertStateUpdate { task: task.clone(), state_json: "{}".to_owned(), outgoing: Some(outgoing) };
        scene.store.enqueue_alerts(&[told], minute(1)).expect("told");
    }
    for (store, task) in [(&scene.store, &both[0]), (&other, &both[1])] {
        let letters = store.due_deliveries(minute(2), 10).expect("letters");
        assert_eq!(letters.iter().map(|letter| &letter.task).collect::<Vec<_>>(), [task]);
        let watched = store.tasks_with_alerts(&AlertTaskFilter::All).expect("watched");
        assert_eq!(watched.iter().map(|it| &it.row.name).collect::<Vec<_>>(), [task]);
        assert_eq!(
            store.task_names().expect("names"),
            std::slice::from_ref(task),
            "and its past is looked after by it"
        );
    }
}
