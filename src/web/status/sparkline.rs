//! Sparklines of a task's last runs (rows, similarity), as inline SVG.

use maud::{Markup, html};

use crate::model::PastRun;
use crate::web::chart::{padded_range, path};

const WIDTH: f64 = 60.0;
const HEIGHT: f64 = 16.0;

/// Rows of the published runs.
pub(crate) fn rows(past: &[PastRun]) -> Markup {
    let values: Vec<Option<f64>> =
        past.iter().rev().map(|run| run.verdict.outcome.is_published().then_some(run.verdict.rows as f64)).collect();
    let (least, most) = padded_range(values.iter().flatten().copied());
    curve(&values, least, most, "rows")
}

/// Similarity of the pages to the template, from 0 to 1.
pub(crate) fn similarity(past: &[PastRun]) -> Markup {
    let values: Vec<Option<f64>> = past.iter().rev().map(|run| run.verdict.similarity).collect();
    curve(&values, 0.0, 1.0, "similarity")
}

/// Runs without a value leave a gap.
fn curve(values: &[Option<f64>], least: f64, most: f64, what: &str) -> Markup {
    let known: Vec<f64> = values.iter().flatten().copied().collect();
    if known.len() < 2 {
        return html! {};
    }
    let step = WIDTH / (values.len() - 1).max(1) as f64;
    let height = |value: &f64| 1.0 + (HEIGHT - 2.0) * (1.0 - ((value - least) / (most - least)).clamp(0.0, 1.0));
    let path = path(values.iter().enumerate().map(|(at, value)| (at as f64 * step, value.as_ref().map(height))));
    let label = format!(
        "{what} of the last {} runs, from {} to {}",
        values.len(),
        plain(known[0]),
        plain(known[known.len() - 1])
    );
    html! {
        svg.spark role="img" aria-label=(label) viewBox={ "0 0 " (WIDTH) " " (HEIGHT) }
            width=(WIDTH) height=(HEIGHT) preserveAspectRatio="none" {
            path d=(path) {}
        }
    }
}

fn plain(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value}") } else { format!("{value:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_a_value_is_a_gap() {
        let drawn = curve(&[Some(0.0), Some(1.0), None, Some(0.5)], 0.0, 1.0, "similarity").into_string();
        assert!(drawn.contains("M0.0 15.0L20.0 1.0M60.0 8.0"), "{drawn}");
        assert!(drawn.contains("similarity of the last 4 runs, from 0 to 0.50"), "{drawn}");
        assert_eq!(curve(&[Some(1.0), None], 0.0, 1.0, "rows").into_string(), "");
    }
}
