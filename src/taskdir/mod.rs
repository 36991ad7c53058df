//! EDGE: a task folder on disk. What people write is read with care and answered with file, line, caret and a hint; what
//! pieme writes replaces the old file in one step. A folder from elsewhere can make nothing here read a file outside it.

mod problem;
mod source;
pub mod folder;
mod before;
mod check;
mod notes;
mod shelf;
mod columns_file;
mod labels_file;
mod relabel;
mod samples;
mod state;
mod kept;
mod items;
pub mod share;
mod template_text;
mod script_text;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::alert::Channels;
use crate::induce::Template;
use crate::model::{Script, Task, TaskName};

pub use before::{bring_back, keep_before};
pub use columns_file::{allow_empty, ask_before_accepting, write_columns};
pub use folder::FileError;
pub use items::read_items;
pub use kept::{KeptPages, read_robots, write_robots};
pub use labels_file::{Label, LabelKind, Labels, Spoken, read_labels, write_labels};
pub use problem::Problem;
pub use relabel::{Relabelling, relabel};
pub use samples::{Sample, clear_samples, read_samples, write_sample};
pub use script_text::ScriptText;
pub use shelf::{Change, Entry, Shelf};
pub use source::Source;
pub use state::{forget_proposals, read_cookies, read_proposals, write_cookies, write_proposals};
pub use template_text::TemplateText;

use folder::Folder;

pub const TASK_FILE: &str = "task.toml";
pub const ROBOT_FILE: &str = "robot.toml";
pub const TEMPLATE_FILE: &str = "template.json";
/// The template of the pages behind the records' links.
pub const DETAILS_FILE: &str = "details.json";

/// A million keys in a TOML file cost 4 s and 300 MB to parse; nobody writes 64 kB by hand.
pub const MAX_TOML_BYTES: u64 = 64 << 10;

/// Templates are written by pieme; the largest on real pages stay far below this.
pub const MAX_TEMPLATE_BYTES: u64 = 4 << 20;

/// A task folder, read and checked.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskFolder {
    pub name: TaskName,
    pub dir: PathBuf,
    pub task: Task,
    pub script: Script,
    /// The learned template's JSON text; absent until one was learned.
    pub template: Option<TemplateText>,
    /// What the files ask for that this version accepts and does not do yet, one sentence each.
    pub notes: Vec<String>,
}

/// Reads a task folder whole, or says what is wrong with it.
pub fn read(dir: &Path) -> Result<TaskFolder, Problem> {
    let name = name_of(dir)?;
    let folder = Folder::open(dir).map_err(Problem::from)?;
    folder.refuse_writable_by_all(dir).map_err(Problem::from)?;

    let task_source = read_toml(&folder, TASK_FILE)?.ok_or_else(|| no_task_file(dir))?;
    let robot_source = read_toml(&folder, ROBOT_FILE)?;
    let (task, script) = check_sources(&task_source, robot_source.as_ref())?;

    read_items(dir, &script)?;

    let template = read_template(&folder, TEMPLATE_FILE)?.as_deref().map(TemplateText::new);
    read_template(&folder, DETAILS_FILE)?;
    let notes = notes::of(&task);
    Ok(TaskFolder { name, dir: dir.to_owned(), task, script, template, notes })
}

/// The files of a task that a person writes, as texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    pub task: String,
    /// None: there is no robot.toml.
    pub robot: Option<String>,
}

/// Both files as they stand; what is no text is shown as well as can be.
pub fn read_texts(dir: &Path) -> Result<Texts, FileError> {
    let folder = Folder::open(dir)?;
    let read = |name: &str| {
        let bytes = folder.read(name, MAX_TOML_BYTES)?;
        Ok::<_, FileError>(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    };
    Ok(Texts { task: read(TASK_FILE)?.unwrap_or_default(), robot: read(ROBOT_FILE)? })
}

/// What would be wrong with the folder if these texts stood in it. `channels` are what config.toml gives to alerts.
pub fn check_texts(dir: &Path, texts: &Texts, channels: &Channels) -> Result<(), Problem> {
    let source = |name: &str, text: &str| {
        let file = dir.join(name);
        if text.len() as u64 > MAX_TOML_BYTES {
            return Err(Problem::new(&file, "the file is larger than the limit of 64 kB"));
        }
        Source::new(file, text.as_bytes().to_vec())
    };
    let robot = texts.robot.as_deref().map(|text| source(ROBOT_FILE, text)).transpose()?;
    let task_source = source(TASK_FILE, &texts.task)?;
    let (task, script) = check_sources(&task_source, robot.as_ref())?;
    read_items(dir, &script)?;
    check::alerts(&task_source, &task, Some(channels))
}

/// Replaces each file whose text is another; an empty robot.toml is none.
pub fn write_texts(dir: &Path, texts: &Texts) -> Result<(), FileError> {
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

fn check_sources(task_source: &Source, robot_source: Option<&Source>) -> Result<(Task, Script), Problem> {
    let task: Task = task_source.parse()?;
    let script: Script = robot_source.map(Source::parse).transpose()?.unwrap_or_default();
    check::task(task_source, &task)?;
    check::start(task_source, &task, robot_source, &script)?;
    check::steps(task_source, &task, robot_source, &script)?;
    Ok((task, script))
}

/// Do a task's alerts need nothing that config.toml does not have?
fn check_channels(folder: &TaskFolder, channels: &Channels) -> Result<(), Problem> {
    if folder.task.alert.urls.iter().all(|url| crate::alert::check(url, Some(channels)).is_ok()) {
        return Ok(());
    }
    // Read once more, for the caret: this is the rare case.
    let source = read_toml(&Folder::open(&folder.dir).map_err(Problem::from)?, TASK_FILE)?;
    source.map_or(Ok(()), |source| check::alerts(&source, &folder.task, Some(channels)))
}

/// Replaces template.json in one step. The folder keeps the old one if anything goes wrong.
pub fn write_template(dir: &Path, json: &str) -> Result<(), FileError> {
    Folder::open(dir)?.replace(TEMPLATE_FILE, json.as_bytes(), folder::PUBLIC_FILE)
}

/// The template of the detail pages as JSON text; `None` until one was learned.
pub fn read_details(dir: &Path) -> Result<Option<String>, Problem> {
    read_template(&Folder::open(dir).map_err(Problem::from)?, DETAILS_FILE)
}

pub fn write_details(dir: &Path, json: &str) -> Result<(), FileError> {
    Folder::open(dir)?.replace(DETAILS_FILE, json.as_bytes(), folder::PUBLIC_FILE)
}

/// When a person last changed what a run does: task.toml or robot.toml. `None` when neither can be looked at.
pub fn changed_at(dir: &Path) -> Option<SystemTime> {
    let changed = |file: &str| dir.join(file).symlink_metadata().and_then(|meta| meta.modified()).ok();
    [TASK_FILE, ROBOT_FILE].into_iter().filter_map(changed).max()
}

fn name_of(dir: &Path) -> Result<TaskName, Problem> {
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    TaskName::new(&name)
        .map_err(|error| Problem::new(dir, error.to_string()).hint("rename the folder; its name is the task's name"))
}

fn read_toml(folder: &Folder, name: &str) -> Result<Option<Source>, Problem> {
    let bytes = folder.read(name, MAX_TOML_BYTES).map_err(Problem::from)?;
    bytes.map(|bytes| Source::new(folder.path().join(name), bytes)).transpose()
}

fn read_template(folder: &Folder, name: &str) -> Result<Option<String>, Problem> {
    let Some(bytes) = folder.read(name, MAX_TEMPLATE_BYTES).map_err(Problem::from)? else {
        return Ok(None);
    };
    let file = folder.path().join(name);
    let source = Source::new(file.clone(), bytes)?;
    match Template::from_json(source.text()) {
        Ok(_) => Ok(Some(source.into_text())),
        Err(error) => Err(Problem::new(&file, error.to_string())
            .hint("pieme writes this file; delete it and the template is learned again")),
    }
}

fn no_task_file(dir: &Path) -> Problem {
    Problem::new(&dir.join(TASK_FILE), "there is no task.toml in this folder")
        .hint("the smallest one is a single line: url = \"https://example.org/list\"")
}
