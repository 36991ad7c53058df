//! Bounds: the maximum of every string, list and number that a child sends, checked by [`super::MessageReader`] and
//! nowhere else. A message out of bounds ends the run like any other broken message. Where a site could make a value
//! longer, the child cuts it by the same constant before it sends it.

mod answers;
mod run;
mod step;
#[cfg(test)]
mod tests;

use std::io::{self, Write};

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;
use url::Url;

use crate::model::script::ScriptStep;
use crate::model::{CachedPage, Table};

use super::json_values::count_values;
use super::kinds::{FrameKind, FrameMessage};

/// Maximum size of a frame. A child that sends a larger one is broken or hostile (docs/design/safety.md 6.57).
pub const MAX_FRAME: usize = 16 << 20;
/// Messages with rows of one run, and requests of one run. A child that sends more is broken or hostile.
pub const MAX_ROW_MESSAGES: usize = 1_000_000;
pub const MAX_REQUESTS: usize = 10_000_000;
/// A batch of rows is sent when it has this many bytes of text, [`BATCH_ROWS`] rows or [`BATCH_CELLS`] cells.
pub const BATCH_BYTES: usize = 1 << 20;
pub const BATCH_ROWS: usize = 1_000;
pub const BATCH_CELLS: usize = 20_000;
/// Maximum text of one record. As JSON a byte may take six bytes, and a record must fit into one frame.
pub const MAX_ROW_BYTES: usize = MAX_FRAME / 8;
/// Maximum text of a record's typed values: a link may become three times as long when it is escaped.
const MAX_VALUE_BYTES: usize = 4 * MAX_ROW_BYTES;
/// Rows of one run.
const MAX_ROWS: u64 = (MAX_ROW_MESSAGES * BATCH_ROWS) as u64;
/// Maximum size of a page in a frame, compressed or not: it must leave room for the message itself.
pub const MAX_PAGE_BYTES: usize = MAX_FRAME / 2;
/// Pages of one run that are stored; later ones are only extracted.
pub const MAX_KEPT_PAGES: u32 = 20;
/// Pages stored by the step `save` have indices from here on, and there are at most [`MAX_SAVED_PAGES`].
pub const FIRST_SAVED_INDEX: u32 = 1_000;
pub const MAX_SAVED_PAGES: u32 = 1_000;

/// The longest address that Chromium navigates to; the guard allows 8 kB for requests.
const MAX_URL_BYTES: usize = 2 << 20;
/// The longest DNS name.
pub const MAX_HOST_BYTES: usize = 255;
/// An origin, as the cache of robots.txt files bounds it.
const MAX_ORIGIN_BYTES: usize = CachedPage::MAX_JSON_BYTES;
/// hyper accepts 100 headers and 400 kB over HTTP/1, Chromium 256 kB; a byte may become three in UTF-8.
const MAX_HEADERS: usize = 1_000;
const MAX_HEADER_BYTES: usize = 2 << 20;
/// A sentence for a person. A list of 600 column names has 24 kB.
pub const MAX_SENTENCE_BYTES: usize = 64 << 10;
/// The name of a column or of a saved page: as long as a whole task.toml may be.
pub const MAX_NAME_BYTES: usize = 64 << 10;
/// The verbs of nested steps: `for_each › get`.
pub const MAX_VERB_BYTES: usize = 256;
const VERB_SEPARATOR: &str = " › ";
/// A trace line: the robot cuts it at 2,000 characters of four bytes.
pub const MAX_TRACE_TEXT_BYTES: usize = 8_000;
/// The name of a method of the learner, or of a currency.
const MAX_WORD_BYTES: usize = 64;
/// As large as `.state/cookies.json` and template.json may be when they are read again.
pub const MAX_COOKIES_BYTES: usize = 2 << 20;
pub const MAX_TEMPLATE_BYTES: usize = 4 << 20;
/// JSON values of a template: the parent parses it before it writes it. A column has about 30.
pub const MAX_TEMPLATE_VALUES: usize = 60_000;
/// A person's help, which labels.toml keeps, and the columns of a task, as JSON.
const MAX_HELP_BYTES: usize = 4 << 20;
/// Steps of a script; robot.toml has 64 kB.
const MAX_STEPS: usize = 10_000;
/// The result of a step, as JSON: it leaves room in the frame of a state.
pub const MAX_STEP_JSON_BYTES: usize = 3 << 20;
pub const MAX_STEP_VALUES: usize = 80_000;
/// Columns of a published table; the typed values of a text take four at most.
const MAX_COLUMNS: usize = Table::MAX_COLUMNS;
const MAX_VALUE_COLUMNS: usize = 4 * MAX_COLUMNS;
/// Columns of a template, hidden ones included: 600 are aligned, and a person may add some.
const MAX_TEMPLATE_COLUMNS: usize = 2_000;
/// Lists that a person chooses from; the learner shows five.
const MAX_LISTS: usize = 20;
/// Rows of a list on one page, which has at most as many nodes.
const MAX_LIST_ROWS: usize = 5_000_000;
/// A wait, a pause or a duration in milliseconds: a year.
pub const MAX_TIME_MS: u64 = 366 * 24 * 3_600 * 1_000;
/// The last second of the year 9999, which every format of ours can hold.
const MAX_TIMESTAMP: i64 = 253_402_300_799;
/// How far a share may be outside of 0 to 1 by rounding.
const SHARE_TOLERANCE: f64 = 1e-6;

/// A message with a maximum for each of its fields. What has a type of 32 bits or fewer is bounded by that, where any
/// value is harmless: ports, statuses, page counts.
pub trait BoundedMessage: FrameMessage {
    /// The kinds of the job's messages.
    fn kinds() -> &'static [FrameKind]
    where
        Self: Sized;

    /// Checks the message and the number of raw bytes in its frame.
    fn check(&self, raw_bytes: usize) -> Result<(), OutOfBounds>;
}

/// A field of a child's message that is out of bounds.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum OutOfBounds {
    #[error("{field}: {found} is over the limit of {most}")]
    TooLarge { field: &'static str, found: u64, most: u64 },
    #[error("{field}: {found} is not possible")]
    Impossible { field: &'static str, found: f64 },
    #[error("{field}: no such word")]
    UnknownWord { field: &'static str },
}

/// The text, cut at a character's border so that it has at most this many bytes.
pub fn cut(mut text: String, most: usize) -> String {
    text.truncate(text.floor_char_boundary(most));
    text
}

fn at_most(field: &'static str, found: u64, most: u64) -> Result<(), OutOfBounds> {
    if found > most { Err(OutOfBounds::TooLarge { field, found, most }) } else { Ok(()) }
}

fn bytes(field: &'static str, found: usize, most: usize) -> Result<(), OutOfBounds> {
    at_most(field, found as u64, most as u64)
}

fn text(field: &'static str, text: &str, most: usize) -> Result<(), OutOfBounds> {
    bytes(field, text.len(), most)
}

/// A template as JSON text.
fn template(field: &'static str, json: &str) -> Result<(), OutOfBounds> {
    text(field, json, MAX_TEMPLATE_BYTES)?;
    bytes(field, count_values(json.as_bytes()), MAX_TEMPLATE_VALUES)
}

fn optional_text(field: &'static str, found: Option<&String>, most: usize) -> Result<(), OutOfBounds> {
    found.map_or(Ok(()), |found| text(field, found, most))
}

/// The verbs of nested steps; `run` outside of all steps.
fn verbs(field: &'static str, verbs: &str) -> Result<(), OutOfBounds> {
    text(field, verbs, MAX_VERB_BYTES)?;
    let is_known = |verb: &str| ScriptStep::VERBS.contains(&verb) || verb == "run";
    if verbs.split(VERB_SEPARATOR).all(is_known) { Ok(()) } else { Err(OutOfBounds::UnknownWord { field }) }
}

/// The verbs of the outermost steps, so that they have at most [`MAX_VERB_BYTES`].
pub fn cut_verbs(mut verbs: String) -> String {
    while verbs.len() > MAX_VERB_BYTES {
        verbs.truncate(verbs.rfind(VERB_SEPARATOR).unwrap_or(0));
    }
    verbs
}

fn url(field: &'static str, url: &Url) -> Result<(), OutOfBounds> {
    text(field, url.as_str(), MAX_URL_BYTES)
}

/// At most this many names.
fn names<'n>(
    field: &'static str,
    names: impl ExactSizeIterator<Item = &'n String>,
    most: usize,
) -> Result<(), OutOfBounds> {
    bytes(field, names.len(), most)?;
    names.into_iter().try_for_each(|name| text(field, name, MAX_NAME_BYTES))
}

/// A time before 1970 is as impossible as one after the year 9999.
fn time(field: &'static str, time: DateTime<Utc>) -> Result<(), OutOfBounds> {
    let seconds = time.timestamp();
    possible(field, seconds as f64, (0..=MAX_TIMESTAMP).contains(&seconds))
}

fn share(field: &'static str, share: f64) -> Result<(), OutOfBounds> {
    possible(field, share, (-SHARE_TOLERANCE..=1.0 + SHARE_TOLERANCE).contains(&share))
}

fn finite(field: &'static str, number: f64) -> Result<(), OutOfBounds> {
    possible(field, number, number.is_finite())
}

fn possible(field: &'static str, found: f64, is_possible: bool) -> Result<(), OutOfBounds> {
    if is_possible { Ok(()) } else { Err(OutOfBounds::Impossible { field, found }) }
}

/// Size of a nested value as JSON.
fn json(field: &'static str, value: &impl Serialize, most: usize) -> Result<(), OutOfBounds> {
    bytes(field, json_bytes(value), most)
}

/// Whether the result of a step fits into the frame of a state.
pub fn fits_step(step: &Value) -> bool {
    serde_json::to_vec(step)
        .is_ok_and(|json| json.len() <= MAX_STEP_JSON_BYTES && count_values(&json) <= MAX_STEP_VALUES)
}

pub fn json_bytes(value: &impl Serialize) -> usize {
    let mut counter = ByteCounter(0);
    serde_json::to_writer(&mut counter, value).map_or(usize::MAX, |()| counter.0)
}

struct ByteCounter(usize);

impl Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
