//! After a redesign: the list is looked for at once, on the page that the run has kept, in a sealed process of its own. What it
//! finds waits for a person, or is taken where the task says so and nothing speaks against it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use chrono::Utc;
use futures_util::FutureExt;
use tokio::sync::watch;

use crate::model::{Column, KeptProposals, Mended, Outcome, Proposed, Quarantine, RunId, Verdict};
use crate::store::{RunStart, Store, StoreError, Trigger};
use crate::taskdir::{self, Label, LabelKind, Relabelling, Sample, Spoken, TaskFolder, TemplateText};
use crate::wire::{self, Assignment, Mend, MendSample, Message, Still};

use super::collect::Listener;
use super::runner::{End, Runner, stopped};
use super::still::assignment;
use super::threads;

/// The last good rows that the list is known by.
const COMPARED_ROWS: u64 = 1_000;
/// Page and samples must go in one frame, and leave room for the rows.
const MAX_RAW: usize = wire::MAX_FRAME / 2;

/// What was found again, and the page that it stands on, as it was sent.
pub struct Found {
    pub mended: Mended,
    body: Vec<u8>,
}

impl Found {
    /// May it be taken without a person?
    pub fn is_taken(&self, folder: &TaskFolder, verdict: &Verdict) -> bool {
        folder.task.expect.auto_accept
            && verdict.outcome == Outcome::Quarantined(Quarantine::Layout)
            && self.mended.doubt.is_none()
            && !self.mended.proposals.is_empty()
    }
}

/// Is it a page of a known template that looks different now?
fn is_redesigned(verdict: &Verdict) -> bool {
    matches!(verdict.outcome, Outcome::Quarantined(Quarantine::Layout | Quarantine::Columns)) && !verdict.provisional
}

impl Runner {
    /// Looks for the list and keeps what was found for `pieme label`. Whatever goes wrong here costs only that.
    pub(super) async fn mend(
        &self,
        folder: &TaskFolder,
        run: RunId,
        verdict: &mut Verdict,
        stop: watch::Receiver<bool>,
    ) -> Option<Found> {
        if !is_redesigned(verdict) {
            return None;
        }
        let looking = AssertUnwindSafe(self.look(folder, run, stop)).catch_unwind().await;
        let found = looking.unwrap_or_else(|panic| {
            let why = threads::words(panic);
            tracing::error!(%run, task = %folder.name, "the daemon panicked while it looked for the list: {why}");
            None
        })?;
        let kept = KeptProposals { run, mended: found.mended.clone() };
        if let Err(error) = taskdir::write_proposals(&folder.dir, &kept) {
            tracing::warn!(%run, task = %folder.name, "what was found again could not be kept: {error}");
        }
        if let (true, Some(doubt)) = (folder.task.expect.auto_accept, &found.mended.doubt) {
            verdict.sentence = format!("{}; not accepted without a person: {doubt}", verdict.sentence);
        }
        Some(found)
    }

    async fn look(&self, folder: &TaskFolder, run: RunId, mut stop: watch::Receiver<bool>) -> Option<Found> {
        let (assignment, raw) = match self.order_to_mend(folder, run).await {
            Ok(order) => order?,
            Err(error) => {
                tracing::warn!(%run, task = %folder.name, "nothing could be looked for after the redesign: {error}");
                return None;
            }
        };
        let asked = self.ask_still(assignment, raw, stopped(&mut stop));
        let (Message::Mended(mended), body) = asked.await? else { return None };
        tracing::info!(%run, task = %folder.name, proposals = mended.proposals.len(), doubt = mended.doubt, "looked for the list");
        Some(Found { mended, body })
    }

    /// What the process needs to know, and the bytes of the page and the samples; none where there is nothing to go by.
    async fn order_to_mend(
        &self,
        folder: &TaskFolder,
        run: RunId,
    ) -> Result<Option<(Assignment, Vec<u8>)>, StoreError> {
        let name = folder.name.clone();
        let ask = move |store: &mut Store| {
            Ok::<_, StoreError>((store.published(&name, COMPARED_ROWS, 0)?, store.pages(run)?.into_iter().next()))
        };
        let (Some(good), Some((page, packed))) = self.keeper.ask(ask).await? else { return Ok(None) };
        let page_bytes = packed.len();
        let mut raw = packed;
        // A sample that cannot be read is one that cannot be tried.
        let read = taskdir::read_samples(&folder.dir);
        let mut samples_left_out = read.is_err();
        let mut samples = Vec::new();
        for Sample { index, body, expected } in read.unwrap_or_default() {
            if raw.len() + body.len() > MAX_RAW {
                samples_left_out = true;
                continue;
            }
            samples.push(MendSample { index, bytes: body.len(), expected });
            raw.extend_from_slice(&body);
        }
        let mend = Mend { page, page_bytes, good: good.table, samples, samples_left_out };
        Ok(Some((assignment(folder, run, Still::Mend(Box::new(mend))), raw)))
    }

    /// Runs the task with the template that was found. Only when its rows are published is the folder changed.
    pub(super) async fn run_mended(
        &self,
        folder: &Arc<TaskFolder>,
        found: Found,
        first: End,
        listener: Option<Listener>,
        stop: watch::Receiver<bool>,
    ) -> Result<End, StoreError> {
        let Some(proposed) = found.mended.proposals.into_iter().next() else { return Ok(first) };
        let (run, started_at) = (RunId::new(), Utc::now());
        let name = folder.name.clone();
        tracing::debug!(%run, task = %name, "run starts, with the list that was found again");
        let start = RunStart { run, task: name.clone(), slot: None, trigger: Trigger::Learned, started_at, pid: None };
        self.keeper.ask(move |store| store.begin_run(&start)).await?;
        let renewed = TaskFolder { template: Some(TemplateText::new(&proposed.template)), ..(**folder).clone() };
        let mut end = self.one(&renewed, run, listener, stop).await;
        end.learned = None;
        match end.verdict.outcome {
            Outcome::Published(_) => {
                let label = label(&proposed, started_at);
                let expected = proposed.table.under_names(&proposed.names);
                let new = Relabelling {
                    template: &proposed.template,
                    columns: &columns(folder, &label),
                    label,
                    body: &found.body,
                    expected: &expected,
                    repairs: true,
                };
                let relabelled = threads::caught(|| taskdir::relabel(folder, new));
                match relabelled.and_then(|it| it.map_err(|error| error.to_string())) {
                    Ok(()) => {
                        end.learned = Some(proposed.template);
                        end.verdict.figures.mended = true;
                        end.verdict.sentence = format!(
                            "{}; the site was redesigned, and its list was found again and accepted without a person \
                             (expect.auto_accept); `pieme rollback {name}` undoes it",
                            end.verdict.sentence
                        );
                    }
                    Err(problem) => end.verdict = still(&first.verdict, &problem),
                }
            }
            Outcome::Quarantined(_) | Outcome::Empty(_) => end.verdict = still(&first.verdict, &end.verdict.sentence),
            Outcome::Failed(_) => {}
        }
        Ok(self.ended(folder, run, end).await)
    }
}

/// A column that the task knows already keeps what a person wrote about it.
fn columns(folder: &TaskFolder, label: &Label) -> Vec<Column> {
    let known = |name: &String| folder.task.columns.iter().find(|column| column.name == *name).cloned();
    label.columns.iter().map(|name| known(name).unwrap_or_else(|| Column::text(name))).collect()
}

/// It stays as it was: for a person to mend.
fn still(first: &Verdict, why: &str) -> Verdict {
    Verdict {
        sentence: format!("{}; its list was found again, but not accepted: {why}", first.sentence),
        ..first.clone()
    }
}

fn label(proposed: &Proposed, when: chrono::DateTime<Utc>) -> Label {
    Label {
        when,
        kind: LabelKind::Mended,
        candidate: 1,
        method: proposed.method.clone(),
        rows: proposed.table.rows.len() as u64,
        first_row: proposed.table.first_row(),
        columns: proposed.names.iter().flatten().cloned().collect(),
        seconds: None,
        said: Spoken::default(),
    }
}
