//! What a list does by its nature raises no alarm, and a list that is read in part only is noticed.

use super::monitor::{Page, framed, labelled_with, rows, run};
use super::stage::Stage;

const HOTELS: [&str; 24] = [
    "Adler", "Bellevue", "Central", "Dorint", "Elite", "Falken", "Grand", "Hof", "Imperial", "Juliet", "Krone",
    "Linde", "Mohren", "Nord", "Ochsen", "Post", "Quelle", "Rose", "Stern", "Traube", "Union", "Viktoria", "Waldhorn",
    "Zentral",
];

/// Every hotel has the same values on every page.
fn price(name: &str) -> u32 {
    60 + name.bytes().map(u32::from).sum::<u32>() % 90
}

fn table(names: &[&str]) -> String {
    let row = |name: &&str| {
        let price = price(name);
        format!("<tr><td><a href=/h/{name}>Hotel {name}</a></td><td>EUR {price}.00</td><td>{} km</td></tr>", price % 17)
    };
    let rows: String = names.iter().map(row).collect();
    framed(&format!("<table><tr><th>Hotel</th><th>Price</th><th>Distance</th></tr>{rows}</table>"))
}

fn items(names: &[&str]) -> String {
    let item = |name: &&str| {
        let price = price(name);
        format!("<li><a href=/h/{name}>Hotel {name}</a> <b>EUR {price}.00</b> <i>{} km</i></li>", price % 17)
    };
    format!("<ul>{}</ul>", names.iter().map(item).collect::<String>())
}

fn list(names: &[&str]) -> String {
    framed(&items(names))
}

/// The first hotels are shown in a table, the others in the old list.
fn split(names: &[&str], in_table: usize) -> String {
    let row = |name: &&str| {
        format!("<tr><td>{}</td><td><a href=/h/{name}>Hotel {name}</a></td><td>new</td></tr>", price(name))
    };
    let rows: String = names[..in_table].iter().map(row).collect();
    framed(&format!("<h2>New</h2><table>{rows}</table><h2>Others</h2>{}", items(&names[in_table..])))
}

/// Articles have an author, shelves have none.
fn teasers(articles: usize, shelves: usize, date: &str) -> String {
    let shelf = |n: usize| {
        let name = char::from(b'a' + u8::try_from(n).unwrap_or(0)).to_string().repeat(5);
        let date = date.replace("DAY", &(n + 1).to_string());
        format!("<div class=teaser><a href=/shelf/{n}><h3>Shelf {name}</h3>{date}</a></div>")
    };
    let article = |n: usize| {
        let (of, author) = (HOTELS[n], HOTELS[23 - n % 6]);
        format!("<div class=teaser><a href=/a/{of}><h3>About {of}</h3><span class=meta>by {author}</span></a></div>")
    };
    let shelves: String = (0..shelves).map(shelf).collect();
    framed(&format!("<div>{shelves}{}</div>", (0..articles).map(article).collect::<String>()))
}

fn run_on(stage: &Stage, page: &Page, body: &str) -> String {
    page.say(body);
    run(stage)
}

#[test]
fn a_page_built_of_other_elements_with_every_value_in_place_is_no_redesign() {
    let before = table(&HOTELS[..12]);
    let (stage, page) = labelled_with(Stage::new(), &before);
    let published = rows(&stage);
    let boxed = before.replace("<td>", "<td><div class=cell>").replace("</td>", "</div></td>");
    assert_eq!(run_on(&stage, &page, &boxed), "published unchanged");
    assert_eq!(rows(&stage), published);
    let told = stage.pieme(&["explain", "hotels"]).stdout;
    assert!(told.contains("100 % of the cells stand under their columns"), "{told}");
    // The same elements with other hotels: nothing says that their values are where they belong.
    let other = table(&HOTELS[12..]).replace("<td>", "<td><div class=cell>").replace("</td>", "</div></td>");
    let (stage, page) = labelled_with(Stage::new(), &before);
    assert_eq!(run_on(&stage, &page, &other), "quarantined layout");
}

#[test]
fn a_person_who_asks_for_more_similarity_gets_it() {
    let before = table(&HOTELS[..12]);
    let (stage, page) = labelled_with(Stage::new(), &before);
    let task = stage.read("tasks/hotels/task.toml");
    stage.write("tasks/hotels/task.toml", &format!("{task}\n[expect]\nsimilarity = 0.9\n"));
    let boxed = before.replace("<td>", "<td><div class=cell>").replace("</td>", "</div></td>");
    assert_eq!(run_on(&stage, &page, &boxed), "quarantined layout");
}

#[test]
fn records_that_moved_into_another_form_are_missed() {
    let (stage, page) = labelled_with(Stage::new(), &list(&HOTELS[..15]));
    assert_eq!(run_on(&stage, &page, &split(&HOTELS[..15], 5)), "quarantined rows");
    assert_eq!(rows(&stage).len(), 15, "the last good rows stay");
    let log = stage.pieme(&["log", "hotels"]).stdout;
    assert!(log.contains("missing records are elsewhere on the page"), "{log}");
    assert_eq!(run_on(&stage, &page, &list(&HOTELS[5..15])), "published changed", "a third is closed, and nowhere");
}

#[test]
fn another_list_in_the_place_of_the_old_one_is_noticed() {
    let (stage, page) = labelled_with(Stage::new(), &list(&HOTELS[..12]));
    for _ in 0..4 {
        assert_eq!(run_on(&stage, &page, &list(&HOTELS[..12])), "published unchanged");
    }
    let cards: String =
        HOTELS[..12].iter().map(|it| format!("<p><em><a href=/h/{it}>Hotel {it}</a></em></p>")).collect();
    let other = items(&HOTELS[12..]);
    assert_eq!(run_on(&stage, &page, &framed(&format!("{cards}<h2>More</h2>{other}"))), "quarantined layout");
    assert_eq!(run_on(&stage, &page, &framed(&other)), "published changed", "new data alone is no alarm");
}

#[test]
fn a_steady_list_may_lose_records_anywhere_but_not_its_end() {
    let all = &HOTELS[..16];
    let (stage, page) = labelled_with(Stage::new(), &list(all));
    for _ in 0..4 {
        assert_eq!(run_on(&stage, &page, &list(all)), "published unchanged");
    }
    assert_eq!(run_on(&stage, &page, &list(&all[..10])), "quarantined rows", "the end is cut off");
    assert_eq!(run_on(&stage, &page, &list(&all[..8])), "quarantined rows", "half of the list");
    let open: Vec<&str> = all.iter().enumerate().filter(|(i, _)| i % 5 < 3).map(|(_, name)| *name).collect();
    assert_eq!(open.len(), 10);
    assert_eq!(run_on(&stage, &page, &list(&open)), "published changed", "some are closed");
}

#[test]
fn a_calendar_runs_out_from_its_beginning() {
    let (stage, page) = labelled_with(Stage::new(), &list(&HOTELS));
    for past in [4, 8, 12] {
        assert_eq!(run_on(&stage, &page, &list(&HOTELS[past..])), "published changed", "{past} are over");
    }
    // A third of the last run's, and two thirds of what was usual.
    assert_eq!(run_on(&stage, &page, &list(&HOTELS[12..20])), "quarantined rows", "the end is cut off");
    assert_eq!(run_on(&stage, &page, &list(&HOTELS[16..])), "published changed", "the next four are over");
}

#[test]
fn a_list_that_grew_may_become_as_short_as_it_was() {
    let (stage, page) = labelled_with(Stage::new(), &list(&HOTELS[..8]));
    for names in [&HOTELS[..], &HOTELS[..], &HOTELS[..8]] {
        assert!(run_on(&stage, &page, &list(names)).starts_with("published"), "{} hotels", names.len());
    }
    assert_eq!(run_on(&stage, &page, &list(&HOTELS[..3])), "quarantined rows", "shorter than ever");
}

#[test]
fn entries_of_another_kind_are_no_alarm_until_they_write_into_a_column() {
    let (stage, page) = labelled_with(Stage::new(), &teasers(10, 0, ""));
    assert_eq!(run_on(&stage, &page, &teasers(11, 13, "")), "published changed", "no author is missing");
    let dated = teasers(11, 13, "<span class=meta>DAY. 5. 2024</span>");
    assert_eq!(run_on(&stage, &page, &dated), "quarantined columns", "dates under the authors");
}
