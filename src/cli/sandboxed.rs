//! The sandbox of the commands that read pages. A page may be hostile, and so may a template from elsewhere: the
//! process gives up files, sockets and programs before it parses them. Only [`PageSandbox`] can parse a page.

use std::path::{Path, PathBuf};

use crate::labelling::page::parse_page;
use crate::labelling::task;
use crate::model::PageMeta;
use crate::page::{Tree, charset};
use crate::sandbox::{self, SandboxError};

use super::file_writer::{FileWriter, WriteTarget};
use super::{CliError, output, read_bytes};

fn refusal(error: &SandboxError) -> CliError {
    CliError::config(format!("the sandbox could not be set up: {error}; no page was read (see `pieme doctor`)"))
}

/// The error of a command whose sandboxed process cannot start, where the kernel is the reason.
pub(super) fn kernel_refusal() -> Option<CliError> {
    let support = sandbox::kernel_support();
    support.files.and(support.syscalls).err().map(|error| refusal(&error))
}

/// This process is in the sandbox: it can read the files it was given, print, and nothing else.
pub(super) struct PageSandbox {
    writer: Option<FileWriter>,
}

impl PageSandbox {
    /// Enters the sandbox; only these files, and files in these folders, can still be read.
    pub(super) fn enter(readable: &[PathBuf]) -> Result<PageSandbox, CliError> {
        PageSandbox::enter_with_targets(readable, &[])
    }

    /// As [`PageSandbox::enter`], and a process outside writes to these targets.
    pub(super) fn enter_with_targets(readable: &[PathBuf], targets: &[WriteTarget]) -> Result<PageSandbox, CliError> {
        let writer = if targets.is_empty() { None } else { Some(FileWriter::start(targets)?) };
        sandbox::enter_for_reading(readable).map_err(|error| refusal(&error))?;
        Ok(PageSandbox { writer })
    }

    pub(super) fn parse(&self, body: &[u8], charset: Option<&str>) -> Tree {
        Tree::parse(&charset::decode(body, charset).text)
    }

    /// Reads a page from a file; notes on stderr where only a part of it can be read.
    pub(super) fn read_page(&self, path: &Path) -> Result<Tree, CliError> {
        let tree = self.parse(&read_bytes(path)?, None);
        if let Some(sentence) = super::truncation_note(path, &tree) {
            output::note(format!("pieme: {sentence}"));
        }
        Ok(tree)
    }

    /// Decompresses and parses a page of the store.
    pub(super) fn stored_page(&self, charset: &str, page: &PageMeta, packed: &[u8]) -> Result<Tree, CliError> {
        Ok(parse_page(charset, page, &task::decompress_page(packed)?))
    }

    /// Writes a file, by the index of its target.
    pub(super) fn write(&mut self, target: usize, bytes: &[u8]) -> Result<(), String> {
        self.write_sample(target, 0, bytes)
    }

    /// Writes the expected rows of a sample.
    pub(super) fn write_sample(&mut self, target: usize, sample: u32, bytes: &[u8]) -> Result<(), String> {
        match &mut self.writer {
            Some(writer) => writer.write(target, sample, bytes),
            None => Err("no file was announced".to_owned()),
        }
    }
}
