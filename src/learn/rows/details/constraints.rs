//! Segmentation by constraint satisfaction. Every extract belongs to one record; the extracts of a record are
//! consecutive; no two extracts of a record have the same position on its detail page. Solved by local search in the
//! manner of WSAT(OIP).

use std::collections::HashMap;

use super::observe::ListExtract;

/// Maximum number of moves in each of the two rounds. A bound, not tuned: on satisfiable pages of up to 120 records the
/// search ended within a tenth of a second, the others use all moves.
const MAX_MOVES: usize = 10_000;
/// Share of moves, of 100, that choose a record at random instead of by gain. They lead out of local minima.
const NOISE: u64 = 8;
/// Number of moves for which a moved extract stays where it is.
const TABU: usize = 4;
/// Weight of a record in two runs, or of two extracts at one position, against an extract without a record.
const HARD_CONSTRAINT_WEIGHT: i64 = 4;
/// Maximum number of records that are tried for one extract in one move. They are chosen in turn, from a random start.
const MAX_CHOICES: usize = 24;
/// Number of extracts that the first guess looks ahead to choose between records.
const MAX_LOOKAHEAD: usize = 30;

/// The assignment of extracts to records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segmentation {
    /// The detail page of each extract's record.
    pub record_of: Vec<Option<usize>>,
    /// The column of each extract in its record; only from the probabilistic model.
    pub column_of: Vec<Option<usize>>,
    /// Whether no observation contradicts it.
    pub is_exact: bool,
}

impl Segmentation {
    /// The extracts of each record, records in the order of the list.
    pub fn records(&self) -> Vec<Vec<usize>> {
        let mut records: Vec<(usize, Vec<usize>)> = Vec::new();
        for (i, record) in self.record_of.iter().enumerate() {
            let Some(record) = *record else { continue };
            match records.last_mut() {
                Some((last, extracts)) if *last == record => extracts.push(i),
                _ => records.push((record, vec![i])),
            }
        }
        records.into_iter().map(|(_, extracts)| extracts).collect()
    }
}

/// Assigns the extracts to records. If not all constraints can hold, some extracts remain without a record (the paper's
/// relaxed form: every extract belongs to at most one record) and no other constraint is broken.
pub fn segment(extracts: &[ListExtract]) -> Segmentation {
    let mut search = LocalSearch::new(extracts, first_guess(extracts));
    let is_exact = search.run(false);
    if !is_exact {
        search.run(true);
        search.drop_unsatisfied();
    }
    Segmentation { column_of: vec![None; extracts.len()], record_of: search.record_of, is_exact }
}

struct LocalSearch<'a> {
    extracts: &'a [ListExtract],
    record_of: Vec<Option<usize>>,
    /// Number of extracts with a given text in a record.
    copies: HashMap<(u64, usize), usize>,
    /// Number of runs of consecutive extracts that each record consists of.
    stretches: Vec<i64>,
    /// Weighted sum of the broken constraints, plus the number of extracts without a record.
    cost: i64,
    /// The move in which each extract was moved last.
    last_moved: Vec<usize>,
    random_state: u64,
}

impl<'a> LocalSearch<'a> {
    fn new(extracts: &'a [ListExtract], guess: Vec<Option<usize>>) -> LocalSearch<'a> {
        let records = extracts.iter().filter_map(|it| it.sightings.last()).map(|it| it.page + 1).max().unwrap_or(0);
        let mut search = LocalSearch {
            extracts,
            record_of: vec![None; extracts.len()],
            copies: HashMap::new(),
            stretches: vec![0; records],
            cost: extracts.len() as i64,
            last_moved: vec![0; extracts.len()],
            random_state: 0x2545_f491_4f6c_dd1d,
        };
        search.assign_all(&guess);
        search
    }

    /// Runs the local search and keeps the best assignment. Returns whether all constraints hold. If relaxed, an
    /// extract may lose its record.
    fn run(&mut self, is_relaxed: bool) -> bool {
        let mut best = (self.cost, self.record_of.clone());
        self.last_moved.fill(0);
        for now in TABU + 1..MAX_MOVES {
            if self.cost == 0 {
                break;
            }
            let from = self.random_below(self.extracts.len());
            let around = (from..self.extracts.len()).chain(0..from);
            let Some(i) = around.into_iter().find(|&i| self.last_moved[i] + TABU < now && self.is_broken(i)) else {
                continue;
            };
            self.reassign(i, is_relaxed);
            self.last_moved[i] = now;
            if self.cost < best.0 {
                best = (self.cost, self.record_of.clone());
            }
        }
        self.assign_all(&best.1);
        self.cost == 0
    }

    /// Moves the extract to the record with the lowest cost, or sometimes to a random one.
    fn reassign(&mut self, i: usize, is_relaxed: bool) {
        let here = self.record_of[i];
        let pages = self.extracts[i].sightings.iter().map(|it| Some(it.page));
        let choices: Vec<Option<usize>> =
            pages.chain(is_relaxed.then_some(None)).filter(|&record| record != here).collect();
        if choices.is_empty() {
            return;
        }
        if self.random_below(100) < NOISE as usize {
            let any = choices[self.random_below(choices.len())];
            return self.assign(i, any);
        }
        let mut best = (i64::MAX, here);
        let first = self.random_below(choices.len());
        for at in 0..choices.len().min(MAX_CHOICES) {
            let choice = choices[(first + at) % choices.len()];
            self.assign(i, choice);
            if self.cost < best.0 {
                best = (self.cost, choice);
            }
        }
        self.assign(i, best.1);
    }

    fn is_broken(&self, i: usize) -> bool {
        match self.record_of[i] {
            None => true,
            Some(record) => self.stretches[record] > 1 || self.is_crowded(i, record),
        }
    }

    /// Whether the record has more extracts with this text than its page has positions for it.
    fn is_crowded(&self, i: usize, record: usize) -> bool {
        self.copies.get(&(self.extracts[i].text, record)).is_some_and(|&copies| copies > self.positions(i, record))
    }

    fn positions(&self, i: usize, record: usize) -> usize {
        self.extracts[i].sighting(record).map_or(0, |it| it.positions.len())
    }

    fn assign_all(&mut self, records: &[Option<usize>]) {
        for (i, &record) in records.iter().enumerate() {
            self.assign(i, record);
        }
    }

    fn assign(&mut self, i: usize, record: Option<usize>) {
        let before = self.record_of[..i].iter().rev().find_map(|&it| it);
        let after = self.record_of[i + 1..].iter().find_map(|&it| it);
        if let Some(old) = self.record_of[i] {
            self.count(i, old, -1);
            self.join(old, before, after, -1);
            self.cost += 1;
        }
        if let Some(new) = record {
            self.count(i, new, 1);
            self.join(new, before, after, 1);
            self.cost -= 1;
        }
        self.record_of[i] = record;
    }

    fn count(&mut self, i: usize, record: usize, change: isize) {
        let places = self.positions(i, record);
        let copies = self.copies.entry((self.extracts[i].text, record)).or_default();
        let crowded = copies.saturating_sub(places);
        *copies = copies.saturating_add_signed(change);
        self.cost += HARD_CONSTRAINT_WEIGHT * (copies.saturating_sub(places) as i64 - crowded as i64);
    }

    /// Updates the runs when an extract of `record` is inserted between its neighbours (or removed: -1).
    fn join(&mut self, record: usize, before: Option<usize>, after: Option<usize>, change: i64) {
        if before == Some(record) || after == Some(record) {
            // It extends a run. Between two extracts of its own record it neither splits nor joins anything.
            return;
        }
        self.stretch(record, change);
        if let (Some(before), true) = (before, before == after) {
            self.stretch(before, change);
        }
    }

    fn stretch(&mut self, record: usize, change: i64) {
        let broken = (self.stretches[record] - 1).max(0);
        self.stretches[record] += change;
        self.cost += HARD_CONSTRAINT_WEIGHT * ((self.stretches[record] - 1).max(0) - broken);
    }

    /// Removes extracts from their records until no other constraint is broken: a record keeps its longest run.
    fn drop_unsatisfied(&mut self) {
        for i in 0..self.extracts.len() {
            if self.record_of[i].is_some_and(|record| self.is_crowded(i, record)) {
                self.assign(i, None);
            }
        }
        let mut longest: HashMap<usize, (usize, usize)> = HashMap::new();
        let mut stretch_of = vec![0; self.extracts.len()];
        let mut lengths: Vec<usize> = vec![0];
        let mut last = None;
        for (i, record) in self.record_of.iter().enumerate().filter_map(|(i, record)| Some((i, (*record)?))) {
            if last != Some(record) {
                lengths.push(0);
            }
            last = Some(record);
            let stretch = lengths.len() - 1;
            stretch_of[i] = stretch;
            lengths[stretch] += 1;
            let best = longest.entry(record).or_insert((0, stretch));
            if lengths[stretch] > best.0 {
                *best = (lengths[stretch], stretch);
            }
        }
        for (i, stretch) in stretch_of.into_iter().enumerate() {
            if self.record_of[i].is_some_and(|record| longest[&record].1 != stretch) {
                self.assign(i, None);
            }
        }
    }

    /// A pseudo-random number below `bound`. The sequence is the same in every run of the program.
    fn random_below(&mut self, bound: usize) -> usize {
        self.random_state ^= self.random_state << 13;
        self.random_state ^= self.random_state >> 7;
        self.random_state ^= self.random_state << 17;
        (self.random_state % bound.max(1) as u64) as usize
    }
}

/// A greedy assignment from the start of the list: an extract stays with the previous record as long as possible, and
/// otherwise opens the record that continues longest.
pub fn first_guess(extracts: &[ListExtract]) -> Vec<Option<usize>> {
    let mut guess: Vec<Option<usize>> = Vec::with_capacity(extracts.len());
    let mut opened: Vec<usize> = Vec::new();
    let mut since: usize = 0;
    for (i, extract) in extracts.iter().enumerate() {
        let here = guess.last().copied().flatten();
        let copies = extracts[since..i].iter().filter(|it| it.text == extract.text).count();
        let stays = here.filter(|&record| extract.sighting(record).is_some_and(|it| it.positions.len() > copies));
        guess.push(stays.or_else(|| {
            since = i;
            let ahead = |page: usize| extracts[i..].iter().take(MAX_LOOKAHEAD).take_while(|it| it.is_on(page)).count();
            let pages = extract.sightings.iter().map(|it| it.page);
            let best = pages.max_by_key(|page| (!opened.contains(page), ahead(*page), usize::MAX - page))?;
            opened.push(best);
            Some(best)
        }));
    }
    guess
}
