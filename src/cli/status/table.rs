//! Draws the status table, with colours if wanted.

use chrono::{DateTime, Utc};
use comfy_table::{Attribute, Cell, Color};

use crate::daemon::runs::progress::Progress;
use crate::judge::Severity;
use crate::model::{State, counted};
use crate::show::StatusLine;
use crate::show::times::{ago, ahead, short};

use super::output;

pub(crate) fn text(lines: &[StatusLine], now: DateTime<Utc>, styled: bool) -> String {
    let header = ["TASK", "STATE", "ROWS", "Δ", "SIM", "LAST-OK", "LAST-RUN", "NEXT", "FAILS", "CAUSE", "DO"];
    output::styled(output::table(&header, lines.iter().map(|line| cells(line, now))), styled).to_string()
}

fn cells(line: &StatusLine, now: DateTime<Utc>) -> [Cell; 11] {
    let last = line.last_run.as_ref();
    let cause = match (&line.problem, &line.stuck, last) {
        (Some(_), ..) => "config",
        (None, Some(_), _) => "timeout",
        (None, None, Some(run)) => run.verdict.outcome.cause(),
        (None, None, None) => "",
    };
    let ran = match (&line.progress, last) {
        (Some(going), _) => progress_text(going, now),
        (None, Some(run)) => ago(now - run.ended_at),
        (None, None) => "never".to_owned(),
    };
    [
        Cell::new(&line.task),
        state(line),
        Cell::new(line.rows.map_or("–".to_owned(), |rows| rows.to_string())),
        Cell::new(line.delta.filter(|&delta| delta != 0).map_or(String::new(), |delta| format!("{delta:+}"))),
        Cell::new(line.similarity.map_or("–".to_owned(), |similarity| format!("{similarity:.2}"))),
        Cell::new(line.last_ok.map_or("never".to_owned(), |at| ago(now - at))),
        Cell::new(ran),
        Cell::new(next(line, now)),
        Cell::new(line.fails),
        Cell::new(cause),
        Cell::new(&line.advice),
    ]
}

/// The next scheduled run, or why there is none.
fn next(line: &StatusLine, now: DateTime<Utc>) -> String {
    let planned = || line.next.map_or("–".to_owned(), |at| ahead(at - now));
    line.hold.map_or_else(planned, |hold| hold.word().to_owned())
}

/// Red needs a person now, yellow soon; green is good, grey waits.
pub(crate) fn state(line: &StatusLine) -> Cell {
    let cell = Cell::new(line.state);
    match (line.severity, line.state) {
        (Severity::Critical, _) => cell.fg(Color::Red).add_attribute(Attribute::Bold),
        (Severity::Warning, _) => cell.fg(Color::Yellow),
        (Severity::Fine, State::Ok | State::Changed) => cell.fg(Color::Green),
        (Severity::Fine, State::Running) => cell.fg(Color::Cyan),
        (Severity::Fine, _) => cell.fg(Color::DarkGrey),
    }
}

/// `now: 3 pages, 60 rows, 12s`
fn progress_text(going: &Progress, now: DateTime<Utc>) -> String {
    let (pages, rows) = (counted(going.pages, "page"), counted(going.rows, "row"));
    format!("now: {pages}, {rows}, {}", short(now - going.started_at))
}
