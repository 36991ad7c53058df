//! Shows one task in full.

use chrono::{DateTime, Utc};

use crate::config::Config;
use crate::daemon::runs::progress::Progress;
use crate::judge;
use crate::model::{PastRun, RunId, counted};
use crate::show::StatusLine;
use crate::show::times::{ago, ahead, short};
use crate::store::Store;

use super::{CliError, output, table};

/// Runs that are searched for the start of the current state: all that are kept by default.
const LOOKED_THROUGH: u32 = 1_000;

pub(crate) fn text(config: &Config, line: &StatusLine, styled: bool) -> Result<String, CliError> {
    let now = Utc::now();
    let mut past = Vec::new();
    let mut waiting = None;
    if let Some(store) = Store::open_reader_if_any(&config.store)? {
        past = store.past_verdicts(&line.task, LOOKED_THROUGH)?;
        waiting = quarantined_rows(&store, &past)?;
    }
    let since = judge::since(line.state, &line.standing, &past);
    let mut facts: Vec<(&str, String)> = Vec::new();
    let mut fact = |name, text: Option<String>| facts.extend(text.map(|text| (name, text)));
    fact("Title", line.title.as_ref().map(|title| output::cell(title, 200)));
    fact("Since", since.map(|at| moment(at, now)));
    fact("Published", Some(published(line, now)));
    fact("Last run", line.last_run.as_ref().map(|run| last_run(run, now)));
    fact("", line.last_run.as_ref().map(|run| output::sentence(&run.verdict.sentence)));
    fact("Quarantined", waiting.map(|(run, rows)| format!("{} of run {run}, not published", counted(rows, "row"))));
    fact("Fails", (line.fails > 0).then(|| format!("{} in a row", line.fails)));
    let done = |it: &Progress| format!("{}, {}", counted(it.pages, "page"), counted(it.rows, "row"));
    fact("Now", line.progress.as_ref().map(done));
    fact("Stuck", line.stuck.clone());
    fact("Next run", Some(next(line, now)));
    fact("Numbers", line.last_run.is_some().then(|| format!("pieme explain {}", line.task)));
    fact("Do", Some(line.advice.clone()).filter(|it| !it.is_empty()));
    let rows = facts.into_iter().map(|(name, text)| [name.to_owned(), text]);
    let mut shown = output::styled(output::table(&[line.task.as_str(), ""], rows), styled);
    shown.set_header([comfy_table::Cell::new(&line.task), table::state(line)]);
    let problem = line.problem.as_ref().map(|problem| format!("\n\n{problem}")).unwrap_or_default();
    Ok(format!("{shown}{problem}"))
}

/// The newest quarantined rows after the last good run.
fn quarantined_rows(store: &Store, past: &[PastRun]) -> Result<Option<(RunId, u64)>, CliError> {
    for run in past.iter().take_while(|run| !run.verdict.outcome.is_published()) {
        if let Some(rows) = store.quarantined_rows(run.run, 0, 0)? {
            return Ok(Some((run.run, rows.total)));
        }
    }
    Ok(None)
}

fn published(line: &StatusLine, now: DateTime<Utc>) -> String {
    match (line.rows, line.last_ok) {
        (Some(rows), Some(at)) => format!("{}, last good run {}", counted(rows, "row"), moment(at, now)),
        (Some(rows), None) => counted(rows, "row"),
        (None, _) => "nothing yet".to_owned(),
    }
}

fn last_run(run: &PastRun, now: DateTime<Utc>) -> String {
    let verdict = &run.verdict;
    let similarity = verdict.similarity.map(|it| format!(", similarity {it:.2}")).unwrap_or_default();
    format!(
        "{}, {} of {}{similarity}, {}, took {} (run {})",
        format_args!("{} ({})", verdict.outcome.word(), verdict.outcome.cause()),
        counted(verdict.rows, "row"),
        counted(verdict.pages, "page"),
        ago(now - run.ended_at),
        short(run.ended_at - run.started_at),
        run.run
    )
}

fn next(line: &StatusLine, now: DateTime<Utc>) -> String {
    match (line.hold, line.next) {
        (Some(hold), _) => hold.sentence(&line.task),
        (None, Some(at)) => format!("{} ({})", ahead(at - now), at.format("%Y-%m-%d %H:%M:%S UTC")),
        (None, None) => "not scheduled".to_owned(),
    }
}

fn moment(at: DateTime<Utc>, now: DateTime<Utc>) -> String {
    format!("{} ({})", ago(now - at), at.format("%Y-%m-%d %H:%M:%S UTC"))
}
