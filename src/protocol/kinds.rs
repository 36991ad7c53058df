//! What a frame carries: the first byte of its header, so that the parent knows it before it reads the frame.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FrameKind {
    Job = 1,
    Answer = 2,
    Request = 3,
    Trace = 4,
    Page = 5,
    Rows = 6,
    Progress = 7,
    Cookies = 8,
    Template = 9,
    DetailTemplate = 10,
    CachedPage = 11,
    Robots = 12,
    End = 13,
    State = 14,
    Repair = 15,
    Inspection = 16,
}

/// A message that knows its kind.
pub trait FrameMessage {
    fn kind(&self) -> FrameKind;

    /// What it costs on the disk beyond its own bytes.
    fn disk_overhead(&self) -> u64 {
        0
    }
}

impl FrameKind {
    /// In the order of their bytes.
    pub(super) const ALL: [FrameKind; 16] = [
        FrameKind::Job,
        FrameKind::Answer,
        FrameKind::Request,
        FrameKind::Trace,
        FrameKind::Page,
        FrameKind::Rows,
        FrameKind::Progress,
        FrameKind::Cookies,
        FrameKind::Template,
        FrameKind::DetailTemplate,
        FrameKind::CachedPage,
        FrameKind::Robots,
        FrameKind::End,
        FrameKind::State,
        FrameKind::Repair,
        FrameKind::Inspection,
    ];

    pub(super) fn from_byte(byte: u8) -> Option<FrameKind> {
        FrameKind::ALL.into_iter().find(|kind| *kind as u8 == byte)
    }

    /// The position in [`FrameKind::ALL`].
    pub(super) const fn index(self) -> usize {
        self as usize - 1
    }
}

/// In the words of a sentence.
impl fmt::Display for FrameKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FrameKind::Job => "job",
            FrameKind::Answer => "answer",
            FrameKind::Request => "request",
            FrameKind::Trace => "trace",
            FrameKind::Page => "page",
            FrameKind::Rows => "rows",
            FrameKind::Progress => "progress",
            FrameKind::Cookies => "cookies",
            FrameKind::Template => "template",
            FrameKind::DetailTemplate => "detail template",
            FrameKind::CachedPage => "cached page",
            FrameKind::Robots => "robots.txt",
            FrameKind::End => "end",
            FrameKind::State => "state",
            FrameKind::Repair => "repair",
            FrameKind::Inspection => "inspection",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_byte_and_no_other_byte_is_a_kind() {
        for (index, kind) in FrameKind::ALL.into_iter().enumerate() {
            assert_eq!((kind.index(), FrameKind::from_byte(kind as u8)), (index, Some(kind)));
        }
        assert_eq!((0..=u8::MAX).filter_map(FrameKind::from_byte).count(), FrameKind::ALL.len());
    }
}
