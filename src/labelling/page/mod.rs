//! PURE: a page that a run has kept, what is known of its task, and what a person says → lists to choose from → what is written
//! into the task's folder.
//!
//! `pieme label` does it in its own process; the daemon, which parses no page, has it done in a sealed one (`worker/study.rs`).

mod column_names;
mod accept;
mod answer;

use std::slice;

use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use crate::extract::{ColumnTransform, ColumnTransformError};
use crate::learn;
use crate::learn::adjust::RowAdjustment;
use crate::learn::edits::SpreadsheetStep;
use crate::learn::find::Finder;
use crate::learn::help::{Help, HelpError};
use crate::learn::repair::{repair_with, with_task_names};
use crate::learn::template::Template;
use crate::learn::{Candidate, LearnOptions};
use crate::model::{Column, PageMeta, RepairProposal, RepairProposals, RunId, Table};
use crate::page::tokens::Span;
use crate::page::{Tree, charset};

pub use accept::{AcceptedList, CandidateChoice};
pub use answer::{CandidateView, LabellingAnswer, LabellingQuestion, LabellingRequest, LineRef, ProposalView, answer};

use self::column_names::{match_columns, match_transformed_columns};

/// What is known of a page and its task.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LabellingContext {
    /// The run that saw the page.
    pub run: RunId,
    pub page: PageMeta,
    /// As task.toml says it.
    pub charset: String,
    pub timezone: Tz,
    pub columns: Vec<Column>,
    /// The task's template, as JSON text.
    pub template: Option<String>,
    /// The published rows, to compare with.
    pub good: Option<Table>,
    /// What a person said of earlier pages, newest first.
    pub said: Vec<Help>,
    /// The page no longer looks like its template.
    pub redesigned: bool,
    /// What was found again when the run ended.
    pub kept: Option<RepairProposals>,
}

/// A page that is looked at.
pub struct PageLabeller {
    pub known: LabellingContext,
    /// The page as it was sent.
    pub body: Vec<u8>,
    tree: Tree,
}

/// What there is to choose from.
#[derive(Clone)]
pub struct ListProposal {
    pub candidates: Vec<Candidate>,
    /// What a person said that the candidates follow: now, or earlier and still true of this page.
    pub said: Help,
    /// The site was redesigned: the candidates stand under the columns that there were, and the old shape stays readable.
    pub repairs: bool,
    /// What speaks against the first of them, where that was looked at when the run ended.
    pub doubt: Option<String>,
}

impl ListProposal {
    /// What the person has done to the columns of a candidate.
    fn steps_of(&self, pick: usize) -> &[SpreadsheetStep] {
        let finish = &self.said.finish;
        if finish.candidate == pick { &finish.sheet } else { &[] }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum PageLabellingError {
    #[error("no list was found on {0}; is the right page reached? `pieme log` shows the steps")]
    NoList(String),
    #[error("{0}")]
    NotWhole(String),
    #[error("there is no candidate {given}; choose 1 to {most}")]
    NoSuchCandidate { given: usize, most: usize },
    #[error("candidate {pick} has {} ({}), but {} given", pluralised(shown.len(), "column"), shown.join(", "), names_were(*given))]
    NameCount { pick: usize, shown: Vec<String>, given: usize },
    #[error("the column name `{0}` is given twice, in other letters; the same letters make one column of both")]
    NameTwice(String),
    #[error("at least one column must be kept")]
    NoColumns,
    #[error(transparent)]
    Help(#[from] HelpError),
    #[error("task.toml: {0}; {hint}", hint = .0.hint)]
    Columns(#[from] ColumnTransformError),
}

fn pluralised(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn names_were(names: usize) -> String {
    format!("{} {}", pluralised(names, "name"), if names == 1 { "was" } else { "were" })
}

impl PageLabeller {
    pub fn new(known: LabellingContext, body: Vec<u8>) -> PageLabeller {
        let tree = parse_page(&known.charset, &known.page, &body);
        PageLabeller { known, body, tree }
    }

    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Lists of the page with what a person says now, or else with the newest of what was said before that still stands on it.
    /// What is done to a candidate now is done to one of those.
    pub fn propose(&self, help: &Help) -> Result<ListProposal, PageLabellingError> {
        if let Some(cut) = self.tree.limit {
            return Err(PageLabellingError::NotWhole(cut.sentence(self.known.page.url.as_str(), self.body.len())));
        }
        let proposal =
            if help.has_only_edits() { self.propose_unaided(help)? } else { self.propose_with_help(help.clone())? };
        if proposal.candidates.is_empty() {
            return Err(PageLabellingError::NoList(self.known.page.url.to_string()));
        }
        Ok(proposal)
    }

    /// What a person said, and is still true of the page, says more than the last good rows; they say more than the page alone.
    fn propose_unaided(&self, help: &Help) -> Result<ListProposal, PageLabellingError> {
        if let Some(before) = self.propose_with_previous_help() {
            let is_changed = !help.is_empty();
            return if is_changed {
                self.propose_with_help(Help { finish: help.finish.clone(), ..before.said })
            } else {
                Ok(before)
            };
        }
        match self.propose_repair(help)? {
            Some(proposal) => Ok(proposal),
            None => self.propose_with_help(help.clone()),
        }
    }

    fn propose_with_help(&self, said: Help) -> Result<ListProposal, PageLabellingError> {
        let candidates = learn::learn_with(slice::from_ref(&self.tree), &LearnOptions::default(), &said)?;
        Ok(ListProposal { candidates, said, repairs: false, doubt: None })
    }

    /// Candidates under the newest words that still match the page.
    fn propose_with_previous_help(&self) -> Option<ListProposal> {
        let fitting = |said: &Help| self.propose_with_help(said.clone()).ok().filter(|it| !it.candidates.is_empty());
        self.known.said.iter().find_map(fitting)
    }

    /// Where the page no longer looks like its template: the list found again by the last good rows.
    fn propose_repair(&self, help: &Help) -> Result<Option<ListProposal>, PageLabellingError> {
        let (Some(json), Some(good), true) = (&self.known.template, &self.known.good, self.known.redesigned) else {
            return Ok(None);
        };
        let (candidates, doubt) = match self.stored_repair().filter(|_| help.finish.is_empty()) {
            Some(kept) => kept,
            None => {
                let Ok(template) = Template::from_json(json) else { return Ok(None) };
                let template = with_task_names(&template, &self.known.columns);
                (repair_with(&template, good, &self.tree, &help.finish)?, None)
            }
        };
        let proposal = ListProposal { candidates, said: help.clone(), repairs: true, doubt };
        Ok(Some(proposal).filter(|it| !it.candidates.is_empty()))
    }

    /// What was found at the run's end. What cannot be read is worked out again.
    fn stored_repair(&self) -> Option<(Vec<Candidate>, Option<String>)> {
        let kept = self.known.kept.as_ref()?;
        let candidate = |proposed: &RepairProposal| {
            let template = Template::from_json(&proposed.template).ok()?;
            let table = proposed.table.clone();
            let places: Vec<Span> = proposed.places.iter().map(|&(start, stop)| Span { start, stop }).collect();
            let fits = table.columns.len() == template.columns().len() && places.len() == table.rows.len();
            let method = Finder::from_name(&proposed.method)?.name();
            // A list that had reached a limit was not kept.
            fits.then_some(Candidate { method, score: proposed.score, template, table, row_spans: places, limit: None })
        };
        let candidates: Option<Vec<Candidate>> = kept.proposals.iter().map(candidate).collect();
        Some((candidates.filter(|it| !it.is_empty())?, kept.doubt.clone()))
    }

    /// Takes one more step in the cut of a candidate's rows, or none: then the steps so far are undone.
    pub fn adjust(
        &self,
        before: &ListProposal,
        pick: usize,
        step: Option<RowAdjustment>,
    ) -> Result<ListProposal, PageLabellingError> {
        let mut said = before.said.clone();
        if said.finish.candidate != pick || step.is_none() {
            said.finish.adjust.clear();
        }
        said.finish.candidate = pick;
        said.finish.adjust.extend(step);
        self.propose(&said)
    }

    /// Names for a candidate's columns: carried over from the published columns where the values are the same, otherwise
    /// the candidate's own. Columns that are hidden at first have none.
    pub fn names(&self, proposal: &ListProposal, pick: usize) -> Vec<Option<String>> {
        let candidate = &proposal.candidates[pick];
        let columns = candidate.template.columns();
        let mut names: Vec<Option<String>> =
            columns.iter().map(|column| (!column.hidden).then(|| column.name.clone())).collect();
        let is_named = !proposal.said.labels.is_empty() || !proposal.said.finish.columns.is_empty();
        if proposal.repairs || is_named && !self.known.redesigned {
            // They have their names already: from before, or from the person.
            return names;
        }
        let Some(old) = self.known.good.as_ref().filter(|old| !old.rows.is_empty()) else { return names };
        let made = self.transformed_columns();
        let carried = match_columns(old, &candidate.table);
        let sources = match_transformed_columns(old, &candidate.table, &made);
        if !carried.is_empty() || !sources.is_empty() {
            // What was published before is what is wanted again, and what a person has just named; nothing more, nothing less.
            if !is_named {
                names.fill(None);
            }
            let is_made = |name: &String| made.iter().any(|(_, made)| made.contains(name));
            let carried = carried.into_iter().map(|(new, column)| (new, old.columns[column].clone()));
            let carried = carried.filter(|(_, name)| !is_made(name)).chain(sources);
            // What the person has just cut or joined is not what was published; what came of it is wanted.
            let steps = proposal.steps_of(pick);
            let is_gone = |at: usize| columns[at].hidden && steps.iter().any(|step| step.consumes(&columns[at].name));
            let comes = |at: &usize| !columns[*at].hidden && steps.iter().any(|step| step.produces(&columns[*at].name));
            let fresh = (0..columns.len()).filter(comes).map(|at| (at, columns[at].name.clone()));
            for (new, name) in carried.filter(|(new, _)| !is_gone(*new)).chain(fresh) {
                if names[new].is_none() && !names.iter().flatten().any(|it| *it == name) {
                    names[new] = Some(name);
                }
            }
        }
        names
    }

    /// Columns that task.toml cuts or joins, each with the published columns that come of it.
    fn transformed_columns(&self) -> Vec<(String, Vec<String>)> {
        ColumnTransform::new(&self.known.columns).map(|shape| shape.transformed_slots()).unwrap_or_default()
    }
}

/// A kept page, parsed.
pub fn parse_page(charset: &str, page: &PageMeta, body: &[u8]) -> Tree {
    let header = page.header("content-type").and_then(charset::from_content_type);
    let said = Some(charset).filter(|&it| it != "auto").or(header);
    Tree::parse(&charset::decode(body, said).text)
}
