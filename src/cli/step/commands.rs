//! Reads and executes the commands between two steps, one per line, from a terminal or a pipe.

use std::io::{self, BufRead, Write};
use std::path::Path;

use super::{TerminalWalk, show};
use crate::cli::{CliError, output};
use crate::model::counted;

/// Executes commands until `q` or the end of input.
pub(super) fn listen(walk: &mut TerminalWalk<'_>) -> Result<(), CliError> {
    show::next(walk);
    loop {
        let Some(line) = ask()? else { return Ok(()) };
        let (word, rest) = line.split_once(' ').map_or((line.as_str(), ""), |(word, rest)| (word, rest.trim()));
        match word {
            "" | "n" => {
                if walk.stepper.steps_done() == walk.stepper.steps().len() {
                    output::say("There is no step left: b goes back, q quits.");
                    continue;
                }
                walk.step();
                show::next(walk);
            }
            "r" => {
                while walk.step() {}
                show::next(walk);
            }
            "b" => {
                if walk.back() {
                    show::page(walk);
                    show::next(walk);
                } else {
                    output::say("This is the beginning.");
                }
            }
            "p" => show::text(walk),
            "l" => show::links(walk),
            "f" => show::forms(walk),
            "v" => show::variables(walk),
            "w" => output::say(write(walk, rest)),
            "q" => return Ok(()),
            _ => output::say("Unknown command: type Enter, b, r, p, l, f, v, w FILE or q."),
        }
    }
}

fn ask() -> Result<Option<String>, CliError> {
    let mut stdout = io::stdout().lock();
    let mut line = String::new();
    let read =
        write!(stdout, "> ").and_then(|()| stdout.flush()).and_then(|()| io::stdin().lock().read_line(&mut line));
    match read {
        Ok(0) => Ok(None),
        Ok(_) => Ok(Some(line.trim().to_owned())),
        Err(error) => Err(CliError::failed(error)),
    }
}

/// Writes the page with secrets removed; never overwrites a file.
fn write(walk: &TerminalWalk<'_>, file: &str) -> String {
    if file.is_empty() {
        return "Give a file: w page.html".to_owned();
    }
    let Some(page) = walk.stepper.page() else { return "No page yet.".to_owned() };
    let written = std::fs::File::create_new(Path::new(file)).and_then(|mut file| file.write_all(&page.body));
    match written {
        Ok(()) => format!("Wrote {} to {file}", counted(page.body.len(), "byte")),
        Err(error) => format!("Cannot write {file}: {error}"),
    }
}
