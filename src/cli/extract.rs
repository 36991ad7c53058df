//! `pieme extract`: extracts the records of a page with a template, or with the best template of a folder.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::{CliError, PageSandbox, VerbResult, add_limit, exit, output, truncation_note};
use crate::learn::apply::{self, Extraction, THRESHOLD};
use crate::learn::template::Template;
use crate::model::counted;
use crate::tasks::TEMPLATE_FILE;

/// Extract the records of a saved page with a template
///
/// Exits with 3 when the page no longer looks like the template (similarity below 0.7), and with 1 when rows or values
/// are missing because the page or the list exceeds a limit.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pieme extract --template template.json page2.html
  pieme extract --template template.json page2.html --json
  pieme extract --library tasks/ unknown.html      with the task's template that fits best")]
pub(super) struct Args {
    /// Template written by `pieme learn --pick K -o FILE`
    #[arg(long, value_name = "FILE", required_unless_present = "library")]
    template: Option<PathBuf>,
    /// Folder of templates or of tasks; the template that fits the page best is used
    #[arg(long, value_name = "FOLDER", conflicts_with = "template")]
    library: Option<PathBuf>,
    /// The saved page
    page: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> VerbResult {
    let library = args.library.as_deref().map(library_files).transpose()?.unwrap_or_default();
    let mut readable: Vec<PathBuf> = library.iter().map(|(_, file)| file.clone()).collect();
    readable.extend(args.template.iter().chain([&args.page]).cloned());
    let page = PageSandbox::enter(&readable)?.read_page(&args.page)?;
    let found = match (&args.template, &args.library) {
        (Some(file), _) => {
            let template = read_template(file)?;
            ExtractReport { extraction: apply::extract(&template, &page), template, name: None }
        }
        (None, Some(folder)) => {
            let mut library = read_library(library);
            let templates: Vec<Template> = library.iter().map(|(_, template)| template.clone()).collect();
            let best = apply::rank_templates(&page, &templates).into_iter().next();
            let best = best.ok_or_else(|| CliError::usage(format!("there is no template in {}", folder.display())))?;
            let (name, template) = library.swap_remove(best.index);
            ExtractReport { extraction: best.extraction, template, name: Some(name) }
        }
        (None, None) => return Err(CliError::usage("give --template or --library")),
    };
    let limit = truncation_note(&args.page, &page).or(found.extraction.limit.map(|limit| limit.to_string()));
    let is_whole = limit.is_none();
    found.show(args.json, limit);
    Ok(match found.extraction.similarity {
        similarity if similarity < THRESHOLD => exit::NEEDS_PERSON,
        _ if is_whole => exit::DONE,
        _ => exit::FAILED,
    })
}

struct ExtractReport {
    extraction: Extraction,
    template: Template,
    /// Name of the template in the library.
    name: Option<String>,
}

impl ExtractReport {
    fn show(&self, as_json: bool, limit: Option<String>) {
        let (similarity, rows) = (self.extraction.similarity, self.extraction.table.rows.len());
        if as_json {
            let mut value = json!({
                "similarity": similarity,
                "likeness": self.extraction.likeness,
                "rows": rows,
                "records": self.extraction.table.records(),
            });
            if let Some(name) = &self.name {
                value["template"] = json!(name);
            }
            add_limit(&mut value, limit);
            output::json(&value);
        } else {
            if let Some(limit) = limit {
                output::say(format!("Rows are missing: {limit}."));
            }
            let by = self.name.as_ref().map(|name| format!("{}: ", output::cell(name, 60))).unwrap_or_default();
            output::say(format!("{by}{}, similarity {similarity:.2}", counted(rows, "row")));
            output::say(super::learn::preview(&self.extraction.visible(&self.template)));
        }
    }
}

pub(super) fn read_template(file: &Path) -> Result<Template, CliError> {
    let path = file.display();
    let text = std::fs::read_to_string(file)
        .map_err(|error| CliError::usage(format!("cannot read the template {path}: {error}")))?;
    Template::from_json(&text).map_err(|error| CliError::usage(format!("{path}: {error}")))
}

/// The templates of a folder, by name: `NAME.json`, and `NAME/template.json` of tasks.
fn library_files(folder: &Path) -> Result<Vec<(String, PathBuf)>, CliError> {
    let entries = std::fs::read_dir(folder)
        .map_err(|error| CliError::usage(format!("cannot read the folder {}: {error}", folder.display())))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        let is_json = path.extension().is_some_and(|it| it == "json");
        let file = if path.is_dir() { path.join(TEMPLATE_FILE) } else { path.clone() };
        if !file.is_file() || !(path.is_dir() || is_json) {
            continue;
        }
        let name = path.file_stem().filter(|_| is_json).or(path.file_name()).unwrap_or_default();
        files.push((name.to_string_lossy().into_owned(), file));
    }
    Ok(files)
}

/// A template that cannot be read is skipped with a note.
fn read_library(files: Vec<(String, PathBuf)>) -> Vec<(String, Template)> {
    let mut library = Vec::new();
    for (name, file) in files {
        match read_template(&file) {
            Ok(template) => library.push((name, template)),
            Err(complaint) => output::note(format!("Skipped: {}", complaint.sentence)),
        }
    }
    library
}
