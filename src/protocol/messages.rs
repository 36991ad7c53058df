//! What a child may send: one type per job, so that the child of a repair, say, cannot send rows.

use serde::{Deserialize, Serialize};
use url::Url;

use crate::labelling::page::LabellingAnswer;
use crate::model::{
    CachedPage, PageMeta, RepairProposals, RobotsTxt, Row, StepwiseState, TraceLine, ValueColumn, Verdict,
};

use super::kinds::{FrameKind, FrameMessage};

/// What a child that fetches asks of its parent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FetchRequest {
    /// A turn at a host (rate limit); [`super::ParentAnswer::Turn`] grants it.
    Turn { host: String, delay_ms: u64 },
    /// The request of the last turn is done; the host asks for this pause.
    TurnFinished { pause_ms: u64 },
    /// The body of a cached page; [`super::ParentAnswer::Body`] brings it.
    Body { url: Url },
    /// A connection; [`super::ParentAnswer::Connected`] brings it, or [`super::ParentAnswer::ConnectFailed`] says why
    /// not.
    Connect { question: u64, host: String, port: u16 },
}

/// A message of a run.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunMessage {
    Request(FetchRequest),
    Trace(TraceLine),
    /// A page to store; the frame's raw bytes are its body, compressed with zstd.
    Page {
        index: u32,
        meta: PageMeta,
    },
    /// Rows to stage. The columns are the same in every message of a run. A row's cells are its texts, followed by
    /// their typed values in the order of `values`.
    Rows {
        columns: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        values: Vec<ValueColumn>,
        rows: Vec<Row>,
    },
    /// Progress after each page; the rows themselves come in batches.
    Progress {
        pages: u32,
        rows: u64,
    },
    /// The cookies to keep for the next run.
    Cookies {
        json: String,
    },
    /// A template learned in this run, which had none.
    Learned {
        template: String,
    },
    /// The same for the detail pages.
    LearnedDetails {
        template: String,
    },
    /// A page to cache for the next run; the frame's raw bytes are its body, compressed with zstd.
    CachePage(CachedPage),
    /// A robots.txt to cache for the next run.
    Robots(RobotsTxt),
    /// The last message. If it is missing, the run has crashed.
    End(Verdict),
}

/// A message of a stepping session, which sends no rows and keeps nothing.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepMessage {
    Request(FetchRequest),
    /// The state after a step; the frame's raw bytes are its page, for the dashboard compressed with zstd, unless it is
    /// too large.
    State(StepwiseState),
}

/// The answer to a repair; the frame's raw bytes are the page as the site sent it, unless it is too large.
#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RepairAnswer(pub RepairProposals);

/// The answer to an inspection, with the raw bytes that its variant names.
#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InspectAnswer(pub LabellingAnswer);

impl From<FetchRequest> for RunMessage {
    fn from(request: FetchRequest) -> RunMessage {
        RunMessage::Request(request)
    }
}

impl From<FetchRequest> for StepMessage {
    fn from(request: FetchRequest) -> StepMessage {
        StepMessage::Request(request)
    }
}

impl FrameMessage for RunMessage {
    fn kind(&self) -> FrameKind {
        match self {
            RunMessage::Request(_) => FrameKind::Request,
            RunMessage::Trace(_) => FrameKind::Trace,
            RunMessage::Page { .. } => FrameKind::Page,
            RunMessage::Rows { .. } => FrameKind::Rows,
            RunMessage::Progress { .. } => FrameKind::Progress,
            RunMessage::Cookies { .. } => FrameKind::Cookies,
            RunMessage::Learned { .. } => FrameKind::Template,
            RunMessage::LearnedDetails { .. } => FrameKind::DetailTemplate,
            RunMessage::CachePage(_) => FrameKind::CachedPage,
            RunMessage::Robots(_) => FrameKind::Robots,
            RunMessage::End(_) => FrameKind::End,
        }
    }

    /// A row of a table has an entry for each column, however few cells it has.
    fn disk_overhead(&self) -> u64 {
        match self {
            RunMessage::Rows { columns, values, rows } => (rows.len() * (64 + columns.len() + values.len())) as u64,
            _ => 0,
        }
    }
}

impl FrameMessage for StepMessage {
    fn kind(&self) -> FrameKind {
        match self {
            StepMessage::Request(_) => FrameKind::Request,
            StepMessage::State(_) => FrameKind::State,
        }
    }
}

impl FrameMessage for RepairAnswer {
    fn kind(&self) -> FrameKind {
        FrameKind::Repair
    }
}

impl FrameMessage for InspectAnswer {
    fn kind(&self) -> FrameKind {
        FrameKind::Inspection
    }
}
