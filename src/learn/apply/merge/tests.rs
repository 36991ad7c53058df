//! Matching of rows, detail pages and links.

use super::*;
use crate::page::Tree;
use crate::page::tokens::Tokens;

fn table(columns: &[&str], rows: &[&[&str]]) -> Table {
    let cell = |text: &&str| (!text.is_empty()).then(|| (*text).to_owned());
    Table {
        columns: columns.iter().map(|&name| name.to_owned()).collect(),
        rows: rows.iter().map(|row| Row { cells: row.iter().map(cell).collect(), page: 0 }).collect(),
    }
}

fn words(pages: &[&str]) -> Vec<DetailWords> {
    pages.iter().map(|page| DetailWords::new(&Tokens::new(&Tree::parse(page)))).collect()
}

fn quotes() -> (Table, Vec<DetailWords>) {
    let rows: [&[&str]; 4] = [
        &["Try not to become", "Einstein", "/tag/value", "/author/Einstein"],
        &["It is our choices", "Rowling", "/tag/choice", "/author/Rowling"],
        &["There are two ways", "Einstein", "/tag/life", "/author/Einstein"],
        &["Nobody knows", "Anonymous", "/tag/life", "/author/nobody"],
    ];
    let pages = ["<h3>Rowling</h3><p>born in Yate", "<h3>Einstein</h3><p>born in Ulm", "<h3>Gide</h3><p>born in Paris"];
    (table(&["text", "author", "tag", "link"], &rows), words(&pages))
}

#[test]
fn rows_find_their_detail_page_by_what_stands_on_it_and_two_may_share_one() {
    let (list, details) = quotes();
    assert_eq!(match_rows(&list, &details), [Some(1), Some(0), Some(1), None]);
}

#[test]
fn a_price_that_is_by_chance_on_another_page_does_not_take_it() {
    let list = table(&["name", "price"], &[&["Tea", "3.50"], &["Milk", "1.10"], &["Salt", "3.50"]]);
    let details = words(&["<h1>Tea</h1>3.50", "<h1>Milk</h1>1.10"]);
    assert_eq!(match_rows(&list, &details), [Some(0), Some(1), None]);
}

#[test]
fn a_page_belongs_to_the_record_in_its_title_and_not_to_those_seen_before() {
    let list = table(&["name", "price"], &[&["Tea", "3.50"], &["Milk", "1.10"], &["Salt", "0.90"]]);
    let details = words(&["<title>Milk - Shop</title><h1>Milk</h1>1.10<h2>Last seen</h2>Tea<br>3.50"]);
    assert_eq!(match_rows(&list, &details), [None, Some(0), None]);
}

#[test]
fn one_text_in_common_does_not_make_a_single_page_a_row_s() {
    let list = table(&["name", "price"], &[&["Tea", "3.50"], &["Milk", "1.10"], &["Salt", "0.90"]]);
    assert_eq!(match_rows(&list, &words(&["<h1>Sugar</h1>1.10"])), [None, None, None]);
}

#[test]
fn the_link_to_the_detail_pages_is_the_one_that_goes_with_them() {
    let (list, details) = quotes();
    let rows = match_rows(&list, &details);
    assert_eq!(link_column(&list, &[2, 3], &rows, &details, &[]), Some(3));
    assert_eq!(link_column(&list, &[], &rows, &details, &[]), None);
    assert_eq!(link_column(&list, &[2, 3], &[None; 4], &details, &[]), None);
}

#[test]
fn the_address_of_a_page_decides_between_two_links_that_both_go_with_it() {
    let list = table(&["name", "shop", "item"], &[&["Tea", "/s/1", "/i/7"], &["Milk", "/s/2", "/i/8?x=1"]]);
    let details = words(&["Tea", "Milk"]);
    let canonical = |it: &str| DetailAddress { name: "a.html".to_owned(), canonical: Some(it.to_owned()) };
    let addresses = [canonical("https://example.org/i/7/"), canonical("https://example.org/i/8")];
    assert_eq!(link_column(&list, &[1, 2], &[Some(0), Some(1)], &details, &addresses), Some(2));
}

#[test]
fn rows_with_one_link_have_one_detail_page() {
    let (list, _) = quotes();
    assert_eq!(follow_links(&list, 3, &[None, Some(0), Some(1), None]), [Some(1), Some(0), Some(1), None]);
}

#[test]
fn a_row_without_a_detail_keeps_its_own_cells_and_no_name_stands_twice() {
    let list = table(&["name", "detail_name"], &[&["Tea", "x"], &["Milk", "y"]]);
    let detail = table(&["name", "price"], &[&["Green tea", "3.50"]]);
    let merged = merge(&list, &detail.columns, &[Some(detail.rows[0].clone()), None]);
    let expected = table(
        &["name", "detail_name", "detail_name_2", "price"],
        &[&["Tea", "x", "Green tea", "3.50"], &["Milk", "y", "", ""]],
    );
    assert_eq!(merged, expected);
}
