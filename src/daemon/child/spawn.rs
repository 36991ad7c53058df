//! Starts child processes: this program again, with an empty environment, a socket and two pipes.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;

use tokio::sync::oneshot;

use crate::protocol::ParentSocket;

use crate::daemon::threads::catch_panic;

/// This program, even after its file was replaced by a newer version: parent and child must use the same protocol.
pub const THIS_PROGRAM: &str = "/proc/self/exe";

/// The argument that makes the program a child.
pub const RUN_CHILD: &str = "run-child";

/// A child and the parent's end of its stdin socket.
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
                // If the caller has gone, the child gets no job: its stdin is closed, and it exits.
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
        // If the thread has ended, the request is dropped and gets no answer.
        let _ = self.requests.send(answer);
        answered.await.unwrap_or_else(|_| Err(io::Error::other("the spawner thread has ended; restart the daemon")))
    }
}

/// Starts a child of the calling thread, which must outlive it.
pub fn spawn_child(program: &Path) -> SpawnResult {
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
