//! Explains a verdict: lists every measured value beside its threshold, for `pieme explain` and the dashboard.

use serde::Serialize;

use super::columns::{self, ColumnMeasure};
use super::record_overlap::{self, OverlapMeasure};
use super::rows::{self, RowMeasure};
use super::window::Window;
use crate::model::task::Expect;
use crate::model::{Column, PastRun, Verdict};

/// All measurements behind a verdict. Decides nothing: the rules are in `verdict`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VerdictExplanation {
    pub similarity: SimilarityMeasure,
    pub rows: RowMeasure,
    pub records: OverlapMeasure,
    pub columns: Vec<ColumnMeasure>,
    pub signs: Vec<SignMeasure>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SimilarityMeasure {
    pub value: Option<f64>,
    /// `expect.similarity`
    pub wanted: f64,
    /// Empty if the run compared no page.
    pub parts: Vec<PartMeasure>,
}

/// One of the four parts of the similarity. Each is rescaled to one scale, and the similarity is the minimum.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartMeasure {
    pub name: &'static str,
    pub value: Option<f64>,
    /// The threshold; a lower value fails.
    pub line: f64,
    pub as_similarity: f64,
    pub is_off: bool,
    pub sentence: &'static str,
}

/// A sign on the page (login form, error page). It counts only if no good run had it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SignMeasure {
    pub sign: &'static str,
    pub now: bool,
    pub before: bool,
    pub is_news: bool,
}

/// Explains a run's verdict. `past` are the earlier runs, newest first.
pub fn explain(expect: &Expect, named: &[Column], verdict: &Verdict, past: &[PastRun]) -> VerdictExplanation {
    let window = Window::of(past);
    let figures = &verdict.statistics;
    let records = record_overlap::measure(figures, verdict.rows, &window);
    VerdictExplanation {
        similarity: SimilarityMeasure {
            value: verdict.similarity,
            wanted: expect.similarity,
            parts: part_measures(expect, verdict),
        },
        rows: rows::measure(expect, verdict.rows, &records, &window),
        records,
        columns: columns::measure(&figures.columns, verdict.rows, named, &window),
        signs: sign_measures(verdict, &window),
    }
}

fn part_measures(expect: &Expect, verdict: &Verdict) -> Vec<PartMeasure> {
    let Some(likeness) = &verdict.statistics.similarity_parts else { return Vec::new() };
    let part = |part: crate::model::SimilarityPart| {
        let as_similarity = part.as_similarity();
        let is_off = as_similarity < expect.similarity;
        let sentence = match (part.value, is_off) {
            (None, _) => "there are no rows to measure",
            (Some(_), true) => part.when_off,
            (Some(_), false) => part.when_fine,
        };
        let line = part.threshold_for(expect.similarity);
        PartMeasure { name: part.name, value: part.value, line, as_similarity, is_off, sentence }
    };
    likeness.parts().map(part).to_vec()
}

fn sign_measures(verdict: &Verdict, window: &Window<'_>) -> Vec<SignMeasure> {
    let each = verdict.statistics.signs.each().into_iter().zip(window.signs().each());
    let measure = |((sign, now), (_, before))| SignMeasure { sign, now, before, is_news: now && !before };
    each.map(measure).collect()
}
