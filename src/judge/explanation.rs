//! A verdict accounted for: every number that it rests on, beside what it was measured against.

use serde::Serialize;

use super::columns::{self, ColumnMeasure};
use super::new_signs;
use super::record_overlap;
use super::record_overlap::OverlapMeasure;
use super::rows::{self, RowMeasure};
use super::window::Window;
use crate::model::task::Expect;
use crate::model::{Column, PastRun, Verdict};

/// What led to a verdict. Nothing is decided here: the rules are those of the verdict itself.
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
    /// None where the run compared no page.
    pub parts: Vec<PartMeasure>,
}

/// One of the four parts of the similarity, which is the least of them, each laid out on the same scale.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartMeasure {
    pub name: &'static str,
    pub value: Option<f64>,
    /// Less is off.
    pub line: f64,
    pub as_similarity: f64,
    pub is_off: bool,
    pub sentence: &'static str,
}

/// What the page says of itself. It tells something only where no good page said it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SignMeasure {
    pub sign: &'static str,
    pub now: bool,
    pub before: bool,
    pub is_news: bool,
}

/// Accounts for a run's verdict. `past` are the runs before it, newest first.
pub fn explain(expect: &Expect, named: &[Column], verdict: &Verdict, past: &[PastRun]) -> VerdictExplanation {
    let window = Window::of(past);
    let figures = &verdict.statistics;
    let records = record_overlap::measure(figures, &window);
    VerdictExplanation {
        similarity: SimilarityMeasure {
            value: verdict.similarity,
            wanted: expect.similarity,
            parts: part_measures(expect, verdict),
        },
        rows: rows::measure(expect, verdict.rows, records.is_strange, &window),
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
            (None, _) => "there are no rows to measure it on",
            (Some(_), true) => part.when_off,
            (Some(_), false) => part.when_fine,
        };
        let line = part.threshold_for(expect.similarity);
        PartMeasure { name: part.name, value: part.value, line, as_similarity, is_off, sentence }
    };
    likeness.parts().map(part).to_vec()
}

fn sign_measures(verdict: &Verdict, window: &Window<'_>) -> Vec<SignMeasure> {
    let now = verdict.statistics.signs;
    let (before, news) = (new_signs::in_good_runs(window).each(), new_signs::of(&now, window).each());
    let each = now.each().into_iter().zip(before).zip(news);
    let measure = |(((sign, now), (_, before)), (_, is_news)): (((_, _), (_, _)), (_, _))| SignMeasure {
        sign,
        now,
        before,
        is_news,
    };
    each.map(measure).collect()
}
