//! Prints the results of a task's samples.

use serde_json::Value;

use super::compare::{ChangedRow, TableDifference};
use super::output;
use super::{SampleReport, TaskTestReport};
use crate::model::counted;

/// Differences of one kind that are shown without `--all`.
const FIRST: usize = 3;
const CELL_WIDTH: usize = 60;
const LINE_WIDTH: usize = 160;

pub(crate) fn text(tested: &TaskTestReport, all: bool) -> String {
    let name = &tested.task;
    if let Some(problem) = &tested.problem {
        return format!("{name}: cannot read the task folder\n{problem}");
    }
    if let Some(note) = &tested.note {
        return format!("{name}: {note}");
    }
    let samples = tested.samples.iter().map(|it| format!("{name}: {}", sample(it, all)));
    samples.collect::<Vec<_>>().join("\n")
}

fn sample(it: &SampleReport, all: bool) -> String {
    let number = it.sample;
    if it.same {
        return format!("sample {number}: same, {}, similarity {:.2}", counted(it.rows, "row"), it.similarity);
    }
    let difference = &it.difference;
    let mut text = format!(
        "sample {number}: {}, similarity {:.2}",
        if difference.is_none() { "same rows".to_owned() } else { counts(it) },
        it.similarity
    );
    if it.similarity < it.wanted {
        text.push_str(&format!(", below {:.2}: a run would not publish it", it.wanted));
    }
    if let Some(limit) = &it.limit {
        text.push_str(&format!("\n    a run would fail: {limit}"));
    }
    for line in lines(difference, if all { usize::MAX } else { FIRST }) {
        text.push_str(&format!("\n    {line}"));
    }
    if it.updated {
        text.push_str("\n    the current rows are expected from now on");
    }
    text
}

fn counts(it: &SampleReport) -> String {
    let difference = &it.difference;
    let parts = [
        (difference.columns_missing.len(), "missing column"),
        (difference.columns_new.len(), "new column"),
        (difference.missing.len(), "missing row"),
        (difference.new.len(), "new row"),
        (difference.changed.len(), "changed row"),
    ];
    let differences: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| counted(*count, what)).collect();
    format!("{} ({}, {} expected)", differences.join(", "), counted(it.rows, "row"), it.expected_rows)
}

fn lines(difference: &TableDifference, most: usize) -> Vec<String> {
    let names = |sign: &str, names: &[String]| -> Vec<String> {
        names.iter().map(|name| format!("{sign} column {}", output::cell(name, CELL_WIDTH))).collect()
    };
    let records = |sign: &str, records: &[Value]| -> Vec<String> {
        records.iter().map(|it| format!("{sign} {}", record(it))).collect()
    };
    let kinds = [
        names("-", &difference.columns_missing),
        names("+", &difference.columns_new),
        records("-", &difference.missing),
        records("+", &difference.new),
        difference.changed.iter().flat_map(changed).collect(),
    ];
    kinds.into_iter().flat_map(|kind| cut(kind, most)).collect()
}

fn cut(mut lines: Vec<String>, most: usize) -> Vec<String> {
    let more = lines.len().saturating_sub(most);
    if more > 0 {
        lines.truncate(most);
        lines.push(format!("… {more} more; --all shows them"));
    }
    lines
}

fn record(record: &Value) -> String {
    let values = record.as_object().into_iter().flat_map(|it| it.values()).filter_map(Value::as_str);
    output::cell(&values.collect::<Vec<_>>().join(" | "), LINE_WIDTH)
}

/// `~ row 3 price: 95 → 99`
fn changed(it: &ChangedRow) -> Vec<String> {
    let show =
        |cell: &Option<String>| cell.as_ref().map_or("nothing".to_owned(), |text| output::cell(text, CELL_WIDTH));
    let line = |cell: &super::compare::ChangedCell| {
        format!(
            "~ row {} {}: {} → {}",
            it.row,
            output::cell(&cell.column, CELL_WIDTH),
            show(&cell.from),
            show(&cell.to)
        )
    };
    it.cells.iter().map(line).collect()
}
