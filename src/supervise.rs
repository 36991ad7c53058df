//! What a person teaches: choosing a candidate and naming its columns. The same for every way a person is asked.

mod carry;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use crate::config::Config;
use crate::extract::{Shape, ShapeError};
use crate::induce::adjust::Adjust;
use crate::induce::find::Finder;
use crate::induce::finish::one_of;
use crate::induce::help::{Help, HelpError};
use crate::induce::repair::{as_named, repair};
use crate::induce::template::Template;
use crate::induce::{self, Candidate, LearnOptions};
use crate::model::{Column, Outcome, PageMeta, PastRun, Proposed, Quarantine, RunId, Table, TaskName};
use crate::normalise::{Hints, infer};
use crate::page::{Tree, charset};
use crate::store::{Store, StoreError};
use crate::taskdir::{self, FileError, Label, LabelKind, Problem, Relabelling, TaskFolder};

use carry::{carry_over, sources};
use words::{kind, to_words, words_of_before};

/// Published rows that names are carried over from.
const COMPARED_ROWS: u64 = 1_000;
/// Runs that are looked through for a page to learn from.
const RUNS_LOOKED_AT: u32 = 50;
/// Bytes that a stored page may unpack to: a page was within the task's limit when it was fetched.
const MAX_UNPACKED: usize = 64 << 20;

/// What there is to choose from.
pub struct Proposal {
    pub run: RunId,
    pub page: PageMeta,
    pub candidates: Vec<Candidate>,
    /// The published rows, to compare with.
    pub last_good: Option<Table>,
    /// Columns that task.toml cuts or joins, each with the published columns that come of it.
    made: Vec<(String, Vec<String>)>,
    /// What a person said that the candidates follow: now, or earlier and still true of this page.
    pub said: Help,
    /// The site was redesigned: the candidates stand under the columns that there were, and the old shape stays readable.
    pub repairs: bool,
    /// What speaks against the first of them, where that was looked at when the run ended.
    pub doubt: Option<String>,
    body: Vec<u8>,
}

/// Lists that were found again, and what speaks against the first.
type Repaired = (Vec<Candidate>, Option<String>);

/// What a person chose.
pub struct Choice {
    /// Which candidate, from 0.
    pub pick: usize,
    /// For each column of the candidate: its name, or none when it is not wanted.
    pub names: Vec<Option<String>>,
    /// How long the person looked at it.
    pub seconds: Option<f64>,
}

#[derive(Debug, thiserror::Error)]
pub enum SuperviseError {
    #[error("`{0}` has not seen a page yet; run it first: pieme run {0}")]
    NoPage(TaskName),
    #[error("no list was found on {0}; is the right page reached? `pieme log` shows the steps")]
    NoList(String),
    #[error("there is no candidate {given}; choose 1 to {most}")]
    NoSuchCandidate { given: usize, most: usize },
    #[error("candidate {pick} has {has} columns, but {given} names were given")]
    NameCount { pick: usize, has: usize, given: usize },
    #[error("the column name `{0}` is given twice, in other letters; the same letters make one column of both")]
    NameTwice(String),
    #[error("at least one column must be kept")]
    NoColumns,
    #[error(transparent)]
    Help(#[from] HelpError),
    #[error("the stored page is damaged: {0}")]
    Page(std::io::Error),
    #[error("task.toml: {0}; {hint}", hint = .0.hint)]
    Shape(#[from] ShapeError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Folder(#[from] Problem),
}

impl From<FileError> for SuperviseError {
    fn from(error: FileError) -> SuperviseError {
        SuperviseError::Folder(error.into())
    }
}

/// Learns anew from the page that the task's last run saw, with what a person says now, or else with the newest of what was
/// said before that still stands on the page. What is done to a candidate now is done to one of those.
pub fn propose(config: &Config, folder: &TaskFolder, help: &Help) -> Result<Proposal, SuperviseError> {
    let store = Store::open_reader(&config.store)?;
    let (run, page, body) = last_page(&store, &folder.name)?;
    let pages = [tree(folder, &page, &body)];
    let made = Shape::new(&folder.task.columns)?.made_of_slots();
    let last_good = store.published(&folder.name, COMPARED_ROWS, 0)?.map(|it| it.table);
    let labels = taskdir::read_labels(&folder.dir)?;
    let (candidates, said) = match (help.is_empty(), help.only_finishes()) {
        (true, _) => match words_of_before(&pages, &labels) {
            // What a person said, and is still true of the page, says more than the last good rows.
            Some(found) => found,
            None => {
                if let Some((candidates, doubt)) = repaired(&store, folder, run, &pages[0], last_good.as_ref())? {
                    return Ok(Proposal {
                        run,
                        page,
                        candidates,
                        last_good,
                        made,
                        said: Help::default(),
                        repairs: true,
                        doubt,
                        body,
                    });
                }
                (induce::learn(&pages, &LearnOptions::default()), Help::default())
            }
        },
        (false, true) => {
            let said = words_of_before(&pages, &labels).map(|(_, said)| said).unwrap_or_default();
            taught(&pages, Help { finish: help.finish.clone(), ..said })?
        }
        (false, false) => taught(&pages, help.clone())?,
    };
    if candidates.is_empty() {
        return Err(SuperviseError::NoList(page.url.to_string()));
    }
    Ok(Proposal { run, page, candidates, last_good, made, said, repairs: false, doubt: None, body })
}

/// Where the page no longer looks like its template: the list found again by the last good rows. A template that nobody has
/// confirmed is not worth keeping.
fn repaired(
    store: &Store,
    folder: &TaskFolder,
    run: RunId,
    page: &Tree,
    last_good: Option<&Table>,
) -> Result<Option<Repaired>, SuperviseError> {
    let is_redesigned = store.run(run)?.and_then(|run| run.end).is_some_and(|(_, verdict)| {
        matches!(verdict.outcome, Outcome::Quarantined(Quarantine::Layout | Quarantine::Columns))
            && !verdict.provisional
    });
    let (Some(json), Some(good), true) = (&folder.template, last_good, is_redesigned) else { return Ok(None) };
    if let Some(kept) = kept(folder, run)? {
        return Ok(Some(kept));
    }
    let Ok(template) = Template::from_json(&json.text()) else { return Ok(None) };
    let template = as_named(&template, &folder.task.columns);
    Ok(Some((repair(&template, good, page), None)).filter(|(candidates, _)| !candidates.is_empty()))
}

/// What was found at the run's end. What cannot be read is worked out again.
fn kept(folder: &TaskFolder, run: RunId) -> Result<Option<Repaired>, SuperviseError> {
    let Some(kept) = taskdir::read_proposals(&folder.dir)?.filter(|kept| kept.run == run) else { return Ok(None) };
    let candidate = |proposed: Proposed| {
        let template = Template::from_json(&proposed.template).ok()?;
        let fits = proposed.table.columns.len() == template.columns().len();
        let method = Finder::named(&proposed.method)?.name();
        fits.then_some(Candidate { method, score: proposed.score, template, table: proposed.table })
    };
    let candidates: Option<Vec<Candidate>> = kept.mended.proposals.into_iter().map(candidate).collect();
    Ok(candidates.filter(|it| !it.is_empty()).map(|candidates| (candidates, kept.mended.doubt)))
}

fn taught(pages: &[Tree], help: Help) -> Result<(Vec<Candidate>, Help), HelpError> {
    Ok((induce::learn_with(pages, &LearnOptions::default(), &help)?, help))
}

/// The page that the task's last run saw, parsed.
pub fn last_tree(config: &Config, folder: &TaskFolder) -> Result<Tree, SuperviseError> {
    let store = Store::open_reader(&config.store)?;
    let (_, page, body) = last_page(&store, &folder.name)?;
    Ok(tree(folder, &page, &body))
}

fn last_page(store: &Store, name: &TaskName) -> Result<(RunId, PageMeta, Vec<u8>), SuperviseError> {
    // The page of a failed run is an error page or a log-in form: nobody's list.
    let reached = |run: &PastRun| !matches!(run.verdict.outcome, Outcome::Failed(_));
    for run in store.past(name, RUNS_LOOKED_AT)?.iter().filter(|run| reached(run)) {
        if let Some((page, packed)) = store.pages(run.run)?.into_iter().next() {
            let body = zstd::bulk::decompress(&packed, MAX_UNPACKED).map_err(SuperviseError::Page)?;
            return Ok((run.run, page, body));
        }
    }
    Err(SuperviseError::NoPage(name.clone()))
}

fn tree(folder: &TaskFolder, page: &PageMeta, body: &[u8]) -> Tree {
    let header = page.header("content-type").and_then(charset::from_content_type);
    let said = Some(folder.task.fetch.charset.as_str()).filter(|&it| it != "auto").or(header);
    Tree::parse(&charset::decode(body, said).text)
}

impl Proposal {
    /// Names for a candidate's columns: carried over from the published columns where the values are the same, otherwise
    /// the candidate's own. Columns that are hidden at first have none.
    pub fn names(&self, pick: usize) -> Vec<Option<String>> {
        let candidate = &self.candidates[pick];
        let columns = candidate.template.columns();
        let mut names: Vec<Option<String>> =
            columns.iter().map(|column| (!column.hidden).then(|| column.name.clone())).collect();
        if self.repairs || !self.said.labels.is_empty() || !self.said.finish.columns.is_empty() {
            // They have their names already: from before, or from the person.
            return names;
        }
        let Some(old) = self.last_good.as_ref().filter(|old| !old.rows.is_empty()) else { return names };
        let carried = carry_over(old, &candidate.table);
        let sources = sources(old, &candidate.table, &self.made);
        if !carried.is_empty() || !sources.is_empty() {
            // What was published before is what is wanted again; nothing more, nothing less.
            names.fill(None);
            let is_made = |name: &String| self.made.iter().any(|(_, made)| made.contains(name));
            for (new, old_column) in carried.into_iter().filter(|(_, column)| !is_made(&old.columns[*column])) {
                names[new] = Some(old.columns[old_column].clone());
            }
            for (new, name) in sources {
                names[new] = Some(name);
            }
        }
        names
    }

    /// Takes one more step in the cut of a candidate's rows, or none: then the steps so far are undone.
    pub fn adjust(&mut self, folder: &TaskFolder, pick: usize, step: Option<Adjust>) -> Result<(), SuperviseError> {
        let mut said = self.said.clone();
        if said.finish.candidate != pick || step.is_none() {
            said.finish.adjust.clear();
        }
        said.finish.candidate = pick;
        said.finish.adjust.extend(step);
        let pages = [tree(folder, &self.page, &self.body)];
        self.candidates = induce::learn_with(&pages, &LearnOptions::default(), &said)?;
        (self.repairs, self.doubt) = (false, None);
        self.said = said;
        Ok(())
    }

    /// The columns as task.toml will have them: those that it knows stay as a person wrote them, with those made of them; the
    /// others get the type that their values have.
    fn columns(
        &self,
        folder: &TaskFolder,
        candidate: &Candidate,
        names: &[Option<String>],
    ) -> Result<Vec<Column>, SuperviseError> {
        let tree = tree(folder, &self.page, &self.body);
        let lang = tree.elements("html").next().and_then(|html| tree.attribute(html, "lang"));
        let zone = folder.task.schedule.timezone;
        let hints = Hints::new(zone, self.page.fetched_at, Some(&self.page.url), lang);
        let before = Shape::new(&folder.task.columns)?;
        let mut columns = Vec::new();
        for (at, name) in names.iter().enumerate() {
            let Some(name) = name else { continue };
            let known = folder.task.columns.iter().find(|column| column.name == *name);
            columns.push(known.cloned().unwrap_or_else(|| {
                let is_shown = candidate.template.variants.iter().any(|variant| variant.reads_text(at));
                let values = candidate.table.rows.iter().filter_map(|row| row.cells.get(at)?.as_deref());
                Column { kind: infer::column(values, is_shown, &hints), ..Column::text(name) }
            }));
        }
        for (column, sources) in before.derived() {
            let has = |name: &str| columns.iter().any(|it: &Column| it.name == name);
            if sources.iter().all(|source| has(source)) && !has(&column.name) {
                columns.push(column.clone());
            }
        }
        Ok(columns)
    }

    /// Writes the choice into the task's folder: template, columns, labels and samples.
    pub fn accept(&self, folder: &TaskFolder, choice: &Choice, now: DateTime<Utc>) -> Result<(), SuperviseError> {
        let most = self.candidates.len();
        let candidate =
            self.candidates.get(choice.pick).ok_or(SuperviseError::NoSuchCandidate { given: choice.pick + 1, most })?;
        check_names(choice, candidate)?;
        let (candidate, names) = one_column_a_name(candidate, &choice.names);
        let mut template = candidate.template.clone();
        for (index, name) in names.iter().enumerate() {
            template.set_hidden(index, name.is_none());
            if let Some(name) = name {
                template.rename(index, name);
            }
        }
        let columns = self.columns(folder, &candidate, &names)?;
        let shape = Shape::new(&columns)?;
        let label = Label {
            when: now,
            kind: if self.repairs { LabelKind::Repair } else { kind(&self.said) },
            candidate: u32::try_from(choice.pick + 1).expect("at most five candidates are shown"),
            method: candidate.method.to_owned(),
            rows: candidate.table.rows.len() as u64,
            first_row: first_row(&candidate.table),
            columns: names.iter().flatten().cloned().collect(),
            seconds: choice.seconds.map(|it| (it * 10.0).round() / 10.0),
            said: to_words(&self.said),
        };
        let (json, expected) = (template.to_json(), shape.apply(candidate.table.under_names(&names)));
        let new = Relabelling {
            template: &json,
            label,
            columns: &columns,
            body: &self.body,
            expected: &expected,
            repairs: self.repairs,
        };
        Ok(taskdir::relabel(folder, new)?)
    }
}

fn check_names(choice: &Choice, candidate: &Candidate) -> Result<(), SuperviseError> {
    let has = candidate.template.columns().len();
    if choice.names.len() != has {
        return Err(SuperviseError::NameCount { pick: choice.pick + 1, has, given: choice.names.len() });
    }
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for name in choice.names.iter().flatten() {
        if *seen.entry(name.to_lowercase()).or_insert(name) != name {
            return Err(SuperviseError::NameTwice(name.clone()));
        }
    }
    if seen.is_empty() { Err(SuperviseError::NoColumns) } else { Ok(()) }
}

/// Columns that were given the same name become one, at the end: the first of them that a row has.
fn one_column_a_name(candidate: &Candidate, names: &[Option<String>]) -> (Candidate, Vec<Option<String>>) {
    let (mut candidate, mut names) = (candidate.clone(), names.to_vec());
    let given: BTreeSet<String> = names.iter().flatten().cloned().collect();
    for name in given {
        let columns: Vec<usize> = (0..names.len()).filter(|&i| names[i].as_ref() == Some(&name)).collect();
        if columns.len() > 1 {
            one_of(&mut candidate, &name, &columns);
            columns.iter().for_each(|&column| names[column] = None);
            names.push(Some(name));
        }
    }
    (candidate, names)
}

fn first_row(table: &Table) -> String {
    let cells = table.rows.first().map(|row| row.cells.iter().flatten().cloned().collect::<Vec<_>>());
    cells.unwrap_or_default().join(" | ").chars().take(200).collect()
}
