//! Line charts as inline SVG, drawn by the server, so that they need no script.

use chrono::{DateTime, TimeDelta, Utc};
use maud::{Markup, html};

const WIDTH: f64 = 440.0;
const HEIGHT: f64 = 150.0;
/// Left margin for the labels: a minimum, and the width per character. A digit of the font is narrower.
const LEAST_LEFT: f64 = 48.0;
const CHAR: f64 = 7.4;
const RIGHT: f64 = 8.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 24.0;

pub(super) struct Chart<'a> {
    /// Title: what the values are.
    pub what: &'a str,
    /// Points in the order of time; none is a gap.
    pub points: Vec<(DateTime<Utc>, Option<f64>)>,
    /// Lower and upper end of the shaded band, in the order of time; may be empty.
    pub band: Vec<(DateTime<Utc>, (f64, f64))>,
    /// Range of the vertical axis; none: the range of the values.
    pub range: Option<(f64, f64)>,
    /// Threshold, drawn as a horizontal line.
    pub line: Option<f64>,
}

impl Chart<'_> {
    pub fn draw(&self) -> Markup {
        let known: Vec<f64> = self.points.iter().filter_map(|(_, value)| *value).collect();
        let [first, .., last] = &self.points[..] else { return empty_chart(self.what) };
        if known.len() < 2 {
            return empty_chart(self.what);
        }
        let (least, most) = self.range.unwrap_or_else(|| padded_range(self.heights()));
        let lines = [Some(least), Some(most), self.line].into_iter().flatten();
        let labels: Vec<(f64, String)> = lines.map(|value| (value, grouped_number(value))).collect();
        let longest = labels.iter().map(|(_, label)| label.chars().count()).max().unwrap_or(0);
        let left = LEAST_LEFT.max(longest as f64 * CHAR + 8.0);
        let height =
            |value: f64| TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - ((value - least) / (most - least)).clamp(0.0, 1.0));
        let span = (last.0 - first.0).num_milliseconds().max(1) as f64;
        let across =
            |at: DateTime<Utc>| left + (WIDTH - left - RIGHT) * ((at - first.0).num_milliseconds() as f64 / span);
        // Both ends may be on one day: then the labels need the time.
        let dates = if last.0 - first.0 < TimeDelta::days(2) { "%Y-%m-%d %H:%M" } else { "%Y-%m-%d" };
        let label =
            format!("{}: {} values, the last {}", self.what, known.len(), grouped_number(known[known.len() - 1]));
        html! {
            figure.chart {
                figcaption { (self.what) }
                svg role="img" aria-label=(label) viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } {
                    @for (index, (value, label)) in labels.iter().enumerate() {
                        line.axis.limit[index > 1]
                            x1=(left) x2=(WIDTH - RIGHT) y1=(height(*value)) y2=(height(*value)) {}
                        text x=(left - 6.0) y=(height(*value) + 4.0) text-anchor="end" { (label) }
                    }
                    @if !self.band.is_empty() { polygon.band points=(self.outline(&across, &height)) {} }
                    path d=(path(self.points.iter().map(|(at, value)| (across(*at), value.map(height))))) {}
                    @for (at, value) in &self.points {
                        @if let Some(value) = value {
                            circle cx=(round(across(*at))) cy=(round(height(*value))) r="2.5" {
                                title { (grouped_number(*value)) ", " (at.format("%Y-%m-%d %H:%M UTC")) }
                            }
                        }
                    }
                    text x=(left) y=(HEIGHT - 6.0) { (first.0.format(dates)) }
                    text x=(WIDTH - RIGHT) y=(HEIGHT - 6.0) text-anchor="end" { (last.0.format(dates)) }
                }
            }
        }
    }

    /// All values that the vertical axis must include.
    fn heights(&self) -> impl Iterator<Item = f64> {
        let band = self.band.iter().flat_map(|&(_, (lower, upper))| [lower, upper]);
        self.points.iter().filter_map(|(_, value)| *value).chain(band)
    }

    /// The polygon of the band: along the upper ends, and back along the lower ones.
    fn outline(&self, across: &impl Fn(DateTime<Utc>) -> f64, height: &impl Fn(f64) -> f64) -> String {
        let there = self.band.iter().map(|&(at, (_, upper))| (at, upper));
        let back = self.band.iter().rev().map(|&(at, (lower, _))| (at, lower));
        there.chain(back).map(|(at, value)| format!("{:.1},{:.1} ", across(at), height(value))).collect()
    }
}

/// The line through these points, as the `d` of an SVG path. A point without a height is a gap.
pub(super) fn path(points: impl Iterator<Item = (f64, Option<f64>)>) -> String {
    let mut path = String::new();
    let mut is_down = false;
    for (x, y) in points {
        if let Some(y) = y {
            path.push_str(&format!("{}{x:.1} {y:.1}", if is_down { "L" } else { "M" }));
        }
        is_down = y.is_some();
    }
    path
}

fn empty_chart(what: &str) -> Markup {
    html! { figure.chart { figcaption { (what) } p.faint { "The chart needs at least two runs." } } }
}

/// The range of the values, widened if they are all equal, so that the line runs in the middle.
pub(super) fn padded_range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (least, most) =
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), it| (least.min(it), most.max(it)));
    if most > least { (least, most) } else { (least - 1.0, most + 1.0) }
}

/// Larger numbers are shown with an exponent.
const LARGE: f64 = 1e15;

/// Formats with thousands separators: `1,234,567.25`.
pub(super) fn grouped_number(value: f64) -> String {
    if value.abs() >= LARGE {
        return format!("{value:.2e}");
    }
    let text = if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.2}") };
    let (sign, digits) = text.split_at(usize::from(text.starts_with('-')));
    let (whole, rest) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let mut grouped = String::new();
    for (at, digit) in whole.char_indices() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{sign}{grouped}{rest}")
}

fn round(value: f64) -> String {
    format!("{value:.1}")
}

#[cfg(test)]
mod tests {
    use super::grouped_number;

    #[test]
    fn large_numbers_have_their_digits_in_threes() {
        for (value, text) in [
            (0.0, "0"),
            (999.0, "999"),
            (-1_000.0, "-1,000"),
            (123_456.0, "123,456"),
            (12_345_678.25, "12,345,678.25"),
            (0.704, "0.70"),
            (2e18, "2.00e18"),
        ] {
            assert_eq!(grouped_number(value), text);
        }
    }
}
