//! What a site writes into its pages has no effect on a terminal, whichever command shows it.

use std::fs;

use crate::stage::Stage;
use crate::terminal::typed;

/// Sets the title, clears the screen, writes by the 8-bit form, turns text around, isolates it.
const ORDERS: &str = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{202e}txt.exe\u{2066}\u{200f}";

fn page() -> String {
    let row = |at: u32| format!("<li><b>{ORDERS} Hotel {at}</b> <i>{at}0 €</i></li>");
    format!("<html><title>{ORDERS}</title><ul>{}</ul></html>", (0..9).map(row).collect::<String>())
}

#[test]
fn nothing_of_a_page_moves_the_cursor_or_turns_text_around() {
    let stage = Stage::new();
    stage.write("page.html", &page());
    let page = stage.path("page.html");
    let page = page.to_str().expect("a path");
    let learned =
        stage.pieme(&["learn", page, "--pick", "1", "-o", stage.path("template.json").to_str().expect("a path")]);
    assert_eq!(learned.code, 0, "{}", learned.stderr);
    let template = stage.path("template.json");
    let template = template.to_str().expect("a path");
    let commands: [&[&str]; 5] = [
        &["learn", page],
        &["learn", page, "--json"],
        &["extract", page, "--template", template],
        &["extract", page, "--template", template, "--json"],
        &["explain", page, "--stage", "tokens"],
    ];
    for words in commands {
        let shown = typed(&stage, words, &[]);
        assert!(shown.contains('·') || shown.contains("Hotel"), "{words:?}: {shown}");
        for order in ["\u{1b}]", "\u{1b}[2J", "\u{9b}", "\u{202e}", "\u{2066}", "\u{200f}", "\u{7}"] {
            assert!(!shown.contains(order), "{words:?} shows {order:?}: {shown:?}");
        }
    }
    // The control: a file gets the text as it is.
    let extracted = stage.pieme(&["extract", page, "--template", template, "--json"]).stdout;
    assert!(extracted.contains('\u{202e}'), "{extracted}");
    fs::remove_file(template).expect("ours");
}
