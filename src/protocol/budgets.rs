//! Budgets: what one child may send in all, by kind of message. One table, used on both sides: the child sends no more,
//! and the parent ends a child that does. The kind and the lengths are in the frame's header, so the parent checks them
//! before it reads the frame, and the number of JSON values before it parses.
//!
//! Why: 60 messages of a hostile child took the parent from 54 to 969 MB. A JSON value of three bytes (`"",`) becomes
//! 24 bytes in memory, one of four (`"a",`) 56. With these limits the largest message of a run costs the parent about
//! 10 MB for a moment, and a whole run at most 2.4 GB of disk until it ends.

use super::bounds::{MAX_FRAME, MAX_PAGE_BYTES, MAX_REQUESTS, MAX_ROW_MESSAGES};
use super::json_values::count_values;
use super::kinds::FrameKind;
use crate::model::{CachedPage, RobotsTxt};

/// The limits of one frame, and of all frames of a kind that one child sends.
#[derive(Clone, Copy, Debug)]
struct KindBudget {
    kind: FrameKind,
    /// Bytes of JSON, raw bytes and JSON values of one frame.
    json: usize,
    raw: usize,
    values: usize,
    /// Messages of one child.
    count: u64,
    /// Bytes of all its messages, raw bytes included.
    bytes: u64,
}

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
/// For kinds whose messages cost the parent nothing that lasts: a run is over long before.
const MANY: usize = MAX_REQUESTS;
/// An object with a few plain fields.
const FEW_VALUES: usize = 20;

const fn budget(kind: FrameKind, frame: (usize, usize, usize), count: usize, bytes: usize) -> KindBudget {
    let (json, raw, values) = frame;
    KindBudget { kind, json, raw, values, count: count as u64, bytes: bytes as u64 }
}

/// Every kind of message. What lasts is disk: pages, rows, traces and caches are written as they come.
const BUDGETS: [KindBudget; FrameKind::ALL.len()] = [
    // From the parent. A job is as large as a frame: page, samples and rows of a repair.
    budget(FrameKind::Job, (MAX_FRAME, MAX_FRAME, usize::MAX), 1, 2 * MAX_FRAME),
    budget(FrameKind::Answer, (MIB, CachedPage::MAX_BODY_BYTES, usize::MAX), usize::MAX, usize::MAX),
    // An address of the page cache is the longest. Costs nothing that lasts: a run has one turn, 64 connections and 64
    // answers at a time; a child that asks for more waits (`daemon/child/answers.rs`).
    budget(FrameKind::Request, (2 * CachedPage::MAX_JSON_BYTES, 0, FEW_VALUES), MANY, MANY * KIB),
    // A line has 2,000 characters, as JSON 48 kB at most. 10,000 lines and 1 MiB of text are stored; the rest of the
    // bytes are times and verbs.
    budget(FrameKind::Trace, (64 * KIB, 0, FEW_VALUES), 10_000, 4 * MIB),
    // 20 pages of the list and 1,000 of the step `save`. A page with more headers than this is extracted and not
    // stored. 256 MiB are 1,000 pages of 2.5 MB of HTML.
    budget(FrameKind::Page, (3 * MIB, MAX_PAGE_BYTES, 4_000), 2_000, 256 * MIB),
    // A batch has 1 MiB of text and 20,000 cells, each with four typed values at most; a record has 2 MiB of text.
    // 2 GiB are 3.7 million rows of 569 bytes.
    budget(FrameKind::Rows, (3 * MIB, 0, 110_000), MAX_ROW_MESSAGES, 2_048 * MIB),
    budget(FrameKind::Progress, (256, 0, FEW_VALUES), MANY, MANY * 256),
    // Once, at the end of the walk.
    budget(FrameKind::Cookies, (3 * MIB, 0, FEW_VALUES), 1, 3 * MIB),
    // Once, and only if it was asked for (`ChildJob::budget`). 600 columns have about 200 kB.
    budget(FrameKind::Template, (2 * MIB, 0, FEW_VALUES), 1, 2 * MIB),
    budget(FrameKind::DetailTemplate, (2 * MIB, 0, FEW_VALUES), 1, 2 * MIB),
    // The cache has 64 pages and 32 MB; each message is a file.
    budget(FrameKind::CachedPage, (2 * CachedPage::MAX_JSON_BYTES, CachedPage::MAX_BODY_BYTES, 4_000), 100, 64 * MIB),
    // Eight are kept. Until the run's end they wait in memory.
    budget(FrameKind::Robots, (2 * RobotsTxt::MAX_BYTES, 0, FEW_VALUES), 100, 2 * MIB),
    // Statistics of 500 columns: names, counts, quartiles, a sketch.
    budget(FrameKind::End, (2 * MIB, 0, 30_000), 1, 2 * MIB),
    // One for each command of a person. Larger variables and traces are not shown. Cookies to keep have 2 MiB, each
    // quote of them escaped.
    budget(FrameKind::State, (8 * MIB, MAX_PAGE_BYTES, 100_000), 100_000, usize::MAX),
    // One answer, then the child ends; for a terminal a few (`ChildJob::budget`). A list of 100,000 rows and 3 columns
    // has 7.6 MB and 700,000 values.
    budget(FrameKind::Repair, (8 * MIB, MAX_PAGE_BYTES, 1_000_000), 1, MAX_FRAME),
    budget(FrameKind::Inspection, (8 * MIB, MAX_FRAME, 1_000_000), 1, MAX_FRAME),
];

// Each budget is at the place of its kind.
const _: () = {
    let mut index = 0;
    while index < BUDGETS.len() {
        assert!(BUDGETS[index].kind.index() == index);
        index += 1;
    }
};

fn limits(kind: FrameKind) -> &'static KindBudget {
    &BUDGETS[kind.index()]
}

/// A child that sends more than its job needs. Each reads after "it".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OverBudget {
    #[error("sent a message of the unknown kind {0}")]
    UnknownKind(u8),
    #[error("sent a message ({0}) that does not belong to its job")]
    OtherJob(FrameKind),
    #[error("sent a {0} that was not asked for")]
    Unasked(FrameKind),
    #[error("sent a message ({kind}) of {found} bytes, which is over the limit of {most}")]
    TooLarge { kind: FrameKind, found: usize, most: usize },
    #[error("sent a message ({kind}) of {found} JSON values, which is over the limit of {most}")]
    TooManyValues { kind: FrameKind, found: usize, most: usize },
    #[error("sent more messages of one kind ({kind}) than the limit of {most}")]
    TooMany { kind: FrameKind, most: u64 },
    #[error("sent more bytes of one kind ({kind}) than the limit of {most}")]
    TooMuch { kind: FrameKind, most: u64 },
}

/// What one sender has left of its budgets.
#[derive(Clone, Debug)]
pub struct Budget {
    /// Messages and bytes by kind; `None` where the job has no such messages.
    left: [Option<(u64, u64)>; BUDGETS.len()],
}

impl Budget {
    /// For a job whose child sends these kinds.
    pub fn new(kinds: &[FrameKind]) -> Budget {
        let mut left = [None; BUDGETS.len()];
        for kind in kinds {
            left[kind.index()] = Some((limits(*kind).count, limits(*kind).bytes));
        }
        Budget { left }
    }

    /// What the parent sends to a child.
    pub(super) fn of_parent() -> Budget {
        Budget::new(&[FrameKind::Job, FrameKind::Answer])
    }

    /// The job does not need a message of this kind.
    pub fn without(mut self, kind: FrameKind) -> Budget {
        self.left[kind.index()] = Some((0, 0));
        self
    }

    /// The job needs this many times the messages and bytes of this kind.
    pub fn times(mut self, kind: FrameKind, times: u64) -> Budget {
        self.left[kind.index()] = self.left[kind.index()].map(|(count, bytes)| (count * times, bytes * times));
        self
    }

    /// Checks a frame by its header, before it is read.
    pub(super) fn admit(&mut self, kind: FrameKind, json: usize, raw: usize) -> Result<(), OverBudget> {
        let limits = limits(kind);
        let (count, bytes) = self.left[kind.index()].as_mut().ok_or(OverBudget::OtherJob(kind))?;
        if *count == 0 && *bytes == 0 {
            return Err(OverBudget::Unasked(kind));
        }
        for (found, most) in [(json, limits.json), (raw, limits.raw)] {
            if found > most {
                return Err(OverBudget::TooLarge { kind, found, most });
            }
        }
        *count = count.checked_sub(1).ok_or(OverBudget::TooMany { kind, most: limits.count })?;
        let left = bytes.checked_sub((json + raw) as u64);
        *bytes = left.ok_or(OverBudget::TooMuch { kind, most: limits.bytes })?;
        Ok(())
    }

    /// Charges what a message costs beyond its own bytes.
    pub(super) fn charge(&mut self, kind: FrameKind, more: u64) -> Result<(), OverBudget> {
        let (_, bytes) = self.left[kind.index()].as_mut().ok_or(OverBudget::OtherJob(kind))?;
        let left = bytes.checked_sub(more);
        *bytes = left.ok_or(OverBudget::TooMuch { kind, most: limits(kind).bytes })?;
        Ok(())
    }
}

/// Whether a message fits into one frame of its kind.
pub fn fits(kind: FrameKind, json: &[u8], raw: usize) -> bool {
    let KindBudget { json: most_json, raw: most_raw, bytes, .. } = limits(kind);
    let is_short = json.len() <= *most_json && raw <= *most_raw && (json.len() + raw) as u64 <= *bytes;
    is_short && check_values(kind, json).is_ok()
}

/// Checks the number of values of a JSON text before it is parsed: with its length it bounds what parsing allocates.
pub(super) fn check_values(kind: FrameKind, json: &[u8]) -> Result<(), OverBudget> {
    let (found, most) = (count_values(json), limits(kind).values);
    if found > most { Err(OverBudget::TooManyValues { kind, found, most }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_frame_is_within_the_budget_of_its_kind() {
        for budget in BUDGETS {
            assert!(budget.json as u64 <= budget.bytes && budget.raw as u64 <= budget.bytes, "{}", budget.kind);
        }
    }

    #[test]
    fn a_run_can_fill_the_disk_with_no_more_than_it_is_said() {
        let kinds = [FrameKind::Trace, FrameKind::Page, FrameKind::Rows, FrameKind::CachedPage];
        let disk: u64 = kinds.into_iter().map(|kind| limits(kind).bytes).sum();
        assert!(disk < 2_500_000_000, "{disk}");
    }

    #[test]
    fn a_terminal_gets_a_few_answers_and_the_daemon_one() {
        for times in [1, 3] {
            let mut budget = Budget::new(&[FrameKind::Inspection]).times(FrameKind::Inspection, times);
            let sent = (0..9).take_while(|_| budget.admit(FrameKind::Inspection, 9, 9).is_ok()).count();
            assert_eq!(sent as u64, times);
        }
    }

    #[test]
    fn a_budget_ends_by_count_by_bytes_and_by_kind() {
        let kinds = [FrameKind::Trace, FrameKind::Template, FrameKind::Cookies];
        let mut budget = Budget::new(&kinds).without(FrameKind::Template);
        assert_eq!(budget.admit(FrameKind::Rows, 1, 0), Err(OverBudget::OtherJob(FrameKind::Rows)));
        assert_eq!(budget.admit(FrameKind::Template, 1, 0), Err(OverBudget::Unasked(FrameKind::Template)));
        assert_eq!(budget.admit(FrameKind::Cookies, 9, 0), Ok(()));
        assert_eq!(
            budget.admit(FrameKind::Cookies, 9, 0),
            Err(OverBudget::TooMany { kind: FrameKind::Cookies, most: 1 })
        );
        let (json, bytes) = (50 << 10, 4 << 20);
        let sent = (0..1_000).take_while(|_| budget.admit(FrameKind::Trace, json, 0).is_ok()).count();
        assert_eq!(sent, bytes / json);
        assert!(matches!(budget.admit(FrameKind::Trace, 1, 1), Err(OverBudget::TooLarge { most: 0, .. })));
        assert!(matches!(budget.charge(FrameKind::Trace, 1 << 20), Err(OverBudget::TooMuch { .. })));
    }
}
