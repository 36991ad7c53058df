//! Content signals of rows: images, prices, dates, figures and headings; and signals of menus, filters and value
//! tables.

use crate::page::tokens::{Span, TokenKind, Tokens};

/// Shares of the rows with each signal, 0 to 1.
#[derive(Clone, Debug, Default)]
pub struct RowSignals {
    pub picture: f64,
    pub price: f64,
    /// A date, a time, a number with separators.
    pub figure: f64,
    pub heading: f64,
    /// Ends with a number in brackets, as filter options do: “Tents (12)”.
    pub tally: f64,
    /// Table rows with a name and numbers, without links or images: the more numbers, the nearer to 1.
    pub values: f64,
}

/// Prefix sums of the signals: for each kind, the number before each token.
pub struct SignalMap {
    before: Vec<[u32; KINDS]>,
}

const PICTURE: usize = 0;
const PRICE: usize = 1;
const FIGURE: usize = 2;
const HEADING: usize = 3;
const LINK: usize = 4;
const NUMBER: usize = 5;
const WORDED: usize = 6;
const KINDS: usize = 7;

impl SignalMap {
    pub fn new(tokens: &Tokens<'_>) -> SignalMap {
        let mut before = Vec::with_capacity(tokens.list.len() + 1);
        let mut count = [0; KINDS];
        before.push(count);
        for token in &tokens.list {
            match token.kind {
                TokenKind::Open => match tokens.tree.tag(token.node) {
                    "img" => count[PICTURE] += 1,
                    "a" => count[LINK] += 1,
                    "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => count[HEADING] += 1,
                    _ => {}
                },
                TokenKind::Text => {
                    let text = TextStatistics::of(tokens.raw(token));
                    count[PRICE] += u32::from(text.is_price());
                    count[FIGURE] += u32::from(text.is_figure());
                    count[NUMBER] += u32::from(text.is_number());
                    count[WORDED] += u32::from(!text.is_number());
                }
                TokenKind::Close | TokenKind::Line => {}
            }
            before.push(count);
        }
        SignalMap { before }
    }

    pub fn row_signals(&self, tokens: &Tokens<'_>, rows: &[Span]) -> RowSignals {
        let share = |kind: usize| {
            rows.iter().filter(|&&row| self.count(row, kind) > 0).count() as f64 / rows.len().max(1) as f64
        };
        let values = rows.iter().filter(|&&row| is_table_row(tokens, row)).map(|&row| self.values(row)).sum::<f64>();
        let tallies = rows.iter().filter(|&&row| ends_in_tally(tokens, row)).count();
        RowSignals {
            picture: share(PICTURE),
            price: share(PRICE),
            figure: share(FIGURE),
            heading: share(HEADING),
            tally: tallies as f64 / rows.len().max(1) as f64,
            values: values / rows.len().max(1) as f64,
        }
    }

    fn count(&self, row: Span, kind: usize) -> u32 {
        self.before[row.stop as usize][kind] - self.before[row.start as usize][kind]
    }

    /// Saturating: the step from none to two numbers counts more than the step from four to eight. A row without a name
    /// counts 0: the days of a calendar.
    fn values(&self, row: Span) -> f64 {
        let is_plain = self.count(row, LINK) == 0 && self.count(row, PICTURE) == 0 && self.count(row, WORDED) > 0;
        if is_plain { 1.0 - (-f64::from(self.count(row, NUMBER)) / 2.0).exp() } else { 0.0 }
    }
}

fn is_table_row(tokens: &Tokens<'_>, row: Span) -> bool {
    tokens.tree.tag(tokens.list[row.start as usize].node) == "tr"
}

fn ends_in_tally(tokens: &Tokens<'_>, row: Span) -> bool {
    let last = tokens.slice(row).iter().rev().find(|token| token.kind == TokenKind::Text);
    let text = last.map_or("", |token| tokens.raw(token).trim_end());
    text.strip_suffix(')').is_some_and(|text| text.ends_with(|c: char| c.is_ascii_digit()))
}

/// Maximum length of a figure; longer texts are prose.
const MAX_FIGURE: usize = 60;
/// Minimum digits of a figure: “12.5.” is ambiguous; dates, docket numbers and large amounts have at least four digits.
const MIN_DIGITS: usize = 4;

/// Counts of one pass over a text.
struct TextStatistics {
    bytes: usize,
    digits: usize,
    separators: usize,
    currency: bool,
}

impl TextStatistics {
    fn of(raw: &str) -> TextStatistics {
        let raw = raw.trim();
        let mut it = TextStatistics { bytes: raw.len(), digits: 0, separators: 0, currency: false };
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

    /// Mostly digits: “108”, “+3.5 %”, “(12)”.
    fn is_number(&self) -> bool {
        self.digits > 0 && self.digits * 2 + 2 >= self.bytes
    }

    fn is_figure(&self) -> bool {
        self.digits >= MIN_DIGITS && self.separators > 0 && self.bytes <= MAX_FIGURE
    }
}

/// Currencies written as a word after the amount.
const CURRENCIES: [&str; 10] = ["EUR", "USD", "GBP", "CHF", "руб", "zł", "Kč", "Ft", "kr", "DKK"];

fn names_currency(text: &str) -> bool {
    let last = text.split_whitespace().next_back().unwrap_or("").trim_end_matches(['.', '*']);
    CURRENCIES.contains(&last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::view::PageView;
    use crate::page::Tree;

    fn check(html: &str, expected: &str) {
        let tree = Tree::parse(html);
        let view = PageView::new(&tree);
        let list = tree.elements("ul").next().expect("the page has a list");
        let rows: Vec<Span> = view.items(list).map(|node| view.span(node)).collect();
        let it = SignalMap::new(&view.tokens).row_signals(&view.tokens, &rows);
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

    /// The `values` signal of the table's rows.
    fn values(lines: &str) -> f64 {
        let tree = Tree::parse(&format!("<table>{lines}</table>"));
        let view = PageView::new(&tree);
        let rows: Vec<Span> = tree.elements("tr").map(|node| view.span(node)).collect();
        SignalMap::new(&view.tokens).row_signals(&view.tokens, &rows).values
    }

    #[test]
    fn lines_of_values_name_something_and_give_numbers_for_it() {
        let one = values("<tr><td>Copiah<td>2<tr><td>Hinds<td>14");
        let three = values("<tr><td>Copiah<td>2<td>0<td>+ 1<tr><td>Hinds<td>14<td>3<td>12%");
        assert!(0.3 < one && one < three && three < 1.0, "{one} {three}");
        assert_eq!(values("<tr><td>1<td>2<td>3<tr><td>4<td>5<td>6"), 0.0, "the days of a calendar");
        assert_eq!(values("<tr><td><a>Lamp</a><td>9<tr><td><a>Chair</a><td>15"), 0.0, "an offer");
    }

    #[test]
    fn choices_of_a_filter_end_in_a_tally() {
        check("<ul><li><a>Tents</a> (12)<li><a>Stoves (7)</a><li>Rent (monthly)<li>Maps</ul>", "tally 0.5");
    }
}
