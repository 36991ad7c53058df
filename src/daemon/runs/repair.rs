//! Repair after a redesign: a page job searches the stored page of the run for the list. The proposals wait for a
//! person, or the best one is accepted if `expect.auto_accept` is set and there is no doubt.

use chrono::{DateTime, Utc};
use tokio::sync::watch;

use crate::daemon::child::lifecycle::wait_for_stop;
use crate::daemon::child::page_jobs::run_page_job;
use crate::daemon::child::spawn::Spawner;
use crate::daemon::store_handle::StoreHandle;
use crate::daemon::threads;
use crate::model::{Column, Outcome, Quarantine, RepairProposal, RepairProposals, RunId, StoredProposals, Verdict};
use crate::protocol::bounds::MAX_PAGE_BYTES;
use crate::protocol::{RepairAnswer, RepairJob, RepairSample};
use crate::store::{Store, StoreError};
use crate::tasks;
use crate::tasks::{Label, LabelHelp, LabelKind, Relabelling, Sample, TaskFolder, TemplateText};

/// Published rows that the list is recognised by.
const COMPARED_ROWS: u64 = 1_000;

/// The proposals, and the page as it was fetched.
pub(super) struct RepairResult {
    repaired: RepairProposals,
    body: Vec<u8>,
}

/// The proposal that a run is made with.
pub(super) struct RepairTrial {
    proposed: RepairProposal,
    body: Vec<u8>,
    started_at: DateTime<Utc>,
}

impl RepairResult {
    /// Whether the repair is accepted without a person.
    pub fn is_auto_accepted(&self, folder: &TaskFolder, verdict: &Verdict) -> bool {
        folder.task.expect.auto_accept
            && verdict.outcome == Outcome::Quarantined(Quarantine::Layout)
            && self.repaired.doubt.is_none()
            && !self.repaired.proposals.is_empty()
    }

    /// The best proposal, for a run that starts now.
    pub fn best(self, started_at: DateTime<Utc>) -> Option<RepairTrial> {
        let proposed = self.repaired.proposals.into_iter().next()?;
        Some(RepairTrial { proposed, body: self.body, started_at })
    }
}

/// Whether the run was quarantined because the page no longer fits a confirmed template.
fn is_redesigned(verdict: &Verdict) -> bool {
    matches!(verdict.outcome, Outcome::Quarantined(Quarantine::Layout | Quarantine::Columns)) && !verdict.provisional
}

/// Searches for the list and stores the proposals for `pieme label`. A failure here does not affect the run.
pub(super) async fn repair(
    store: &StoreHandle,
    spawner: &Spawner,
    folder: &TaskFolder,
    run: RunId,
    verdict: &mut Verdict,
    stop: watch::Receiver<bool>,
) -> Option<RepairResult> {
    if !is_redesigned(verdict) {
        return None;
    }
    let looking = threads::catch_panic_of(run_repair_job(store, spawner, folder, run, stop)).await;
    let found = looking.unwrap_or_else(|why| {
        tracing::error!(%run, task = %folder.name, "{}: the daemon panicked during a repair: {why}", folder.name);
        None
    })?;
    let kept = StoredProposals { run, repair: found.repaired.clone() };
    if let Err(error) = tasks::write_proposals(&folder.dir, &kept) {
        tracing::warn!(%run, task = %folder.name, "{}: storing the repair proposals failed: {error}", folder.name);
    }
    if let (true, Some(doubt)) = (folder.task.expect.auto_accept, &found.repaired.doubt) {
        verdict.sentence = format!("{}; the repair needs a person: {doubt}", verdict.sentence);
    }
    Some(found)
}

async fn run_repair_job(
    store: &StoreHandle,
    spawner: &Spawner,
    folder: &TaskFolder,
    run: RunId,
    mut stop: watch::Receiver<bool>,
) -> Option<RepairResult> {
    let (job, raw) = match repair_job(store, folder, run).await {
        Ok(order) => order?,
        Err(error) => {
            tracing::warn!(%run, task = %folder.name, "{}: the repair could not be started: {error}", folder.name);
            return None;
        }
    };
    let answers = run_page_job(spawner, run, job, raw, 1, wait_for_stop(&mut stop)).await?;
    let (RepairAnswer(repair), body) = answers.into_iter().next()?;
    let (task, proposals) = (&folder.name, repair.proposals.len());
    tracing::info!(%run, %task, proposals, doubt = repair.doubt, "{task}: repair finished, proposals: {proposals}");
    Some(RepairResult { repaired: repair, body })
}

/// The job, and the bytes of page and samples. `None` when there is no template, no published row or no stored page.
async fn repair_job(
    store: &StoreHandle,
    folder: &TaskFolder,
    run: RunId,
) -> Result<Option<(RepairJob, Vec<u8>)>, StoreError> {
    let Some(template) = &folder.template else { return Ok(None) };
    let name = folder.name.clone();
    let ask = move |store: &mut Store| {
        Ok::<_, StoreError>((store.published(&name, COMPARED_ROWS, 0)?, store.pages(run)?.into_iter().next()))
    };
    let (Some(good), Some((page, packed))) = store.call(ask).await? else { return Ok(None) };
    let page_bytes = packed.len();
    let mut raw = packed;
    // Samples that cannot be read are left out.
    let read = tasks::read_samples(&folder.dir);
    let mut samples_left_out = read.is_err();
    let mut samples = Vec::new();
    for Sample { index, body, expected } in read.unwrap_or_default() {
        // Page and samples must fit in one frame and leave room for the rows.
        if raw.len() + body.len() > MAX_PAGE_BYTES {
            samples_left_out = true;
            continue;
        }
        samples.push(RepairSample { index, bytes: body.len(), expected });
        raw.extend_from_slice(&body);
    }
    let job = RepairJob {
        parent_pid: std::process::id(),
        limits: folder.task.limits.clone(),
        charset: folder.task.fetch.charset.clone(),
        columns: folder.task.columns.clone(),
        template: template.text(),
        page,
        page_bytes,
        good: good.table,
        samples,
        samples_left_out,
    };
    Ok(Some((job, raw)))
}

impl RepairTrial {
    pub fn template(&self) -> TemplateText {
        TemplateText::new(&self.proposed.template)
    }

    /// Concludes the run with the repaired template. If its rows are published, the folder is changed and the template
    /// returned; otherwise the verdict of the first run stands.
    pub fn conclude(self, folder: &TaskFolder, first: &Verdict, verdict: &mut Verdict) -> Option<String> {
        match verdict.outcome {
            Outcome::Published(_) => match self.relabel(folder) {
                Ok(()) => {
                    verdict.statistics.repaired = true;
                    verdict.sentence = format!(
                        "{}; the site was redesigned; the template was repaired and accepted without a person \
                         (expect.auto_accept); `pieme rollback {}` undoes it",
                        verdict.sentence, folder.name
                    );
                    return Some(self.proposed.template);
                }
                Err(problem) => *verdict = unrepaired_verdict(first, &problem),
            },
            Outcome::Quarantined(_) | Outcome::Empty(_) => *verdict = unrepaired_verdict(first, &verdict.sentence),
            Outcome::Failed(_) => {}
        }
        None
    }

    fn relabel(&self, folder: &TaskFolder) -> Result<(), String> {
        let proposed = &self.proposed;
        let label = label(proposed, self.started_at);
        let new = Relabelling {
            template: &proposed.template,
            columns: &columns(folder, &label),
            key: &folder.task.data.key,
            label,
            body: &self.body,
            expected: &proposed.table.with_column_names(&proposed.names),
            repairs: true,
        };
        threads::catch_panic(|| tasks::relabel(folder, new))?.map_err(|error| error.to_string())
    }
}

/// A column that the task knows already keeps what a person wrote about it.
fn columns(folder: &TaskFolder, label: &Label) -> Vec<Column> {
    let known = |name: &String| folder.task.columns.iter().find(|column| column.name == *name).cloned();
    label.columns.iter().map(|name| known(name).unwrap_or_else(|| Column::text(name))).collect()
}

/// The first run's verdict stands: a person has to repair the task.
fn unrepaired_verdict(first: &Verdict, why: &str) -> Verdict {
    Verdict { sentence: format!("{}; a repair was found but not accepted: {why}", first.sentence), ..first.clone() }
}

fn label(proposed: &RepairProposal, when: DateTime<Utc>) -> Label {
    Label {
        when,
        kind: LabelKind::AutoRepair,
        candidate: 1,
        method: proposed.method.clone(),
        rows: proposed.table.rows.len() as u64,
        first_row: proposed.table.first_row(),
        columns: proposed.names.iter().flatten().cloned().collect(),
        seconds: None,
        said: LabelHelp::default(),
    }
}
