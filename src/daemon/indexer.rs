//! The index of words follows the publications, in steps so small that nobody waits: between two of them the store's thread does
//! what others have asked for.

use tokio::sync::mpsc;

use crate::model::TaskName;
use crate::store::{Store, StoreError};

use super::chores::ChoreGuard;
use super::store_handle::StoreHandle;

/// Fifty gigabytes of new texts; a task that wants more is left to its next publication.
const MAX_STEPS: usize = 100_000;

/// Tells the one who brings the index up to date, one task after the other.
pub(super) struct Indexer {
    inbox: mpsc::UnboundedSender<IndexRequest>,
}

enum IndexRequest {
    Published(TaskName),
    All(ChoreGuard),
}

impl Indexer {
    /// Begins with what was published when nobody followed, or was cut short.
    pub fn start(keeper: StoreHandle) -> Indexer {
        let (inbox, mut requests) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            log_failure(index_all(&keeper).await);
            while let Some(request) = requests.recv().await {
                match request {
                    IndexRequest::Published(task) => log_failure(index_task(&keeper, &task).await),
                    IndexRequest::All(_until_done) => log_failure(index_all(&keeper).await),
                }
            }
        });
        Indexer { inbox }
    }

    /// Something of this task may have been published.
    pub fn published(&self, task: TaskName) {
        // It ends with the daemon only.
        let _ = self.inbox.send(IndexRequest::Published(task));
    }

    /// Follows every publication whose index is behind. `chore` is held until that is done.
    pub fn catch_up(&self, chore: ChoreGuard) {
        let _ = self.inbox.send(IndexRequest::All(chore));
    }
}

/// Brings all that is published into the index.
pub async fn index_all(keeper: &StoreHandle) -> Result<(), StoreError> {
    for (task, _) in keeper.call(|store| store.unindexed_tasks()).await? {
        index_task(keeper, &task).await?;
    }
    Ok(())
}

async fn index_task(keeper: &StoreHandle, task: &TaskName) -> Result<(), StoreError> {
    for _ in 0..MAX_STEPS {
        let task = task.clone();
        if keeper.call(move |store| store.index_next_part(&task)).await?.is_done {
            break;
        }
    }
    Ok(())
}

/// The same by whoever has the store in hand.
pub fn catch_up(store: &mut Store, task: &TaskName) -> Result<(), StoreError> {
    for _ in 0..MAX_STEPS {
        if store.index_next_part(task)?.is_done {
            break;
        }
    }
    Ok(())
}

/// Searches leave out what is not in the index; nothing else is lost, and it is tried again
/// after the next publication and by [`Indexer::catch_up`].
fn log_failure(done: Result<(), StoreError>) {
    if let Err(error) = done {
        tracing::warn!("the index of words is behind: {error}");
    }
}
