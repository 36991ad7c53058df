//! Segmentation by probability: the most likely records and columns under a model that is learned from the page by EM.
//!
//! The paper's variables: Rᵢ is the record of an extract, Cᵢ its column, Sᵢ whether a record starts there, Tᵢ the types
//! of its words, Dᵢ the detail pages it occurs on, π the length of a record. A record is a run of extracts, so the sums
//! are over runs, as in a semi-Markov model.

use super::constraints::{Segmentation, first_guess};
use super::model::{ExpectedCounts, MAX_PERIOD, Model};
use super::observe::ListExtract;

/// Rounds of EM. This bound and the probabilities below were not tuned.
const ROUNDS: usize = 6;
/// P(an extract of a record is not on the record's detail page): lists and detail pages sometimes disagree.
const MISS_PROBABILITY: f64 = 0.02;
/// P(an extract belongs to no record) times P(its eight types), each of which is as likely as not.
const STRAY_PROBABILITY: f64 = 0.01 / 256.0;
/// P(a detail page has no record in the list, or none that is visible).
const SKIP_PROBABILITY: f64 = 0.05;
/// Runs with a lower probability are not counted.
const MIN_PROBABILITY: f64 = 1e-3;

pub fn segment(extracts: &[ListExtract]) -> Segmentation {
    let order = page_order(extracts);
    let mut chain = Chain::new(extracts, &order);
    let mean = extracts.len() as f64 / order.len().max(1) as f64;
    let mut model = Model::new(mean.clamp(1.0, MAX_PERIOD as f64));
    for _ in 0..ROUNDS {
        chain.apply_model(&model);
        model = Model::from_counts(&chain.expected_counts(&model));
    }
    chain.apply_model(&model);
    chain.most_likely(&model, &order)
}

/// The detail pages in the order of their records, by the median of the extracts that the first guess assigns to each,
/// or of those seen on it if there are none. In the paper the order is given.
fn page_order(extracts: &[ListExtract]) -> Vec<usize> {
    let mut given: Vec<Vec<usize>> = Vec::new();
    let mut seen: Vec<Vec<usize>> = Vec::new();
    for (i, (extract, record)) in extracts.iter().zip(first_guess(extracts)).enumerate() {
        for page in extract.sightings.iter().map(|it| it.page) {
            given.resize(given.len().max(page + 1), Vec::new());
            seen.resize(given.len(), Vec::new());
            seen[page].push(i);
            if record == Some(page) {
                given[page].push(i);
            }
        }
    }
    let middle = |places: &[usize]| places.get(places.len() / 2).copied();
    let place = |page: usize| middle(&given[page]).or_else(|| middle(&seen[page])).map(|place| (place, page));
    let mut order: Vec<(usize, usize)> = (0..seen.len()).filter_map(place).collect();
    order.sort_unstable();
    order.into_iter().map(|(_, page)| page).collect()
}

/// The extracts as a chain of records, in the order of the detail pages. A state is a position between two extracts and
/// the number of the last record before it, 0 for none.
struct Chain<'a> {
    extracts: &'a [ListExtract],
    /// The records that each extract may belong to, counted from 1, ascending.
    possible_records: Vec<Vec<usize>>,
    records: usize,
    fits: Vec<([f64; super::model::MAX_COLUMNS], f64)>,
    /// For each extract, ln P of a record that starts there, by length.
    lengths: Vec<Vec<f64>>,
}

/// A possible record: a run of extracts from a given start.
struct RecordSpan {
    record: usize,
    length: usize,
    ln_chance: f64,
}

impl<'a> Chain<'a> {
    fn new(extracts: &'a [ListExtract], order: &[usize]) -> Chain<'a> {
        let mut number = vec![0; order.iter().max().map_or(0, |most| most + 1)];
        order.iter().enumerate().for_each(|(i, &page)| number[page] = i + 1);
        let records_of = |extract: &ListExtract| {
            let mut records: Vec<usize> = extract.sightings.iter().map(|it| number[it.page]).collect();
            records.sort_unstable();
            records
        };
        let may_be = extracts.iter().map(records_of).collect();
        Chain { extracts, possible_records: may_be, records: order.len(), fits: Vec::new(), lengths: Vec::new() }
    }

    fn apply_model(&mut self, model: &Model) {
        self.fits = model.fits(self.extracts);
        let lengths = |start: usize| {
            let mut lengths = model.ln_lengths(&self.fits[start..]);
            lengths.iter_mut().zip(model.ln_period).for_each(|(length, period)| *length += period);
            lengths
        };
        self.lengths = (0..self.extracts.len()).map(lengths).collect();
    }

    /// The records that may start at this extract: it is on their detail page, and so is at least about half of each
    /// run.
    fn stretches(&self, start: usize) -> impl Iterator<Item = RecordSpan> {
        self.possible_records[start].iter().flat_map(move |&record| {
            let mut seen = 0.0;
            let mut missed = 0;
            let stretch = move |length: usize| {
                let records = &self.possible_records[start + length - 1];
                let is_on = records.binary_search(&record).is_ok();
                seen += if is_on { -(records.len() as f64).ln() } else { MISS_PROBABILITY.ln() };
                missed += usize::from(!is_on);
                let ln_chance = seen + self.lengths[start][length];
                (missed * 2 <= length + 1).then_some(RecordSpan { record, length, ln_chance })
            };
            (1..self.lengths[start].len()).map_while(stretch)
        })
    }

    /// Forward pass: ln P of everything that leads to each state; with `max` as `join`, of the best way (Viterbi).
    fn forward(&self, join: fn(f64, f64) -> f64) -> Vec<Vec<f64>> {
        let n = self.extracts.len();
        let mut ahead = vec![vec![f64::NEG_INFINITY; self.records + 1]; n + 1];
        ahead[0][0] = 0.0;
        for place in 0..n {
            let opens = opening_scores(&ahead[place], join);
            let strays: Vec<f64> = ahead[place].iter().map(|state| state + STRAY_PROBABILITY.ln()).collect();
            ahead[place + 1].iter_mut().zip(strays).for_each(|(state, stray)| *state = join(*state, stray));
            for it in self.stretches(place) {
                let reached = &mut ahead[place + it.length][it.record];
                *reached = join(*reached, opens[it.record] + it.ln_chance);
            }
        }
        ahead
    }

    /// Backward pass: ln P of everything that leads from each state to the end.
    fn backward(&self) -> Vec<Vec<f64>> {
        let n = self.extracts.len();
        let mut behind = vec![vec![f64::NEG_INFINITY; self.records + 1]; n + 1];
        behind[n] = (0..=self.records).map(|record| (self.records - record) as f64 * SKIP_PROBABILITY.ln()).collect();
        for place in (0..n).rev() {
            let mut opened = vec![f64::NEG_INFINITY; self.records + 2];
            for it in self.stretches(place) {
                let there = it.ln_chance + behind[place + it.length][it.record];
                opened[it.record] = ln_add(opened[it.record], there);
            }
            let mut later = f64::NEG_INFINITY;
            for record in (0..=self.records).rev() {
                later = ln_add(opened[record + 1], later + SKIP_PROBABILITY.ln());
                behind[place][record] = ln_add(later, behind[place + 1][record] + STRAY_PROBABILITY.ln());
            }
        }
        behind
    }

    /// The E step: expected counts under the model.
    fn expected_counts(&self, model: &Model) -> ExpectedCounts {
        let ahead = self.forward(ln_add);
        let behind = self.backward();
        let all = behind.first().map_or(0.0, |start| start[0]);
        let mut counts = ExpectedCounts::new();
        for (place, ahead) in ahead.iter().enumerate().take(self.extracts.len()) {
            let opens = opening_scores(ahead, ln_add);
            let mut by_length = [0.0; MAX_PERIOD + 1];
            for it in self.stretches(place) {
                let chance = opens[it.record] + it.ln_chance + behind[place + it.length][it.record] - all;
                by_length[it.length] += chance.exp();
            }
            for (length, &weight) in by_length.iter().enumerate().filter(|it| *it.1 > MIN_PROBABILITY) {
                counts.period[length] += weight;
                let here = place..place + length;
                model.count(&self.extracts[here.clone()], &self.fits[here], weight, &mut counts);
            }
        }
        counts
    }

    /// The most likely records, and the most likely columns of each.
    fn most_likely(&self, model: &Model, order: &[usize]) -> Segmentation {
        let n = self.extracts.len();
        let mut segmentation = Segmentation { record_of: vec![None; n], column_of: vec![None; n], is_exact: true };
        let ahead = self.forward(f64::max);
        let to_end = |record: usize| ahead[n][record] + (self.records - record) as f64 * SKIP_PROBABILITY.ln();
        let mut last = (0..=self.records).fold(0, |best, it| if to_end(it) > to_end(best) { it } else { best });
        let mut stop = n;
        while stop > 0 {
            match self.backtrack(&ahead, stop, last) {
                Some((length, before)) => {
                    let start = stop - length;
                    let columns = model.columns(&self.fits[start..stop]);
                    for (i, column) in (start..stop).zip(columns) {
                        let is_on = self.possible_records[i].binary_search(&last).is_ok();
                        segmentation.record_of[i] = is_on.then(|| order[last - 1]);
                        segmentation.column_of[i] = is_on.then_some(column);
                        segmentation.is_exact &= is_on;
                    }
                    (stop, last) = (start, before);
                }
                None => {
                    segmentation.is_exact = false;
                    stop -= 1;
                }
            }
        }
        segmentation
    }

    /// The record that ends at this state on the most likely path: its length, and the record before it. `None` if the
    /// extract before this state belongs to no record.
    fn backtrack(&self, ahead: &[Vec<f64>], stop: usize, record: usize) -> Option<(usize, usize)> {
        let here = ahead[stop][record];
        if record == 0 || here <= ahead[stop - 1][record] + STRAY_PROBABILITY.ln() {
            return None;
        }
        let may_start = |start: &usize| self.possible_records[*start].binary_search(&record).is_ok();
        for start in (stop.saturating_sub(MAX_PERIOD)..stop).rev().filter(may_start) {
            let found = self.stretches(start).find(|it| it.record == record && it.length == stop - start);
            let Some(found) = found else { continue };
            let before =
                (0..record).map(|it| (ahead[start][it] + (record - it - 1) as f64 * SKIP_PROBABILITY.ln(), it));
            let before = before.fold((f64::NEG_INFINITY, 0), |best, it| if it.0 > best.0 { it } else { best });
            if before.0 + found.ln_chance >= here - 1e-6 {
                return Some((stop - start, before.1));
            }
        }
        None
    }
}

/// ln P of everything that opens each record at a position, from the states there.
fn opening_scores(states: &[f64], join: fn(f64, f64) -> f64) -> Vec<f64> {
    let mut opens = vec![f64::NEG_INFINITY; states.len()];
    for record in 1..states.len() {
        opens[record] = join(states[record - 1], opens[record - 1] + SKIP_PROBABILITY.ln());
    }
    opens
}

/// ln(eᵃ + eᵇ).
fn ln_add(a: f64, b: f64) -> f64 {
    let (high, low) = if a >= b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}
