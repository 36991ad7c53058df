//! PURE: labels one page: stored page, task context and a person's help → candidate lists → the accepted list.
//!
//! It runs in a sandboxed child (`worker/inspect.rs`): neither the daemon nor `pieme label` parses a page.

mod accept;
mod answer;
mod column_names;
mod record_key;

use std::slice;

use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use crate::learn;
use crate::learn::apply::{ColumnTransform, ColumnTransformError};
use crate::learn::repair::{repair_with, with_task_names};
use crate::learn::teach::{Help, HelpError, SpreadsheetStep};
use crate::learn::template::{Finder, RowAdjustment, Template};
use crate::learn::{Candidate, LearnOptions};
use crate::model::{Column, PageMeta, RepairProposal, RepairProposals, RunId, Table, counted};
use crate::page::tokens::Span;
use crate::page::{Tree, charset};

pub use accept::{AcceptedList, CandidateChoice};
pub use answer::{
    CandidateView, LabellingAnswer, LabellingFault, LabellingQuestion, LabellingRefusal, LabellingRequest, LineRef,
    MAX_OUTLINED_ROWS, MAX_SHOWN_CHARS, MAX_SHOWN_ROWS, ProposalView, answer, assign_names,
};

use column_names::{match_columns, match_transformed_columns};

/// The context of a labelling session: page, task and earlier labels.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LabellingContext {
    /// The run that fetched the page.
    pub run: RunId,
    pub page: PageMeta,
    /// Why this is not the page of the last run.
    pub stale: Option<String>,
    /// `fetch.charset` of task.toml.
    pub charset: String,
    pub timezone: Tz,
    pub columns: Vec<Column>,
    /// `data.key` of task.toml.
    pub key: Vec<String>,
    /// The task's template, as JSON text.
    pub template: Option<String>,
    /// The published rows, to compare with.
    pub good: Option<Table>,
    /// Help given for earlier pages, newest first.
    pub said: Vec<Help>,
    /// The page no longer looks like its template.
    pub redesigned: bool,
    /// The repair proposals computed at the end of the run.
    pub kept: Option<RepairProposals>,
}

/// A page being labelled.
pub struct PageLabeller {
    pub known: LabellingContext,
    /// The page as it was sent.
    pub body: Vec<u8>,
    tree: Tree,
}

/// The candidates to choose from.
#[derive(Clone)]
pub struct ListProposal {
    pub candidates: Vec<Candidate>,
    /// The help that the candidates follow: given now, or earlier and still valid for this page.
    pub said: Help,
    /// The site was redesigned: the candidates have the old column names, and the old variant stays in the template.
    pub repairs: bool,
    /// A reason against the first candidate, if the check at the end of the run found one.
    pub doubt: Option<String>,
}

impl ListProposal {
    /// The person's edits of a candidate's columns.
    fn steps_of(&self, pick: usize) -> &[SpreadsheetStep] {
        let finish = &self.said.finish;
        if finish.candidate == pick { &finish.sheet } else { &[] }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum PageLabellingError {
    #[error("no list was found on {0}; check with `pieme log` that the robot reached the right page")]
    NoList(String),
    #[error("{0}")]
    NotWhole(String),
    #[error("there is no candidate {given}; choose 1 to {most}")]
    NoSuchCandidate { given: usize, most: usize },
    #[error(
        "candidate {pick} has {} ({}), but {} given",
        counted(shown.len(), "column"), shown.join(", "), names_were(*given)
    )]
    NameCount { pick: usize, shown: Vec<String>, given: usize },
    #[error("the column name `{0}` is given twice in different case; write both alike to merge the columns")]
    NameTwice(String),
    #[error("at least one column must be kept")]
    NoColumns,
    #[error("there is no column `{name}` for the key; the list has {columns}")]
    NoKeyColumn { name: String, columns: String },
    #[error(
        "candidate {pick} cannot be published as it was shown: the template reads it differently ({difference}); \
         nothing was changed. Choose another candidate, or make its rows wider or narrower"
    )]
    NotAsShown { pick: usize, difference: String },
    #[error(transparent)]
    Help(#[from] HelpError),
    #[error("task.toml: {0}; {hint}", hint = .0.hint)]
    Columns(#[from] ColumnTransformError),
}

fn names_were(names: usize) -> String {
    format!("{} {}", counted(names, "name"), if names == 1 { "was" } else { "were" })
}

impl PageLabeller {
    pub fn new(known: LabellingContext, body: Vec<u8>) -> PageLabeller {
        let tree = parse_page(&known.charset, &known.page, &body);
        PageLabeller { known, body, tree }
    }

    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Lists by the help given now, or else by the newest earlier help that still fits the page. Edits given now apply
    /// to those lists.
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

    /// Without new help: earlier help that still fits comes before the last good rows, and these before the page alone.
    fn propose_unaided(&self, help: &Help) -> Result<ListProposal, PageLabellingError> {
        match self.propose_with_previous_help() {
            Some(before) if help.is_empty() => return Ok(before),
            Some(before) => return self.propose_with_help(Help { finish: help.finish.clone(), ..before.said }),
            None => {}
        }
        self.propose_repair(help)?.map_or_else(|| self.propose_with_help(help.clone()), Ok)
    }

    fn propose_with_help(&self, said: Help) -> Result<ListProposal, PageLabellingError> {
        let candidates = learn::learn_with(slice::from_ref(&self.tree), &LearnOptions::default(), &said)?;
        let candidates = self.read_back(candidates);
        Ok(ListProposal { candidates, said, repairs: false, doubt: None })
    }

    /// Candidates by the newest earlier help that still fits the page.
    fn propose_with_previous_help(&self) -> Option<ListProposal> {
        let fitting = |said: &Help| self.propose_with_help(said.clone()).ok().filter(|it| !it.candidates.is_empty());
        self.known.said.iter().find_map(fitting)
    }

    /// The repair of a redesigned page: the list found by the last good rows.
    fn propose_repair(&self, help: &Help) -> Result<Option<ListProposal>, PageLabellingError> {
        let (Some(json), Some(good), true) = (&self.known.template, &self.known.good, self.known.redesigned) else {
            return Ok(None);
        };
        let (candidates, doubt) = match self.stored_repair().filter(|_| help.finish.is_empty()) {
            Some(kept) => kept,
            None => {
                let Ok(template) = Template::from_json(json) else { return Ok(None) };
                let template = with_task_names(&template, &self.known.columns);
                (self.read_back(repair_with(&template, good, &self.tree, &help.finish)?), None)
            }
        };
        let proposal = ListProposal { candidates, said: help.clone(), repairs: true, doubt };
        Ok(Some(proposal).filter(|it| !it.candidates.is_empty()))
    }

    fn read_back(&self, candidates: Vec<Candidate>) -> Vec<Candidate> {
        candidates.into_iter().map(|candidate| candidate.read_back(&self.tree)).collect()
    }

    /// The repair computed at the end of the run; `None` if it cannot be read, and it is computed again.
    fn stored_repair(&self) -> Option<(Vec<Candidate>, Option<String>)> {
        let kept = self.known.kept.as_ref()?;
        let candidate = |proposed: &RepairProposal| {
            let template = Template::from_json(&proposed.template).ok()?;
            let table = proposed.table.clone();
            let places: Vec<Span> = proposed.places.iter().map(|&(start, stop)| Span { start, stop }).collect();
            let fits = table.columns.len() == template.columns().len() && places.len() == table.rows.len();
            let method = Finder::from_name(&proposed.method)?.name();
            // A list that reached a limit was not stored.
            fits.then_some(Candidate { method, score: proposed.score, template, table, row_spans: places, limit: None })
        };
        let candidates: Option<Vec<Candidate>> = kept.proposals.iter().map(candidate).collect();
        Some((candidates.filter(|it| !it.is_empty())?, kept.doubt.clone()))
    }

    /// Names for a candidate's columns: those of published columns with the same values, otherwise the candidate's own.
    /// Columns that are hidden at first have none.
    pub fn names(&self, proposal: &ListProposal, pick: usize) -> Vec<Option<String>> {
        let candidate = &proposal.candidates[pick];
        let columns = candidate.template.columns();
        let mut names: Vec<Option<String>> =
            columns.iter().map(|column| (!column.hidden).then(|| column.name.clone())).collect();
        let is_named = !proposal.said.labels.is_empty() || !proposal.said.finish.columns.is_empty();
        if proposal.repairs || is_named && !self.known.redesigned {
            // The columns are already named: by the repair, or by the person.
            return names;
        }
        let Some(old) = self.known.good.as_ref().filter(|old| !old.rows.is_empty()) else { return names };
        let made = self.transformed_columns();
        let carried = match_columns(old, &candidate.table);
        let sources = match_transformed_columns(old, &candidate.table, &made);
        if !carried.is_empty() || !sources.is_empty() {
            // Exactly the columns published before are wanted, and those that a person has just named.
            if !is_named {
                names.fill(None);
            }
            let is_made = |name: &String| made.iter().any(|(_, made)| made.contains(name));
            let carried = carried.into_iter().map(|(new, column)| (new, old.columns[column].clone()));
            let carried = carried.filter(|(_, name)| !is_made(name)).chain(sources);
            // A column that the person has just split or joined is replaced by the result.
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

    /// Columns that task.toml splits or joins, each with the published columns derived from it.
    fn transformed_columns(&self) -> Vec<(String, Vec<String>)> {
        ColumnTransform::new(&self.known.columns).map(|shape| shape.transformed_slots()).unwrap_or_default()
    }
}

/// The help that adjusts the rows of a candidate by one more step; without a step, all earlier steps are undone.
pub fn adjusted(said: &Help, pick: usize, step: Option<RowAdjustment>) -> Help {
    let mut said = said.clone();
    if said.finish.candidate != pick || step.is_none() {
        said.finish.adjust.clear();
    }
    said.finish.candidate = pick;
    said.finish.adjust.extend(step);
    said
}

/// Parses a stored page.
pub fn parse_page(charset: &str, page: &PageMeta, body: &[u8]) -> Tree {
    let header = page.header("content-type").and_then(charset::from_content_type);
    let said = Some(charset).filter(|&it| it != "auto").or(header);
    Tree::parse(&charset::decode(body, said).text)
}
