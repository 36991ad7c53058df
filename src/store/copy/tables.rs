//! pieme's own tables that both databases have. Tables that only one of them needs (leases, key blocks, the full-text
//! index) are not here.

use CopiedKind::{Bool, Bytes, Int, Real, Text, Time};

/// A table that is copied entry by entry.
pub struct CopiedTable {
    pub name: &'static str,
    pub columns: &'static [(&'static str, CopiedKind)],
    /// Sort order, so that two copies of the same store are equal.
    pub order: &'static str,
}

/// The type of a column of such a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopiedKind {
    Text,
    Int,
    Real,
    Bool,
    Time,
    Bytes,
}

/// Tables that generations refer to.
pub(in crate::store) const TABLES_BEFORE_ROWS: &[CopiedTable] = &[
    CopiedTable {
        name: "_task",
        columns: &[
            ("name", Text),
            ("title", Text),
            ("added_at", Time),
            ("paused", Bool),
            ("removed_at", Time),
            ("next_due", Time),
            ("problem", Text),
            ("published", Int),
            ("published_rows", Int),
            ("previous_rows", Int),
            ("last_run", Text),
            ("last_slot", Time),
            ("last_ok", Time),
            ("fails", Int),
            ("history", Int),
        ],
        order: "name",
    },
    CopiedTable {
        name: "_runs",
        columns: &[
            ("id", Text),
            ("task", Text),
            ("slot", Time),
            ("trigger", Text),
            ("started", Time),
            ("ended", Time),
            ("outcome", Text),
            ("cause", Text),
            ("sentence", Text),
            ("similarity", Real),
            ("rows", Int),
            ("pages", Int),
            ("provisional", Bool),
            ("pid", Int),
            ("boot", Text),
            ("figures", Text),
        ],
        order: "id",
    },
];

/// Tables that refer to runs, and to themselves.
pub(in crate::store) const TABLES_AFTER_ROWS: &[CopiedTable] = &[
    CopiedTable {
        name: "_trace",
        columns: &[("run", Text), ("line", Int), ("at", Time), ("step", Int), ("verb", Text), ("text", Text)],
        order: "run, line",
    },
    CopiedTable {
        name: "_pages",
        columns: &[("run", Text), ("page", Int), ("task", Text), ("meta", Text), ("body", Bytes)],
        order: "run, page",
    },
    CopiedTable { name: "_watched", columns: &[("task", Text), ("wanted", Text), ("said", Text)], order: "task" },
    CopiedTable {
        name: "_alert",
        columns: &[("id", Text), ("task", Text), ("made_at", Time), ("notice", Text)],
        order: "id",
    },
    CopiedTable {
        name: "_delivery",
        columns: &[
            ("alert", Text),
            ("task", Text),
            ("target", Text),
            ("tries", Int),
            ("next_try", Time),
            ("delivered_at", Time),
            ("trouble", Text),
        ],
        order: "alert, target",
    },
    CopiedTable {
        name: "_change",
        columns: &[
            ("id", Int),
            ("task", Text),
            ("run", Text),
            ("at", Time),
            ("rows_before", Int),
            ("rows_after", Int),
            ("added", Int),
            ("changed", Int),
            ("removed", Int),
            ("unlisted", Text),
        ],
        order: "id",
    },
    CopiedTable {
        name: "_changed_record",
        columns: &[
            ("id", Int),
            ("change", Int),
            ("key", Bytes),
            ("what", Text),
            ("name", Text),
            ("first_seen", Time),
            ("cells", Text),
        ],
        order: "id",
    },
];

/// Task folders, which only stores with several daemons have.
pub(in crate::store) const FOLDER_TABLES: &[CopiedTable] = &[
    CopiedTable { name: "_folder", columns: &[("task", Text), ("version", Int), ("removed", Bool)], order: "task" },
    CopiedTable {
        name: "_file",
        columns: &[("task", Text), ("path", Text), ("body", Bytes), ("changed_at", Time)],
        order: "task, path",
    },
];
