//! `pieme test`: extracts the samples of tasks with the current templates and compares the rows. No network, no
//! database.

mod compare;
mod show;

use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;

use crate::config::Config;
use crate::learn::apply::{ColumnTransform, Extraction, TemplateReader};
use crate::learn::template::{Template, TemplateError};
use crate::model::{Table, TaskName};
use crate::tasks;
use crate::tasks::{Problem, Sample, TEMPLATE_FILE, TaskFolder, TaskRegistry};

use super::file_writer::WriteTarget;
use super::{CliError, PageSandbox, VerbResult, exit, output, task_name};
use compare::{TableDifference, compare};

/// Extract the saved sample pages again, offline, and compare the rows
///
/// A sample is a page with the rows expected on it; `pieme label` writes one each time a list is confirmed. A template
/// that was learned again, repaired or edited must still extract these rows.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pieme test                    all tasks
  pieme test hotels --all       every difference, not just the first few
  pieme test hotels --update    expect the current rows from now on
  pieme test --json | jq '.tasks[] | select(.same | not)'

Exit codes: 0 no differences; 1 differences; 3 there is no sample: `pieme label TASK` writes one;
78 mistake in a task folder or template.")]
pub(super) struct Args {
    /// Only this task
    task: Option<String>,
    /// Show every difference
    #[arg(long)]
    all: bool,
    /// Expect the current rows from now on
    #[arg(long)]
    update: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// The results for one task.
#[derive(Serialize)]
struct TaskTestReport {
    task: TaskName,
    same: bool,
    samples: Vec<SampleReport>,
    /// Why there is nothing to compare, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// Why the folder, its template or its samples cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

#[derive(Serialize)]
struct SampleReport {
    sample: u32,
    same: bool,
    similarity: f64,
    /// `expect.similarity`
    wanted: f64,
    rows: usize,
    expected_rows: usize,
    #[serde(flatten)]
    difference: TableDifference,
    /// Whether the expected rows were replaced by the current ones.
    updated: bool,
    /// The limit that cut the page or the list off.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<String>,
    /// The rows that `--update` writes.
    #[serde(skip)]
    replacement: Option<Table>,
}

pub(super) fn run(config: &Config, args: Args) -> VerbResult {
    let only = args.task.as_deref().map(task_name).transpose()?;
    let folders = folders(config, only.as_ref())?;
    let mut sandbox = enter_sandbox(config, &folders, args.update)?;
    let mut tested = Vec::new();
    for (target, (name, folder)) in folders.into_iter().enumerate() {
        let mut one = test(&name, folder, &sandbox)?;
        if args.update {
            update(&mut one, target, &mut sandbox)?;
        }
        if !args.json {
            output::say(show::text(&one, args.all));
        }
        tested.push(one);
    }
    if args.json {
        output::json(&serde_json::json!({ "same": tested.iter().all(|it| it.same), "tasks": tested }));
    } else if tested.is_empty() {
        output::say(format!("No tasks in {}.", config.tasks.display()));
    }
    Ok(code(&tested))
}

fn code(tested: &[TaskTestReport]) -> u8 {
    let samples = || tested.iter().flat_map(|it| &it.samples);
    if tested.iter().any(|it| it.problem.is_some()) {
        exit::CONFIG
    } else if samples().any(|it| !it.same && !it.updated) {
        exit::FAILED
    } else if samples().next().is_none() && !tested.is_empty() {
        exit::NEEDS_PERSON
    } else {
        exit::DONE
    }
}

type ReadFolder = Result<Arc<TaskFolder>, Problem>;

fn folders(config: &Config, only: Option<&TaskName>) -> Result<Vec<(TaskName, ReadFolder)>, CliError> {
    if let Some(name) = only {
        let dir = config.tasks.join(name.as_str());
        if !dir.is_dir() {
            return Err(CliError::usage(super::no_such_task(config, name)));
        }
        return Ok(vec![(name.clone(), tasks::read(&dir).map(Arc::new))]);
    }
    let mut registry = TaskRegistry::new(config.tasks.clone());
    registry.rescan();
    if let Some(trouble) = registry.scan_problem() {
        return Err(trouble.clone().into());
    }
    let known = registry.iter().filter_map(|(name, entry)| {
        let folder = entry.problem.clone().map(Err).or_else(|| entry.good.clone().map(Ok))?;
        Some((name.clone(), folder))
    });
    Ok(known.collect())
}

fn test(name: &TaskName, folder: ReadFolder, sandbox: &PageSandbox) -> Result<TaskTestReport, CliError> {
    let mut tested = TaskTestReport { task: name.clone(), same: true, samples: Vec::new(), note: None, problem: None };
    let read = folder.and_then(|folder| Ok((template_and_samples(&folder)?, folder)));
    let ((template, samples), folder) = match read {
        Ok(read) => read,
        Err(problem) => return Ok(TaskTestReport { same: false, problem: Some(problem.to_string()), ..tested }),
    };
    tested.note = match (&template, &samples[..]) {
        (None, _) => Some(format!("no template yet; type `pieme run {name}`, then `pieme label {name}`")),
        (Some(_), []) => Some(format!("no samples yet; confirm the list with `pieme label {name}` to keep one")),
        (Some(_), [..]) => None,
    };
    for sample in &samples {
        let Some(template) = &template else { break };
        tested.samples.push(replay(&folder, template, sample, sandbox)?);
    }
    tested.same = tested.samples.iter().all(|it| it.same);
    Ok(tested)
}

fn template_and_samples(folder: &TaskFolder) -> Result<(Option<Template>, Vec<Sample>), Problem> {
    let unsound = |error: TemplateError| Problem::new(&folder.dir.join(TEMPLATE_FILE), error.to_string());
    let template = folder.template.as_ref().map(|text| Template::from_json(&text.text())).transpose();
    Ok((template.map_err(unsound)?, tasks::read_samples(&folder.dir)?))
}

/// Extracts a sample as a run would extract the page.
fn replay(
    folder: &TaskFolder,
    template: &Template,
    sample: &Sample,
    sandbox: &PageSandbox,
) -> Result<SampleReport, CliError> {
    let charset = Some(folder.task.fetch.charset.as_str()).filter(|&it| it != "auto");
    let page = sandbox.parse(&sample.body, charset);
    let shape = ColumnTransform::new(&folder.task.columns).map_err(CliError::config)?;
    let Extraction { table: found, similarity, limit, .. } =
        TemplateReader::new(template.clone()).published_rows(&shape, &page);
    let difference = compare(&sample.expected, &found);
    let wanted = folder.task.expect.similarity;
    let cut = page.limit.map(|cut| cut.sentence(&format!("sample {}", sample.index), sample.body.len()));
    let limit = cut.or(limit.map(|limit| limit.to_string()));
    let same = difference.is_none() && similarity >= wanted && limit.is_none();
    // A page without rows, or unlike its template, is no good expectation.
    let can_replace = limit.is_none() && !difference.is_none() && similarity >= wanted && !found.rows.is_empty();
    Ok(SampleReport {
        sample: sample.index,
        same,
        similarity,
        wanted,
        rows: found.rows.len(),
        expected_rows: sample.expected.rows.len(),
        difference,
        updated: false,
        limit,
        replacement: can_replace.then_some(found),
    })
}

/// Replaces the expected rows of the samples by the current ones.
fn update(tested: &mut TaskTestReport, target: usize, sandbox: &mut PageSandbox) -> Result<(), CliError> {
    for sample in &mut tested.samples {
        let Some(found) = sample.replacement.take() else { continue };
        let failed = |error: String| CliError::failed(format!("cannot update the sample: {error}"));
        let json = serde_json::to_vec(&found).map_err(|error| failed(error.to_string()))?;
        sandbox.write_sample(target, sample.sample, &json).map_err(failed)?;
        sample.updated = true;
    }
    Ok(())
}

/// The samples can be read, and nothing else. With `--update` each task is a target.
fn enter_sandbox(config: &Config, folders: &[(TaskName, ReadFolder)], update: bool) -> Result<PageSandbox, CliError> {
    let dirs = || folders.iter().map(|(name, _)| config.tasks.join(name.as_str()));
    let targets: Vec<WriteTarget> = if update { dirs().map(WriteTarget::Samples).collect() } else { Vec::new() };
    // A link could lead anywhere; reading the samples refuses it.
    let is_folder = |path: &PathBuf| path.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    let readable: Vec<PathBuf> = dirs().map(|dir| tasks::samples_folder(&dir)).filter(is_folder).collect();
    PageSandbox::enter_with_targets(&readable, &targets)
}
