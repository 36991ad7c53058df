//! Repair after a redesign: finds the list again with the help of the last good rows, under the old columns.
//!
//! The page is learned as if it were new. The list in which old records are found again, one per row, comes first; if
//! all records are new, the one whose columns are most similar to the old ones. Each old column is then matched with a
//! new one: by equal values of the same records, by the kind of values, by name. Nothing is published here.

mod confidence;
mod mapping;
mod origin;
mod record_linkage;
mod value_kinds;

use crate::learn::candidates::{Candidate, LearnOptions, learn};
use crate::learn::teach::{CandidateEdits, Help, HelpError, apply_edits, learn_with};
use crate::learn::template::Template;
use crate::learn::view::{PageView, clean};
use crate::model::{Column, Row, Table};
use crate::page::Tree;

pub use confidence::doubt;

use mapping::ColumnMapping;
use record_linkage::PreviousRows;

/// Maximum number of lists of the page that are compared with the old rows. The right one is among five on 97 of 100
/// pages.
const MAX_LISTS: usize = 10;

// Weights of a list's score. Linked old records count most, then how well the old columns are matched, then the row
// count.
const LINKED_WEIGHT: f64 = 4.0;
const COLUMNS_WEIGHT: f64 = 2.0;
const COUNT_WEIGHT: f64 = 0.5;
/// Penalty per rank in the page's own order.
const RANK_PENALTY: f64 = 0.08;

/// The lists of the page under the old columns, best first. `good` are the last good rows, under the template's names.
pub fn repair(template: &Template, good: &Table, page: &Tree) -> Vec<Candidate> {
    ranked(template, good, page).into_iter().map(|(_, candidate)| candidate).collect()
}

/// Like [`repair`], with a person's edits of one candidate: its rows as on the page, its columns under the old names.
pub fn repair_with(
    template: &Template,
    good: &Table,
    page: &Tree,
    wanted: &CandidateEdits,
) -> Result<Vec<Candidate>, HelpError> {
    let mut ranked = ranked(template, good, page);
    if wanted.is_empty() {
        return Ok(ranked.into_iter().map(|(_, candidate)| candidate).collect());
    }
    let (most, given) = (ranked.len(), wanted.candidate.saturating_add(1));
    let (place, it) = ranked.get_mut(wanted.candidate).ok_or(HelpError::NoCandidate { given, most })?;
    if !wanted.adjust.is_empty() {
        let steps = CandidateEdits { candidate: *place, adjust: wanted.adjust.clone(), ..CandidateEdits::default() };
        let cut = learn_with(std::slice::from_ref(page), &options(), &Help { finish: steps, ..Help::default() });
        let cut = cut.map_err(|error| error.with_candidate(given))?.swap_remove(*place);
        let (score, mapping) = score_candidate(&PreviousRows::new(template, good), &cut, *place);
        *it = under_old_columns(template, cut, &mapping, score);
    }
    let places = it.row_spans.clone();
    apply_edits(&PageView::new(page), it, &places, wanted, false)?;
    Ok(ranked.into_iter().map(|(_, candidate)| candidate).collect())
}

fn options() -> LearnOptions {
    LearnOptions { top: MAX_LISTS, ..LearnOptions::default() }
}

/// The candidates, each with its rank in the page's own order.
fn ranked(template: &Template, good: &Table, page: &Tree) -> Vec<(usize, Candidate)> {
    let old = PreviousRows::new(template, good);
    let learned = learn(std::slice::from_ref(page), &options()).into_iter().enumerate();
    let weighed = |(place, candidate): (usize, Candidate)| {
        let (score, mapping) = score_candidate(&old, &candidate, place);
        (place, under_old_columns(template, candidate, &mapping, score))
    };
    let mut ranked: Vec<(usize, Candidate)> = learned.map(weighed).collect();
    ranked.sort_by(|(_, a), (_, b)| b.score.total_cmp(&a.score));
    ranked.truncate(LearnOptions::default().top);
    ranked
}

/// The template with the task's current column names, which are also those of the last good rows.
pub fn with_task_names(template: &Template, columns: &[Column]) -> Template {
    let mut named = template.clone();
    let shown = template.columns().iter().enumerate().filter(|(_, column)| !column.hidden).map(|(place, _)| place);
    shown.zip(columns).for_each(|(place, column)| named.rename(place, &column.name));
    named
}

fn score_candidate(old: &PreviousRows<'_>, candidate: &Candidate, place: usize) -> (f64, ColumnMapping) {
    let again = old.link_records(&candidate.table);
    let mapping = ColumnMapping::new(old, candidate, &again);
    let (now, before) = (candidate.table.rows.len() as f64, old.rows() as f64);
    let count = now.min(before) / now.max(before).max(1.0);
    let score = LINKED_WEIGHT * again.share() + COLUMNS_WEIGHT * mapping.score + COUNT_WEIGHT * count
        - RANK_PENALTY * place as f64;
    (score, mapping)
}

/// The candidate under the old columns. New columns are appended; those that the page's table names are shown, the
/// others are hidden: a person may want them.
fn under_old_columns(old: &Template, candidate: Candidate, mapping: &ColumnMapping, score: f64) -> Candidate {
    let mut template = Template::with_variant(old, &candidate.template, &mapping.columns, &mapping.new);
    let known = old.columns().len();
    for (at, &column) in mapping.new.iter().enumerate() {
        template.set_hidden(known + at, !is_named(&candidate.template, column));
    }
    let cells = |row: &Row| -> Vec<Option<String>> {
        let mapped = mapping.columns.iter().map(|column| row.cells[(*column)?].clone());
        mapped.chain(mapping.new.iter().map(|&column| row.cells[column].clone())).collect()
    };
    let rows = candidate.table.rows.iter().map(|row| Row { cells: cells(row), page: row.page }).collect();
    let table = Table { columns: template.column_names(), rows };
    Candidate { template, score, table, ..candidate }
}

/// Whether a header of the page's table names this shown column.
fn is_named(template: &Template, column: usize) -> bool {
    let column = &template.columns()[column];
    let headers = template.variants.first().into_iter().flat_map(|variant| &variant.table);
    !column.hidden && headers.filter_map(|it| clean(&it.header)).any(|name| name == column.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::apply;
    use crate::learn::teach::SpreadsheetStep;
    use crate::learn::template::{Delimiter, RowAdjustment};
    use crate::learn::tests::first;

    const NAMES: [&str; 6] = ["Adler", "Bellevue", "Central", "Dorint", "Elite", "Falken"];

    fn before(names: &[&str]) -> String {
        let row = |(i, name): (usize, &&str)| {
            format!("<li class=hotel><a href=/h/{name}>{name}</a> <b>EUR {}.00</b><i>{} km</i></li>", 95 + i, i + 1)
        };
        format!("<h1>Hotels</h1><ul>{}</ul>", names.iter().enumerate().map(row).collect::<String>())
    }

    fn after(names: &[&str]) -> String {
        let row = |(i, name): (usize, &&str)| {
            format!(
                "<article><h3>{name}</h3><p>A fine house in the middle of town, number {i}.</p><span>{} km</span>\
                 <div>EUR {}.00</div><a href=/h/{name}>more</a></article>",
                i + 1,
                95 + i
            )
        };
        let menu = "<nav><a href=/a>Home</a><a href=/b>Hotels</a><a href=/c>Help</a></nav>";
        format!("{menu}<main>{}</main>", names.iter().enumerate().map(row).collect::<String>())
    }

    fn learned(page: &str) -> (Template, Table) {
        let mut first = first(page);
        for (i, name) in [(0, "link"), (1, "name"), (2, "price"), (3, "far")] {
            first.template.rename(i, name);
            first.table.columns[i] = name.to_owned();
        }
        (first.template, first.table)
    }

    fn column<'t>(table: &'t Table, name: &str) -> Vec<&'t str> {
        let place = table.columns.iter().position(|it| it == name).expect("the column is kept");
        table.rows.iter().map(|row| row.cells[place].as_deref().unwrap_or("")).collect()
    }

    #[test]
    fn the_list_is_found_again_under_its_columns() {
        let (template, good) = learned(&before(&NAMES[..5]));
        assert_eq!(column(&good, "far"), ["1 km", "2 km", "3 km", "4 km", "5 km"]);
        let page = Tree::parse(&after(&NAMES[1..]));
        let best = repair(&template, &good, &page).swap_remove(0);
        assert_eq!(column(&best.table, "name"), &NAMES[1..]);
        assert_eq!(column(&best.table, "link")[0], "/h/Bellevue");
        assert_eq!(column(&best.table, "price")[4], "EUR 99.00");
        assert_eq!(column(&best.table, "far")[0], "1 km");
    }

    #[test]
    fn a_list_that_was_found_again_keeps_its_columns_when_a_person_changes_it() {
        let (template, good) = learned(&before(&NAMES));
        let page = Tree::parse(
            &after(&NAMES).replace("<article>", "<section><article>").replace("</article>", "</article></section>"),
        );
        let found = repair(&template, &good, &page);
        let at = |pick: usize, tag: &str| page.elements(tag).next() == Some(first_node(&page, &found[pick]));
        let pick =
            (0..found.len()).find(|&pick| at(pick, "section") || at(pick, "article")).expect("the list is there");
        let (step, other) =
            if at(pick, "section") { (RowAdjustment::Narrow, "article") } else { (RowAdjustment::Widen, "section") };
        let split = SpreadsheetStep::Split { column: "price".to_owned(), at: Delimiter::Words };
        let wanted =
            CandidateEdits { candidate: pick, adjust: vec![step], sheet: vec![split], ..CandidateEdits::default() };
        let changed = repair_with(&template, &good, &page, &wanted).expect("it can be done").swap_remove(pick);
        assert_eq!(Some(first_node(&page, &changed)), page.elements(other).next(), "its rows are cut anew");
        assert_eq!(column(&changed.table, "name"), NAMES, "under the old names");
        assert_eq!(column(&changed.table, "price.2")[0], "95.00");
        assert_eq!(changed.template.variants.len(), 2, "and the old shape can still be read");
        let beyond = CandidateEdits { candidate: usize::MAX, ..wanted };
        assert!(matches!(repair_with(&template, &good, &page, &beyond), Err(HelpError::NoCandidate { .. })));
    }

    fn first_node(page: &Tree, candidate: &Candidate) -> crate::page::NodeId {
        PageView::new(page).tokens.list[candidate.row_spans[0].start as usize].node
    }

    #[test]
    fn records_that_are_all_new_are_known_by_what_they_are_like() {
        let (template, good) = learned(&before(&NAMES));
        let page = Tree::parse(&after(&["Grand", "Hof", "Imperial", "Juliet", "Krone"]));
        let best = repair(&template, &good, &page).swap_remove(0);
        assert_eq!(column(&best.table, "name")[0], "Grand");
        assert_eq!(column(&best.table, "price")[1], "EUR 96.00");
    }

    #[test]
    fn the_old_shape_and_the_new_one_are_both_read() {
        let (template, good) = learned(&before(&NAMES));
        let best = repair(&template, &good, &Tree::parse(&after(&NAMES))).swap_remove(0);
        for page in [before(&NAMES), after(&NAMES)] {
            let found = apply::records(&best.template, &Tree::parse(&page));
            assert_eq!(column(&found.table, "name"), NAMES, "{page}");
            assert!(found.similarity >= 0.9, "{}", found.similarity);
        }
    }

    #[test]
    fn the_old_shape_does_not_outvote_the_new_one_on_the_page_of_the_repair() {
        let (template, good) = learned(&before(&NAMES));
        let others: Vec<String> = (0..20).map(|n| format!("Closed{n}")).collect();
        let others: Vec<&str> = others.iter().map(String::as_str).collect();
        let page = Tree::parse(&format!("{}{}", after(&NAMES), before(&others)));
        let found = repair(&template, &good, &page);
        let best = found.iter().find(|it| column(&it.table, "name") == NAMES).expect("the list is found again");
        assert_eq!(column(&apply::records(&best.template, &page).table, "name"), NAMES);
    }

    #[test]
    fn a_new_column_that_the_table_names_is_shown_behind_the_old_ones() {
        let page = |extra: bool| {
            let row = |(i, name): (usize, &&str)| {
                let beds = if extra { format!("<td>{}</td>", 40 + 7 * i) } else { String::new() };
                format!("<tr><td>{name}</td>{beds}<td>EUR {}.00</td></tr>", 95 + i)
            };
            let rows: String = NAMES.iter().enumerate().map(row).collect();
            let beds = if extra { "<th>Beds</th>" } else { "" };
            Tree::parse(&format!("<table><tr><th>House</th>{beds}<th>Price</th></tr>{rows}</table>"))
        };
        let first = learn(&[page(false)], &LearnOptions::default()).swap_remove(0);
        let best = repair(&first.template, &first.table, &page(true)).swap_remove(0);
        let shown: Vec<&str> =
            best.template.columns().iter().filter(|it| !it.hidden).map(|it| it.name.as_str()).collect();
        assert_eq!(shown, ["house", "price", "beds"]);
        assert_eq!(column(&best.table, "beds")[1], "47");
    }

    #[test]
    fn a_page_without_a_list_offers_nothing() {
        let (template, good) = learned(&before(&NAMES));
        assert!(repair(&template, &good, &Tree::parse("<p>Closed.</p>")).is_empty());
    }

    #[test]
    fn without_good_rows_columns_are_known_by_what_the_template_remembers() {
        let (template, good) = learned(&before(&NAMES));
        for columns in [good.columns, Vec::new()] {
            let none = Table { columns, rows: Vec::new() };
            let best = repair(&template, &none, &Tree::parse(&after(&NAMES))).swap_remove(0);
            assert_eq!(column(&best.table, "name"), NAMES);
            assert_eq!(column(&best.table, "link")[5], "/h/Falken");
            assert_eq!(column(&best.table, "price")[0], "EUR 95.00");
            assert_eq!(column(&best.table, "far")[0], "1 km");
        }
    }

    #[test]
    fn a_column_that_was_the_same_by_chance_is_not_filled_with_the_other_ones_values() {
        let beds = ["0", "0", "0", "1", "0", "0"];
        let baths = ["none", "none", "two", "none", "one", "none"];
        let cells = |i: usize| format!("<tr><td>{}</td><td>{}</td><td>{}</td></tr>", NAMES[i], beds[i], beds[i]);
        let rows: String = (0..NAMES.len()).map(cells).collect();
        let page = format!("<table><tr><th>House</th><th>Beds</th><th>Baths</th></tr>{rows}</table>");
        let first = first(&page);
        let item = |i: usize| format!("<li><h3>{}</h3><b>{}</b><p><i>{}</i></p></li>", NAMES[i], beds[i], baths[i]);
        let page = format!("<ul>{}</ul>", (0..NAMES.len()).map(item).collect::<String>());
        let best = repair(&first.template, &first.table, &Tree::parse(&page)).swap_remove(0);
        assert_eq!(column(&best.table, "beds"), beds);
        assert_eq!(column(&best.table, "baths"), [""; 6], "a column that is not there is better than a wrong one");
    }

    #[test]
    fn only_what_is_surely_the_same_list_raises_no_doubt() {
        let (template, good) = learned(&before(&NAMES));
        let others = ["Grand", "Hof", "Imperial", "Juliet", "Krone", "Linde"];
        let without_prices = after(&NAMES).replace("EUR ", "<!-- ").replace(".00", " -->");
        for (what, page, wanted) in [
            ("the same records", after(&NAMES), None),
            ("one is gone", after(&NAMES[1..]), None),
            ("all are new", after(&others).replace("EUR ", "EUR 1").replace(" km", "7 km"), Some("only 0 %")),
            ("half are gone", after(&NAMES[3..]), Some("only 50 %")),
            ("many more", after(&[&NAMES[..], &others[..]].concat()), Some("the number of rows is 12")),
            ("a column is gone", without_prices, Some("the column `price`")),
        ] {
            let doubt = doubt(&template, &good, &repair(&template, &good, &Tree::parse(&page)));
            match (wanted, &doubt) {
                (None, None) => {}
                (Some(start), Some(said)) if said.starts_with(start) => {}
                _ => panic!("{what}: {doubt:?}"),
            }
        }
    }

    #[test]
    fn rows_of_further_pages_are_not_missed_on_the_first() {
        let (template, mut good) = learned(&before(&NAMES));
        let further = (0..20).map(|n| Row { cells: vec![Some(format!("Other {n}")); good.columns.len()], page: 1 });
        good.rows.extend(further.collect::<Vec<_>>());
        let candidates = repair(&template, &good, &Tree::parse(&after(&NAMES)));
        assert_eq!(doubt(&template, &good, &candidates), None);
    }

    #[test]
    fn columns_go_by_the_names_that_the_task_gives_them() {
        let (template, good) = learned(&before(&NAMES));
        let named = ["url", "hotel", "costs", "distance"].map(Column::text);
        let renamed = with_task_names(&template, &named);
        let good = Table { columns: named.iter().map(|it| it.name.clone()).collect(), ..good };
        let best = repair(&renamed, &good, &Tree::parse(&after(&NAMES))).swap_remove(0);
        assert_eq!(column(&best.table, "hotel"), NAMES);
        assert_eq!(column(&best.table, "costs")[0], "EUR 95.00");
    }
}
