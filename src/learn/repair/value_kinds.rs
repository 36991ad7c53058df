//! Profile of a column's values: fill rate, length, kinds and shapes.

use foldhash::{HashMap, HashMapExt, HashSet};

use super::record_linkage::PreviousRows;
use crate::learn::candidates::Candidate;
use crate::learn::template::{ColumnSource, Template};
use crate::learn::view::{LeafKind, fingerprint, value_type};

// Weights for the similarity of two columns, besides equal values of the same records.
const SAME_VALUES: f64 = 1.0;
const SAME_KINDS: f64 = 1.0;
/// “2023 OK 1” and “2024 OK 57” have the same shape, “OK 57” has another.
const SAME_SHAPES: f64 = 0.8;
/// Lower and upper case letters, digits, punctuation and blanks have similar shares.
const SAME_SIGNS: f64 = 0.6;
const SAME_LENGTH: f64 = 0.4;
const SAME_FILL: f64 = 0.3;
const SAME_VARIETY: f64 = 0.3;
const SAME_ORDER: f64 = 0.2;
/// Hidden columns are copies and constants: of two equal columns the shown one is meant.
const SAME_VISIBILITY: f64 = 0.15;
/// A specific name; less for names that every second list has. `c4` says nothing.
const SAME_NAME: f64 = 1.6;
const SAME_COMMON_NAME: f64 = 0.5;
const COMMON_NAMES: &str = "number title link image body heading hint text meta start headline image_text date value";
/// Maximum number of rows that are sampled.
pub const MAX_SAMPLED_ROWS: usize = 200;
/// Maximum length of a shape; sentences do not share a longer one.
const MAX_SHAPE: usize = 12;

pub struct ValueProfile {
    name: String,
    pub family: ValueFamily,
    pub is_shown: bool,
    /// Relative position among the columns, 0 to 1.
    position: f64,
    pub fill: f64,
    values: HashSet<u64>,
    kinds: HashMap<u8, f64>,
    /// Known from rows only, not from a template.
    statistics: Option<ValueStatistics>,
}

struct ValueStatistics {
    variety: f64,
    length: f64,
    shapes: HashMap<u64, f64>,
    character_shares: [f64; 5],
}

/// Columns of different families are never matched.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ValueFamily {
    Text,
    Link,
    Picture,
}

impl ValueProfile {
    /// Without good rows, the profile comes from what the template stores.
    pub fn of_old(old: &PreviousRows<'_>, column: usize) -> ValueProfile {
        if old.rows() > 0 {
            return ValueProfile::new(old.template, column, old.column(column).take(MAX_SAMPLED_ROWS));
        }
        ValueProfile::from_template(old.template, column)
    }

    pub fn of_new(candidate: &Candidate, column: usize) -> ValueProfile {
        let cells = candidate.table.rows.iter().take(MAX_SAMPLED_ROWS).map(|row| row.cells[column].as_deref());
        ValueProfile::new(&candidate.template, column, cells)
    }

    fn new<'c>(template: &Template, column: usize, cells: impl Iterator<Item = Option<&'c str>>) -> ValueProfile {
        let cells: Vec<Option<&str>> = cells.map(|cell| cell.map(str::trim).filter(|it| !it.is_empty())).collect();
        let filled: Vec<&str> = cells.iter().flatten().copied().collect();
        let count = filled.len().max(1) as f64;
        let values: HashSet<u64> = filled.iter().map(|value| fingerprint(value)).collect();
        let seen = ValueStatistics {
            variety: values.len() as f64 / count,
            length: filled.iter().map(|value| value.chars().count() as f64).sum::<f64>() / count,
            shapes: shares(filled.iter().map(|value| value_shape(value))),
            character_shares: character_shares(&filled),
        };
        ValueProfile {
            fill: filled.len() as f64 / cells.len().max(1) as f64,
            values,
            kinds: shares(filled.iter().map(|value| value_type(value))),
            statistics: Some(seen),
            ..ValueProfile::without_values(template, column)
        }
    }

    fn from_template(template: &Template, column: usize) -> ValueProfile {
        let bare = ValueProfile::without_values(template, column);
        let slot = template.variants.iter().find_map(|variant| match variant.sources[column].as_ref()? {
            ColumnSource::Slot(slot) => Some((variant.rows, &variant.slots[*slot])),
            ColumnSource::Derived(_) => None,
        });
        let Some((rows, slot)) = slot else { return bare };
        let count = f64::from(slot.count.max(1));
        ValueProfile {
            fill: count / f64::from(rows.max(slot.count).max(1)),
            values: slot.values.iter().map(|(value, _)| fingerprint(value.trim())).collect(),
            kinds: slot.types.iter().map(|&(kind, times)| (kind, f64::from(times) / count)).collect(),
            ..bare
        }
    }

    fn without_values(template: &Template, column: usize) -> ValueProfile {
        let columns = template.columns();
        ValueProfile {
            name: columns[column].name.clone(),
            family: family(template, column),
            is_shown: !columns[column].hidden,
            position: column as f64 / columns.len().max(1) as f64,
            fill: 1.0,
            values: HashSet::default(),
            kinds: HashMap::new(),
            statistics: None,
        }
    }

    pub fn similarity(&self, other: &ValueProfile) -> f64 {
        let common = self.values.intersection(&other.values).count() as f64;
        let values = common / self.values.len().min(other.values.len()).max(1) as f64;
        let seen = match (&self.statistics, &other.statistics) {
            (Some(was), Some(is)) => was.similarity(is),
            _ => 0.0,
        };
        SAME_VALUES * values
            + SAME_KINDS * overlap(&self.kinds, &other.kinds)
            + SAME_FILL * closeness(self.fill, other.fill)
            + SAME_ORDER * closeness(self.position, other.position)
            + SAME_VISIBILITY * f64::from(u8::from(self.is_shown == other.is_shown))
            + self.name_similarity(other)
            + seen
    }

    /// True if values that differed would be one and the same now, and one that none of them was. A column that keeps
    /// its name may do so: every order can be closed today.
    pub fn is_replaced_by_constant(&self, other: &ValueProfile) -> bool {
        self.values.len() > 1
            && other.values.len() == 1
            && self.values.is_disjoint(&other.values)
            && self.name_similarity(other) == 0.0
    }

    fn name_similarity(&self, other: &ValueProfile) -> f64 {
        let stem = self.name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('_');
        match () {
            () if self.name != other.name || stem == "c" => 0.0,
            () if COMMON_NAMES.split(' ').any(|name| name == stem) => SAME_COMMON_NAME,
            () => SAME_NAME,
        }
    }
}

impl ValueStatistics {
    fn similarity(&self, other: &ValueStatistics) -> f64 {
        let apart: f64 = self.character_shares.iter().zip(&other.character_shares).map(|(a, b)| (a - b).abs()).sum();
        let length = (self.length.min(other.length) + 1.0) / (self.length.max(other.length) + 1.0);
        SAME_SHAPES * overlap(&self.shapes, &other.shapes)
            + SAME_SIGNS * (1.0 - apart / 2.0)
            + SAME_LENGTH * length
            + SAME_VARIETY * closeness(self.variety, other.variety)
    }
}

fn closeness(a: f64, b: f64) -> f64 {
    1.0 - (a - b).abs()
}

fn shares<K: std::hash::Hash + Eq>(keys: impl ExactSizeIterator<Item = K>) -> HashMap<K, f64> {
    let one = 1.0 / keys.len().max(1) as f64;
    let mut shares = HashMap::new();
    for key in keys {
        *shares.entry(key).or_default() += one;
    }
    shares
}

fn overlap<K: std::hash::Hash + Eq>(a: &HashMap<K, f64>, b: &HashMap<K, f64>) -> f64 {
    a.iter().map(|(key, share)| share.min(*b.get(key).unwrap_or(&0.0))).sum()
}

/// The value with each run of letters, digits or blanks reduced to one character; punctuation stays as it is.
fn value_shape(value: &str) -> u64 {
    let mut shape = String::new();
    let mut last = None;
    for c in value.chars() {
        let is = ['a', 'A', '9', ' ', c][character_class(c)];
        // “Bindas” and “bindas” have the same shape; “OK” has another.
        if (last, is) == (Some('A'), 'a') {
            shape.pop();
            shape.push('a');
        } else if last != Some(is) {
            if shape.len() >= MAX_SHAPE {
                break;
            }
            shape.push(is);
        }
        last = Some(is);
    }
    fingerprint(&shape)
}

/// Lower case, upper case, digit, blank or another character.
fn character_class(c: char) -> usize {
    match c {
        _ if c.is_numeric() => 2,
        _ if c.is_uppercase() => 1,
        _ if c.is_alphabetic() => 0,
        _ if c.is_whitespace() => 3,
        _ => 4,
    }
}

/// The share of each class of characters.
fn character_shares(values: &[&str]) -> [f64; 5] {
    let mut counts = [0_u32; 5];
    for c in values.iter().flat_map(|value| value.chars().take(MAX_SAMPLED_ROWS)) {
        counts[character_class(c)] += 1;
    }
    let all = counts.iter().sum::<u32>().max(1);
    counts.map(|count| f64::from(count) / f64::from(all))
}

fn family(template: &Template, column: usize) -> ValueFamily {
    let variant = template.variants.iter().find(|variant| variant.sources[column].is_some());
    let slot = variant.and_then(|it| Some((it, *it.sources[column].as_ref()?.slots().first()?)));
    match slot.map(|(variant, slot)| variant.slots[slot].kind) {
        Some(LeafKind::Href) => ValueFamily::Link,
        Some(LeafKind::Src | LeafKind::DataSrc) => ValueFamily::Picture,
        _ => ValueFamily::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_written_alike_are_of_one_shape() {
        for alike in [["2023 OK 1", "2024 OK 57"], ["1/8/23", "09/29/2023"], ["Bindas v. Bindas", "State v. glaum"]] {
            assert_eq!(value_shape(alike[0]), value_shape(alike[1]), "{alike:?}");
        }
        for other in [["2023 OK 1", "OK 57"], ["EUR 95.00", "95 km"], ["STATE v. DYER", "State v. Dyer"]] {
            assert_ne!(value_shape(other[0]), value_shape(other[1]), "{other:?}");
        }
        let same = "a, ".repeat(MAX_SHAPE);
        assert_eq!(value_shape(&same), value_shape(&(same.clone() + "(1)")), "only the start counts");
    }

    #[test]
    fn signs_are_counted_by_what_they_are() {
        assert_eq!(character_shares(&["aB", "1 -"]), [0.2; 5]);
        assert_eq!(character_shares(&[]), [0.0; 5]);
    }

    #[test]
    fn what_two_columns_share_is_what_both_have() {
        let shares = |values: &[&'static str]| shares(values.iter().copied());
        let overlap = overlap(&shares(&["a", "a", "b", "c"]), &shares(&["a", "d"]));
        assert!((overlap - 0.5).abs() < 1e-9, "{overlap}");
    }
}
