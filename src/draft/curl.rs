//! Makes a draft from a copied cURL command.

mod command;
mod options;
mod steps;

use super::secret::Vault;
use super::shell_words::{self, WordsError};
use super::{Draft, redacted_draft};
use command::CurlCommand;

pub use steps::{take_attribute, user_field};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CurlError {
    #[error(transparent)]
    Words(#[from] WordsError),
    #[error("the text has no curl command; choose “Copy as cURL” in the browser's network panel")]
    NoCommand,
    #[error("the text is a PowerShell command (Invoke-WebRequest); choose “Copy as cURL (bash)” or “(cmd)” instead")]
    PowerShell,
    #[error("the command has no address")]
    NoAddress,
    #[error("`{0}` is not a valid address: {1}")]
    Address(String, String),
    #[error("only http and https are supported, not {0}:")]
    Scheme(String),
    #[error("the command is too long ({0} bytes, at most {MAX_BYTES})")]
    TooLong(usize),
}

/// Linux accepts no command line longer than 2 MB.
pub const MAX_BYTES: usize = 2 << 20;

/// Makes a draft from pasted text with one or more commands.
pub fn from_curl(text: &str) -> Result<Draft, CurlError> {
    if text.len() > MAX_BYTES {
        return Err(CurlError::TooLong(text.len()));
    }
    if text.contains("Invoke-WebRequest") || text.contains("Invoke-RestMethod") {
        return Err(CurlError::PowerShell);
    }
    let commands = shell_words::commands(text)?;
    let curls: Vec<&[String]> = commands.iter().filter_map(|words| without_curl_word(words)).collect();
    match (curls.as_slice(), commands.as_slice()) {
        // Without the word `curl`: the text was copied from after it.
        ([], [words, ..]) if words.iter().any(|word| word.starts_with("http")) => draft(&[words]),
        ([], _) => Err(CurlError::NoCommand),
        (curls, _) => draft(curls),
    }
}

/// The same for words that a shell has split already, with or without `curl` before them.
pub fn from_curl_words(words: &[String]) -> Result<Draft, CurlError> {
    draft(&[without_curl_word(words).unwrap_or(words)])
}

fn without_curl_word(words: &[String]) -> Option<&[String]> {
    let (first, rest) = words.split_first()?;
    let program = first.rsplit(['/', '\\']).next().unwrap_or_default();
    matches!(program, "curl" | "curl.exe").then_some(rest)
}

fn draft(commands: &[&[String]]) -> Result<Draft, CurlError> {
    let mut found = Vec::new();
    let mut notes = vec!["Draft made from a cURL command. Test it step by step: pieme step TASK".to_owned()];
    let mut vault = None;
    let mut last = None;
    for words in commands {
        for command in CurlCommand::read(words)? {
            let vault = vault.get_or_insert_with(|| Vault::new(command.request.url.host_str()));
            found.extend(steps::steps_of_command(&command, vault));
            last = Some(command.request.url.clone());
        }
    }
    let vault = vault.ok_or(CurlError::NoAddress)?;
    if let Some(url) = &last {
        notes.push(format!("The task.toml needs: url = \"{}\"", super::host_and_path(url)));
    }
    Ok(redacted_draft(last, found, notes, &vault))
}
