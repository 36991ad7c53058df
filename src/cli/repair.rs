//! `pieme repair`: finds a list again on a redesigned page, using the last good rows.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::extract::read_template;
use super::file_writer::WriteTarget;
use super::learn::{as_json, show, write_picked};
use super::{CliError, PageSandbox, VerbResult, add_limit, exit, output, truncation_note};
use crate::learn::Candidate;
use crate::learn::repair::repair;
use crate::model::{Row, Table};

/// Find a list again on a redesigned page, using the last good rows
///
/// The last good rows identify the list and its columns, which keep their names. Exits with 3 when no list is found.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pieme repair --template template.json --records good.json redesigned.html
  pieme repair --template template.json --records good.json redesigned.html --json
  pieme repair --template template.json --records good.json redesigned.html --pick 1 -o new.json
  pieme records hotels --json > good.json     the last good rows of a task")]
pub(super) struct Args {
    /// The template that no longer fits
    #[arg(long, value_name = "FILE")]
    template: PathBuf,
    /// The last good rows, as `pieme records TASK --json` prints them: {"records": [{"name": "…"}, …]}
    #[arg(long, value_name = "FILE")]
    records: PathBuf,
    /// The redesigned page
    page: PathBuf,
    /// Print JSON, as `pieme learn` does
    #[arg(long)]
    json: bool,
    /// Use candidate K, counted from 1
    #[arg(long, value_name = "K", requires = "output")]
    pick: Option<usize>,
    /// File for the template with the new variant; the old variant stays in it
    #[arg(short, long, value_name = "FILE", requires = "pick")]
    output: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> VerbResult {
    let readable = [&args.template, &args.records, &args.page].map(PathBuf::clone);
    let targets: Vec<WriteTarget> = args.output.iter().cloned().map(WriteTarget::File).collect();
    let mut sandbox = PageSandbox::enter_with_targets(&readable, &targets)?;
    let template = read_template(&args.template)?;
    let good = read_records(&args.records)?;
    let page = sandbox.read_page(&args.page)?;
    let candidates: Vec<Candidate> =
        repair(&template, &good, &page).into_iter().map(|it| it.read_back(&page)).collect();
    let picked = args.pick.zip(args.output.as_deref());
    write_picked(picked, &candidates.iter().collect::<Vec<_>>(), &mut sandbox)?;
    if good.rows.is_empty() {
        output::note(
            "There are no good rows: columns were matched by name and kind of value only. Check them before use.",
        );
    }
    if args.json {
        let mut answer = as_json(&candidates);
        add_limit(&mut answer, truncation_note(&args.page, &page));
        output::json(&answer);
    } else {
        show(&candidates);
    }
    Ok(if candidates.is_empty() { exit::NEEDS_PERSON } else { exit::DONE })
}

fn read_records(path: &Path) -> Result<Table, CliError> {
    let complain = |why: String| CliError::usage(format!("{}: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| complain(format!("cannot read the file: {error}")))?;
    let value: Value = serde_json::from_str(&text).map_err(|error| complain(format!("not valid JSON: {error}")))?;
    table(&value).ok_or_else(|| complain("expected rows such as {\"records\": [{\"name\": \"…\"}, …]}".to_owned()))
}

/// Columns in the order of their first occurrence.
fn table(value: &Value) -> Option<Table> {
    let records: Vec<&Map<String, Value>> =
        value.get("records").unwrap_or(value).as_array()?.iter().map(Value::as_object).collect::<Option<_>>()?;
    let mut columns: Vec<String> = Vec::new();
    for name in records.iter().flat_map(|record| record.keys()) {
        if !columns.contains(name) {
            columns.push(name.clone());
        }
    }
    let cell = |value: &Value| match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    let row = |record: &&Map<String, Value>| {
        let cells = columns.iter().map(|name| record.get(name).and_then(cell)).collect();
        Row { cells, page: 0 }
    };
    let rows = records.iter().map(row).collect();
    Some(Table { columns, rows })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_from_json() {
        let read = |text: &str| table(&serde_json::from_str(text).expect("it is JSON"));
        let rows =
            read(r#"{"records":[{"name":"Adler","price":95},{"link":"/i","name":null}]}"#).expect("they are rows");
        assert_eq!(rows.columns, ["name", "price", "link"]);
        assert_eq!(rows.rows[0].cells, [Some("Adler".to_owned()), Some("95".to_owned()), None]);
        assert_eq!(rows.rows[1].cells, [None, None, Some("/i".to_owned())]);
        assert!(read("[]").is_some());
        assert!(read(r#"{"rows": 3}"#).is_none());
        assert!(read("[3]").is_none());
    }
}
