//! Tests with the paper's own example, pages without helpful markup, and random input.

use proptest::prelude::*;

use super::observe::{ListExtract, Sighting};
use super::{Evidence, Segmentation, agreement, constraints, probability, row_sets};
use crate::learn::template::Finder;
use crate::learn::view::{PageView, text};
use crate::page::Tree;

type Solver = fn(&[ListExtract]) -> Segmentation;

/// Constraint satisfaction is exact where list and detail pages agree, and partial otherwise. The probabilistic model
/// tolerates contradictions, and also finds the columns.
const SOLVERS: [(&str, Solver); 2] = [("constraints", constraints::segment), ("probability", probability::segment)];

/// The paper's Superpages example. Its digits are illegible in the available copy, so the numbers are made up.
const LIST: &str = "<h1>Results</h1>\
    <p>John Smith<br>221 Washington Street<br>New Holland<br>(740) 335-5555</p>\
    <p>John Smith<br>221R Washington Street<br>Washington<br>(740) 335-5555</p>\
    <p>George W. Smith<br><i>Street address not available</i><br>Findlay, OH<br>(419) 423-1212</p>";

fn details() -> [String; 3] {
    let page = |lines: &str| format!("<title>Listing</title><h2>Detail page</h2>{lines}<p>Map and directions");
    [
        page("<b>John Smith</b><p>221 Washington Street<p>New Holland<p>(740) 335-5555"),
        page("<b>John Smith</b><p>221R Washington Street<p>Washington<p>(740) 335-5555"),
        page("<b>George W. Smith</b><p>Findlay, OH<p>(419) 423-1212"),
    ]
}

/// Runs `check` with the list page, and what it has in common with the detail pages.
fn with_evidence(lists: &[&str], details: &[&str], check: impl FnOnce(&PageView<'_>, &Evidence)) {
    let parse = |pages: &[&str]| pages.iter().map(|page| Tree::parse(page)).collect::<Vec<_>>();
    let (lists, details) = (parse(lists), parse(details));
    let lists: Vec<PageView<'_>> = lists.iter().map(PageView::new).collect();
    let details: Vec<PageView<'_>> = details.iter().map(PageView::new).collect();
    let evidence = Evidence::new(&lists[0], &lists[1..], &details);
    check(&lists[0], &evidence);
}

fn shown(view: &PageView<'_>, evidence: &Evidence) -> Vec<String> {
    evidence.extracts.iter().map(|it| text(&view.tokens, it.span)).collect()
}

/// The pages of each extract: the paper's Dᵢ.
fn pages(evidence: &Evidence) -> Vec<Vec<usize>> {
    evidence.extracts.iter().map(|it| it.sightings.iter().map(|it| it.page + 1).collect()).collect()
}

fn with_superpages(check: impl FnOnce(&PageView<'_>, &Evidence)) {
    let details = details();
    let details: Vec<&str> = details.iter().map(String::as_str).collect();
    with_evidence(&[LIST], &details, check);
}

#[test]
fn table_1_extracts_are_observed_on_the_detail_pages_of_the_paper() {
    with_superpages(|view, evidence| {
        let names = [
            "John Smith",
            "221 Washington Street",
            "New Holland",
            "(740) 335-5555",
            "John Smith",
            "221R Washington Street",
            "Washington",
            "(740) 335-5555",
            "George W. Smith",
            "Findlay, OH",
            "(419) 423-1212",
        ];
        assert_eq!(shown(view, evidence), names);
        let paper: [&[usize]; 11] = [&[1, 2], &[1], &[1], &[1, 2], &[1, 2], &[2], &[2], &[1, 2], &[3], &[3], &[3]];
        assert_eq!(pages(evidence), paper);
    });
}

#[test]
fn table_2_both_solvers_assign_the_extracts_as_the_paper_does() {
    with_superpages(|_, evidence| {
        for (solver, segment) in SOLVERS {
            let found = segment(&evidence.extracts);
            let records: Vec<usize> = found.record_of.iter().map(|it| it.map_or(0, |page| page + 1)).collect();
            assert_eq!(records, [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3], "{solver}");
            assert!(found.is_exact, "{solver}");
        }
    });
}

#[test]
fn table_3_equal_extracts_stand_at_the_same_place_of_each_page() {
    with_superpages(|_, evidence| {
        let places =
            |i: usize, page: usize| evidence.extracts[i].sighting(page).map(|it: &Sighting| it.positions.clone());
        for page in [0, 1] {
            assert_eq!(places(0, page), places(4, page), "both John Smiths");
            assert_eq!(places(3, page), places(7, page), "both telephone numbers");
            assert!(places(0, page) < places(3, page));
        }
        assert_eq!(places(1, 1), None);
        assert_eq!(places(8, 0), None);
    });
}

#[test]
fn the_probabilistic_model_knows_the_columns_too() {
    with_superpages(|_, evidence| {
        let columns = probability::segment(&evidence.extracts).column_of;
        let starts: Vec<usize> = (0..columns.len()).filter(|&i| columns[i] == Some(0)).collect();
        assert_eq!(starts, [0, 4, 8], "a record starts with its first column, and only there");
        assert_eq!(columns[..4], columns[4..8], "two records of the same kind have the same columns");
    });
}

/// Only line breaks as markup, and missing fields.
const FLAT: &str = "<h1>People</h1>Ann Ash<br>12 Elm Road<br>Ulm<br>555-0101<br>Bo Birch<br>Bonn<br>555-0102<br>\
    Cy Cedar<br>9 Fir Lane<br>Ulm<br>Di Dogwood<br>3 Oak Way<br>Bonn<br>555-0104";

fn flat_details() -> Vec<String> {
    ["Ann Ash<p>12 Elm Road<p>Ulm<p>555-0101", "Bo Birch<p>Bonn<p>555-0102", "Cy Cedar<p>9 Fir Lane<p>Ulm"]
        .into_iter()
        .chain(std::iter::once("Di Dogwood<p>3 Oak Way<p>Bonn<p>555-0104"))
        .map(|fields| format!("<h2>Person</h2><p>{fields}<p>born somewhere"))
        .collect()
}

#[test]
fn rows_are_found_where_the_markup_says_nothing_whatever_the_order_of_the_detail_pages() {
    let expected = [
        "Ann Ash 12 Elm Road Ulm 555-0101",
        "Bo Birch Bonn 555-0102",
        "Cy Cedar 9 Fir Lane Ulm",
        "Di Dogwood 3 Oak Way Bonn 555-0104",
    ];
    let in_order = flat_details();
    for order in [[0, 1, 2, 3], [3, 1, 0, 2]] {
        let pages: Vec<&str> = order.iter().map(|&i| in_order[i].as_str()).collect();
        with_evidence(&[FLAT], &pages, |view, evidence| {
            for (solver, segment) in SOLVERS {
                let found = segment(&evidence.extracts);
                for set in row_sets(view, evidence, &found) {
                    let rows: Vec<String> = set.rows.iter().map(|&row| text(&view.tokens, row)).collect();
                    assert_eq!(rows, expected, "{solver} {:?} {order:?}", set.finder);
                    assert_eq!(agreement(evidence, &found, &set.rows), 1.0);
                }
                let finders: Vec<Finder> = row_sets(view, evidence, &found).iter().map(|set| set.finder).collect();
                assert_eq!(finders, [Finder::Groups, Finder::Details], "{solver}");
            }
        });
    }
}

#[test]
fn a_contradiction_leaves_an_extract_without_a_record_and_nothing_else_is_broken() {
    // The third person's town is on every detail page but the right one.
    let mut pages = flat_details();
    pages[2] = pages[2].replace("Ulm", "Bonn");
    pages[1] = pages[1].replace("born", "Ulm born");
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    with_evidence(&[FLAT], &pages, |view, evidence| {
        for (solver, segment) in SOLVERS {
            let found = segment(&evidence.extracts);
            assert!(!found.is_exact, "{solver}");
            let starts: Vec<String> =
                found.records().iter().map(|record| text(&view.tokens, evidence.extracts[record[0]].span)).collect();
            assert_eq!(starts, ["Ann Ash", "Bo Birch", "Cy Cedar", "Di Dogwood"], "{solver}");
        }
    });
}

#[test]
fn extracts_on_all_detail_pages_or_on_all_list_pages_say_nothing() {
    let list = "<p>Ann more info<br>Bo more info<br>Home";
    with_evidence(&[list, "<p>Cy more info<br>Home"], &["Ann<p>Home<p>shop", "Bo<p>Home<p>shop"], |view, evidence| {
        assert_eq!(shown(view, evidence), [] as [&str; 0], "words of one text without a separator are one extract");
    });
    let list = "<p>Ann<br>more info<br>shop<br>Bo<br>Home";
    with_evidence(&[list, "<p>Cy more info<br>Home"], &["Ann<p>Home<p>shop", "Bo<p>Home<p>shop"], |view, evidence| {
        assert_eq!(shown(view, evidence), ["Ann", "Bo"]);
    });
}

#[test]
fn a_word_of_the_running_text_is_not_seen() {
    let details = ["<h1>Ann</h1>She loved life and Ulm.", "<h1>Bo</h1>He loved Ann, Ulm: life"];
    with_evidence(&["Ann<br>life<br>Bo<br>Ulm"], &details, |view, evidence| {
        assert_eq!(shown(view, evidence), ["Ann", "life", "Bo"]);
        assert_eq!(pages(evidence), [[1], [2], [2]]);
    });
}

/// Whether no record occurs twice, and every extract belongs to a detail page that it was seen on.
fn is_sound(evidence: &Evidence, found: &Segmentation) -> bool {
    let seen = |(i, record): (usize, &Option<usize>)| record.is_none_or(|page| evidence.extracts[i].is_on(page));
    let records = found.records();
    let mut pages: Vec<usize> = records.iter().filter_map(|record| found.record_of[record[0]]).collect();
    pages.sort_unstable();
    found.record_of.len() == evidence.extracts.len()
        && found.record_of.iter().enumerate().all(seen)
        && pages.is_sorted_by(|a, b| a < b)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// For any list and detail pages, both solvers terminate, are deterministic, and give disjoint rows in order.
    #[test]
    fn any_soup_is_segmented_into_disjoint_rows(
        list in proptest::collection::vec(0_usize..14, 0..60),
        details in proptest::collection::vec(proptest::collection::vec(0_usize..14, 0..16), 0..6),
    ) {
        const BITS: [&str; 14] =
            ["Ann ", "Bo ", "<br>", "<p>", "12 ", "<td>", "Ulm ", "<tr>", "<table>", "</table>", "~", "x", "<div>",
             "555-01 "];
        let page = |bits: &Vec<usize>| bits.iter().map(|&bit| BITS[bit]).collect::<String>();
        let list = page(&list);
        let details: Vec<String> = details.iter().map(page).collect();
        let details: Vec<&str> = details.iter().map(String::as_str).collect();
        with_evidence(&[&list], &details, |view, evidence| {
            for (solver, segment) in SOLVERS {
                let found = segment(&evidence.extracts);
                assert_eq!(found, segment(&evidence.extracts), "{solver}");
                assert!(is_sound(evidence, &found), "{solver}: {found:?}");
                for set in row_sets(view, evidence, &found) {
                    assert!(set.rows.iter().all(|row| row.start < row.stop));
                    assert!(set.rows.windows(2).all(|pair| pair[0].stop <= pair[1].start), "{:?}", set.rows);
                    assert!((0.0..=1.0).contains(&agreement(evidence, &found, &set.rows)));
                }
            }
        });
    }
}
