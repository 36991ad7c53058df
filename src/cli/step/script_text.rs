//! robot.toml as the person wrote it, step by step, with the comments above each.

use std::path::Path;

use crate::taskdir::ROBOT_FILE;

/// The texts of the steps; empty where they do not stand one after the other (`step = [ … ]`).
pub struct ScriptText(Vec<String>);

impl ScriptText {
    pub fn read(dir: &Path) -> ScriptText {
        ScriptText(cut(&std::fs::read_to_string(dir.join(ROBOT_FILE)).unwrap_or_default()))
    }

    pub fn step(&self, index: usize) -> Option<&str> {
        self.0.get(index).map(String::as_str)
    }
}

fn cut(text: &str) -> Vec<String> {
    let mut steps: Vec<Vec<&str>> = Vec::new();
    // Comments stand above the step that they are about.
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
        let text = "# The way.\n\n# first\n[[step]]\nget = '/a'\n\n# second\n[[step]] # here\n[step.if]\nwhen = { css = 'a' }\n\n\
                    [[step.if.then]]\nget = '/b'\n\n[[step]]\npaginate = {}\n";
        let steps = cut(text);
        assert_eq!(steps.len(), 3, "{steps:?}");
        assert_eq!(steps[0], "# first\n[[step]]\nget = '/a'");
        assert!(steps[1].starts_with("# second\n[[step]] # here") && steps[1].ends_with("get = '/b'"), "{}", steps[1]);
        assert_eq!(cut("step = [{ get = '/a' }]"), Vec::<String>::new());
    }
}
