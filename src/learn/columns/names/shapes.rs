//! Guesses a column's name from the form of its values.

use std::sync::LazyLock;

use regex::Regex;

/// Minimum share of the values that must have the form.
const NEARLY_ALL: f64 = 0.8;

/// `price`, `date` and so on, or `None`.
pub fn name(values: &[&str]) -> Option<&'static str> {
    SHAPES.iter().find(|(_, shape)| have(values, shape)).map(|&(name, _)| name)
}

pub fn are_numbers(values: &[&str]) -> bool {
    have(values, &NUMBER)
}

fn have(values: &[&str], shape: &Regex) -> bool {
    // Stops early: for most columns the first few values already rule out the form.
    let mut fitting = values.len();
    let enough = |fitting: usize| fitting > 0 && fitting as f64 >= NEARLY_ALL * values.len() as f64;
    for value in values {
        fitting -= usize::from(!shape.is_match(value.trim()));
        if !enough(fitting) {
            return false;
        }
    }
    enough(fitting)
}

static NUMBER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[-+#]?\d+(?:[.,'\s]\d+)*$").expect("the shape of a number is valid"));

/// Tried in this order: a date must not be taken for a phone number.
static SHAPES: LazyLock<Vec<(&str, Regex)>> = LazyLock::new(|| {
    let month = "(?:jan|feb|mar|mär|apr|may|mai|maj|jun|jul|aug|sep|oct|okt|nov|dec|dez|déc|\
        янв|фев|мар|апр|мая|июн|июл|авг|сен|окт|ноя|дек)";
    let price = concat!(
        r"^(?:from |ab |od )?(?:[$€£¥₹]|[A-Z]{3} |R\$|US\$|Kč|zł)\s?\d|",
        r"\d\s?(?:[$€£¥₹]|EUR|USD|GBP|CHF|SEK|NOK|DKK|CZK|PLN|Kč|zł|kr|руб|₽|円|元)\b?",
    );
    let numeric_date = r"^\D{0,12}(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\s?\d{1,2}[-/.]\s?(?:\d{2}|\d{4}))\b";
    let named_date = format!(r"^\D{{0,12}}\d{{0,2}}\.?\s?(?i:{month})\p{{L}}*\.?,? ?\d{{1,4}}|\d{{4}}年");
    let shapes = [
        ("email", r"^[^\s@]+@[^\s@]+\.[a-z]{2,}$".to_owned()),
        ("url", r"^(?:https?://|www\.)\S+$".to_owned()),
        ("price", price.to_owned()),
        ("date", format!("{numeric_date}|{named_date}")),
        ("time", r"^\d{1,2}[:h]\d{2}(?::\d{2})?(?:\s?[ap]\.?m\.?)?$".to_owned()),
        ("percent", r"^[-+]?\d+(?:[.,]\d+)?\s?%$".to_owned()),
        ("phone", r"^\+?[(\d][-\d\s()/.]{6,18}\d$".to_owned()),
    ];
    let compile = |(name, shape): (&'static str, String)| (name, Regex::new(&shape).expect("the shapes are valid"));
    shapes.into_iter().map(compile).collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_name_themselves() {
        let check = |values: &[&str], expected| assert_eq!(name(values), expected, "{values:?}");
        check(&["$3.50", "$12"], Some("price"));
        check(&["1.299,00 €", "15 €"], Some("price"));
        check(&["2024-03-01", "2024-11-30"], Some("date"));
        check(&["3. April 2024", "12. Mai 2023"], Some("date"));
        check(&["Mon, Mar 3, 2024", "Tue, Apr 4, 2024"], Some("date"));
        check(&["12:30", "9:15 pm"], Some("time"));
        check(&["+49 30 1234567", "(902) 555-0134"], Some("phone"));
        check(&["ann@example.org"], Some("email"));
        assert!(are_numbers(&["1,204", "17"]) && !are_numbers(&["1,204", "many"]));
        check(&["Lamp", "Oak chair 2"], None);
        check(&[], None);
    }
}
