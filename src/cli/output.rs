//! All printing to stdout and stderr. A closed pipe (`pieme records x | head`) is no error.

use std::fmt::Display;
use std::io::{self, BufRead, IsTerminal, Write};

use clap::ColorChoice;
use comfy_table::{ContentArrangement, Row, Table, presets};
use serde::Serialize;

use super::{CliError, VerbResult, exit};
use crate::model::{for_terminal, is_terminal_control};

/// Prints a line on stdout.
pub(super) fn say(line: impl Display) {
    write(&mut io::stdout().lock(), line);
}

/// Prints an error, note or progress line on stderr.
pub(super) fn note(line: impl Display) {
    write(&mut io::stderr().lock(), line);
}

/// Prints a JSON document on one line.
pub(super) fn json(value: &impl Serialize) {
    match serde_json::to_string(value) {
        Ok(text) => say(text),
        Err(error) => note(format!("pieme: cannot write the result as JSON: {error}")),
    }
}

/// Prints a JSON document as all that a command prints.
pub(super) fn answer(value: &impl Serialize) -> VerbResult {
    json(value);
    Ok(exit::DONE)
}

/// Writes bytes to stdout, unchanged unless it is a terminal.
pub(super) fn bytes(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = SafeStdout::new();
    stdout.write_all(bytes).and_then(|()| stdout.flush())
}

/// Shows the question and reads a line; none at the end of input.
pub(super) fn prompt(question: &str) -> Result<Option<String>, CliError> {
    let mut stdout = io::stdout().lock();
    let mut line = String::new();
    let asked = write!(stdout, "{}", for_terminal(question)).and_then(|()| stdout.flush());
    let read = asked.and_then(|()| io::stdin().lock().read_line(&mut line)).map_err(CliError::failed)?;
    Ok((read > 0).then(|| line.trim().to_owned()))
}

/// A plain table without borders, as `ps` and `systemctl` print them.
pub(super) fn table<R: Into<Row>>(header: &[&str], rows: impl IntoIterator<Item = R>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled).set_header(header);
    table.add_rows(rows);
    if let Some(first) = table.column_mut(0) {
        first.set_padding((0, 1));
    }
    table
}

/// The table with its colours, or without any.
pub(super) fn styled(mut table: Table, styled: bool) -> Table {
    if styled {
        table.enforce_styling()
    } else {
        table.force_no_tty()
    };
    table
}

/// Whether to use colours on stdout: as chosen, or else on a terminal that can show them (no-color.org).
pub(super) fn is_styled(choice: ColorChoice) -> bool {
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
            let is_dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
            io::stdout().is_terminal() && !is_set("NO_COLOR") && !is_dumb
        }
    }
}

/// Width of the terminal; none where stdout is a file or a pipe.
pub(super) fn terminal_width() -> Option<usize> {
    Table::new().width().map(usize::from)
}

/// Makes text of a site safe for a table: no escape sequences, no line breaks, at most `most` columns wide.
pub(super) fn cell(text: &str, most: usize) -> String {
    let clean: String = text.chars().map(|c| if is_terminal_control(c) { '·' } else { c }).collect();
    let mut width = 0;
    let mut shown = String::new();
    for c in clean.chars() {
        width += unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
        if width > most {
            shown.push('…');
            break;
        }
        shown.push(c);
    }
    shown
}

/// As [`cell`], for a sentence that may have lines to copy: its line breaks stay.
pub(super) fn sentence(text: &str) -> String {
    const MOST_COLUMNS: usize = 2_000;
    text.lines().map(|line| cell(line, MOST_COLUMNS)).collect::<Vec<_>>().join("\n")
}

/// Bytes for stdout that may be a terminal. They are text then, written in whole lines.
pub(super) struct SafeStdout {
    /// The line so far; `None` where stdout is no terminal.
    line: Option<Vec<u8>>,
}

impl SafeStdout {
    pub fn new() -> SafeStdout {
        SafeStdout { line: io::stdout().is_terminal().then(Vec::new) }
    }
}

impl Write for SafeStdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(line) = &mut self.line else { return io::stdout().write(bytes) };
        line.extend_from_slice(bytes);
        if let Some(end) = line.iter().rposition(|byte| *byte == b'\n') {
            let whole: Vec<u8> = line.drain(..=end).collect();
            io::stdout().write_all(for_terminal(&String::from_utf8_lossy(&whole)).as_bytes())?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let rest = self.line.as_mut().map(std::mem::take).unwrap_or_default();
        io::stdout().write_all(for_terminal(&String::from_utf8_lossy(&rest)).as_bytes())?;
        io::stdout().flush()
    }
}

/// On a terminal, nothing but colours of pieme's own has an effect.
fn write(stream: &mut (impl Write + IsTerminal), line: impl Display) {
    let line = line.to_string();
    let line = if stream.is_terminal() { for_terminal(&line) } else { line.into() };
    if let Err(error) = writeln!(stream, "{line}")
        && error.kind() == io::ErrorKind::BrokenPipe
    {
        std::process::exit(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_of_strangers_do_not_reach_the_terminal() {
        assert_eq!(cell("\u{1b}[2Jred\nnext", 20), "·[2Jred·next");
        assert_eq!(cell("日本語のホテル", 6), "日本語…");
        assert_eq!(cell("short", 5), "short");
    }
}
