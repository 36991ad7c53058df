//! `pieme export`: writes the published rows of tasks as files, or their changes as a feed.

mod destination;
mod feed;

use std::io::{self, IsTerminal};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::config::Config;
use crate::export::feed as feeds;
use crate::export::{self, ColumnOptions, ExportError, Format, RowWriter, SqliteWriter};
use crate::model::{TaskName, counted};
use crate::store::Store;

use super::{CliError, VerbResult, exit, nothing_yet, open_reader, output, records, task_name};
use destination::{Destination, ExportSink};

/// Write the published rows as CSV, JSON, JSON Lines, Parquet or SQLite; changes as RSS or Atom
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pieme export hotels > hotels.csv
  pieme export hotels -o hotels.parquet
  pieme export hotels flats --format jsonl | jq ._task
  pieme export hotels flats -o backup/ --format csv   one file per task, in an existing folder
  pieme export hotels -o hotels.db                    a table in an SQLite file
  pieme export hotels -o /srv/www/hotels.atom         the last changes, for feed readers

An existing file is replaced only when the new one is complete.")]
pub(super) struct Args {
    /// The names of the tasks
    #[arg(required = true, value_name = "TASK")]
    tasks: Vec<String>,
    /// csv, json, jsonl, parquet, sqlite, rss or atom; default: by the file's extension, else csv
    #[arg(long, value_name = "FORMAT", value_parser = format_of)]
    format: Option<Format>,
    /// A file, or a folder for one file per task; default: stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write only the texts as found, without typed values
    #[arg(long)]
    texts: bool,
    /// Write CSV without the apostrophe that protects spreadsheets from formulas
    #[arg(long)]
    raw: bool,
    /// Largest number of items in a feed
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: u32,
    /// Print what was written as one JSON document
    #[arg(long, requires = "output")]
    json: bool,
}

/// A written file and its contents.
#[derive(Serialize)]
struct ExportedFile {
    file: PathBuf,
    format: &'static str,
    #[serde(flatten)]
    contents: ExportContents,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ExportContents {
    Rows { tasks: Vec<TaskRowCount> },
    Feed { tasks: Vec<TaskName>, items: usize },
}

#[derive(Serialize)]
struct TaskRowCount {
    task: TaskName,
    rows: u64,
}

pub(super) fn run(config: &Config, args: Args) -> VerbResult {
    let mut tasks: Vec<TaskName> = args.tasks.iter().map(|task| task_name(task)).collect::<Result<_, _>>()?;
    let mut seen = std::collections::BTreeSet::new();
    tasks.retain(|task| seen.insert(task.clone()));
    let format = format(&args)?;
    let store = open_reader(config)?;
    // Checked before the first byte is written, so that a mistyped name leaves no partial file.
    for task in &tasks {
        if store.published(task, 0, 0)?.is_none() {
            return Err(nothing_yet(config, task, records::none_published(task)));
        }
    }
    let mut choices = ColumnOptions { texts: args.texts, raw: args.raw, several: false };
    let files: Vec<(Destination, Vec<TaskName>)> = match &args.output {
        Some(folder) if folder.is_dir() => {
            let file = |task: &TaskName| folder.join(format!("{task}.{}", format.word()));
            tasks.into_iter().map(|task| (Destination::of(&file(&task)), vec![task])).collect()
        }
        output => {
            choices.several = tasks.len() > 1;
            if choices.several && !format.holds_several() {
                let sentence = format!(
                    "a {} file holds one task: give a folder with -o, or use jsonl, json or sqlite",
                    format.word()
                );
                return Err(CliError::usage(sentence));
            }
            vec![(output.as_deref().map_or(Destination::Stdout, Destination::of), tasks)]
        }
    };
    let mut written = Vec::new();
    for (place, tasks) in files {
        let contents = match format {
            Format::Rss | Format::Atom => write_feed(config, &store, &place, (format, args.limit), tasks)?,
            _ => write(&store, &place, format, choices, tasks)?,
        };
        let told = |file: &Path| ExportedFile { file: file.to_owned(), format: format.word(), contents };
        written.extend(place.path().map(told));
    }
    report(&written, args.json);
    Ok(exit::DONE)
}

fn write(
    store: &Store,
    place: &Destination,
    format: Format,
    choices: ColumnOptions,
    tasks: Vec<TaskName>,
) -> Result<ExportContents, CliError> {
    let mut counted = Vec::new();
    let done = place.write(|target| {
        let mut writer = writer(format, choices, target)?;
        for task in tasks {
            let rows = write_rows(store, &task, &mut *writer)?;
            counted.push(TaskRowCount { task, rows });
        }
        writer.finish()
    });
    finish(place, done, ExportContents::Rows { tasks: counted })
}

fn writer(
    format: Format,
    choices: ColumnOptions,
    ExportSink { stream, path }: ExportSink<'_>,
) -> Result<Box<dyn RowWriter>, ExportError> {
    if let (Format::Sqlite, Some(path)) = (format, path) {
        return Ok(Box::new(SqliteWriter::create(path, choices)?));
    }
    let no_stream = || io::Error::other("SQLite can be written to a regular file only");
    Ok(export::writer(format, choices, stream).ok_or_else(no_stream)?)
}

fn write_feed(
    config: &Config,
    store: &Store,
    place: &Destination,
    (format, limit): (Format, u32),
    tasks: Vec<TaskName>,
) -> Result<ExportContents, CliError> {
    let (head, items) = feed::newest_items(config, store, &tasks, limit)?;
    let done = place.write(|mut target| match format {
        Format::Rss => feeds::rss(&mut target.stream, &head, &items),
        _ => feeds::atom(&mut target.stream, &head, &items),
    });
    finish(place, done, ExportContents::Feed { tasks, items: items.len() })
}

fn finish(
    place: &Destination,
    done: Result<(), ExportError>,
    contents: ExportContents,
) -> Result<ExportContents, CliError> {
    match done {
        // A reader that closed the pipe is no error.
        Err(error) if !error.is_closed_pipe() => Err(CliError::failed(place.error_sentence(&error))),
        Ok(()) | Err(_) => Ok(contents),
    }
}

/// Writes all rows of one generation of a task.
fn write_rows(store: &Store, task: &TaskName, writer: &mut dyn RowWriter) -> Result<u64, ExportError> {
    let (mut rows, mut has_begun, mut trouble) = (0, false, Ok(()));
    store.each_published(task, &mut |part| {
        trouble = match std::mem::replace(&mut has_begun, true) {
            false => writer.begin(task, part),
            true => writer.write_rows(part),
        };
        rows += part.table.rows.len() as u64;
        if trouble.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    trouble.map(|()| rows)
}

fn format(args: &Args) -> Result<Format, CliError> {
    let usage = |sentence: &str| CliError::usage(sentence);
    let file = args.output.as_deref().filter(|path| !path.is_dir());
    let format = match (args.format, file) {
        (Some(format), _) => format,
        (None, Some(file)) => Format::of(file).ok_or_else(|| {
            usage(&format!(
                "{} has no known extension: add --format csv, json, jsonl, parquet, sqlite, rss or atom",
                file.display()
            ))
        })?,
        (None, None) => Format::Csv,
    };
    let to_stdout = args.output.is_none();
    match format {
        Format::Sqlite if to_stdout => Err(usage("SQLite cannot be written to stdout: give a file with -o FILE")),
        Format::Parquet if to_stdout && io::stdout().is_terminal() => {
            Err(usage("Parquet cannot be written to a terminal: give a file with -o FILE"))
        }
        good => Ok(good),
    }
}

fn format_of(word: &str) -> Result<Format, String> {
    let named = Format::ALL.iter().copied().find(|format| format.word() == word);
    named.ok_or_else(|| {
        format!("the formats are {}", Format::ALL.iter().map(|it| it.word()).collect::<Vec<_>>().join(", "))
    })
}

fn report(written: &[ExportedFile], json: bool) {
    if json {
        return output::json(&serde_json::json!({ "files": written }));
    }
    for ExportedFile { file, contents, .. } in written {
        let what = match contents {
            ExportContents::Rows { tasks } => {
                let rows = |it: &TaskRowCount| format!("{} of {}", counted(it.rows, "row"), it.task);
                tasks.iter().map(rows).collect::<Vec<_>>().join(", ")
            }
            ExportContents::Feed { tasks, items } => {
                let names: Vec<&str> = tasks.iter().map(TaskName::as_str).collect();
                format!("{} of {}", counted(*items, "change"), names.join(", "))
            }
        };
        output::note(format!("Wrote {what} to {}", shown(file)));
    }
}

fn shown(path: &Path) -> String {
    output::cell(&path.display().to_string(), 300)
}
