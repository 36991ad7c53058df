use super::*;
use crate::config::{Ceiling, Grants};
use crate::model::{Outcome, TaskName, TimeSpan};
use crate::store::Trigger;

fn runner(home: &std::path::Path) -> Runner {
    std::fs::write(home.join("config.toml"), "").expect("a config of defaults");
    let config = Config::load(&home.join("config.toml")).expect("a config");
    let store = Store::open(&home.join("pieme.db")).expect("a store");
    Runner {
        host_limiter: SharedHostLimiter::new(config.per_host, None),
        config: Arc::new(config),
        store: StoreHandle::start(store).expect("the store's thread"),
        spawner: Spawner::start("/bin/true".into()).expect("the spawner's thread"),
        board: ProgressBoard::default(),
    }
}

/// A real panic in the run's own path: a time limit to which nothing can be added.
#[tokio::test]
async fn a_run_that_panics_in_the_daemon_ends_as_crash_and_is_not_running_any_more() {
    let home = tempfile::tempdir().expect("a scratch folder");
    let dir = home.path().join("tasks/hotels");
    std::fs::create_dir_all(&dir).expect("a task folder");
    std::fs::write(dir.join("task.toml"), "url = \"https://site.example/\"\n").expect("a task");
    let mut folder = tasks::read(&dir).expect("a sound task");
    folder.task.limits.timeout = TimeSpan(Duration::MAX);
    let (runner, name) = (runner(home.path()), TaskName::new("hotels").expect("a name"));
    let ceiling = Ceiling { timeout: folder.task.limits.timeout, ..Ceiling::default() };
    runner.config.grants.replace(Grants { ceiling, ..Grants::default() });
    let noted = name.clone();
    runner.store.call(move |store| store.upsert_task(&noted, None, Utc::now())).await.expect("it is known");
    let start = RunStart {
        run: RunId::new(),
        task: name.clone(),
        slot: None,
        trigger: Trigger::Person,
        started_at: Utc::now(),
        pid: None,
    };
    let (_never, stop) = watch::channel(false);
    let order = RunOrder { folder: Arc::new(folder), start, next_due: None, listener: None, stop };
    let ended = runner.run_catching_panics(order).await.expect("it ends");
    let RunResult::Run(end) = ended else { panic!("{ended:?}") };
    assert_eq!(end.verdict.outcome, Outcome::Failed(Failure::Crash));
    assert!(end.verdict.sentence.contains("overflow when adding durations"), "{}", end.verdict.sentence);
    let tasks = runner.store.call(|store| store.tasks()).await.expect("it can be read");
    assert_eq!((tasks[0].running_since, tasks[0].fails_in_a_row), (None, 1));
    assert_eq!(tasks[0].last_run.as_ref().map(|run| run.verdict.outcome), Some(Outcome::Failed(Failure::Crash)));
    assert_eq!(runner.board.all(), []);
}
