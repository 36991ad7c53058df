//! Mistakes in a script, found when the folder is dropped and not at three in the morning.

use std::collections::BTreeSet;

use reqwest::header::{HeaderName, HeaderValue};
use url::Url;

use super::guard::Guard;
use super::variables::{self, Part, VariableError};
use crate::model::script::{Expect, Follow, Get};
use crate::model::{Script, Step, Task};
use crate::page::Selector;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptProblem {
    /// Counted from 1; 0 when it is about the script as a whole.
    pub step: usize,
    pub message: String,
    pub hint: Option<String>,
}

pub fn check(task: &Task, script: &Script) -> Vec<ScriptProblem> {
    let mut check = Check {
        task,
        guard: Guard::new(task, script),
        step: 0,
        known: BTreeSet::new(),
        on_a_page: false,
        found: Vec::new(),
    };
    if script.steps.is_empty() && task.url.is_none() {
        check.problem("the task has no address", Some("write `url = \"https://…\"` in task.toml".to_owned()));
    }
    if script.steps.is_empty()
        && let Some(url) = &task.url
    {
        check.reachable(url);
    }
    for (index, step) in script.steps.iter().enumerate() {
        check.step = index + 1;
        check.one(step);
    }
    check.found
}

struct Check<'a> {
    task: &'a Task,
    guard: Guard,
    step: usize,
    /// Variables that an earlier step sets.
    known: BTreeSet<String>,
    /// Has a step brought a page by now?
    on_a_page: bool,
    found: Vec<ScriptProblem>,
}

/// Headers that belong to the connection and not to the script.
const RESERVED_HEADERS: &[&str] = &["host", "content-length", "transfer-encoding", "connection", "upgrade", "te"];

impl Check<'_> {
    fn one(&mut self, step: &Step) {
        if !self.on_a_page && !matches!(step, Step::Get(_) | Step::Set(_)) {
            let message = format!("`{}` needs a page, and no step before it gets one", step.verb());
            self.problem(message, Some("begin with a step `get = \"https://…\"`".to_owned()));
            self.on_a_page = true; // said once
        }
        match step {
            Step::Get(get) => self.get(get),
            Step::Submit(submit) => {
                if submit.form.trim().is_empty() {
                    self.problem("`submit` does not say which form", Some("for example `form = \"login\"`".to_owned()));
                }
                self.text(&submit.form);
                submit.fields.iter().for_each(|(name, value)| {
                    self.text(name);
                    self.text(value);
                });
                submit.button.iter().for_each(|button| self.text(button));
            }
            Step::Follow(follow) => self.follow("follow", follow),
            Step::Paginate(paginate) => {
                if let Some(next) = &paginate.next {
                    self.follow("paginate.next", next);
                }
                if paginate.max_pages == Some(0) {
                    self.problem("`max_pages = 0` reads no page at all", None);
                }
            }
            Step::Extract(_) => {}
            Step::Expect(expect) => self.expect(expect),
            Step::Set(values) => {
                values.values().for_each(|value| self.text(value));
                for name in values.keys() {
                    if !variables::is_name(name) {
                        let hint = "use letters, digits, `_` and `-`; `today` is taken".to_owned();
                        self.problem(format!("`{name}` cannot be a variable's name"), Some(hint));
                    }
                    self.known.insert(name.clone());
                }
            }
        }
    }

    fn get(&mut self, get: &Get) {
        self.text(&get.url);
        get.query.values().chain(get.headers.values()).for_each(|value| self.text(value));
        for (name, value) in &get.headers {
            let plain =
                variables::parse(value).is_ok_and(|parts| parts.iter().all(|part| matches!(part, Part::Text(_))));
            let bad_value = plain && HeaderValue::from_str(value).is_err();
            if HeaderName::from_bytes(name.as_bytes()).is_err() || bad_value {
                self.problem(format!("the header `{name}` has characters that HTTP does not allow"), None);
            } else if RESERVED_HEADERS.contains(&name.to_lowercase().as_str()) {
                self.problem(format!("the header `{name}` is set by pieme itself"), None);
            }
        }
        let had_a_page = std::mem::replace(&mut self.on_a_page, true);
        if get.url.contains("${") {
            return; // what the variable holds is known only in the run
        }
        match Url::parse(&get.url) {
            Ok(url) => self.reachable(&url),
            Err(url::ParseError::RelativeUrlWithoutBase) if had_a_page || self.task.url.is_some() => {}
            Err(url::ParseError::RelativeUrlWithoutBase) => {
                let hint = "write it with https:// in front, or give the task a `url` in task.toml".to_owned();
                self.problem(
                    format!("“{}” is relative, and there is nothing it could be relative to", get.url),
                    Some(hint),
                );
            }
            Err(error) => self.problem(format!("“{}” is not an address: {error}", get.url), None),
        }
    }

    fn reachable(&mut self, url: &Url) {
        if let Err(refusal) = self.guard.url(url) {
            self.problem(format!("{} cannot be fetched: {refusal}", super::session::shown(url)), None);
        }
    }

    fn follow(&mut self, what: &str, follow: &Follow) {
        if follow.css.is_none() && follow.text.is_none() && follow.rel.is_none() {
            self.problem(
                format!("`{what}` does not say which link"),
                Some("give it a `text`, a `css` or a `rel`".to_owned()),
            );
        }
        follow.css.iter().for_each(|css| self.css(css));
        follow.text.iter().for_each(|text| self.text(text));
    }

    fn expect(&mut self, expect: &Expect) {
        if expect.status.is_none() && expect.url.is_none() && expect.text.is_none() && expect.css.is_none() {
            self.problem("`expect` does not say what", Some("give it a `status`, `url`, `text` or `css`".to_owned()));
        }
        expect.css.iter().for_each(|css| self.css(css));
        expect.url.iter().chain(&expect.text).for_each(|text| self.text(text));
    }

    fn css(&mut self, css: &str) {
        self.text(css);
        if !css.contains("${")
            && let Err(error) = Selector::parse(css)
        {
            self.problem(error.to_string(), None);
        }
    }

    /// Are the variables of this text written well, and set by an earlier step?
    fn text(&mut self, text: &str) {
        let parts = match variables::parse(text) {
            Ok(parts) => parts,
            Err(error) => return self.problem(error.to_string(), None),
        };
        for part in parts {
            let Part::Variable(name) = part else { continue };
            if !self.known.contains(name) {
                let near = self.known.iter().find(|it| strsim::damerau_levenshtein(it, name) <= 2);
                let hint = match near {
                    Some(near) => format!("did you mean `${{{near}}}`?"),
                    None => format!("set it first: `set = {{ {name} = \"…\" }}`"),
                };
                self.problem(VariableError::Unknown(name.to_owned()).to_string(), Some(hint));
            }
        }
    }

    fn problem(&mut self, message: impl Into<String>, hint: Option<String>) {
        self.found.push(ScriptProblem { step: self.step, message: message.into(), hint });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_toml(task: &str, script: &str) -> Vec<String> {
        let task: Task = toml::from_str(task).expect("a task of the table");
        let script: Script = toml::from_str(script).expect("a script of the table");
        check(&task, &script).into_iter().map(|it| format!("{}: {}", it.step, it.message)).collect()
    }

    #[test]
    fn a_mistake_in_the_script_is_found_before_it_runs() {
        let site = "url = 'https://shop.test/'";
        for (task, script, problem) in [
            ("", "", "0: the task has no address"),
            (site, "step = [{ follow = { text = 'x' } }]", "1: `follow` needs a page, and no step before it gets one"),
            (site, "step = [{ get = '/a' }, { follow = {} }]", "2: `follow` does not say which link"),
            (site, "step = [{ get = '/a' }, { follow = { css = 'a[' } }]", "2: `a[` is not a CSS selector"),
            (site, "step = [{ get = '/a?x=${x}' }]", "1: nothing sets the variable `x`"),
            (site, "step = [{ get = '/a?x=${x' }]", "1: `${` is never closed in “/a?x=${x”"),
            (site, "step = [{ set = { today = 'x' } }, { get = '/' }]", "1: `today` cannot be a variable's name"),
            (site, "step = [{ get = '/a' }, { expect = {} }]", "2: `expect` does not say what"),
            (
                site,
                "step = [{ get = '/a' }, { paginate = { max_pages = 0 } }]",
                "2: `max_pages = 0` reads no page at all",
            ),
            ("", "step = [{ get = '/a' }]", "1: “/a” is relative, and there is nothing it could be relative to"),
            (
                site,
                "step = [{ get = { url = '/a', headers = { Host = 'x' } } }]",
                "1: the header `Host` is set by pieme itself",
            ),
            (
                "fetch.allow_hosts = ['shop.test']",
                "step = [{ get = 'https://other.test/' }]",
                "1: https://other.test/ cannot be fetched: the host other.test is not one of this task's; add it to \
                 `fetch.allow_hosts` in task.toml if it belongs to the site",
            ),
            (
                "url = 'http://127.1/'",
                "",
                "0: http://127.0.0.1/ cannot be fetched: 127.0.0.1 is at 127.0.0.1, which is not a public address; set \
                 `fetch.allow_private = true` in task.toml if that is meant",
            ),
        ] {
            assert_eq!(check_toml(task, script), [problem], "{task} {script}");
        }
    }

    #[test]
    fn a_good_script_has_no_problems() {
        let script = "[[step]]\nset = { city = 'Halifax', from = '${today+7d}' }\n[[step]]\nget = { url = '/', query = { c = '${city}' } }\n\
            [[step]]\nsubmit = { form = 'login', fields = { password = '${secret:shop}' } }\n[[step]]\nexpect = { status = 200 }\n\
            [[step]]\npaginate = {}\n";
        assert_eq!(check_toml("url = 'https://shop.test/'", script), Vec::<String>::new());
        assert_eq!(check_toml("url = 'https://shop.test/'", ""), Vec::<String>::new());
    }
}
