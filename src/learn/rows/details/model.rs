//! Parameters of the probabilistic model: the length of a record, the order of columns, and the word types of each
//! column.

use super::observe::ListExtract;

/// Maximum number of extracts of one record.
pub const MAX_PERIOD: usize = 40;
/// Maximum number of columns. The last one also takes everything after it.
pub const MAX_COLUMNS: usize = 12;
const TYPES: usize = 8;

/// Added to every count, so that unseen events keep a probability above zero.
const SMOOTHING: f64 = 0.5;
/// Prior probability that the next column follows directly; a gap is less likely.
const NEXT_COLUMN: f64 = 0.7;

/// Probabilities of the model. Columns depend on whether the record is as long as most: the paper conditions them on
/// the exact length, but two classes need fewer examples.
pub struct Model {
    /// ln P(a record has this many extracts).
    pub ln_period: [f64; MAX_PERIOD + 1],
    /// P(column | previous column), for short and for full records.
    follows: [[[f64; MAX_COLUMNS]; MAX_COLUMNS]; 2],
    /// P(a word of this type is in an extract of this column).
    types: [[f64; TYPES]; MAX_COLUMNS],
    full: usize,
}

/// Expected counts, from which a model is estimated.
pub struct ExpectedCounts {
    pub period: [f64; MAX_PERIOD + 1],
    follows: [[[f64; MAX_COLUMNS]; MAX_COLUMNS]; 2],
    types: [[f64; TYPES]; MAX_COLUMNS],
    columns: [f64; MAX_COLUMNS],
}

impl ExpectedCounts {
    pub fn new() -> ExpectedCounts {
        let follows = [[[0.0; MAX_COLUMNS]; MAX_COLUMNS]; 2];
        let types = [[0.0; TYPES]; MAX_COLUMNS];
        ExpectedCounts { period: [0.0; MAX_PERIOD + 1], follows, types, columns: [0.0; MAX_COLUMNS] }
    }
}

impl Model {
    /// The initial model, which knows only the mean length of a record.
    pub fn new(mean_period: f64) -> Model {
        let mut period = [0.0; MAX_PERIOD + 1];
        for (length, chance) in period.iter_mut().enumerate().skip(1) {
            *chance = (-(length as f64 - mean_period).abs() / mean_period).exp();
        }
        let mut follows = [[0.0; MAX_COLUMNS]; MAX_COLUMNS];
        for (from, row) in follows.iter_mut().enumerate() {
            for (to, chance) in row.iter_mut().enumerate().filter(|&(to, _)| may_follow(from, to)) {
                *chance = NEXT_COLUMN * (1.0 - NEXT_COLUMN).powi(to.saturating_sub(from + 1) as i32);
            }
            normalise(row);
        }
        normalise(&mut period);
        Model {
            ln_period: period.map(f64::ln),
            follows: [follows; 2],
            types: [[0.5; TYPES]; MAX_COLUMNS],
            full: mean_period.round() as usize,
        }
    }

    /// The maximum likelihood estimate from the counts, smoothed.
    pub fn from_counts(counts: &ExpectedCounts) -> Model {
        let mut period = counts.period;
        period.iter_mut().skip(1).for_each(|count| *count += SMOOTHING);
        let full = (1..=MAX_PERIOD).fold(1, |best, it| if period[it] > period[best] { it } else { best });
        normalise(&mut period);
        let mut follows = counts.follows;
        for (from, row) in follows.iter_mut().flat_map(|class| class.iter_mut().enumerate()) {
            for (to, count) in row.iter_mut().enumerate().filter(|&(to, _)| may_follow(from, to)) {
                *count += SMOOTHING * NEXT_COLUMN.powi(to.saturating_sub(from) as i32);
            }
            normalise(row);
        }
        let mut types = counts.types;
        for (row, count) in types.iter_mut().zip(counts.columns) {
            row.iter_mut().for_each(|chance| *chance = (*chance + SMOOTHING) / (count + 2.0 * SMOOTHING));
        }
        Model { ln_period: period.map(f64::ln), follows, types, full }
    }

    fn length_class(&self, period: usize) -> usize {
        usize::from(period >= self.full)
    }

    /// For each extract: P(types | column) of each column relative to the largest, and the logarithm of the largest.
    pub fn fits(&self, extracts: &[ListExtract]) -> Vec<([f64; MAX_COLUMNS], f64)> {
        let fit = |extract: &ListExtract| {
            let mut fits = self.types.map(|chances| {
                let chance = |(bit, chance): (usize, &f64)| {
                    if has_type(extract, bit) { chance.ln() } else { (1.0 - chance).ln() }
                };
                chances.iter().enumerate().map(chance).sum::<f64>()
            });
            let most = fits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            fits.iter_mut().for_each(|fit| *fit = (*fit - most).exp());
            (fits, most)
        };
        extracts.iter().map(fit).collect()
    }

    /// ln P(types | a record of this many extracts starts here), for each length.
    pub fn ln_lengths(&self, fits: &[([f64; MAX_COLUMNS], f64)]) -> Vec<f64> {
        let longest = fits.len().min(MAX_PERIOD);
        let mut lengths = vec![f64::NEG_INFINITY; longest + 1];
        for class in 0..2 {
            let mut here = [0.0; MAX_COLUMNS];
            let mut scale = 0.0;
            for (at, (fit, most)) in fits[..longest].iter().enumerate() {
                here = if at == 0 { first_column(fit) } else { next_column(&here, &self.follows[class], fit) };
                scale += most;
                let sum: f64 = here.iter().sum();
                if sum <= 0.0 {
                    break;
                }
                // Rescaled, so that a product of forty factors does not underflow.
                here.iter_mut().for_each(|chance| *chance /= sum);
                scale += sum.ln();
                if self.length_class(at + 1) == class {
                    lengths[at + 1] = scale;
                }
            }
        }
        lengths
    }

    /// Adds the column probabilities of one record, times `weight`, to the counts (forward-backward).
    pub fn count(
        &self,
        extracts: &[ListExtract],
        fits: &[([f64; MAX_COLUMNS], f64)],
        weight: f64,
        counts: &mut ExpectedCounts,
    ) {
        let class = self.length_class(fits.len());
        let follows = &self.follows[class];
        let mut ahead = vec![first_column(&fits[0].0)];
        for (fit, _) in &fits[1..] {
            let mut next = next_column(&ahead[ahead.len() - 1], follows, fit);
            normalise(&mut next);
            ahead.push(next);
        }
        let mut behind = [1.0; MAX_COLUMNS];
        for at in (0..fits.len()).rev() {
            let mut here: [f64; MAX_COLUMNS] = std::array::from_fn(|column| ahead[at][column] * behind[column]);
            normalise(&mut here);
            for (column, chance) in here.iter().enumerate() {
                counts.columns[column] += weight * chance;
                for bit in (0..TYPES).filter(|&bit| has_type(&extracts[at], bit)) {
                    counts.types[column][bit] += weight * chance;
                }
            }
            if at == 0 {
                break;
            }
            let mut pairs = [[0.0; MAX_COLUMNS]; MAX_COLUMNS];
            let mut before = [0.0; MAX_COLUMNS];
            for (from, to) in column_pairs() {
                let chance = follows[from][to] * fits[at].0[to] * behind[to];
                pairs[from][to] = ahead[at - 1][from] * chance;
                before[from] += chance;
            }
            let all: f64 = pairs.iter().flatten().sum();
            if all > 0.0 {
                column_pairs().for_each(|(a, b)| counts.follows[class][a][b] += weight * pairs[a][b] / all);
            }
            normalise(&mut before);
            behind = before;
        }
    }

    /// The most likely columns of one record (Viterbi).
    pub fn columns(&self, fits: &[([f64; MAX_COLUMNS], f64)]) -> Vec<usize> {
        let follows = &self.follows[self.length_class(fits.len())];
        let mut best = vec![first_column(&fits[0].0)];
        let mut from: Vec<[usize; MAX_COLUMNS]> = vec![[0; MAX_COLUMNS]];
        for (fit, _) in &fits[1..] {
            let mut next = [0.0; MAX_COLUMNS];
            let mut came = [0; MAX_COLUMNS];
            for (a, b) in column_pairs() {
                let chance = best[best.len() - 1][a] * follows[a][b] * fit[b];
                if chance > next[b] {
                    (next[b], came[b]) = (chance, a);
                }
            }
            normalise(&mut next);
            best.push(next);
            from.push(came);
        }
        let last = &best[fits.len() - 1];
        let mut column = (0..MAX_COLUMNS).fold(0, |most, it| if last[it] > last[most] { it } else { most });
        let mut columns = Vec::with_capacity(fits.len());
        for came in from.iter().rev() {
            columns.push(column);
            column = came[column];
        }
        columns.reverse();
        columns
    }
}

/// A record starts with its first column, which occurs only there and is never missing (as in the paper).
fn first_column(fit: &[f64; MAX_COLUMNS]) -> [f64; MAX_COLUMNS] {
    std::array::from_fn(|column| if column == 0 { fit[0] } else { 0.0 })
}

fn next_column(
    here: &[f64; MAX_COLUMNS],
    follows: &[[f64; MAX_COLUMNS]; MAX_COLUMNS],
    fit: &[f64; MAX_COLUMNS],
) -> [f64; MAX_COLUMNS] {
    let mut next = [0.0; MAX_COLUMNS];
    for (from, to) in column_pairs() {
        next[to] += here[from] * follows[from][to] * fit[to];
    }
    next
}

fn column_pairs() -> impl Iterator<Item = (usize, usize)> {
    (0..MAX_COLUMNS).flat_map(|from| (1..MAX_COLUMNS).map(move |to| (from, to))).filter(|&(a, b)| may_follow(a, b))
}

fn may_follow(from: usize, to: usize) -> bool {
    to > from || to == MAX_COLUMNS - 1
}

fn has_type(extract: &ListExtract, bit: usize) -> bool {
    extract.types & (1 << bit) != 0
}

fn normalise(chances: &mut [f64]) {
    let sum: f64 = chances.iter().sum();
    if sum > 0.0 {
        chances.iter_mut().for_each(|chance| *chance /= sum);
    }
}
