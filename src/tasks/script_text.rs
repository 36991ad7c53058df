//! The source text of each step of robot.toml, with the comments above it.

use toml_edit::Document;

use super::folder::Folder;
use super::{ROBOT_FILE, TaskFolder, read_toml};

/// One text per step; empty if the file cannot be split into steps.
#[derive(Clone, Debug, Default)]
pub struct ScriptText(Vec<String>);

impl ScriptText {
    /// The texts for a folder that was just read; empty if the file was edited meanwhile.
    pub fn of(task: &TaskFolder) -> ScriptText {
        let source = Folder::open(&task.dir).ok().and_then(|folder| read_toml(&folder, ROBOT_FILE).ok().flatten());
        let steps = source.map(|source| cut(source.text())).unwrap_or_default();
        ScriptText(if steps.len() == task.script.steps.len() { steps } else { Vec::new() })
    }

    pub fn step(&self, index: usize) -> Option<&str> {
        self.0.get(index).map(String::as_str)
    }
}

fn cut(text: &str) -> Vec<String> {
    let steps = cut_tables(text);
    if steps.is_empty() { cut_list(text).unwrap_or_default() } else { steps }
}

/// `step = [ … ]`
fn cut_list(text: &str) -> Option<Vec<String>> {
    let document = Document::parse(text).ok()?;
    let steps = document.get("step")?.as_array()?.iter();
    steps.map(|step| Some(text.get(step.span()?)?.to_owned())).collect()
}

/// `[[step]]`, line by line.
fn cut_tables(text: &str) -> Vec<String> {
    let mut steps: Vec<Vec<&str>> = Vec::new();
    // Comments belong to the step below them.
    let mut waiting: Vec<&str> = Vec::new();
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.split('#').next().is_some_and(|it| it.trim() == "[[step]]") {
            waiting.push(line);
            steps.push(std::mem::take(&mut waiting));
        } else if trimmed.is_empty() || trimmed.starts_with('#') {
            if trimmed.is_empty() && steps.is_empty() {
                waiting.clear(); // what the file as a whole is about
            }
            waiting.push(line);
        } else if let Some(step) = steps.last_mut() {
            step.append(&mut waiting);
            step.push(line);
        }
    }
    steps.into_iter().map(|lines| lines.join("\n").trim_matches('\n').to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_has_its_comments_and_its_inner_steps() {
        let text = "# The way.\n\n# first\n[[step]]\nget = '/a'\n\n# second\n[[step]] # here\n[step.if]\n\
                    when = { css = 'a' }\n\n[[step.if.then]]\nget = '/b'\n\n[[step]]\npaginate = {}\n";
        let steps = cut(text);
        assert_eq!(steps.len(), 3, "{steps:?}");
        assert_eq!(steps[0], "# first\n[[step]]\nget = '/a'");
        assert!(steps[1].starts_with("# second\n[[step]] # here") && steps[1].ends_with("get = '/b'"), "{}", steps[1]);
        assert_eq!(
            cut("step = [\n  { get = '/a' }, # first\n  { paginate = {} },\n]"),
            ["{ get = '/a' }", "{ paginate = {} }"]
        );
        assert_eq!(cut("# nothing yet\n"), Vec::<String>::new());
    }
}
