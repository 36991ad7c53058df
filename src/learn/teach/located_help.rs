//! Learns a page with a person's help: locates it on the page, ranks the row sets that agree with it, applies edits.

use std::collections::HashSet;

use super::edits::apply_edits;
use super::enclose::{self, THRESHOLD};
use super::error::HelpError;
use super::help::{Block, Help};
use super::label::{self, LabelledRecord, Meaning, PageText, ValueLabel};
use crate::learn::apply::fit;
use crate::learn::candidates::{Candidate, LearnOptions, candidate, learn, shown_row_sets};
use crate::learn::rank::{self, RankedRowSet};
use crate::learn::rows::{RowSet, apply_adjustments, row_sets, rows_by_rule};
use crate::learn::template::{RowAdjustment, RowRule, compile_pattern};
use crate::learn::view::{PageView, PathInterner};
use crate::model::{Row, Table};
use crate::page::tokens::{Span, TokenKind};
use crate::page::{NodeId, Selector, Tree};

/// Maximum number of row sets that are turned into candidates, so that their columns can be compared with the labels.
const MAX_TAUGHT: usize = 8;
/// Number of best row sets that are also tried without the rows that lack a constant.
const MAX_FILTERED: usize = 20;
/// Minimum overlap of text at which a row counts as the enclosed block, as for different cuts of one list.
const SAME_ROW_OVERLAP: f64 = 0.8;
/// Minimum share of rows that are similar to the block; atypical records and advertisements are the rest.
const MIN_ALIKE_SHARE: f64 = 0.8;

// Weights of help against the score of the row set, which is a sum of logarithms: 0.7 is “twice as good”. Help does not
// simply come first: one label of four may be a category above the rows, and then the right rows lack it. On
// autoevolution-makers the groups under one letter have all four labels and score 1.6 less than the makers.
const LABELLED_WEIGHT: f64 = 5.0;
const NAMED_WEIGHT: f64 = 1.0;
const ENCLOSED_WEIGHT: f64 = 10.0;
/// Penalty for rows made by matching: right on 84 % of pages, the offered lists on 93 % (docs/design/learning.md 4).
/// Rows cut from tokens have the same penalty (2.3). Rows from labelled paths have none: that broke two pages of 66.
const MATCHED_PENALTY: f64 = 1.5;
/// Lower bound for scores. A single row scores -20 and below, but is a record if a person encloses it.
const MIN_SCORE: f64 = -8.0;
/// Scores that differ by less than this are considered equal.
const SCORE_TOLERANCE: f64 = 1.0;

/// Like [`learn`], with a person's help: candidates that agree with it come first. The error names the text that is not
/// on the page. A block that is enclosed on a further page is another format of the same list: a variant of the
/// template.
pub fn learn_with(pages: &[Tree], options: &LearnOptions, help: &Help) -> Result<Vec<Candidate>, HelpError> {
    if help.is_empty() {
        return Ok(learn(pages, options));
    }
    let (first, further) = pages.split_first().ok_or(HelpError::NoPage)?;
    let view = PageView::new(first);
    let text = PageText::new(&view);
    let is_here = |block: &&Block| further.is_empty() || find_block(&text, block).is_ok();
    let (here, elsewhere): (Vec<&Block>, Vec<&Block>) = help.enclosed.iter().partition(is_here);
    if !elsewhere.is_empty()
        && elsewhere.len() == help.enclosed.len()
        && help.labels.is_empty()
        && help.records.is_empty()
    {
        return learn_with(further, options, help);
    }
    let enclosed: Vec<Block> = elsewhere.into_iter().cloned().collect();
    let other_format = Help { enclosed, threshold: help.threshold, ..Help::default() };
    let further_views: Vec<PageView<'_>> = further.iter().map(PageView::new).collect();
    let mut candidates = LocatedHelp::new(&text, help, &here)?.candidates(&further_views, options)?;
    if other_format.enclosed.is_empty() {
        return Ok(candidates);
    }
    let others = learn_with(further, options, &other_format)?;
    if let (Some(mine), Some(other)) = (candidates.first_mut(), others.first()) {
        enclose::join(&mut mine.template, &other.template);
        mine.table.columns = mine.template.column_names();
        mine.table.rows.iter_mut().for_each(|row| row.cells.resize(mine.table.columns.len(), None));
    }
    Ok(candidates)
}

/// A person's help with its positions on the page.
struct LocatedHelp<'a, 't> {
    view: &'a PageView<'t>,
    offered: Vec<RankedRowSet>,
    blocks: Vec<Span>,
    instances: Vec<LabelledRecord>,
    help: &'a Help,
}

/// A candidate and the rows it was learned from.
struct TaughtCandidate {
    candidate: Candidate,
    set: RowSet,
}

impl<'a, 't> LocatedHelp<'a, 't> {
    fn new(text: &PageText<'a, 't>, help: &'a Help, blocks: &[&Block]) -> Result<LocatedHelp<'a, 't>, HelpError> {
        let view = text.view;
        let instances = instances(text, help)?;
        let places: Vec<(&Block, Vec<Span>)> =
            blocks.iter().map(|&block| Ok((block, find_block(text, block)?))).collect::<Result<_, HelpError>>()?;
        let offered = rank::rank(view, row_sets(view));
        let block = |(block, places): (&Block, Vec<Span>)| match block {
            Block::Text(_) => enclosing_block(view, &places, &offered),
            Block::Css(_) | Block::Nodes(..) => places[0],
        };
        let blocks = places.into_iter().map(block).collect();
        Ok(LocatedHelp { view, offered, blocks, instances, help })
    }

    fn candidates(mut self, further: &[PageView<'_>], options: &LearnOptions) -> Result<Vec<Candidate>, HelpError> {
        let mut taught = if self.help.locates_list() {
            self.best_agreeing(further, options)
        } else {
            shown_row_sets(self.view, options).into_iter().map(|it| self.teach(it, None, further)).collect()
        };
        if let Some(rule) = &self.help.rows {
            taught.insert(0, self.teach_rule(rule, further)?);
            taught.truncate(options.top);
        }
        if !self.help.finish.is_empty() {
            self.apply_edits(&mut taught, further)?;
        }
        Ok(taught.into_iter().map(|it| it.candidate).collect())
    }

    /// The row sets that agree best with the help, as candidates.
    fn best_agreeing(&mut self, further: &[PageView<'_>], options: &LearnOptions) -> Vec<TaughtCandidate> {
        self.view.take_limit();
        let made = self.constructed_row_sets();
        let matched = self.view.take_limit();
        let made_rows: HashSet<Vec<Span>> = made.iter().map(|set| set.rows.clone()).collect();
        let mut ranked = std::mem::take(&mut self.offered);
        ranked.extend(rank::rank(self.view, made));
        for it in &mut ranked {
            let is_matched = !self.blocks.is_empty() && made_rows.contains(&it.set.rows);
            it.score =
                it.score.max(MIN_SCORE) + self.agreement(&it.set) - if is_matched { MATCHED_PENALTY } else { 0.0 };
        }
        ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
        let shown = rank::select_candidates(&self.view.tokens, ranked, options.top.max(MAX_TAUGHT));
        let mut taught: Vec<TaughtCandidate> = Vec::new();
        for it in shown {
            let is_made = made_rows.contains(&it.set.rows);
            let mut it = self.teach(it, None, further);
            if is_made {
                it.candidate.method = if self.blocks.is_empty() { "labelled" } else { "enclosed" };
                it.candidate.limit = it.candidate.limit.or(matched);
            }
            taught.push(it);
        }
        taught.sort_by(|a, b| b.candidate.score.total_cmp(&a.candidate.score));
        prefer_repeatable(self.view, &mut taught);
        if let Some(first) = taught.first_mut() {
            self.split_formats(first, further);
        }
        taught.truncate(options.top);
        taught
    }

    /// Row sets built from the help that are not among those of the finders.
    fn constructed_row_sets(&self) -> Vec<RowSet> {
        let mut seen: HashSet<Vec<Span>> = self.offered.iter().map(|it| it.set.rows.clone()).collect();
        let mut sets: Vec<RowSet> = Vec::new();
        if !self.blocks.is_empty() {
            sets.extend(enclose::row_sets(self.view, &self.blocks, self.threshold()));
        }
        if !self.instances.is_empty() {
            sets.extend(label::row_sets(self.view, &self.instances));
        }
        let offered: Vec<&RowSet> = self.offered.iter().take(MAX_FILTERED).map(|it| &it.set).collect();
        sets.extend(label::with_constants(&offered, &self.instances));
        sets.retain(|set| seen.insert(set.rows.clone()));
        sets
    }

    /// Bonus of a row set for agreeing with the help.
    fn agreement(&self, set: &RowSet) -> f64 {
        let held: f64 = self.blocks.iter().map(|&block| block_overlap(self.view, &set.rows, block)).sum();
        let alike = if held > 0.0 {
            enclose::matching_share(self.view, &self.blocks, &set.rows, self.threshold())
        } else {
            0.0
        };
        let alike = if alike >= MIN_ALIKE_SHARE { 1.0 } else { alike };
        // A list with the block as a row gets half of the bonus even if no other row is similar: results of several
        // kinds.
        let enclosed = held * (0.5 + 0.5 * alike) / self.blocks.len().max(1) as f64;
        ENCLOSED_WEIGHT * enclosed + LABELLED_WEIGHT * label::labelled_share(set, &self.instances)
    }

    fn teach_rows(&self, set: RowSet, rule: Option<RowRule>, further: &[PageView<'_>]) -> TaughtCandidate {
        self.teach(rank::measure_all(self.view, vec![set]).remove(0), rule, further)
    }

    fn teach(&self, it: RankedRowSet, rule: Option<RowRule>, further: &[PageView<'_>]) -> TaughtCandidate {
        let set = it.set.clone();
        let mut candidate = candidate(rule, self.view, it, further, &mut PathInterner::default());
        if !self.help.labels.is_empty() {
            candidate.score += NAMED_WEIGHT * label::name_columns(&mut candidate, &set.rows, &self.instances);
            label::hide_wildcards(&mut candidate, &self.help.labels);
        }
        TaughtCandidate { candidate, set }
    }

    /// If the blocks have several formats, each format becomes a variant.
    fn split_formats(&self, taught: &mut TaughtCandidate, further: &[PageView<'_>]) {
        let Some(parts) = enclose::rows_by_format(self.view, &self.blocks, &taught.set.rows, self.threshold()) else {
            return;
        };
        let mut rows: Vec<(Span, Row)> = Vec::new();
        let mut whole: Option<Candidate> = None;
        for part in parts {
            let set = RowSet { rows: part.clone(), ..taught.set.clone() };
            let one = self.teach_rows(set, None, further).candidate;
            let places = match &mut whole {
                None => (0..one.table.columns.len()).collect(),
                Some(whole) => enclose::join(&mut whole.template, &one.template),
            };
            let width = whole.as_ref().map_or(places.len(), |it| it.template.columns().len());
            rows.extend(part.into_iter().zip(one.table.rows.iter().map(|row| remap_row(row, &places, width))));
            whole.get_or_insert(one);
        }
        let Some(mut whole) = whole else { return };
        rows.sort_by_key(|(place, _)| *place);
        whole.row_spans = rows.iter().map(|(place, _)| *place).collect();
        let columns = whole.template.column_names();
        let mut rows: Vec<Row> = rows.into_iter().map(|(_, row)| row).collect();
        rows.iter_mut().for_each(|row| row.cells.resize(columns.len(), None));
        whole.table = Table { columns, rows };
        whole.method = taught.candidate.method;
        whole.score = taught.candidate.score;
        taught.candidate = whole;
    }

    /// A candidate with the rows that a selector or regular expression gives.
    fn teach_rule(&self, rule: &RowRule, further: &[PageView<'_>]) -> Result<TaughtCandidate, HelpError> {
        let said = match rule {
            RowRule::Css(css) => Selector::parse(css).map(|_| css.clone())?,
            RowRule::Pattern(text) if compile_pattern(text).is_err() => return Err(HelpError::Pattern(text.clone())),
            RowRule::Pattern(text) => text.clone(),
            RowRule::Adjusted(steps) => format!("{steps:?}"),
        };
        let set = rows_by_rule(rule, self.view).filter(|set| !set.rows.is_empty());
        let set = set.ok_or(HelpError::NoMatch(said))?;
        let mut taught = self.teach_rows(set, Some(rule.clone()), further);
        taught.candidate.method = "told";
        Ok(taught)
    }

    /// Applies the edits to one of the candidates: first to its rows, then to its columns.
    fn apply_edits(&self, taught: &mut [TaughtCandidate], further: &[PageView<'_>]) -> Result<(), HelpError> {
        let wanted = &self.help.finish;
        let (most, given) = (taught.len(), wanted.candidate.saturating_add(1));
        let it = taught.get_mut(wanted.candidate).ok_or(HelpError::NoCandidate { given, most })?;
        if !wanted.adjust.is_empty() {
            let not_possible = |step: RowAdjustment| HelpError::NotPossible(given, step.past_participle());
            let (set, steps) = apply_adjustments(self.view, &it.set, &wanted.adjust).map_err(not_possible)?;
            *it = self.teach_rows(set, Some(RowRule::Adjusted(steps)), further);
            it.candidate.method = "adjusted";
        }
        apply_edits(self.view, &mut it.candidate, &it.set.rows, wanted, !self.help.labels.is_empty())
    }

    fn threshold(&self) -> f64 {
        self.help.threshold.unwrap_or(THRESHOLD)
    }
}

/// A row with its cells moved to the columns of a joined template.
fn remap_row(row: &Row, places: &[usize], width: usize) -> Row {
    let mut cells = vec![None; width];
    for (cell, &place) in row.cells.iter().zip(places) {
        cells[place].clone_from(cell);
    }
    Row { cells, page: row.page }
}

/// The labelled and the clicked records. A constant belongs to each of them, a wildcard to the nearest.
fn instances(text: &PageText<'_, '_>, help: &Help) -> Result<Vec<LabelledRecord>, HelpError> {
    let found = |label: ValueLabel| match text.positions(&label.text) {
        places if places.is_empty() => Err(HelpError::NotOnPage(label.text)),
        places => Ok((label, places)),
    };
    let (values, signs): (Vec<ValueLabel>, Vec<ValueLabel>) =
        help.labels.iter().cloned().partition(|label| matches!(label.meaning, Meaning::Variable(_)));
    let clicked = help.records.iter().map(|text| vec![ValueLabel { meaning: Meaning::Wildcard, text: text.clone() }]);
    let mut instances = label::group_by_record(&values)
        .into_iter()
        .chain(clicked)
        .map(|labels| Ok(LabelledRecord { labels: labels.into_iter().map(found).collect::<Result<_, _>>()? }))
        .collect::<Result<Vec<LabelledRecord>, HelpError>>()?;
    for sign in signs {
        label::attach(&mut instances, found(sign)?);
    }
    Ok(instances)
}

/// The block that a text means. A text inside one element only shows where the record is; then the block is the row
/// around it in the best list that has it (the same name may also be in a side bar).
fn enclosing_block(view: &PageView<'_>, places: &[Span], ranked: &[RankedRowSet]) -> Span {
    let texts = |place: &Span| view.tokens.slice(*place).iter().filter(|token| token.kind == TokenKind::Text).count();
    let short: Vec<Span> = places.iter().copied().filter(|place| texts(place) <= 1).collect();
    let holds = |row: &&Span| short.iter().any(|place| row.start <= place.start && place.stop <= row.stop);
    let row = ranked.iter().find_map(|it| it.set.rows.iter().find(holds));
    row.copied().unwrap_or_else(|| enclose::block_around(view, places[0]))
}

/// The positions of the block, or of the text in it; at least one.
fn find_block(text: &PageText<'_, '_>, block: &Block) -> Result<Vec<Span>, HelpError> {
    let view = text.view;
    let tree = view.tree();
    match block {
        Block::Text(wanted) => match text.positions(wanted) {
            places if places.is_empty() => Err(HelpError::NotOnPage(wanted.clone())),
            places => Ok(places),
        },
        Block::Css(css) => {
            let node = Selector::parse(css)?.first(tree, tree.root());
            let span = node.map(|node| view.span(node)).filter(|&span| view.tokens.weight(span) > 0);
            Ok(vec![span.ok_or_else(|| HelpError::NoMatch(css.clone()))?])
        }
        Block::Nodes(first, last) if last.index() < tree.len() && first.index() < tree.len() => {
            let (from, to) = (view.span(*first), view.span(*last));
            let part = Span { start: from.start.min(to.start), stop: from.stop.max(to.stop) };
            let is_shown = view.tokens.weight(part) > 0;
            is_shown.then(|| vec![enclose::block_around(view, part)]).ok_or_else(|| no_nodes(*first, *last))
        }
        Block::Nodes(first, last) => Err(no_nodes(*first, *last)),
    }
}

fn no_nodes(first: NodeId, last: NodeId) -> HelpError {
    HelpError::NoMatch(format!("nodes {} to {}", first.0, last.0))
}

/// The largest overlap of a row with the block; 1 if they are nearly the same.
fn block_overlap(view: &PageView<'_>, rows: &[Span], block: Span) -> f64 {
    let share = |&row: &Span| {
        let both = Span { start: row.start.max(block.start), stop: row.stop.min(block.stop) };
        let shared = if both.start < both.stop { view.tokens.weight(both) } else { 0 };
        let all = view.tokens.weight(row) + view.tokens.weight(block) - shared;
        f64::from(shared) / f64::from(all.max(1))
    };
    let best = rows.iter().map(share).fold(0.0, f64::max);
    if best >= SAME_ROW_OVERLAP { 1.0 } else { best }
}

/// Prefers a candidate that finds most of its own rows on its own page: if the first does not, the next one with nearly
/// the same score that does comes first.
fn prefer_repeatable(view: &PageView<'_>, taught: &mut [TaughtCandidate]) {
    let Some(best) = taught.first().map(|it| it.candidate.score) else { return };
    let near = taught.iter().take_while(|it| it.candidate.score >= best - SCORE_TOLERANCE).count();
    let finds_itself = |TaughtCandidate { candidate, .. }: &TaughtCandidate| {
        let found = fit(&candidate.template, view).map_or(0, |fit| fit.rows.len());
        found as f64 >= MIN_ALIKE_SHARE * candidate.table.rows.len() as f64
    };
    if let Some(place) = taught[..near].iter().position(finds_itself) {
        taught[..=place].rotate_right(1);
    }
}
