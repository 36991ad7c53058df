//! What a row shows besides its shape: a picture, a price, a date or figure, a heading; and what tells a menu from a list.

use super::find::View;
use crate::page::tokens::{Span, TokenKind};

/// Shares of rows, 0 to 1.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    pub picture: f64,
    pub price: f64,
    /// A date, a time, a number with separators.
    pub figure: f64,
    pub heading: f64,
    /// Ends in a number in brackets, as the choices of a filter do: “Tents (12)”.
    pub tally: f64,
}

/// Where the marks of a page are: of each kind, how many stand before a token.
pub struct MarkMap {
    before: Vec<[u32; KINDS]>,
}

const PICTURE: usize = 0;
const PRICE: usize = 1;
const FIGURE: usize = 2;
const HEADING: usize = 3;
const KINDS: usize = 4;

impl MarkMap {
    pub fn new(view: &View<'_>) -> MarkMap {
        let mut before = Vec::with_capacity(view.tokens.list.len() + 1);
        let mut count = [0; KINDS];
        before.push(count);
        for token in &view.tokens.list {
            match token.kind {
                TokenKind::Open => match view.tree().tag(token.node) {
                    "img" => count[PICTURE] += 1,
                    "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => count[HEADING] += 1,
                    _ => {}
                },
                TokenKind::Text => {
                    let text = Text::of(view.tokens.raw(token));
                    count[PRICE] += u32::from(text.is_price());
                    count[FIGURE] += u32::from(text.is_figure());
                }
                TokenKind::Close | TokenKind::Line => {}
            }
            before.push(count);
        }
        MarkMap { before }
    }

    pub fn of(&self, view: &View<'_>, rows: &[Span]) -> Marks {
        let share = |kind: usize| {
            let shown = |row: &&Span| self.before[row.stop as usize][kind] > self.before[row.start as usize][kind];
            rows.iter().filter(shown).count() as f64 / rows.len().max(1) as f64
        };
        let tallies = rows.iter().filter(|&&row| ends_in_tally(view, row)).count();
        Marks {
            picture: share(PICTURE),
            price: share(PRICE),
            figure: share(FIGURE),
            heading: share(HEADING),
            tally: tallies as f64 / rows.len().max(1) as f64,
        }
    }
}

fn ends_in_tally(view: &View<'_>, row: Span) -> bool {
    let last = view.tokens.slice(row).iter().rev().find(|token| token.kind == TokenKind::Text);
    let text = last.map_or("", |token| view.tokens.raw(token).trim_end());
    text.strip_suffix(')').is_some_and(|text| text.ends_with(|c: char| c.is_ascii_digit()))
}

/// Longer texts are prose: a number in them is no column.
const MAX_FIGURE: usize = 60;
/// “12.5.” may be anything; a date, a time with its date, a docket number, a grown amount have four digits.
const MIN_DIGITS: usize = 4;

/// What is counted in one pass over a text.
struct Text {
    bytes: usize,
    digits: usize,
    separators: usize,
    currency: bool,
}

impl Text {
    fn of(raw: &str) -> Text {
        let raw = raw.trim();
        let mut it = Text { bytes: raw.len(), digits: 0, separators: 0, currency: false };
        if raw.len() > 4 * MAX_FIGURE {
            return it;
        }
        for c in raw.chars() {
            match c {
                '0'..='9' => it.digits += 1,
                '/' | '-' | '.' | ':' | ',' => it.separators += 1,
                '$' | '€' | '£' | '¥' | '₽' | '₹' => it.currency = true,
                _ => {}
            }
        }
        it.currency |= it.digits > 0 && names_currency(raw);
        it
    }

    fn is_price(&self) -> bool {
        self.currency
    }

    fn is_figure(&self) -> bool {
        self.digits >= MIN_DIGITS && self.separators > 0 && self.bytes <= MAX_FIGURE
    }
}

/// Currencies that are written as a word behind the amount.
const CURRENCIES: [&str; 10] = ["EUR", "USD", "GBP", "CHF", "руб", "zł", "Kč", "Ft", "kr", "DKK"];

fn names_currency(text: &str) -> bool {
    let last = text.split_whitespace().next_back().unwrap_or("").trim_end_matches(['.', '*']);
    CURRENCIES.contains(&last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Tree;

    fn check(html: &str, expected: &str) {
        let tree = Tree::parse(html);
        let view = View::new(&tree);
        let list = tree.elements("ul").next().expect("the page has a list");
        let rows: Vec<Span> = view.items(list).map(|node| view.span(node)).collect();
        let it = MarkMap::new(&view).of(&view, &rows);
        let found = [
            ("picture", it.picture),
            ("price", it.price),
            ("figure", it.figure),
            ("heading", it.heading),
            ("tally", it.tally),
        ];
        let words: Vec<String> =
            found.iter().filter(|(_, share)| *share > 0.0).map(|(name, share)| format!("{name} {share}")).collect();
        assert_eq!(words.join(", "), expected);
    }

    #[test]
    fn products_show_pictures_and_prices_in_signs_or_words() {
        check("<ul><li><img><h3>Lamp</h3>$ 9<li><img><h3>Chair</h3>15 zł</ul>", "picture 1, price 1, heading 1");
    }

    #[test]
    fn dates_and_docket_numbers_are_figures_and_short_numbers_are_not() {
        check("<ul><li>04/02/2014<li>S-16-0190<li>12.5<li>page 7</ul>", "figure 0.5");
    }

    #[test]
    fn choices_of_a_filter_end_in_a_tally() {
        check("<ul><li><a>Tents</a> (12)<li><a>Stoves (7)</a><li>Rent (monthly)<li>Maps</ul>", "tally 0.5");
    }
}
