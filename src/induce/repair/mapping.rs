//! Which new column is which old one.

use foldhash::{HashMap, HashMapExt, HashSet};

use super::super::leaf::LeafKind;
use super::super::profile::value_type;
use super::super::template::{Slot, Source, Template};
use super::super::{Candidate, leaf::fingerprint};
use super::again::{Again, Old};

// What speaks for a pair of columns. The same value for the same record says most; it takes a few to say it.
const SAME_RECORDS: f64 = 4.0;
const SAME_VALUES: f64 = 1.0;
const SAME_KINDS: f64 = 1.0;
const SAME_LENGTH: f64 = 0.4;
const SAME_FILL: f64 = 0.3;
const SAME_VARIETY: f64 = 0.3;
/// A name that came from the page; one that every second list has; `c4` says nothing.
const SAME_NAME: f64 = 1.6;
const SAME_COMMON_NAME: f64 = 0.5;
const COMMON_NAMES: &[&str] = &[
    "number",
    "title",
    "link",
    "image",
    "body",
    "heading",
    "hint",
    "text",
    "meta",
    "start",
    "headline",
    "image_text",
    "date",
    "value",
];
/// The same piece of the same element; the same class at its end; the same path; both as they stand, or both made.
const SAME_RECIPE: f64 = 2.0;
const SAME_CLASS: f64 = 0.8;
const SAME_PATH: f64 = 0.3;
const SAME_MAKE: f64 = 0.3;
const SAME_ORDER: f64 = 0.2;
/// Hidden columns are copies and constants: between equals the shown one is meant.
const SAME_SIGHT: f64 = 0.15;
/// A pair below this is none: a column that is not there is better than a wrong one.
const LEAST: f64 = 1.6;
/// A pair is as good as can be from here on.
const FULL: f64 = 3.5;
/// A pair that needs no copy's word.
const SURE: f64 = 0.9;
/// Columns that say the same in this share of the rows are copies.
const COPY: f64 = 0.95;
/// Rows that say what a column is like.
const SAMPLE: usize = 200;

pub struct Mapping {
    /// Of each old column: the new one.
    pub columns: Vec<Option<usize>>,
    /// New columns that are none of them, nor copies.
    pub new: Vec<usize>,
    /// 0 to 1: how well the old columns are found, those that are shown.
    pub worth: f64,
}

impl Mapping {
    pub fn new(old: &Old<'_>, candidate: &Candidate, again: &Again) -> Mapping {
        let rows = &candidate.table.rows;
        let before: Vec<Nature> = (0..old.template.columns().len()).map(|i| Nature::of_old(old, i)).collect();
        let now: Vec<Nature> = (0..candidate.table.columns.len()).map(|i| Nature::of_new(candidate, i)).collect();
        let mut pairs: Vec<(f64, usize, usize)> = Vec::new();
        // A hidden column has no rows to be known by, and a person does not miss it.
        for (i, was) in before.iter().enumerate().filter(|(i, was)| was.is_shown || old.has_rows_of(*i)) {
            for (j, is) in now.iter().enumerate().filter(|(_, is)| is.family == was.family) {
                let from = source_like(old.template, i, &candidate.template, j);
                let worth = was.like(is) + from + SAME_RECORDS * agreement(old, candidate, again, i, j);
                pairs.push((worth, i, j));
            }
        }
        pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        let mut columns: Vec<Option<usize>> = vec![None; before.len()];
        let mut worths = vec![0.0; before.len()];
        let mut taken: HashSet<usize> = HashSet::default();
        for (worth, i, j) in pairs.into_iter().take_while(|(worth, _, _)| *worth >= LEAST) {
            if columns[i].is_none() && taken.insert(j) {
                columns[i] = Some(j);
                worths[i] = (worth / FULL).min(1.0);
            }
        }
        // Copies of a column are found with it.
        for i in 0..before.len() {
            let is_found = |&k: &usize| {
                k != i && worths[k] > worths[i] && before[k].family == before[i].family && old.are_copies(i, k)
            };
            if let Some(copy) = (0..before.len()).find(is_found).filter(|_| worths[i] < SURE) {
                (columns[i], worths[i]) = (columns[copy], worths[copy]);
            }
        }
        let shown = || before.iter().zip(&worths).filter(|(was, _)| was.is_shown);
        let all: f64 = shown().map(|(was, _)| was.fill).sum();
        let found: f64 = shown().map(|(was, worth)| was.fill * worth).sum();
        let new = |column: &usize| {
            let is_copy = |taken: &usize| copies(rows.iter().map(|row| (&row.cells[*column], &row.cells[*taken])));
            !columns.contains(&Some(*column)) && !columns.iter().flatten().any(is_copy)
        };
        let new = (0..now.len()).filter(|&column| now[column].is_shown).filter(new).collect();
        Mapping { columns, new, worth: if all > 0.0 { found / all } else { 0.0 } }
    }
}

/// The share of the records found again that have the same value in both columns, beyond what chance would give: zeros are
/// the same in every record.
fn agreement(old: &Old<'_>, candidate: &Candidate, again: &Again, before: usize, now: usize) -> f64 {
    let pairs = &again.pairs[..again.pairs.len().min(SAMPLE)];
    let agree = |shift: usize| {
        let (mut same, mut all) = (0_u32, 0_u32);
        for (i, &(_, record)) in pairs.iter().enumerate() {
            let (row, _) = pairs[(i + shift) % pairs.len()];
            let (was, is) = (old.cell(record, before), candidate.table.rows[row].cells[now].as_deref());
            if was.is_some() || is.is_some() {
                all += 1;
                same += u32::from(was.map(str::trim) == is.map(str::trim));
            }
        }
        (same, f64::from(same) / f64::from(all.max(1)))
    };
    let (same, share) = agree(0);
    // One that agrees may be an accident.
    if same < 2 {
        return 0.0;
    }
    let chance = if pairs.len() > 2 { agree(1).1 } else { 0.0 };
    if chance < 1.0 { ((share - chance) / (1.0 - chance)).max(0.0) } else { 0.0 }
}

/// What the page says about where the two columns come from.
fn source_like(old: &Template, before: usize, new: &Template, now: usize) -> f64 {
    let shape = |template: &Template, column: usize| {
        template.variants.iter().find_map(|it| Some((it.clone(), it.sources[column].clone()?)))
    };
    match (shape(old, before), shape(new, now)) {
        (Some((_, Source::Derived(was))), Some((_, Source::Derived(is)))) => {
            SAME_MAKE + if was == is { SAME_RECIPE } else { 0.0 }
        }
        (Some((was_in, Source::Slot(was))), Some((is_in, Source::Slot(is)))) => {
            let (was, is) = (&was_in.slots[was], &is_in.slots[is]);
            let last = |slot: &Slot| Some(slot.class_paths.first()?.0.rsplit('/').next()?.to_owned());
            let class = last(was).filter(|step| step.contains('.') && Some(step) == last(is).as_ref());
            let path = was.paths.first().map(|(path, _)| path) == is.paths.first().map(|(path, _)| path);
            let if_so = |is_so: bool, worth: f64| if is_so { worth } else { 0.0 };
            SAME_MAKE + if_so(class.is_some(), SAME_CLASS) + if_so(path, SAME_PATH)
        }
        _ => 0.0,
    }
}

/// Do two columns say the same in nearly all rows?
pub fn copies<'c>(cells: impl Iterator<Item = (&'c Option<String>, &'c Option<String>)>) -> bool {
    let (mut same, mut all) = (0_u32, 0_u32);
    for (a, b) in cells.take(SAMPLE).filter(|(a, b)| a.is_some() || b.is_some()) {
        all += 1;
        same += u32::from(a == b);
    }
    all > 0 && f64::from(same) >= COPY * f64::from(all)
}

/// What a column is like.
struct Nature {
    name: String,
    family: Family,
    is_shown: bool,
    /// Where it stands among the columns, 0 to 1.
    place: f64,
    fill: f64,
    variety: f64,
    length: f64,
    kinds: HashMap<u8, f64>,
    values: HashSet<u64>,
}

/// A link is never a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Text,
    Link,
    Picture,
}

impl Nature {
    fn of_old(old: &Old<'_>, column: usize) -> Nature {
        Nature::new(old.template, column, old.column(column).take(SAMPLE))
    }

    fn of_new(candidate: &Candidate, column: usize) -> Nature {
        let cells = candidate.table.rows.iter().take(SAMPLE).map(|row| row.cells[column].as_deref());
        Nature::new(&candidate.template, column, cells)
    }

    fn new<'c>(template: &Template, column: usize, cells: impl Iterator<Item = Option<&'c str>>) -> Nature {
        let cells: Vec<Option<&str>> = cells.map(|cell| cell.map(str::trim).filter(|it| !it.is_empty())).collect();
        let filled: Vec<&str> = cells.iter().flatten().copied().collect();
        let count = filled.len().max(1) as f64;
        let mut kinds: HashMap<u8, f64> = HashMap::new();
        for value in &filled {
            *kinds.entry(value_type(value)).or_default() += 1.0 / count;
        }
        let values: HashSet<u64> = filled.iter().map(|value| fingerprint(value)).collect();
        let columns = template.columns();
        Nature {
            name: columns[column].name.clone(),
            family: family(template, column),
            is_shown: !columns[column].hidden,
            place: column as f64 / columns.len().max(1) as f64,
            fill: filled.len() as f64 / cells.len().max(1) as f64,
            variety: values.len() as f64 / count,
            length: filled.iter().map(|value| value.chars().count() as f64).sum::<f64>() / count,
            kinds,
            values,
        }
    }

    fn like(&self, other: &Nature) -> f64 {
        let kinds: f64 = self.kinds.iter().map(|(kind, share)| share.min(*other.kinds.get(kind).unwrap_or(&0.0))).sum();
        let common = self.values.intersection(&other.values).count() as f64;
        let values = common / self.values.len().min(other.values.len()).max(1) as f64;
        let length = (self.length.min(other.length) + 1.0) / (self.length.max(other.length) + 1.0);
        let near = |a: f64, b: f64| 1.0 - (a - b).abs();
        SAME_VALUES * values
            + SAME_KINDS * kinds
            + SAME_LENGTH * length
            + SAME_FILL * near(self.fill, other.fill)
            + SAME_VARIETY * near(self.variety, other.variety)
            + SAME_ORDER * near(self.place, other.place)
            + self.name_like(other)
            + SAME_SIGHT * f64::from(u8::from(self.is_shown == other.is_shown))
    }
}

impl Nature {
    fn name_like(&self, other: &Nature) -> f64 {
        let stem = self.name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('_');
        match () {
            () if self.name != other.name || stem == "c" => 0.0,
            () if COMMON_NAMES.contains(&stem) => SAME_COMMON_NAME,
            () => SAME_NAME,
        }
    }
}

fn family(template: &Template, column: usize) -> Family {
    let variant = template.variants.iter().find(|variant| variant.sources[column].is_some());
    let slot = variant.and_then(|it| Some((it, *it.sources[column].as_ref()?.slots().first()?)));
    match slot.map(|(variant, slot)| variant.slots[slot].kind) {
        Some(LeafKind::Href) => Family::Link,
        Some(LeafKind::Src | LeafKind::DataSrc) => Family::Picture,
        _ => Family::Text,
    }
}
