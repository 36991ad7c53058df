//! Column types in PostgreSQL, and column names of views, which have at most 63 bytes.

use std::borrow::Cow;

use super::names::{ColumnName, quoted, rows_table, view_columns};
use crate::model::{ColumnType, Facet, TaskName, ValueColumn};

/// The server would cut longer names, and two of them might become equal.
const MAX_NAME_BYTES: usize = 63;

/// More digits than any amount of money or number has.
const MAX_DIGITS: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PgType {
    Text,
    Bigint,
    Double,
    Numeric,
    Boolean,
}

impl PgType {
    pub fn of(column: &ColumnName) -> PgType {
        match column.value {
            Some(ValueColumn { facet: Facet::Currency, .. }) | None => PgType::Text,
            Some(ValueColumn { kind: ColumnType::Int, .. }) => PgType::Bigint,
            Some(ValueColumn { kind: ColumnType::Bool, .. }) => PgType::Boolean,
            Some(ValueColumn { kind: ColumnType::Number, .. }) => PgType::Double,
            Some(ValueColumn { kind: ColumnType::Money, .. }) => PgType::Numeric,
            Some(_) => PgType::Text,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            PgType::Text => "text",
            PgType::Bigint => "bigint",
            PgType::Double => "double precision",
            PgType::Numeric => "numeric",
            PgType::Boolean => "boolean",
        }
    }

    /// A cell as the server reads it. A cell that does not fit its column's type comes from a broken child, and becomes
    /// NULL.
    pub fn cell(self, text: &str) -> Option<Cow<'_, str>> {
        let is_number = || text.len() <= MAX_DIGITS && text.parse::<f64>().is_ok_and(f64::is_finite);
        match self {
            PgType::Text => Some(text.into()),
            PgType::Bigint => text.parse::<i64>().ok().map(|number| number.to_string().into()),
            PgType::Double | PgType::Numeric => is_number().then(|| text.into()),
            PgType::Boolean => match text {
                "1" => Some("t".into()),
                "0" => Some("f".into()),
                _ => None,
            },
        }
    }
}

/// The name of a column in its table, which only pieme reads: a page may name a column anything, at any length.
pub(super) fn column_name(at: usize) -> String {
    format!("c{}", at + 1)
}

/// The columns of a task's view under their names there.
pub(super) fn distinct_view_columns(columns: &[ColumnName]) -> Vec<(usize, String)> {
    let mut shown: Vec<(usize, String)> = Vec::new();
    for (at, name) in view_columns(columns) {
        let name = fit_name(&name, |name| shown.iter().all(|(_, taken)| taken.as_str() != name));
        shown.push((at, name));
    }
    shown
}

/// The view of a task. A name of 64 bytes is cut and gets a hash after `~`, which is in no task's name.
pub(super) fn name(name: &str) -> String {
    if name.len() <= MAX_NAME_BYTES {
        return quoted(name);
    }
    let hash = super::digest::record_digest(std::iter::once(("view", name)));
    quoted(&format!("{}~{:08x}", &name[..MAX_NAME_BYTES - 9], hash & 0xffff_ffff))
}

fn fit_name(name: &str, is_free: impl Fn(&str) -> bool) -> String {
    let cut = |most: usize| name[..name.floor_char_boundary(most)].to_owned();
    let mut fitted = cut(MAX_NAME_BYTES);
    // Terminates: among one more name than there are columns, one is free.
    let mut number = 2;
    while !is_free(&fitted) {
        let suffix = format!("_{number}");
        fitted = format!("{}{suffix}", cut(MAX_NAME_BYTES - suffix.len()));
        number += 1;
    }
    fitted
}

/// The view of a task. `_run` and `_last_seen` are the same for all rows of a generation, so they are stored once, in
/// `_generation`, which also says which generation is published.
pub(super) fn create_sql(task: &TaskName, table: i64, columns: &[ColumnName]) -> String {
    let (view, table) = (name(task.as_str()), quoted(&rows_table(table)));
    let columns: String = distinct_view_columns(columns)
        .iter()
        .map(|(at, name)| format!("r.{} AS {}, ", column_name(*at), quoted(name)))
        .collect();
    format!(
        "CREATE VIEW {view} AS SELECT {columns} g.run AS _run, r._first_seen, g.last_seen AS _last_seen, r._page
         FROM {table} r JOIN _generation g ON g.id = r._generation
         WHERE g.task = '{}' AND g.state = 'published'",
        task.as_str()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(stored: &str) -> ColumnName {
        ColumnName { source_name: stored.to_owned(), stored: stored.to_owned(), value: None }
    }

    #[test]
    fn names_that_are_too_long_are_cut_and_stay_apart() {
        let long = "x".repeat(80);
        let columns = [text(&long), text(&format!("{long}y")), text(&"ä".repeat(40)), text("short")];
        let names: Vec<String> = distinct_view_columns(&columns).into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["x".repeat(63), format!("{}_2", "x".repeat(61)), "ä".repeat(31), "short".to_owned()]);
    }

    #[test]
    fn tasks_whose_names_differ_in_the_last_letter_have_views_of_their_own() {
        let names = ["a", "b"].map(|end| TaskName::new(&format!("{}{end}", "t".repeat(63))).expect("64 letters"));
        let views = names.each_ref().map(|task| name(task.as_str()));
        assert!(views[0] != views[1] && views.iter().all(|view| view.len() == 65), "{views:?}");
    }

    #[test]
    fn a_cell_that_is_not_what_its_column_is_becomes_none() {
        for (kind, text, expected) in [
            (PgType::Bigint, "95", Some("95")),
            (PgType::Bigint, "95.5", None),
            (PgType::Numeric, "95.00", Some("95.00")),
            (PgType::Numeric, "NaN", None),
            (PgType::Double, "inf", None),
            (PgType::Double, "1; DROP TABLE _task", None),
            (PgType::Boolean, "1", Some("t")),
            (PgType::Boolean, "yes", None),
            (PgType::Text, "yes", Some("yes")),
        ] {
            assert_eq!(kind.cell(text).as_deref(), expected, "{kind:?} {text}");
        }
    }
}
