//! All printing to stdout and stderr. A closed pipe (`pieme records x | head`) is no error.

use std::fmt::Display;
use std::io::{self, BufRead, IsTerminal, Write};

use clap::ColorChoice;
use comfy_table::{ContentArrangement, Row, Table, presets};
use serde::Serialize;

use super::{CliError, VerbResult, exit};

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

/// Writes bytes unchanged to stdout.
pub(super) fn bytes(bytes: &[u8]) -> io::Result<()> {
    io::stdout().lock().write_all(bytes)
}

/// Shows the question and reads a line; none at the end of input.
pub(super) fn prompt(question: &str) -> Result<Option<String>, CliError> {
    let mut stdout = io::stdout().lock();
    let mut line = String::new();
    let asked = write!(stdout, "{question}").and_then(|()| stdout.flush());
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

/// Makes text of a site safe for the terminal: no escape sequences, no line breaks, at most `most` columns wide.
pub(super) fn cell(text: &str, most: usize) -> String {
    let clean: String = text.chars().map(|c| if c.is_control() { '·' } else { c }).collect();
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

fn write(stream: &mut impl Write, line: impl Display) {
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
