//! Reads and executes the commands between two steps, one per line, from a terminal or a pipe.

use std::io::Write;
use std::path::Path;

use super::{TerminalWalk, show};
use crate::cli::{CliError, output};
use crate::model::counted;

/// Executes commands until `q` or the end of input.
pub(super) fn listen(walk: &mut TerminalWalk) -> Result<(), CliError> {
    show::next(walk);
    loop {
        let Some(line) = output::prompt("> ")? else { return Ok(()) };
        let (word, rest) = line.split_once(' ').map_or((line.as_str(), ""), |(word, rest)| (word, rest.trim()));
        match word {
            "" | "n" => {
                if walk.done() == walk.steps.len() {
                    output::say("There is no step left: b goes back, q quits.");
                    continue;
                }
                walk.step()?;
                show::next(walk);
            }
            "r" => {
                while walk.step()? {}
                show::next(walk);
            }
            "b" => {
                if walk.back()? {
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

/// Writes the page with secrets removed; never overwrites a file.
fn write(walk: &TerminalWalk, file: &str) -> String {
    if file.is_empty() {
        return "Give a file: w page.html".to_owned();
    }
    if walk.last("page").is_null() {
        return "No page yet.".to_owned();
    }
    if walk.page.is_empty() {
        return "The page is empty, or larger than 8 MB.".to_owned();
    }
    let written = std::fs::File::create_new(Path::new(file)).and_then(|mut file| file.write_all(&walk.page));
    match written {
        Ok(()) => format!("Wrote {} to {file}", counted(walk.page.len(), "byte")),
        Err(error) => format!("Cannot write {file}: {error}"),
    }
}
