//! Computes the quartiles of a run's typed columns by systematic sampling, in constant memory.

use crate::model::{NumberStatistics, Value};

/// Sampled values of a column in one currency; most tables have fewer. A longer column keeps every second, fourth,
/// eighth … value. The median and the quartiles of half a million values in any order are then off by at most a
/// hundredth of the ranks; minimum, maximum and count are exact.
const MAX_SAMPLED: usize = 4_096;

/// Currencies counted separately in a column. A list with more has no price that one chart could show.
const MAX_CURRENCIES: usize = 8;

/// The numbers of each typed column, by currency.
pub struct NumberTally(Vec<Vec<NumberSample>>);

impl NumberTally {
    pub fn of(columns: usize) -> NumberTally {
        NumberTally((0..columns).map(|_| Vec::new()).collect())
    }

    /// Values that are not numbers are ignored.
    pub fn note(&mut self, column: usize, value: &Value) {
        let (digits, currency) = match value {
            Value::Int(number) => (number.to_string(), None),
            Value::Number(digits) => (digits.clone(), None),
            Value::Money { amount, currency, .. } => (amount.clone(), currency.as_deref()),
            Value::Text(_) | Value::Date(_) | Value::Url(_) | Value::Email(_) | Value::Bool(_) => return,
        };
        let (Some(number), Some(piles)) =
            (digits.parse().ok().filter(|it: &f64| it.is_finite()), self.0.get_mut(column))
        else {
            return;
        };
        match piles.iter().position(|pile| pile.currency.as_deref() == currency) {
            Some(at) => piles[at].add(number),
            None if piles.len() < MAX_CURRENCIES => piles.push(NumberSample::new(currency, number)),
            None => {}
        }
    }

    /// Statistics of the columns that had a number; of several currencies the commonest.
    pub fn statistics<'a>(&self, names: impl Iterator<Item = &'a str>) -> Vec<NumberStatistics> {
        let largest = |piles: &'_ Vec<NumberSample>| piles.iter().rev().max_by_key(|pile| pile.count).cloned();
        names.zip(&self.0).filter_map(|(name, piles)| Some(largest(piles)?.into_statistics(name))).collect()
    }
}

#[derive(Clone)]
struct NumberSample {
    currency: Option<String>,
    count: u64,
    least: f64,
    most: f64,
    /// Every `every`-th value, in order of arrival.
    kept: Vec<f64>,
    every: u64,
}

impl NumberSample {
    fn new(currency: Option<&str>, first: f64) -> NumberSample {
        let currency = currency.map(str::to_owned);
        NumberSample { currency, count: 1, least: first, most: first, kept: vec![first], every: 1 }
    }

    fn add(&mut self, number: f64) {
        (self.least, self.most) = (self.least.min(number), self.most.max(number));
        if self.count.is_multiple_of(self.every) {
            if self.kept.len() == MAX_SAMPLED {
                let mut is_kept = false;
                self.kept.retain(|_| {
                    is_kept = !is_kept;
                    is_kept
                });
                self.every *= 2;
            }
            // `every` has just doubled: this value may no longer be due.
            if self.count.is_multiple_of(self.every) {
                self.kept.push(number);
            }
        }
        self.count += 1;
    }

    fn into_statistics(mut self, column: &str) -> NumberStatistics {
        self.kept.sort_by(f64::total_cmp);
        let rank = |share: f64| self.kept[((self.kept.len() - 1) as f64 * share).round() as usize];
        NumberStatistics {
            column: column.to_owned(),
            count: self.count,
            least: self.least,
            lower: rank(0.25),
            median: rank(0.5),
            upper: rank(0.75),
            most: self.most,
            currency: self.currency,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn money(amount: impl ToString, currency: Option<&str>) -> Value {
        Value::Money { amount: amount.to_string(), to: None, currency: currency.map(str::to_owned) }
    }

    fn figures(values: impl IntoIterator<Item = Value>) -> Option<NumberStatistics> {
        let mut numbers = NumberTally::of(1);
        values.into_iter().for_each(|value| numbers.note(0, &value));
        numbers.statistics(["price"].into_iter()).pop()
    }

    fn shown(found: Option<NumberStatistics>) -> String {
        found.map_or("nothing".to_owned(), |it| {
            let currency = it.currency.unwrap_or_default();
            format!("{}: {} {} {} {} {} {currency}", it.count, it.least, it.lower, it.median, it.upper, it.most)
        })
    }

    #[test]
    fn the_commonest_currency_is_the_one_that_is_shown() {
        let euros = ["5.10", "3.20", "9.99"].map(|it| money(it, Some("EUR")));
        let others = [money("1000", None), money("7", Some("USD")), money("8", Some("USD"))];
        assert_eq!(shown(figures(others.into_iter().chain(euros))), "3: 3.2 5.1 5.1 9.99 9.99 EUR");
        assert_eq!(
            shown(figures([money("2", None), money("1", Some("USD"))])),
            "1: 2 2 2 2 2 ",
            "the first of as many"
        );
        assert_eq!(shown(figures((0..99).map(|n| money(n, Some(&format!("X{n}")))))), "1: 0 0 0 0 0 X0");
    }

    #[test]
    fn what_is_no_number_is_passed_over() {
        let others = [Value::Text("5".to_owned()), Value::Number("1e999".to_owned()), Value::Bool(true)];
        assert_eq!(shown(figures(others.clone())), "nothing");
        assert_eq!(shown(figures(others.into_iter().chain([Value::Int(-4)]))), "1: -4 -4 -4 -4 -4 ");
    }

    #[test]
    fn of_many_values_the_median_is_near_and_the_ends_are_exact() {
        let many = 500_000_i64;
        // In order, backwards, and well mixed (a step that shares no factor with their number).
        let orders: [fn(i64) -> i64; 3] = [|n| n, |n| 499_999 - n, |n| n * 314_159 % 500_000];
        for order in orders {
            let mut numbers = NumberTally::of(1);
            (0..many).for_each(|n| numbers.note(0, &Value::Int(order(n))));
            assert!(numbers.0[0][0].kept.len() <= MAX_SAMPLED);
            let found = numbers.statistics(["n"].into_iter()).remove(0);
            assert_eq!((found.count, found.least, found.most), (500_000, 0.0, 499_999.0));
            for (share, value) in [(0.25, found.lower), (0.5, found.median), (0.75, found.upper)] {
                assert!((value / many as f64 - share).abs() < 0.01, "{share}: {value}");
            }
        }
    }
}
