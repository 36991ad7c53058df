//! Learning and extracting: on pages written for it (tests/pages), on random input, and on the corpus if there is one.

use std::path::{Path, PathBuf};

use pieme::learn;
use pieme::learn::apply::{extract, visible};
use pieme::learn::template::Template;
use pieme::learn::{Candidate, LearnOptions, learn, learn_unattended};
use pieme::page::{Tree, charset};
use proptest::prelude::*;

fn read(path: &Path) -> Tree {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Tree::parse(&charset::decode(&bytes, None).text)
}

fn candidates(page: &str) -> Vec<Candidate> {
    learn(&[Tree::parse(page)], &LearnOptions::default())
}

/// Checks a folder of tests/pages: the first candidate has the folder's template and visible records, and its template
/// extracts the same rows from the page again.
fn check(site: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pages").join(site);
    let page = read(&folder.join("page.html"));
    let first = learn(std::slice::from_ref(&page), &LearnOptions::default()).remove(0);
    let expected = |name: &str| std::fs::read_to_string(folder.join(name)).expect("the folder is complete");
    assert_eq!(first.template.to_string(), expected("template.txt").trim_end(), "{site}");
    let records =
        serde_json::to_value(visible(&first.table, &first.template).records()).expect("records are plain text");
    let wanted: serde_json::Value = serde_json::from_str(&expected("records.json")).expect("records.json is JSON");
    assert_eq!(records, wanted, "{site}");

    let template = Template::from_json(&first.template.to_json()).expect("its own JSON");
    assert_eq!(template, first.template);
    let again = extract(&template, &page);
    assert_eq!(again.table, first.table, "{site}, read by its own template");
    assert!(again.similarity > 0.95, "{site}: {}", again.similarity);
}

#[test]
fn optional_badge_does_not_shift_the_price() {
    check("shop");
}

#[test]
fn three_siblings_make_one_record() {
    check("glossary");
}

#[test]
fn cells_of_a_grid_are_the_records() {
    check("gallery");
}

#[test]
fn lines_of_a_listing_are_records() {
    check("listing");
}

#[test]
fn header_and_total_are_no_records() {
    check("timetable");
}

#[test]
fn the_names_above_a_table_are_no_record_of_a_further_page_either() {
    let table = |columns: usize, from: usize| {
        let line = |cells: &[String], tag: &str| {
            format!("<tr>{}</tr>", cells.iter().map(|it| format!("<{tag}>{it}</{tag}>")).collect::<String>())
        };
        let names = ["Name", "Price", "Rooms", "Open since"].map(str::to_owned);
        let cells =
            |n: usize| [format!("Hotel {n}"), (90 + n).to_string(), (n * 3 + 7).to_string(), format!("19{}", 50 + n)];
        let rows: String = (from..from + 12).map(|n| line(&cells(n)[..columns], "td")).collect();
        format!("<h1>Hotels</h1><table>{}{rows}</table><p>All prices in dollars.", line(&names[..columns], "th"))
    };
    for columns in 2..=4 {
        let template = candidates(&table(columns, 0)).remove(0).template;
        for from in [0, 20] {
            let read = extract(&template, &Tree::parse(&table(columns, from)));
            let first = read.table.rows.first().and_then(|row| row.cells[0].clone());
            assert_eq!((first, read.table.rows.len()), (Some(format!("Hotel {from}")), 12), "{columns} columns");
        }
    }
}

#[test]
fn further_page_of_the_same_kind_is_read_and_another_layout_is_refused() {
    let row = |name: &str, price: &str| format!("<li class=item><a href=/{name}>{name}</a><b>{price}</b></li>");
    let list = |rows: &[(&str, &str)]| {
        let rows: String = rows.iter().map(|(name, price)| row(name, price)).collect();
        format!("<h1>Shop</h1><ul class=list>{rows}</ul>")
    };
    let first = list(&[("tea", "3.50"), ("coffee", "4.10"), ("cocoa", "2.90"), ("milk", "1.10")]);
    let template = candidates(&first).remove(0).template;
    let next = extract(&template, &Tree::parse(&list(&[("bread", "2.00"), ("butter", "2.40")])));
    assert_eq!((next.table.rows.len(), next.similarity), (2, 1.0));
    let one = extract(&template, &Tree::parse(&list(&[("salt", "0.80")])));
    assert_eq!((one.table.rows.len(), one.similarity), (1, 1.0), "one record is no list, but it is a record");
    let other = "<table><tr><td>tea<td>3.50<tr><td>coffee<td>4.10<tr><td>cocoa<td>2.90</table>";
    let other = extract(&template, &Tree::parse(other));
    assert!(other.similarity < 0.7, "{}", other.similarity);
}

#[test]
fn category_above_its_items_is_repeated_on_each() {
    let page = "<h3>Fruit</h3><ul><li><b>apple</b> red</li><li><b>pear</b> green</li><li><b>plum</b> blue</li></ul>\
                <h3>Roots</h3><ul><li><b>beet</b> dark</li><li><b>carrot</b> bright</li>\
                <li><b>swede</b> pale</li></ul>";
    let first = candidates(page).remove(0);
    assert_eq!(first.table.rows.len(), 6);
    let has = |row: usize, value: &str| first.table.rows[row].cells.iter().flatten().any(|cell| cell == value);
    assert!((0..3).all(|row| has(row, "Fruit")) && (3..6).all(|row| has(row, "Roots")));
}

#[test]
fn further_pages_strengthen_what_is_known_of_the_slots() {
    let page = |items: &str| Tree::parse(&format!("<ul>{items}</ul>"));
    let pages = [
        page("<li><a href=1>ant</a> <i>six</i><li><a href=2>bee</a> <i>seven</i><li><a href=3>cat</a> <i>four</i>"),
        page("<li><a href=4>dog</a> <i>one</i><li><a href=5>eel</a> <i>none</i><li><a href=6>fox</a> <i>two</i>"),
    ];
    let first = learn(&pages, &LearnOptions::default()).remove(0);
    assert_eq!(first.table.rows.len(), 3, "the table is of the first page");
    assert_eq!(first.template.variants[0].rows, 6);
}

#[test]
fn a_person_who_knows_the_count_gets_that_list_first() {
    let page = Tree::parse(
        "<ul><li><b>a</b> one<li><b>b</b> two<li><b>c</b> three<li><b>d</b> four</ul>\
         <ol><li><i>x</i> up<li><i>y</i> down<li><i>z</i> left</ol>",
    );
    let options = LearnOptions { rows: Some(3), ..LearnOptions::default() };
    assert_eq!(learn(&[page], &options)[0].table.rows.len(), 3);
}

#[test]
fn damaged_templates_are_refused_with_a_reason() {
    let template = candidates("<ul><li><b>a</b> one<li><b>b</b> two<li><b>c</b> three</ul>").remove(0).template;
    let json = template.to_json();
    for (from, to) in [("\"version\": 1", "\"version\": 99"), ("\"slot\": 0", "\"slot\": 4711"), ("{", "")] {
        let damaged = json.replacen(from, to, 1);
        assert_ne!(damaged, json, "{from}");
        assert!(Template::from_json(&damaged).is_err(), "{from}");
    }
}

#[test]
fn hostile_pages_end_without_panic() {
    let template = candidates("<ul><li class=x><b>a</b> one<li class=x><b>b</b> two<li class=x><b>c</b> three</ul>")[0]
        .template
        .clone();
    let binary: String = (0..200_000_u32).map(|i| char::from((i.wrapping_mul(2_654_435_761) >> 24) as u8)).collect();
    let pages = [
        String::new(),
        "only text".to_owned(),
        "<div>".repeat(20_000),
        "<div>x".repeat(20_000),
        "x".repeat(1 << 20),
        format!("<p>{}</p>", "y".repeat(1 << 20)).repeat(2),
        binary,
        "<table><tr><td>".repeat(3_000),
        "<pre>\n".repeat(2_000),
        format!("<pre>{}</pre>", "<b>a\n</b>\n".repeat(500)),
        "<li>".repeat(10_000),
        "<a href=x><b>1</b></a><br>".repeat(5_000),
        (0..3_000).map(|i| format!("<t{i}>{i}</t{i}>")).collect(),
    ];
    for page in &pages {
        let tree = Tree::parse(page);
        let _ = learn(std::slice::from_ref(&tree), &LearnOptions::default());
        let _ = learn_unattended(&tree);
        let similarity = extract(&template, &tree).similarity;
        assert!((0.0..=1.0).contains(&similarity), "{similarity}");
    }
    assert_eq!(extract(&template, &Tree::parse("")).similarity, 0.0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// Random tags and texts: learning and extracting terminate, and their results are well-formed.
    #[test]
    fn any_soup_is_survived(soup in proptest::collection::vec(0_usize..18, 0..160)) {
        const BITS: [&str; 18] = [
            "<ul>", "</ul>", "<li class=a>", "<li>", "<div>", "</div>", "<table>", "<tr>", "<td>", "</table>",
            "<a href=u>", "</a>", "<b>", "</b>", "<br>", "Name: ", "12.50 ", "<pre>x\n",
        ];
        let page: String = soup.iter().map(|&bit| BITS[bit]).collect();
        let tree = Tree::parse(&page);
        for candidate in learn(std::slice::from_ref(&tree), &LearnOptions::default()) {
            prop_assert!(candidate.score.is_finite());
            let found = extract(&candidate.template, &tree);
            prop_assert!((0.0..=1.0).contains(&found.similarity));
            prop_assert!(found.table.rows.iter().all(|row| row.cells.len() == found.table.columns.len()));
        }
    }
}

/// On a few small pages of the corpus the first candidate has the true number of rows.
#[test]
#[allow(clippy::print_stderr, reason = "reports a skipped test")]
fn corpus_pages_are_cut_into_the_right_rows() {
    let default = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let corpus = std::env::var_os("PIEME_CORPUS").map_or(default, PathBuf::from).join("corpus");
    if !corpus.is_dir() {
        eprintln!("skipped: no corpus (set PIEME_CORPUS to the folder that contains corpus/)");
        return;
    }
    for case in
        ["omini-loc-pre", "wien-s04-yahoo-people", "wien-s10-pathfinder", "wien-s19-shopsnet", "wien-s24-travlang"]
    {
        let truth = std::fs::read_to_string(corpus.join(case).join("truth.json")).expect("every case has a truth");
        let truth: serde_json::Value = serde_json::from_str(&truth).expect("the truth is JSON");
        let page = read(&corpus.join(case).join("page.html"));
        let first = learn(&[page], &LearnOptions::default()).remove(0);
        assert_eq!(Some(first.table.rows.len() as u64), truth["main_list"]["n_records"].as_u64(), "{case}");
    }
}

#[test]
fn what_the_readers_of_tokens_see_is_never_taken_for_a_list_unattended() {
    let shelf: String = (0..12).map(|i| format!("<li><a href=/b/{i}>Book {i}</a> <b>{i}.50</b></li>")).collect();
    let page = [Tree::parse(&format!("<ul>{shelf}</ul>"))];
    for method in [learn::Method::Cycles, learn::Method::Repeats] {
        let found = learn(&page, &LearnOptions { method, ..LearnOptions::default() });
        // Whatever the score: token-based methods find repeats in random bytes too.
        assert!(found.first().is_some_and(|it| it.score > -2.0), "{method:?} finds the list");
        assert!(!found.iter().any(learn::is_plausible), "{method:?}");
    }
    assert!(learn(&page, &LearnOptions::default()).first().is_some_and(learn::is_plausible));
}

#[test]
fn a_category_above_its_items_is_a_column_of_each() {
    let block = |town: &str, hotels: &[&str]| {
        let items: String = hotels
            .iter()
            .map(|it| format!("<li class=h><a href=/{it}>Hotel {it}</a> {} rooms</li>", it.len()))
            .collect();
        format!("<h3>{town}</h3><ul>{items}</ul>")
    };
    let page = |towns: &[(&str, &[&str])]| {
        let blocks: String = towns.iter().map(|(town, hotels)| block(town, hotels)).collect();
        format!("<h1>Hotels</h1><div>{blocks}</div>")
    };
    let first = page(&[
        ("Halifax", &["Adler", "Bear", "Crown"]),
        ("Truro", &["Dove", "Elm"]),
        ("Digby", &["Fox", "Gull", "Hart"]),
    ]);
    let template = candidates(&first).remove(0).template;
    let next = extract(&template, &Tree::parse(&page(&[("Pictou", &["Ivy", "Jay"]), ("Amherst", &["Kite", "Lark"])])));
    let shown = next.visible(&template);
    let towns = shown.columns.iter().position(|name| name == "heading").expect("a category is shown");
    let towns: Vec<Option<&str>> = shown.rows.iter().map(|row| row.cells[towns].as_deref()).collect();
    assert_eq!(towns, [Some("Pictou"), Some("Pictou"), Some("Amherst"), Some("Amherst")]);
}

#[test]
fn rows_of_a_small_table_come_before_its_cells() {
    let rows: String = ["Ghent", "Bruges", "Ostend", "Mechelen"]
        .iter()
        .map(|town| format!("<tr><td>{town}<td>{}<td>x{town}", town.len() * 7))
        .collect();
    let first = candidates(&format!("<table><tr><th>Town<th>Flats to let<th>Code{rows}</table>")).remove(0);
    assert_eq!(first.table.rows.len(), 4, "{}", first.template);
}

#[test]
fn tables_under_different_titles_are_different_lists() {
    let table = |titles: &str, words: &[&str]| {
        let rows: String = words.iter().map(|it| format!("<tr><td>{it}</td><td>{}</td></tr>", it.len() * 31)).collect();
        format!("<table><tr>{titles}</tr>{rows}</table>")
    };
    let towns = ["Ghent", "Bruges", "Ostend", "Mechelen", "Ieper", "Aalst", "Kortrijk", "Leuven", "Namur", "Liege"];
    let beers = ["Duvel", "Chimay", "Orval", "Leffe", "Rochefort", "Achel", "Kwak", "Hoegaarden", "Jupiler", "Palm"];
    let page = |other: &str| {
        format!("{}{}", table("<th>Name<th>People", &towns), table(&format!("<th>Name<th>{other}"), &beers))
    };
    assert_eq!(candidates(&page("Litres")).remove(0).table.rows.len(), 10);
    assert_eq!(candidates(&page("People")).remove(0).table.rows.len(), 20, "one list in two sections");
}

#[test]
fn a_category_beside_a_column_title_is_found() {
    let table = |state: &str, jobs: &[&str]| {
        let rows: String = jobs
            .iter()
            .map(|it| {
                format!(
                    "<tr class=job><td><a href=/{it}><b>{it}</b></a><p>in town</p></td><td><i>{} places</i></td></tr>",
                    it.len()
                )
            })
            .collect();
        format!("<table><tr class=top><td>{state}</td><td>Places</td></tr>{rows}</table>")
    };
    let page = [
        table("Oaxaca", &["Baker", "Cook", "Driver", "Editor"]),
        table("Puebla", &["Farmer", "Guard", "Hunter"]),
        table("Sonora", &["Judge", "Knitter", "Lawyer", "Miner"]),
    ];
    let first = candidates(&page.concat()).remove(0);
    assert_eq!(first.table.rows.len(), 11, "{}", first.template);
    let wanted = ["Oaxaca", "Puebla", "Sonora"];
    let is_state =
        |j: &usize| [0, 4, 7].iter().zip(wanted).all(|(&i, it)| first.table.rows[i].cells[*j].as_deref() == Some(it));
    assert!((0..first.table.columns.len()).any(|j| is_state(&j)), "{:?}", first.table.columns);
}
