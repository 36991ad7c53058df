//! Repair after a redesign: a page job searches the stored page of the run for the list. The proposals wait for a
//! person, or the best one is accepted if `expect.auto_accept` is set and there is no doubt.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use chrono::Utc;
use futures_util::FutureExt;
use tokio::sync::watch;

use crate::model::{Column, Outcome, Quarantine, RepairProposal, RepairProposals, RunId, StoredProposals, Verdict};
use crate::protocol;
use crate::protocol::{Job, Message, PageJob, RepairJob, RepairSample};
use crate::store::{RunStart, Store, StoreError, Trigger};
use crate::tasks;
use crate::tasks::{Label, LabelHelp, LabelKind, Relabelling, Sample, TaskFolder, TemplateText};

use super::page_jobs::page_job;
use crate::daemon::collect::TraceListener;
use crate::daemon::runner::{RunEnd, Runner, wait_for_stop};
use crate::daemon::threads;

/// Published rows that the list is recognised by.
const COMPARED_ROWS: u64 = 1_000;
/// Page and samples must fit in one frame and leave room for the rows.
const MAX_RAW: usize = protocol::MAX_FRAME / 2;

/// The proposals, and the page as it was fetched.
pub struct RepairResult {
    pub repaired: RepairProposals,
    body: Vec<u8>,
}

impl RepairResult {
    /// Whether the repair is accepted without a person.
    pub fn is_auto_accepted(&self, folder: &TaskFolder, verdict: &Verdict) -> bool {
        folder.task.expect.auto_accept
            && verdict.outcome == Outcome::Quarantined(Quarantine::Layout)
            && self.repaired.doubt.is_none()
            && !self.repaired.proposals.is_empty()
    }
}

/// Whether the run was quarantined because the page no longer fits a confirmed template.
fn is_redesigned(verdict: &Verdict) -> bool {
    matches!(verdict.outcome, Outcome::Quarantined(Quarantine::Layout | Quarantine::Columns)) && !verdict.provisional
}

impl Runner {
    /// Searches for the list and stores the proposals for `pieme label`. A failure here does not affect the run.
    pub(in crate::daemon) async fn repair(
        &self,
        folder: &TaskFolder,
        run: RunId,
        verdict: &mut Verdict,
        stop: watch::Receiver<bool>,
    ) -> Option<RepairResult> {
        if !is_redesigned(verdict) {
            return None;
        }
        let looking = AssertUnwindSafe(self.run_repair_job(folder, run, stop)).catch_unwind().await;
        let found = looking.unwrap_or_else(|panic| {
            let why = threads::panic_message(panic);
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
        &self,
        folder: &TaskFolder,
        run: RunId,
        mut stop: watch::Receiver<bool>,
    ) -> Option<RepairResult> {
        let (job, raw) = match self.repair_job(folder, run).await {
            Ok(order) => order?,
            Err(error) => {
                tracing::warn!(%run, task = %folder.name, "{}: the repair could not be started: {error}", folder.name);
                return None;
            }
        };
        let asked = self.run_page_job(job, raw, wait_for_stop(&mut stop));
        let (Message::Repaired(repair), body) = asked.await? else { return None };
        let (task, proposals) = (&folder.name, repair.proposals.len());
        tracing::info!(%run, %task, proposals, doubt = repair.doubt, "{task}: repair finished, proposals: {proposals}");
        Some(RepairResult { repaired: repair, body })
    }

    /// The job, and the bytes of page and samples. `None` when there are no published rows or no stored page.
    async fn repair_job(&self, folder: &TaskFolder, run: RunId) -> Result<Option<(Job, Vec<u8>)>, StoreError> {
        let name = folder.name.clone();
        let ask = move |store: &mut Store| {
            Ok::<_, StoreError>((store.published(&name, COMPARED_ROWS, 0)?, store.pages(run)?.into_iter().next()))
        };
        let (Some(good), Some((page, packed))) = self.store.call(ask).await? else { return Ok(None) };
        let page_bytes = packed.len();
        let mut raw = packed;
        // Samples that cannot be read are left out.
        let read = tasks::read_samples(&folder.dir);
        let mut samples_left_out = read.is_err();
        let mut samples = Vec::new();
        for Sample { index, body, expected } in read.unwrap_or_default() {
            if raw.len() + body.len() > MAX_RAW {
                samples_left_out = true;
                continue;
            }
            samples.push(RepairSample { index, bytes: body.len(), expected });
            raw.extend_from_slice(&body);
        }
        let repair_job = RepairJob { page, page_bytes, good: good.table, samples, samples_left_out };
        Ok(Some((page_job(folder, run, PageJob::Repair(Box::new(repair_job))), raw)))
    }

    /// Runs the task with the repaired template. The folder is changed only if the rows are published.
    pub(in crate::daemon) async fn run_repaired(
        &self,
        folder: &Arc<TaskFolder>,
        found: RepairResult,
        first: RunEnd,
        listener: Option<TraceListener>,
        stop: watch::Receiver<bool>,
    ) -> Result<RunEnd, StoreError> {
        let Some(proposed) = found.repaired.proposals.into_iter().next() else { return Ok(first) };
        let (run, started_at) = (RunId::new(), Utc::now());
        let name = folder.name.clone();
        tracing::debug!(%run, task = %name, "run with the repaired template starts");
        let start = RunStart { run, task: name.clone(), slot: None, trigger: Trigger::Learned, started_at, pid: None };
        self.store.call(move |store| store.begin_run(&start)).await?;
        let renewed = TaskFolder { template: Some(TemplateText::new(&proposed.template)), ..(**folder).clone() };
        let mut end = self.run_child_job(&renewed, run, listener, stop).await;
        end.learned = None;
        match end.verdict.outcome {
            Outcome::Published(_) => {
                let label = label(&proposed, started_at);
                let expected = proposed.table.with_column_names(&proposed.names);
                let new = Relabelling {
                    template: &proposed.template,
                    columns: &columns(folder, &label),
                    label,
                    body: &found.body,
                    expected: &expected,
                    repairs: true,
                };
                let relabelled = threads::catch_panic(|| tasks::relabel(folder, new));
                match relabelled.and_then(|it| it.map_err(|error| error.to_string())) {
                    Ok(()) => {
                        end.learned = Some(proposed.template);
                        end.verdict.statistics.repaired = true;
                        end.verdict.sentence = format!(
                            "{}; the site was redesigned; the template was repaired and accepted without a person \
                             (expect.auto_accept); `pieme rollback {name}` undoes it",
                            end.verdict.sentence
                        );
                    }
                    Err(problem) => end.verdict = unrepaired_verdict(&first.verdict, &problem),
                }
            }
            Outcome::Quarantined(_) | Outcome::Empty(_) => {
                end.verdict = unrepaired_verdict(&first.verdict, &end.verdict.sentence)
            }
            Outcome::Failed(_) => {}
        }
        Ok(self.record_end(folder, run, end).await)
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

fn label(proposed: &RepairProposal, when: chrono::DateTime<Utc>) -> Label {
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
