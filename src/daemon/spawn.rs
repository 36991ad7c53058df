//! Starts a run's process: this very program again, with nothing of ours but a socket and two pipes.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;

use tokio::sync::oneshot;

use crate::protocol::ParentSocket;

use super::threads::catch_panic;

/// This very program, even after its file was replaced by a newer version: parent and child speak the same language.
pub const THIS_PROGRAM: &str = "/proc/self/exe";

/// The word that makes the program a run's child.
pub const RUN_CHILD: &str = "run-child";

/// A run's process and the way to it, which it takes for its stdin.
type SpawnResult = io::Result<(Child, ParentSocket)>;
type SpawnRequest = oneshot::Sender<SpawnResult>;

/// Spawns children from one thread that never ends: the kernel ties “dies with its parent” to the *thread* that spawned
/// (docs/design/safety.md 1.9), so a pool thread that idles out would take running children with it.
#[derive(Clone)]
pub struct Spawner {
    requests: mpsc::Sender<SpawnRequest>,
}

impl Spawner {
    /// `program` is pieme itself.
    pub fn start(program: PathBuf) -> io::Result<Spawner> {
        let (orders, inbox) = mpsc::channel::<SpawnRequest>();
        thread::Builder::new().name("spawner".to_owned()).spawn(move || {
            for answer in inbox {
                // An asker who has gone away leaves a child without an assignment: it sees its stdin close, and ends.
                let started = catch_panic(|| spawn_child(&program)).unwrap_or_else(|why| Err(io::Error::other(why)));
                drop(answer.send(started));
            }
            // The last handle is gone, but children may still run: stay until the process ends.
            loop {
                thread::park();
            }
        })?;
        Ok(Spawner { requests: orders })
    }

    pub async fn spawn(&self) -> SpawnResult {
        let (answer, answered) = oneshot::channel();
        // A thread that is gone drops the order, and it is not answered.
        let _ = self.requests.send(answer);
        answered.await.unwrap_or_else(|_| Err(io::Error::other("the thread that starts processes has ended")))
    }
}

fn spawn_child(program: &Path) -> SpawnResult {
    let (outlet, theirs) = ParentSocket::pair()?;
    let child = Command::new(program)
        .arg(RUN_CHILD)
        .env_clear()
        .current_dir("/")
        .process_group(0)
        .stdin(Stdio::from(theirs))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    Ok((child, outlet))
}
