//! EDGE: task folders on disk. Errors in files that people write are reported with file, line, caret and hint. Files
//! that pieme writes are replaced atomically. A folder from elsewhere can make nothing here read a file outside it.

mod address_check;
mod check;
mod columns_file;
pub mod folder;
mod items;
mod labels_file;
mod notes;
mod page_cache;
mod partial_toml;
mod problem;
mod registry;
mod relabel;
mod samples;
mod script_check;
mod script_text;
pub mod shared_files;
mod source;
mod state;
mod template_text;
mod undo;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::alert::Channels;
use crate::learn::template::{Template, TemplateError};
use crate::model::{Script, Task, TaskName};

pub use address_check::check_addresses;
pub use columns_file::{allow_empty, ask_before_accepting, set_max_pages, write_columns};
pub use folder::FileError;
pub use items::read_items;
pub use labels_file::{Label, LabelHelp, LabelKind, Labels, check_labels, read_labels, write_labels};
pub use page_cache::{PageCache, read_robots, write_robots};
pub use problem::Problem;
pub use registry::{FolderChange, RegistryEntry, TaskRegistry};
pub use relabel::{Relabelling, relabel};
pub use samples::{
    Sample, clear_samples, read_last_expected_rows, read_samples, samples_folder, write_expected_rows, write_sample,
};
pub use script_check::{ScriptProblem, check as check_script};
pub use script_text::ScriptText;
pub use source::TomlSource;
pub use state::{forget_proposals, read_cookies, read_proposals, write_cookies, write_proposals};
pub use template_text::TemplateText;
pub use undo::{has_previous, restore_previous, save_previous};

use folder::Folder;
use partial_toml::PartialToml;

pub const TASK_FILE: &str = "task.toml";
pub const ROBOT_FILE: &str = "robot.toml";
pub const TEMPLATE_FILE: &str = "template.json";
/// The template of the detail pages.
pub(crate) const DETAILS_FILE: &str = "details.json";

/// A TOML file with a million keys takes 4 s and 300 MB to parse; nobody writes 64 kB by hand.
pub const MAX_TOML_BYTES: u64 = 64 << 10;

/// Templates are written by pieme; the largest on real pages stay far below this.
pub(crate) const MAX_TEMPLATE_BYTES: u64 = 4 << 20;

/// A task folder, read and checked.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskFolder {
    pub name: TaskName,
    pub dir: PathBuf,
    pub task: Task,
    pub script: Script,
    /// The learned template's JSON text; absent until one was learned.
    pub template: Option<TemplateText>,
    /// Warnings about a valid folder, one sentence each (see `notes.rs`).
    pub notes: Vec<String>,
}

/// Reads and checks a task folder, or reports everything that is wrong with it.
pub fn read(dir: &Path) -> Result<TaskFolder, Problem> {
    let name = name_of(dir)?;
    let folder = Folder::open(dir).map_err(Problem::from)?;
    folder.refuse_writable_by_all(dir).map_err(Problem::from)?;

    let mut found = Vec::new();
    let task = read_toml(&folder, TASK_FILE).and_then(|source| source.ok_or_else(|| no_task_file(dir)));
    let read = check_sources(task, read_toml(&folder, ROBOT_FILE), &mut found);
    let template = note_problem(read_template(&folder, TEMPLATE_FILE), &mut found).flatten();
    let details = note_problem(read_template(&folder, DETAILS_FILE), &mut found).flatten();
    let Some((source, task, script)) = read else { return Err(first_of(found)) };
    note_problem(read_items(dir, &script), &mut found);
    let mut notes = notes::of(&task);
    if let Some((_, template)) = &template {
        let unmatched = check::unmatched(&task, &script, template, details.as_ref().map(|(_, it)| it));
        notes.extend(classify_unmatched(dir, (&source, &task, template), unmatched, &mut found));
    }
    Problem::from_all(found)?;
    let template = template.map(|(text, _)| TemplateText::new(&text));
    Ok(TaskFolder { name, dir: dir.to_owned(), task, script, template, notes })
}

/// Reads task.toml alone, which is faster for thousands of folders.
pub fn read_task(dir: &Path) -> Result<Task, Problem> {
    let folder = Folder::open(dir).map_err(Problem::from)?;
    read_toml(&folder, TASK_FILE)?.ok_or_else(|| no_task_file(dir))?.parse()
}

/// Columns that match nothing are errors, unless a label is just being written. They are notes if no person has
/// confirmed the template.
fn classify_unmatched(
    dir: &Path,
    (source, task, template): (&TomlSource, &Task, &Template),
    unmatched: Vec<usize>,
    found: &mut Vec<Problem>,
) -> Vec<String> {
    let mut notes = Vec::new();
    if unmatched.is_empty() {
        return notes;
    }
    // Errors in labels.toml are reported elsewhere.
    let Ok(labels) = read_labels(dir) else { return notes };
    for column in unmatched {
        let name = &task.columns[column].name;
        match labels.labels.last() {
            None => notes.push(notes::unmatched(name)),
            Some(last) if last.columns.contains(name) => {}
            Some(_) => found.push(check::unmatched_problem(source, task, template, column)),
        }
    }
    notes
}

/// The value, or `None` with the problem noted.
fn note_problem<T>(read: Result<T, Problem>, found: &mut Vec<Problem>) -> Option<T> {
    read.map_err(|problem| found.push(problem)).ok()
}

/// For a list with at least one problem.
fn first_of(found: Vec<Problem>) -> Problem {
    Problem::from_all(found).expect_err("nothing was read, and somebody has said why")
}

/// The files of a task that a person writes, as texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskTexts {
    pub task: String,
    /// `None` if there is no robot.toml.
    pub robot: Option<String>,
}

/// Both files as they are; invalid UTF-8 is replaced.
pub fn read_texts(dir: &Path) -> Result<TaskTexts, FileError> {
    let folder = Folder::open(dir)?;
    let read = |name: &str| {
        let bytes = folder.read(name, MAX_TOML_BYTES)?;
        Ok::<_, FileError>(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    };
    Ok(TaskTexts { task: read(TASK_FILE)?.unwrap_or_default(), robot: read(ROBOT_FILE)? })
}

/// Everything that would be wrong with the folder if it had these texts. `channels` is what config.toml provides for
/// alerts.
pub fn check_texts(dir: &Path, texts: &TaskTexts, channels: &Channels) -> Result<(), Problem> {
    let source = |name: &str, text: &str| {
        let file = dir.join(name);
        if text.len() as u64 > MAX_TOML_BYTES {
            return Err(Problem::new(&file, "the file is larger than the limit of 64 kB"));
        }
        TomlSource::new(file, text.as_bytes().to_vec())
    };
    let mut found = Vec::new();
    let robot = texts.robot.as_deref().map(|text| source(ROBOT_FILE, text)).transpose();
    if let Some((source, task, script)) = check_sources(source(TASK_FILE, &texts.task), robot, &mut found) {
        note_problem(read_items(dir, &script), &mut found);
        let alerts = check::alerts(&source, &task, Some(channels));
        // An invalid target was noted above.
        let is_noted =
            |it: &Problem| found.iter().any(|before| (before.line, &before.message) == (it.line, &it.message));
        let unnoted: Vec<Problem> = alerts.into_iter().filter(|it| !is_noted(it)).collect();
        found.extend(unnoted);
        // Errors in the templates are not errors of these texts.
        let learned = |name| Folder::open(dir).ok().and_then(|folder| read_template(&folder, name).ok().flatten());
        if let Some((_, template)) = learned(TEMPLATE_FILE) {
            let details = learned(DETAILS_FILE);
            let unmatched = check::unmatched(&task, &script, &template, details.as_ref().map(|(_, it)| it));
            classify_unmatched(dir, (&source, &task, &template), unmatched, &mut found);
        }
    }
    Problem::from_all(found)
}

/// Replaces each file whose text has changed; without a text robot.toml is removed.
pub fn write_texts(dir: &Path, texts: &TaskTexts) -> Result<(), FileError> {
    let (folder, before) = (Folder::open(dir)?, read_texts(dir)?);
    if texts.task != before.task {
        folder.replace(TASK_FILE, texts.task.as_bytes(), folder::PUBLIC_FILE)?;
    }
    match &texts.robot {
        robot if *robot == before.robot => Ok(()),
        Some(text) => folder.replace(ROBOT_FILE, text.as_bytes(), folder::PUBLIC_FILE),
        None => folder.remove(ROBOT_FILE),
    }
}

/// Parses and checks both files, and notes everything that is wrong except what follows from another error. Returns the
/// values without the invalid parts, and the source of task.toml for error positions; `None` if nothing can be parsed.
fn check_sources(
    task_source: Result<TomlSource, Problem>,
    robot_source: Result<Option<TomlSource>, Problem>,
    found: &mut Vec<Problem>,
) -> Option<(TomlSource, Task, Script)> {
    let (task_source, robot_source) = (note_problem(task_source, found), note_problem(robot_source, found));
    let Some(task_source) = task_source else {
        let robot = robot_source.flatten();
        found.extend(robot.into_iter().flat_map(|source| PartialToml::<Script>::of(&source).problems));
        return None;
    };
    let task = PartialToml::<Task>::of(&task_source);
    let robot = robot_source.as_ref().and_then(Option::as_ref);
    let script = robot.map_or_else(|| PartialToml::absent(&task_source, Script::default()), PartialToml::of);
    let mut own = task.value.as_ref().map(|it| check::task(&task.source, it)).unwrap_or_default();
    let mut of_steps = Vec::new();
    if let (Some(it), Some(steps), Some(_)) = (&task.value, &script.value, &robot_source)
        && !task.has_skipped("url")
    {
        let robot = robot.map(|_| &script.source);
        match check::start(&task.source, it, robot, steps) {
            Some(problem) => of_steps.push(problem),
            None => of_steps = check::steps(&task.source, it, robot, steps),
        }
    }
    if let Some(it) = &task.value {
        let no_steps = Script::default();
        own.extend(check::moved_grant(&task.source, it, script.value.as_ref().unwrap_or(&no_steps)));
    }
    own.retain(|problem| !task.explains(&problem.message));
    of_steps.retain(|it| !script.explains(&it.message) && (script.is_complete() || !it.message.contains(NO_PAGE_YET)));
    let mut all: Vec<Problem> = [task.problems, own, script.problems, of_steps].concat();
    all.sort_by_key(|problem| (problem.file != task_source.file(), problem.line, problem.column));
    // Of several problems at the same place the first is kept.
    all.dedup_by(|it, before| {
        it.line.is_some() && (&it.file, it.line, it.column) == (&before.file, before.line, before.column)
    });
    found.extend(all);
    Some((task.source, task.value?, script.value?))
}

/// Part of the message for a step after one that could not be parsed.
const NO_PAGE_YET: &str = "needs a page, and no step before it gets one";

/// Checks that config.toml provides what a task's alerts need.
fn check_channels(folder: &TaskFolder, channels: &Channels) -> Result<(), Problem> {
    if folder.task.alert.urls.iter().all(|url| crate::alert::check(url, Some(channels)).is_ok()) {
        return Ok(());
    }
    // Rare, so the file is parsed again for the error position.
    let source = read_toml(&Folder::open(&folder.dir).map_err(Problem::from)?, TASK_FILE)?;
    source.map_or(Ok(()), |source| Problem::from_all(check::alerts(&source, &folder.task, Some(channels))))
}

/// As [`read`], and checks the alert targets against these channels.
pub fn read_with_channels(dir: &Path, channels: &Channels) -> Result<TaskFolder, Problem> {
    let folder = read(dir)?;
    check_channels(&folder, channels)?;
    Ok(folder)
}

/// A problem at a key of the folder's task.toml, as `["limits", "memory"]`.
pub fn problem_in_task_file(folder: &TaskFolder, key: &[&str], message: String) -> Problem {
    let source = Folder::open(&folder.dir).ok().and_then(|it| read_toml(&it, TASK_FILE).ok().flatten());
    match source {
        Some(source) => source.problem_at_key(key, message),
        None => Problem::new(&folder.dir.join(TASK_FILE), message),
    }
}

/// Checks a template that comes from a child before it is written.
pub fn check_template(json: &str) -> Result<(), Problem> {
    let problem = |error| template_problem(Path::new(TEMPLATE_FILE), json, &error);
    Template::from_json(json).map(drop).map_err(problem)
}

/// Replaces template.json atomically.
pub fn write_template(dir: &Path, json: &str) -> Result<(), FileError> {
    Folder::open(dir)?.replace(TEMPLATE_FILE, json.as_bytes(), folder::PUBLIC_FILE)
}

/// The template of the detail pages as JSON text; `None` until one was learned.
pub fn read_details(dir: &Path) -> Result<Option<String>, Problem> {
    Ok(read_template(&Folder::open(dir).map_err(Problem::from)?, DETAILS_FILE)?.map(|(text, _)| text))
}

pub fn write_details(dir: &Path, json: &str) -> Result<(), FileError> {
    Folder::open(dir)?.replace(DETAILS_FILE, json.as_bytes(), folder::PUBLIC_FILE)
}

/// When task.toml or robot.toml was last changed; `None` if neither can be inspected.
pub fn changed_at(dir: &Path) -> Option<SystemTime> {
    let changed = |file: &str| dir.join(file).symlink_metadata().and_then(|meta| meta.modified()).ok();
    [TASK_FILE, ROBOT_FILE].into_iter().filter_map(changed).max()
}

fn name_of(dir: &Path) -> Result<TaskName, Problem> {
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    TaskName::new(&name)
        .map_err(|error| Problem::new(dir, error.to_string()).hint("rename the folder; its name is the task's name"))
}

fn read_toml(folder: &Folder, name: &str) -> Result<Option<TomlSource>, Problem> {
    let bytes = folder.read(name, MAX_TOML_BYTES).map_err(Problem::from)?;
    bytes.map(|bytes| TomlSource::new(folder.path().join(name), bytes)).transpose()
}

fn read_template(folder: &Folder, name: &str) -> Result<Option<(String, Template)>, Problem> {
    let Some(bytes) = folder.read(name, MAX_TEMPLATE_BYTES).map_err(Problem::from)? else {
        return Ok(None);
    };
    let file = folder.path().join(name);
    let source = TomlSource::new(file.clone(), bytes)?;
    match Template::from_json(source.text()) {
        Ok(template) => Ok(Some((source.into_text(), template))),
        Err(error) => Err(template_problem(&file, source.text(), &error)
            .hint("pieme writes this file; delete it and the template is learned again")),
    }
}

fn template_problem(file: &Path, text: &str, error: &TemplateError) -> Problem {
    match error.position() {
        Some((line, column)) => {
            let message = error.to_string().replace(&format!(" at line {line} column {column}"), "");
            Problem::at_line(file, text, line, column, message)
        }
        None => Problem::new(file, error.to_string()),
    }
}

fn no_task_file(dir: &Path) -> Problem {
    Problem::new(&dir.join(TASK_FILE), "there is no task.toml in this folder")
        .hint("the smallest one is a single line: url = \"https://example.org/list\"")
}
