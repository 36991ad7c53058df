use super::*;
use crate::learn::Help;
use crate::learn::apply::extract;
use crate::learn::teach::ValueLabel;
use crate::learn::template::{RowRule, Template};
use crate::learn::tests::taught;
use crate::page::Tree;

/// The first candidate's shown columns, as `name: value | value`; read again by its own template they are the same.
fn check(page: &str, help: &Help, expected: &[&str]) {
    let first = taught(page, help).expect("the help fits the page").remove(0);
    let template = Template::from_json(&first.template.to_json()).expect("its own JSON");
    assert_eq!(extract(&template, &Tree::parse(page)).table, first.table, "read by its own template");
    let shown = |i: &usize| !template.columns()[*i].hidden;
    let column = |i: usize| {
        let cells = first.table.rows.iter().map(|row| row.cells[i].as_deref().unwrap_or("-"));
        format!("{}: {}", first.table.columns[i], cells.collect::<Vec<_>>().join(" | "))
    };
    assert_eq!((0..first.table.columns.len()).filter(shown).map(column).collect::<Vec<_>>(), expected);
}

fn with(finish: CandidateEdits) -> Help {
    Help { finish, ..Help::default() }
}

const BOOKS: &str = "<ul><li><b>Emma</b><i>Paperback, 1000pp.</i><li><b>Ulysses</b><i>Paperback, 750pp.</i>\
                     <li><b>Walden</b><i>Hardcover, 1st ed., 488pp.</i></ul>";

#[test]
fn a_column_is_cut_and_joined_and_stays_so_on_further_pages() {
    let split = SpreadsheetStep::Split { column: "c2".to_owned(), at: Delimiter::Text(",".to_owned()) };
    let cut = with(CandidateEdits { sheet: vec![split.clone()], ..CandidateEdits::default() });
    check(
        BOOKS,
        &cut,
        &[
            "c1: Emma | Ulysses | Walden",
            "c2.1: Paperback | Paperback | Hardcover",
            "c2.2: - | - | 1st ed.",
            "c2.3: 1000pp. | 750pp. | 488pp.",
        ],
    );
    let template = taught(BOOKS, &cut).expect("a list").remove(0).template;
    let next =
        Tree::parse("<ul><li><b>Faust</b><i>Hardcover, 2nd ed., 90pp.</i><li><b>Nana</b><i>Paperback, 80pp.</i></ul>");
    let cells: Vec<_> = extract(&template, &next).table.rows[1].cells.iter().flatten().cloned().collect();
    assert!(cells.ends_with(&["Paperback".to_owned(), "80pp.".to_owned()]), "{cells:?}");
    let join = SpreadsheetStep::Join {
        columns: vec!["c2.3".to_owned(), "c1".to_owned()],
        name: Some("both".to_owned()),
        with: " ".to_owned(),
    };
    check(
        BOOKS,
        &with(CandidateEdits { sheet: vec![split, join], ..CandidateEdits::default() }),
        &[
            "c2.1: Paperback | Paperback | Hardcover",
            "c2.2: - | - | 1st ed.",
            "both: 1000pp. Emma | 750pp. Ulysses | 488pp. Walden",
        ],
    );
}

#[test]
fn rows_and_columns_can_be_told_by_selector_and_expression() {
    let page = "<p class=h>Title</p><p class=r><a href=/1>Oak</a> costs 95 EUR</p><p class=ad>Buy!</p>\
                <p class=r><a href=/2>Elm</a> costs 240 EUR</p><p class=r><a href=/3>Ash</a> is sold</p>";
    let column = |name: &str, by: ColumnSelector| RequestedColumn { name: name.to_owned(), by };
    let columns = vec![
        column("name", ColumnSelector::Css { css: "a".to_owned(), attribute: None }),
        column("link", ColumnSelector::Css { css: ":scope > a".to_owned(), attribute: Some("href".to_owned()) }),
        column("price", ColumnSelector::Pattern { pattern: r"(\d+) EUR".to_owned() }),
    ];
    let finish = CandidateEdits { columns, ..CandidateEdits::default() };
    let help = Help { rows: Some(RowRule::Css("p.r".to_owned())), finish, ..Help::default() };
    check(page, &help, &["name: Oak | Elm | Ash", "link: /1 | /2 | /3", "price: 95 | 240 | -"]);
    let template = taught(page, &help).expect("three rows").remove(0).template;
    let next = Tree::parse("<p class=ad>Buy!</p><p class=r><a href=/9>Yew</a> costs 7 EUR</p>");
    let cells: Vec<_> = extract(&template, &next).table.rows[0].cells.iter().flatten().cloned().collect();
    assert!(cells.ends_with(&["Yew".to_owned(), "/9".to_owned(), "7".to_owned()]), "{cells:?}");
}

#[test]
fn lines_of_a_plain_text_are_rows_by_expression() {
    let page = "Departures\n06:12 Bern\nplatform 3\n07:05 Thun\n08:40 Spiez\n";
    let asked =
        RequestedColumn { name: "to".to_owned(), by: ColumnSelector::Pattern { pattern: r"^\S+ (\w+)".to_owned() } };
    let finish = CandidateEdits { columns: vec![asked], ..CandidateEdits::default() };
    let rows = Some(RowRule::Pattern(r"^\d\d:\d\d ".to_owned()));
    check(page, &Help { rows, finish, ..Help::default() }, &["to: Bern | Thun | Spiez"]);
}

#[test]
fn an_adjusted_list_is_found_again_on_further_pages() {
    let page = |rows: &[(&str, &str)]| {
        let row = |(a, b): &(&str, &str)| format!("<dt><b>{a}</b></dt><dd>{b}</dd><dd><i>note on {a}</i></dd>");
        format!("<dl>{}</dl>", rows.iter().map(row).collect::<String>())
    };
    let first = page(&[("Oak chair", "95"), ("Elm desk", "240"), ("Ash bed", "700"), ("Yew stool", "30")]);
    let is_whole = |it: &Candidate| it.table.rows.len() == 4 && it.table.rows[0].cells.iter().flatten().count() >= 3;
    let offered = taught(&first, &Help::default()).expect("lists");
    let candidate = offered.iter().position(is_whole).expect("three siblings a record");
    let finish = CandidateEdits { candidate, adjust: vec![RowAdjustment::Narrow], ..CandidateEdits::default() };
    let adjusted = taught(&first, &with(finish)).expect("it can be narrowed").remove(candidate);
    assert_eq!((adjusted.method, adjusted.table.rows.len()), ("adjusted", 4));
    let next = Tree::parse(&page(&[("Fir shelf", "55"), ("Fig box", "12"), ("Bay rack", "8")]));
    let found = extract(&adjusted.template, &next);
    let text = format!("{:?}", found.table.rows);
    assert_eq!(found.table.rows.len(), 3, "{text}");
    assert!(text.contains("Fig box") && text.contains("12") && !text.contains("note"), "{text}");
}

#[test]
fn one_name_is_enough_for_a_field_in_two_structures() {
    let page = "<ul><li><b>Oak</b><p><s>95</s></p><li><b>Elm</b><div><q>240</q></div><li><b>Ash</b><p><s>70</s></p>\
                <li><b>Yew</b><div><q>30</q></div><li><b>Fir</b></ul>";
    let label = |name: &str, text: &str| ValueLabel::value(name, text);
    let labels = vec![label("name", "Oak"), label("price", "95"), label("name", "Elm"), label("price", "240")];
    let help = Help { labels, ..Help::default() };
    check(page, &help, &["name: Oak | Elm | Ash | Yew | Fir", "price: 95 | 240 | 70 | 30 | -"]);
}

#[test]
fn what_cannot_be_done_is_said_in_a_sentence() {
    let said = |finish: CandidateEdits| taught(BOOKS, &with(finish)).expect_err("not possible").to_string();
    let asked = |by: ColumnSelector| CandidateEdits {
        columns: vec![RequestedColumn { name: "x".to_owned(), by }],
        ..CandidateEdits::default()
    };
    let split = SpreadsheetStep::Split { column: "nope".to_owned(), at: Delimiter::Words };
    for (finish, sentence) in [
        (
            CandidateEdits { adjust: vec![RowAdjustment::Rotate], ..CandidateEdits::default() },
            "candidate 1 cannot be rotated",
        ),
        (
            CandidateEdits { candidate: 9, adjust: vec![RowAdjustment::Widen], ..CandidateEdits::default() },
            "there is no candidate 10",
        ),
        (
            CandidateEdits { sheet: vec![split], ..CandidateEdits::default() },
            "there is no column `nope`; the columns are c1, c2",
        ),
        (
            asked(ColumnSelector::Css { css: "table".to_owned(), attribute: None }),
            "nothing in the rows matches `table`",
        ),
        (asked(ColumnSelector::Css { css: "b[".to_owned(), attribute: None }), "`b[` is not a CSS selector"),
        (asked(ColumnSelector::Pattern { pattern: "(".to_owned() }), "`(` is not a usable regular expression"),
        (
            asked(ColumnSelector::Pattern { pattern: "((x{900}){900}){900}".to_owned() }),
            "is not a usable regular expression",
        ),
    ] {
        let words = said(finish);
        assert!(words.contains(sentence), "{words}");
    }
}
