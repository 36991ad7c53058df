//! `--watch`: repeats the output, in place on a terminal, appended elsewhere.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use unicode_width::UnicodeWidthStr;

use crate::config::Config;
use crate::model::{counted, for_terminal};

use super::{Args, CliError, VerbResult, exit, output, show};

/// Moves the cursor to the upper left corner; clears the screen behind the text.
const HOME: &str = "\u{1b}[H";
const CLEAR: &str = "\u{1b}[J";
/// Clears the rest of a line.
const CLEAR_LINE: &str = "\u{1b}[K";

pub(crate) fn watch(config: &Config, args: &Args, seconds: u32) -> VerbResult {
    let failed = |error: io::Error| CliError::failed(format!("cannot watch the table: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    runtime.block_on(async {
        let (mut interrupt, mut terminate) =
            (signal(SignalKind::interrupt()).map_err(failed)?, signal(SignalKind::terminate()).map_err(failed)?);
        let mut left = reader_closed();
        let mut again = tokio::time::interval(Duration::from_secs(seconds.into()));
        loop {
            tokio::select! {
                _ = again.tick() => {
                    let shown = show(config, args)?;
                    let note = shown.note.map(|note| format!("\n\n{note}")).unwrap_or_default();
                    draw(&format!("{}{note}", shown.text), args.json);
                }
                _ = interrupt.recv() => return Ok(exit::DONE),
                _ = terminate.recv() => return Ok(exit::DONE),
                _ = &mut left => return Ok(exit::DONE),
            }
        }
    })
}

/// Completes when the reader of stdout closes the pipe; never for a file. A failing write would show it too, but only
/// at the next round.
fn reader_closed() -> oneshot::Receiver<()> {
    let (tell, told) = oneshot::channel();
    std::thread::spawn(move || {
        let stdout = io::stdout();
        // No events are requested, so that poll returns only for an error or a hang-up.
        let mut watched = [PollFd::new(&stdout, PollFlags::empty())];
        while matches!(poll(&mut watched, None), Ok(0) | Err(Errno::INTR)) {}
        // The program may be ending already.
        let _ = tell.send(());
    });
    told
}

fn draw(text: &str, as_json: bool) {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok().filter(|_| io::stdout().is_terminal());
    match size {
        Some(size) if !as_json => {
            let fitting = fitting(text, size.ws_col.into(), size.ws_row.into());
            let lines = for_terminal(&fitting).replace('\n', &format!("{CLEAR_LINE}\n"));
            // Clears what is left of a longer previous screen. A closed terminal is noticed elsewhere.
            let _ = writeln!(io::stdout(), "{HOME}{lines}{CLEAR_LINE}\n{CLEAR}");
        }
        _ => output::say(format!("{text}{}", if as_json { "" } else { "\n" })),
    }
}

/// The first lines that fit the screen, with one to spare. The table is sorted worst first, so the end can be cut.
fn fitting(text: &str, width: usize, height: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut room = height.saturating_sub(3);
    let mut shown = 0;
    for line in &lines {
        let takes = visible_width(line).div_ceil(width.max(1)).max(1);
        if takes > room {
            break;
        }
        room -= takes;
        shown += 1;
    }
    let left = lines.len() - shown;
    let more = if left > 0 { format!("\n… {}", counted(left, "more line")) } else { String::new() };
    lines[..shown].join("\n") + &more
}

/// Width without the escape sequences of colours.
fn visible_width(line: &str) -> usize {
    let mut parts = line.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().width();
    first + parts.map(|part| part.split_once('m').map_or(0, |(_, text)| text.width())).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_counted() {
        assert_eq!(fitting("a\nb\nc", 80, 24), "a\nb\nc");
        assert_eq!(fitting("a\nb\nc", 80, 5), "a\nb\n… 1 more line");
        assert_eq!(fitting("aaaa\nb\nc", 2, 5), "aaaa\n… 2 more lines", "a long line takes two of the screen");
    }

    #[test]
    fn colours_have_no_width() {
        assert_eq!(visible_width("\u{1b}[38;5;9m\u{1b}[1mcrash\u{1b}[0m Δ"), 7);
    }
}
