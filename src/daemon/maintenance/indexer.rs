//! Updates the full-text search index after each publication, in short steps: between two of them the store's thread
//! does other work.

use tokio::sync::mpsc;

use crate::model::TaskName;
use crate::store::{Store, StoreError};

use super::chores::ChoreGuard;
use crate::daemon::store_handle::StoreHandle;

/// Enough for fifty gigabytes of new text; what is left is indexed after the next publication.
const MAX_STEPS: usize = 100_000;

/// A handle on the background job that indexes one task after the other.
pub struct Indexer {
    inbox: mpsc::UnboundedSender<IndexRequest>,
}

enum IndexRequest {
    Published(TaskName),
    All(ChoreGuard),
}

impl Indexer {
    /// Starts the job. It first indexes what was published while no daemon ran, or was interrupted.
    pub fn start(store_handle: StoreHandle) -> Indexer {
        let (inbox, mut requests) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            log_failure(index_all(&store_handle).await);
            while let Some(request) = requests.recv().await {
                match request {
                    IndexRequest::Published(task) => log_failure(index_task(&store_handle, &task).await),
                    IndexRequest::All(_until_done) => log_failure(index_all(&store_handle).await),
                }
            }
        });
        Indexer { inbox }
    }

    /// Queues a task of which something may have been published.
    pub fn published(&self, task: TaskName) {
        // The receiver ends only with the daemon.
        let _ = self.inbox.send(IndexRequest::Published(task));
    }

    /// Queues all tasks whose index is behind. `chore` is held until that is done.
    pub fn catch_up(&self, chore: ChoreGuard) {
        let _ = self.inbox.send(IndexRequest::All(chore));
    }
}

/// Indexes everything that is published and not indexed yet.
pub async fn index_all(store_handle: &StoreHandle) -> Result<(), StoreError> {
    for (task, _) in store_handle.call(|store| store.unindexed_tasks()).await? {
        index_task(store_handle, &task).await?;
    }
    Ok(())
}

async fn index_task(store_handle: &StoreHandle, task: &TaskName) -> Result<(), StoreError> {
    for _ in 0..MAX_STEPS {
        let task = task.clone();
        if store_handle.call(move |store| store.index_next_part(&task)).await?.is_done {
            break;
        }
    }
    Ok(())
}

/// Indexes one task, for callers that own the store.
pub fn catch_up(store: &mut Store, task: &TaskName) -> Result<(), StoreError> {
    for _ in 0..MAX_STEPS {
        if store.index_next_part(task)?.is_done {
            break;
        }
    }
    Ok(())
}

/// A failure costs only that searches miss the new rows for now. It is retried after the next publication and by
/// [`Indexer::catch_up`].
fn log_failure(done: Result<(), StoreError>) {
    if let Err(error) = done {
        tracing::warn!("updating the search index failed: {error}; it is retried within 10 minutes");
    }
}
