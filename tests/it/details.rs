//! List and detail pages, learned together.

use std::path::PathBuf;
use std::process::Command;

use pieme::learn::apply::extract;
use pieme::learn::apply::merge::merge;
use pieme::learn::teach::{DetailPage, ListAndDetail, learn_with_details};
use pieme::learn::template::Template;
use pieme::learn::{Help, LearnOptions, learn, learn_pages, read_page};
use pieme::model::Table;
use pieme::page::{Tree, charset};
use proptest::prelude::*;

use crate::stage::Said;

/// People, separated only by line breaks; any field may be missing.
const PEOPLE: &str = "<h1>People</h1>Ann Ash<br>12 Elm Road<br>Ulm<br>555-0101<br>Bo Birch<br>Bonn<br>555-0102<br>\
    Cy Cedar<br>9 Fir Lane<br>Ulm<br>Di Dogwood<br>3 Oak Way<br>Bonn<br>555-0104<br>";

fn person(fields: &str, born: &str) -> String {
    let fields: String = fields.split('|').map(|field| format!("<p>{field}</p>")).collect();
    format!("<div id=head>White pages</div><div id=main>{fields}<dl><dt>Born</dt><dd>{born}</dd></dl></div><hr>Imprint")
}

fn people() -> Vec<String> {
    vec![
        person("Di Dogwood|3 Oak Way|Bonn|555-0104", "4 April 1984"),
        person("Ann Ash|12 Elm Road|Ulm|555-0101", "1 May 1971"),
        person("Cy Cedar|9 Fir Lane|Ulm", "3 March 1993"),
        person("Bo Birch|Bonn|555-0102", "2 June 1982"),
    ]
}

fn details(pages: &[String]) -> Vec<DetailPage> {
    let detail = |(i, page): (usize, &String)| DetailPage { page: Tree::parse(page), name: format!("{i}.html") };
    pages.iter().enumerate().map(detail).collect()
}

fn learned(list: &str, pages: &[String]) -> ListAndDetail {
    let list = [Tree::parse(list)];
    learn_with_details(&list, &details(pages), &LearnOptions::default(), &Help::default())
        .expect("nothing else is said")
}

fn has(table: &Table, row: usize, value: &str) -> bool {
    table.rows[row].cells.iter().flatten().any(|cell| cell == value)
}

#[test]
fn rows_that_only_the_detail_pages_show_come_first_with_the_columns_of_both() {
    let alone = learn(&[Tree::parse(PEOPLE)], &LearnOptions::default());
    assert!(alone.iter().all(|it| it.table.rows.len() != 4), "the markup does not show four people");
    let found = learned(PEOPLE, &people());
    let first = &found.candidates[0];
    assert_eq!(first.details, [Some(1), Some(3), Some(2), Some(0)]);
    for (row, name, born) in
        [(0, "Ann Ash", "1 May 1971"), (1, "Bo Birch", "2 June 1982"), (3, "Di Dogwood", "4 April 1984")]
    {
        assert!(has(&first.table, row, name) && has(&first.table, row, born), "{name}: {:?}", first.table.rows[row]);
    }
    let mut names = first.table.columns.clone();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), first.table.columns.len(), "no name stands twice");
}

#[test]
fn a_row_without_a_detail_page_keeps_its_own_cells() {
    let row = |name: &str| format!("<li><a href=/p/{name}>{name}</a> <b>{}</b></li>", name.len());
    let list: String = ["Anna", "Barbara", "Cy", "Dorothea", "Ed"].into_iter().map(row).collect();
    let pages = [person("Barbara|7", "2 June 1982"), person("Ed|2", "5 July 1955")];
    let found = learned(&format!("<ul>{list}</ul>"), &pages);
    let first = &found.candidates[0];
    assert_eq!(first.details, [None, Some(0), None, None, Some(1)]);
    let link = first.link.expect("the links are told apart by the names in them");
    assert_eq!(first.table.rows[1].cells[link].as_deref(), Some("/p/Barbara"));
    assert!(has(&first.table, 0, "Anna") && has(&first.table, 4, "5 July 1955"));
    let own = first.candidate.table.columns.len();
    assert!(first.table.rows[0].cells[own..].iter().all(Option::is_none));
}

/// A product page with breadcrumbs and basket; unknown fields are left out.
fn product(name: &str, price: &str, facts: &[(&str, &str)]) -> String {
    let facts: String =
        facts.iter().map(|(label, value)| format!("<tr><th>{label}</th><td>{value}</td></tr>")).collect();
    let price = if price.is_empty() { String::new() } else { format!("<p class=price>{price}</p>") };
    format!(
        "<nav><a href=/>Home</a><a href=/all>All products</a></nav>\
         <div class=page><article class=product><h1>{name}</h1>{price}\
         <p class=text>{name} is what you need. Every household has one.</p>\
         <h2>Facts</h2><table>{facts}</table></article></div>\
         <footer>Imprint, terms and conditions</footer>"
    )
}

fn products() -> Vec<Tree> {
    let pages = [
        product("Oak chair", "95.00", &[("Code", "A-100"), ("Colour", "brown"), ("Weight", "4 kg")]),
        product("Pine table", "240.00", &[("Code", "B-207"), ("Weight", "19 kg")]),
        product("Lamp", "", &[("Code", "C-033"), ("Colour", "white"), ("Weight", "1 kg")]),
        product("Shelf", "75.50", &[("Code", "D-410"), ("Colour", "black"), ("Weight", "9 kg")]),
    ];
    pages.iter().map(|page| Tree::parse(page)).collect()
}

#[test]
fn several_pages_of_one_record_each_make_a_template_for_the_next_one() {
    let pages = products();
    let learned = learn_pages(&pages.iter().collect::<Vec<_>>(), &[]).expect("they differ");
    assert_eq!(learned.table.rows.len(), 4);
    let template = Template::from_json(&learned.template.to_json()).expect("its own JSON");
    let next = product("Stool", "30.00", &[("Code", "E-777"), ("Weight", "3 kg")]);
    let found = extract(&template, &Tree::parse(&next));
    assert_eq!(found.table.rows.len(), 1);
    assert!(found.similarity >= 0.7, "{}", found.similarity);
    for (known, new) in [("Oak chair", "Stool"), ("95.00", "30.00"), ("A-100", "E-777"), ("4 kg", "3 kg")] {
        let column = learned.table.rows[0].cells.iter().position(|cell| cell.as_deref() == Some(known));
        let column = column.unwrap_or_else(|| panic!("{known} has a column: {}", learned.template));
        assert_eq!(found.table.rows[0].cells[column].as_deref(), Some(new), "{}", learned.template);
    }
    let notation = learned.template.to_string();
    assert!(notation.contains("[<p.price>") && notation.contains("[<tr><th>"), "{notation}");
    assert!(!notation.contains("Imprint"), "what all pages share is left out: {notation}");
}

#[test]
fn pages_of_another_kind_are_not_taken_for_the_record() {
    let pages = products();
    let template = learn_pages(&pages.iter().collect::<Vec<_>>(), &[]).expect("they differ").template;
    for other in [
        "<h1>Not found</h1><p>The page you asked for is not here.</p>",
        "<div class=page><article class=news><h1>Storm</h1>\
         <p>It rained.</p><p>And rained.</p><img src=a.png></article></div>",
        PEOPLE,
        "",
    ] {
        let found = extract(&template, &Tree::parse(other));
        assert!(found.similarity < 0.7, "{}: {other}", found.similarity);
        assert_eq!(read_page(&template, &Tree::parse(other)), None);
    }
}

#[test]
fn one_page_alone_is_told_from_the_list_pages_of_its_site() {
    let page = Tree::parse(&product("Oak chair", "95.00", &[("Code", "A-100")]));
    let list = Tree::parse(
        "<nav><a href=/>Home</a><a href=/all>All products</a></nav><ul><li>Oak chair<li>Lamp</ul>\
         <footer>Imprint, terms and conditions</footer>",
    );
    let learned = learn_pages(&[&page], &[list]).expect("it has a text of its own");
    assert!(has(&learned.table, 0, "Oak chair") && has(&learned.table, 0, "A-100"), "{}", learned.template);
    assert!(!learned.template.to_string().contains("<nav"), "{}", learned.template);
    assert_eq!(extract(&learned.template, &page).similarity, 1.0);
}

#[test]
fn pages_without_a_text_of_their_own_have_no_template() {
    let same = || Tree::parse("<p>Nothing here</p>");
    assert!(learn_pages(&[&same(), &same()], &[]).is_none());
    assert!(learn_pages(&[], &[]).is_none());
}

#[test]
fn what_a_person_says_besides_decides_on_the_list() {
    let list = format!("{PEOPLE}<ul><li><b>x1</b> one<li><b>x2</b> two<li><b>x3</b> three</ul>");
    let help = Help { records: vec!["x1".to_owned(), "x3".to_owned()], ..Help::default() };
    let found = learn_with_details(&[Tree::parse(&list)], &details(&people()), &LearnOptions::default(), &help);
    assert_eq!(found.expect("both texts are there").candidates[0].candidate.table.rows.len(), 3);
    let unknown = Help { records: vec!["nowhere".to_owned()], ..Help::default() };
    assert!(learn_with_details(&[Tree::parse(&list)], &[], &LearnOptions::default(), &unknown).is_err());
}

fn pieme(words: &[&str]) -> Said {
    Command::new(env!("CARGO_BIN_EXE_pieme")).args(words).output().expect("pieme starts").into()
}

#[test]
fn a_script_gets_merged_records_and_two_templates_that_extract() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let file = |name: &str| folder.path().join(name).to_str().expect("a plain path").to_owned();
    let write = |name: &str, text: &str| {
        std::fs::write(file(name), text).expect("the page is written");
        file(name)
    };
    let item = |name: &str, price: &str| format!("<li class=item><a href=/{name}.html>{name}</a><b>{price}</b></li>");
    let list = format!(
        "<ul>{}{}{}{}</ul>",
        item("Chair", "95.00"),
        item("Table", "240.00"),
        item("Lamp", "12.00"),
        item("Shelf", "75.50")
    );
    let list = write("list.html", &list);
    let chair = write("Chair.html", &product("Chair", "95.00", &[("Code", "A-100"), ("Weight", "4 kg")]));
    let shelf = write("Shelf.html", &product("Shelf", "75.50", &[("Code", "D-410"), ("Weight", "9 kg")]));
    let (out, detail_out) = (file("list.json"), file("detail.json"));
    let said = pieme(&[
        "learn",
        &list,
        "--json",
        "--pick",
        "1",
        "-o",
        &out,
        "--detail",
        &shelf,
        &chair,
        "--detail-out",
        &detail_out,
    ]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let json: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
    let first = &json["candidates"][0];
    assert_eq!(first["rows"], 4);
    assert_eq!(first["details"], serde_json::json!(["Chair.html", null, null, "Shelf.html"]));
    assert_eq!(first["records"][0][first["link"].as_str().expect("a link")], "/Chair.html");
    let values = |record: &serde_json::Value| record.as_object().map(|it| it.values().cloned().collect::<Vec<_>>());
    assert!(values(&first["records"][3]).expect("a record").contains(&"D-410".into()), "{first}");
    assert_eq!(json["detail"]["records"].as_array().map(Vec::len), Some(2));

    let again = pieme(&["extract", "--template", &out, &list, "--json"]);
    assert_eq!(again.code, 0);
    let lamp = write("Lamp.html", &product("Lamp", "12.00", &[("Code", "C-033"), ("Weight", "1 kg")]));
    let said = pieme(&["extract", "--template", &detail_out, &lamp, "--json"]);
    assert_eq!(said.code, 0, "{}", said.stdout);
    let json: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!(json["rows"], 1);
    assert!(values(&json["records"][0]).expect("a record").contains(&"C-033".into()), "{json}");
    assert_eq!(pieme(&["extract", "--template", &detail_out, &list]).code, 3, "a list is no detail page");
    assert!(pieme(&["learn", &list, "--detail", &chair, &shelf]).stdout.contains("2 of 4 rows of list 1"));
    assert_eq!(pieme(&["learn", &list, "--detail", &file("missing.html")]).code, 2);
}

#[test]
fn tables_of_different_widths_merge() {
    let list = Table { columns: vec!["a".to_owned()], rows: Vec::new() };
    assert_eq!(merge(&list, &["a".to_owned(), "b".to_owned()], &[]).columns, ["a", "detail_a", "b"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Tag soup as list and detail pages: learning ends, and every row has as many cells as there are columns.
    #[test]
    fn any_soup_with_any_detail_pages_is_survived(
        list in proptest::collection::vec(0_usize..16, 0..80),
        pages in proptest::collection::vec(proptest::collection::vec(0_usize..16, 0..30), 0..5),
    ) {
        const BITS: [&str; 16] = [
            "<ul>", "</ul>", "<li>", "<div>", "</div>", "<table>", "<tr>", "<td>", "<a href=u>", "<h1>", "<b>", "<br>",
            "Ann ", "Ulm: ", "12.50 ", "<pre>x\n",
        ];
        let page = |bits: &Vec<usize>| bits.iter().map(|&bit| BITS[bit]).collect::<String>();
        let pages: Vec<String> = pages.iter().map(page).collect();
        let found = learned(&page(&list), &pages);
        for it in &found.candidates {
            prop_assert!(it.candidate.score.is_finite());
            prop_assert!(it.table.rows.iter().all(|row| row.cells.len() == it.table.columns.len()));
            prop_assert_eq!(it.details.len(), it.table.rows.len());
        }
        if let Some(pages) = &found.pages {
            let similarity = extract(&pages.template, &Tree::parse(&page(&list))).similarity;
            prop_assert!((0.0..=1.0).contains(&similarity));
        }
    }
}

/// The author pages of one site of the corpus, each read by the template of the others.
#[test]
#[allow(clippy::print_stderr, reason = "a test that was left out must say so")]
fn corpus_detail_pages_are_read_by_the_template_of_the_others() {
    let default = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let corpus = std::env::var_os("PIEME_CORPUS").map_or(default, PathBuf::from).join("corpus");
    let case = corpus.join("quotes-toscrape-list-detail");
    if !case.is_dir() {
        eprintln!("left out: no corpus (set PIEME_CORPUS to the folder that holds corpus/)");
        return;
    }
    let truth = std::fs::read_to_string(case.join("truth.json")).expect("every case has a truth");
    let truth: serde_json::Value = serde_json::from_str(&truth).expect("the truth is JSON");
    let read = |name: &String| {
        let bytes = std::fs::read(case.join(name)).expect("a detail page");
        Tree::parse(&charset::decode(&bytes, None).text)
    };
    let names: Vec<String> = truth["details"].as_object().expect("details").keys().cloned().collect();
    let pages: Vec<Tree> = names.iter().map(read).collect();
    for (left_out, name) in names.iter().enumerate() {
        let others: Vec<&Tree> = (0..pages.len()).filter(|&i| i != left_out).map(|i| &pages[i]).collect();
        let template = learn_pages(&others, &[]).expect("they differ").template;
        let found = extract(&template, &pages[left_out]);
        assert!(found.similarity >= 0.7 && found.table.rows.len() == 1, "{name}: {}", found.similarity);
        for field in ["name", "born", "place"] {
            let value = truth["details"][name][field].as_str().expect("a text");
            assert!(has(&found.table, 0, value), "{name}: {value}");
        }
    }
}
