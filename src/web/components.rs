//! HTML components shared by several pages. Readable without scripts; app.js formats times and numbers in the reader's
//! language.

use chrono::{DateTime, Utc};
use maud::{Markup, html};
use url::{Url, form_urlencoded};

use crate::judge::Severity;
use crate::model::State;
use crate::show::StatusLine;

use super::session::SessionUser;
use super::token::CSRF_FIELD;

/// A point in time; `nothing` is shown where there is none.
pub(super) fn time(at: Option<DateTime<Utc>>, nothing: &str) -> Markup {
    html! {
        @match at {
            Some(at) => time datetime=(at.to_rfc3339()) { (at.format("%Y-%m-%d %H:%M UTC")) },
            None => (nothing),
        }
    }
}

pub(super) fn number(number: u64) -> Markup {
    html! { data value=(number) { (number) } }
}

/// A number with its noun: `1 row`, `2 rows`.
pub(super) fn counted(count: u64, noun: &str) -> Markup {
    html! { (number(count)) " " (noun) @if count != 1 { "s" } }
}

/// A sentence that stands alone begins with a capital letter. Addresses, commands and names keep their spelling.
pub(super) fn sentence(text: &str) -> String {
    let first_word = text.split(' ').next().unwrap_or_default();
    if first_word.is_empty() || !first_word.chars().all(|letter| letter.is_ascii_lowercase()) {
        return text.to_owned();
    }
    text[..1].to_ascii_uppercase() + &text[1..]
}

pub(super) fn similarity(value: Option<f64>) -> Markup {
    html! {
        @match value {
            Some(value) => data value=(value) data-digits="2" { (format!("{value:.2}")) },
            None => "–",
        }
    }
}

/// A state as a coloured word. The colour only repeats what the word says.
pub(super) fn state(line: &StatusLine) -> Markup {
    html! { span.state data-tone=(tone_of(line)) { (line.state) } }
}

/// The command to type next, as a link to the page that does the same.
pub(super) fn advice(line: &StatusLine) -> Markup {
    let page = if line.advice.starts_with("pieme label ") { "label" } else { "task" };
    html! { a.advice href={ "/" (page) "/" (line.task) } title=(line.advice) { code { (line.advice) } } }
}

/// The colour class of a task's state, as in the terminal's table: red needs a person now, yellow soon; green is good,
/// waiting is grey.
pub(super) fn tone_of(line: &StatusLine) -> &'static str {
    match (line.severity, line.state) {
        (Severity::Critical, _) => "bad",
        (Severity::Warning, _) => "soon",
        (Severity::Fine, State::Ok | State::Changed) => "good",
        (Severity::Fine, State::Running) => "going",
        (Severity::Fine, _) => "idle",
    }
}

/// The hidden CSRF token that every form with a POST action needs.
pub(super) fn csrf_field(visitor: &SessionUser) -> Markup {
    html! { input type="hidden" name=(CSRF_FIELD) value=(visitor.csrf_token); }
}

/// A button that sends an action on the task to the daemon and returns to `next`.
pub(super) fn action_button(visitor: &SessionUser, line: &StatusLine, verb: &str, word: &str, next: &str) -> Markup {
    html! {
        form.inline method="post" action={ "/task/" (line.task) "/" (verb) } {
            (csrf_field(visitor))
            input type="hidden" name="next" value=(next);
            button aria-label={ (word) " " (line.task) } { (word) }
        }
    }
}

/// The buttons Run, and Pause or Resume.
pub(super) fn action_buttons(visitor: &SessionUser, line: &StatusLine, next: &str) -> Markup {
    html! {
        (action_button(visitor, line, "run", "Run", next))
        @if line.state == State::Paused {
            @if !line.is_disabled { (action_button(visitor, line, "resume", "Resume", next)) }
        } @else {
            (action_button(visitor, line, "pause", "Pause", next))
        }
    }
}

/// The query of an address with these parameters, `?a=1&b=2`; empty ones are left out.
pub(super) fn query(parameters: &[(&str, &str)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(parameters.iter().filter(|(_, value)| !value.is_empty()));
    let query = query.finish();
    if query.is_empty() { query } else { format!("?{query}") }
}

/// The parameter `page` of an address; the first page has none.
pub(super) fn page_parameter(page: u64) -> String {
    if page > 1 { page.to_string() } else { String::new() }
}

/// Links to the previous and the next page. `address` returns the address of a page, counted from 1.
pub(super) fn pager(page: usize, pages: usize, address: impl Fn(usize) -> String) -> Markup {
    html! {
        @if pages > 1 {
            nav.pager aria-label="Pages" {
                @if page > 1 { a rel="prev" href=(address(page - 1)) { "← Previous" } } @else { span {} }
                span { "Page " (number(page as u64)) " of " (number(pages as u64)) }
                @if page < pages { a rel="next" href=(address(page + 1)) { "Next →" } } @else { span {} }
            }
        }
    }
}

/// An untrusted text, truncated. Only http and https addresses become links.
pub(super) fn text(text: &str, most: usize) -> Markup {
    let web = Url::parse(text.trim()).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    html! {
        @match web {
            Some(url) => a href=(url) rel="noopener noreferrer nofollow" target="_blank" { (truncated(text, most)) },
            None => (truncated(text, most)),
        }
    }
}

pub(super) fn truncated(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_web_become_links() {
        for words in [
            "javascript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "JaVaScRiPt:x",
            " java\nscript:x",
            "plain",
        ] {
            assert!(!text(words, 100).into_string().contains("<a"), "{words}");
        }
        let link = text("https://shop.example/a?b=\"><script>", 100).into_string();
        assert!(link.starts_with("<a href=\"https://shop.example/a?b=%22%3E%3Cscript%3E\""), "{link}");
        assert!(!link.contains("<script>"), "{link}");
    }

    #[test]
    fn only_a_plain_first_word_gets_a_capital_letter() {
        for (text, shown) in [
            ("the page is empty", "The page is empty"),
            ("https://shop.example/ answered with 404", "https://shop.example/ answered with 404"),
            ("`price` is empty", "`price` is empty"),
            ("48 rows from 4 pages", "48 rows from 4 pages"),
            ("übergang", "übergang"),
            ("", ""),
        ] {
            assert_eq!(sentence(text), shown);
        }
    }

    #[test]
    fn a_long_text_is_cut_between_letters() {
        assert_eq!((truncated("äöü", 2).as_str(), truncated("äöü", 3).as_str()), ("äö…", "äöü"));
    }
}
