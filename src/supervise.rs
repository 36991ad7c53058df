//! What a person teaches: choosing a candidate and naming its columns. The same for every way a person is asked.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use chrono::{DateTime, Utc};

use crate::config::Config;
use crate::extract::{Shape, ShapeError};
use crate::induce::adjust::Adjust;
use crate::induce::find::Finder;
use crate::induce::finish::{Finish, one_of};
use crate::induce::help::{Block, Help, HelpError};
use crate::induce::label::{Labelled, Meaning};
use crate::induce::repair::{as_named, repair};
use crate::induce::template::Template;
use crate::induce::{self, Candidate, LearnOptions};
use crate::model::{Column, Outcome, PageMeta, PastRun, Proposed, Quarantine, RunId, Table, TaskName};
use crate::normalise::{Hints, infer};
use crate::page::{Tree, charset};
use crate::store::{Store, StoreError};
use crate::taskdir::{self, FileError, Label, LabelKind, Labels, Problem, Relabelling, Spoken, TaskFolder};

/// Equal values that two columns must share, and the share of the new column's values, to carry a name over.
const CARRY_MIN_VALUES: usize = 2;
const CARRY_MIN_SHARE: f64 = 0.3;
/// Texts of a column that are compared with all others.
const COMPARED_TEXTS: usize = 100;
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

/// Candidates under the newest words that still match the page.
fn words_of_before(pages: &[Tree], labels: &Labels) -> Option<(Vec<Candidate>, Help)> {
    let options = LearnOptions::default();
    let spoken = labels.labels.iter().rev().filter(|label| !label.said.is_empty()).map(to_help);
    let mut fitting = spoken.filter_map(|help| Some((induce::learn_with(pages, &options, &help).ok()?, help)));
    fitting.find(|(candidates, _)| !candidates.is_empty())
}

fn to_help(label: &Label) -> Help {
    let said = &label.said;
    let texts = said.enclose.iter().cloned().map(Block::Text);
    let sign = |meaning: Meaning| move |text: &String| Labelled { meaning: meaning.clone(), text: text.clone() };
    let values = said.label.iter().map(|(name, value)| Labelled::value(name, value));
    let constants = said.constant.iter().map(sign(Meaning::Constant));
    Help {
        enclosed: texts.chain(said.enclose_css.iter().cloned().map(Block::Css)).collect(),
        labels: values.chain(constants).chain(said.any.iter().map(sign(Meaning::Wildcard))).collect(),
        records: said.record.clone(),
        threshold: said.theta,
        rows: said.rows.clone(),
        finish: Finish {
            candidate: (label.candidate as usize).saturating_sub(1),
            adjust: said.adjust.clone(),
            columns: said.column.clone(),
            sheet: said.sheet.clone(),
        },
    }
}

/// What can be said again: texts and selectors. Node numbers are of one page only.
fn to_words(help: &Help) -> Spoken {
    let mut said = Spoken {
        record: help.records.clone(),
        theta: help.threshold,
        adjust: help.finish.adjust.clone(),
        rows: help.rows.clone(),
        column: help.finish.columns.clone(),
        sheet: help.finish.sheet.clone(),
        ..Spoken::default()
    };
    for block in &help.enclosed {
        match block {
            Block::Text(text) => said.enclose.push(text.clone()),
            Block::Css(css) => said.enclose_css.push(css.clone()),
            Block::Nodes(..) => {}
        }
    }
    for label in &help.labels {
        match &label.meaning {
            Meaning::Variable(name) => said.label.push((name.clone(), label.text.clone())),
            Meaning::Constant => said.constant.push(label.text.clone()),
            Meaning::Wildcard => said.any.push(label.text.clone()),
        }
    }
    said
}

fn kind(help: &Help) -> LabelKind {
    match help {
        Help { rows: Some(_), .. } => LabelKind::Tell,
        Help { finish, .. } if !finish.columns.is_empty() => LabelKind::Tell,
        Help { enclosed, .. } if !enclosed.is_empty() => LabelKind::Enclose,
        Help { labels, .. } if !labels.is_empty() => LabelKind::Label,
        Help { records, .. } if !records.is_empty() => LabelKind::Record,
        Help { finish, .. } if !finish.is_empty() => LabelKind::Adjust,
        Help { .. } => LabelKind::Pick,
    }
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

/// Columns of the page that task.toml cuts or joins are not published as they stand there: which new column is each of them, by
/// the texts that were made of it.
fn sources(old: &Table, new: &Table, made: &[(String, Vec<String>)]) -> Vec<(usize, String)> {
    let texts = |table: &Table, column: usize| -> Vec<String> {
        let cells = table.rows.iter().filter_map(|row| row.cells.get(column)?.clone());
        cells.filter(|text| !text.is_empty()).take(COMPARED_TEXTS).collect()
    };
    let mut found: Vec<(usize, String)> = Vec::new();
    for (name, outcomes) in made {
        let columns = (0..old.columns.len()).filter(|&column| outcomes.contains(&old.columns[column]));
        let before: Vec<Vec<String>> = columns.map(|column| texts(old, column)).collect();
        let likeness = |column: usize| {
            let now = texts(new, column);
            let has = |text: &String| {
                let holds = |old: &String| text.contains(old.as_str()) || old.contains(text.as_str());
                before.iter().all(|column| column.iter().any(holds))
            };
            let shared = now.iter().filter(|text| has(text)).count();
            let is_enough = shared >= CARRY_MIN_VALUES && shared as f64 >= now.len() as f64 * CARRY_MIN_SHARE;
            // The shortest that has it all: a whole row's text holds everything.
            (is_enough && !before.is_empty())
                .then(|| (shared, std::cmp::Reverse(now.iter().map(String::len).sum::<usize>())))
        };
        let free = (0..new.columns.len()).filter(|column| found.iter().all(|(taken, _)| taken != column));
        let best = free.filter_map(|column| Some((likeness(column)?, column))).max();
        found.extend(best.map(|(_, column)| (column, name.clone())));
    }
    found
}

/// Pairs (new column, old column) that share the most values, each used once.
fn carry_over(old: &Table, new: &Table) -> Vec<(usize, usize)> {
    let values = |table: &Table, column: usize| -> HashSet<String> {
        table.rows.iter().filter_map(|row| row.cells.get(column)?.clone()).collect()
    };
    let old_values: Vec<HashSet<String>> = (0..old.columns.len()).map(|column| values(old, column)).collect();
    let mut pairs = Vec::new();
    for new_column in 0..new.columns.len() {
        let mine = values(new, new_column);
        for (old_column, theirs) in old_values.iter().enumerate() {
            let shared = mine.intersection(theirs).count();
            if shared >= CARRY_MIN_VALUES && shared as f64 >= mine.len() as f64 * CARRY_MIN_SHARE {
                pairs.push((shared, new_column, old_column));
            }
        }
    }
    pairs.sort_by_key(|&(shared, new_column, old_column)| (std::cmp::Reverse(shared), new_column, old_column));
    let (mut used_new, mut used_old, mut carried) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    for (_, new_column, old_column) in pairs {
        if !used_new.contains(&new_column) && !used_old.contains(&old_column) {
            used_new.insert(new_column);
            used_old.insert(old_column);
            carried.push((new_column, old_column));
        }
    }
    carried.sort_unstable();
    carried
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Row;

    fn table(columns: &[&str], rows: &[&[&str]]) -> Table {
        Table {
            columns: columns.iter().map(|&it| it.to_owned()).collect(),
            rows: rows
                .iter()
                .map(|cells| Row {
                    cells: cells.iter().map(|&it| (!it.is_empty()).then(|| it.to_owned())).collect(),
                    page: 0,
                })
                .collect(),
        }
    }

    #[test]
    fn names_follow_the_values_into_the_new_layout() {
        let old = table(&["name", "price"], &[&["Oak chair", "95"], &["Pine desk", "240"], &["Lamp", "31"]]);
        let new = table(
            &["c1", "c2", "c3"],
            &[&["31", "in stock", "Lamp"], &["95", "in stock", "Oak chair"], &["120", "", "Shelf"]],
        );
        assert_eq!(carry_over(&old, &new), [(0, 1), (2, 0)]);
    }

    #[test]
    fn a_sample_expects_the_rows_that_a_person_chose() {
        let learned = table(&["c1", "c2", "c3"], &[&["31", "in stock", "Lamp"], &["95", "", "Oak chair"]]);
        let names = [Some("price".to_owned()), None, Some("name".to_owned())];
        assert_eq!(learned.under_names(&names), table(&["price", "name"], &[&["31", "Lamp"], &["95", "Oak chair"]]));
    }

    #[test]
    fn a_column_that_is_cut_is_found_again_by_its_pieces() {
        let old = table(&["book", "author", "price"], &[&["Emma", "Austen", "5"], &["Ulysses", "Joyce", "7"]]);
        let new = table(
            &["c1", "c2", "c3"],
            &[&["Ulysses by Joyce, 7", "7", "Ulysses by Joyce"], &["Emma by Austen, 5", "5", "Emma by Austen"]],
        );
        let made = [("line".to_owned(), vec!["book".to_owned(), "author".to_owned()])];
        assert_eq!(sources(&old, &new, &made), [(2, "line".to_owned())]);
    }

    #[test]
    fn one_chance_hit_carries_no_name() {
        let old = table(&["rank"], &[&["1"], &["2"]]);
        let new = table(&["c1"], &[&["1"], &["9"], &["8"]]);
        assert_eq!(carry_over(&old, &new), []);
    }
}
