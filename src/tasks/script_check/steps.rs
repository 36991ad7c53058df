//! Checks the keys of each kind of step.

use hyper::header::{HeaderName, HeaderValue};
use url::Url;

use super::{MAX_DEPTH, ScriptChecker};
use crate::model::ScriptStep;
use crate::model::script::variables::{self, TemplatePart};
use crate::model::script::{Condition, ForEachStep, LinkSelector, LoginStep, MatchStep, PaginateStep, RequestStep};

/// Headers that belong to the connection; a script cannot set them.
const RESERVED_HEADERS: &[&str] = &["host", "content-length", "transfer-encoding", "connection", "upgrade", "te"];

impl ScriptChecker<'_> {
    pub(super) fn check_step(&mut self, step: &ScriptStep) {
        match step {
            ScriptStep::Get(ask) => {
                if !ask.form.is_empty() || ask.json.is_some() {
                    self.report("`get` sends no `form` and no `json`", Some("write `post` instead".to_owned()));
                }
                self.check_request(ask);
            }
            ScriptStep::Post(ask) => {
                if !ask.form.is_empty() && ask.json.is_some() {
                    self.report("`post` sends `form` or `json`, not both", None);
                }
                self.check_request(ask);
            }
            ScriptStep::Submit(submit) => {
                if submit.form.trim().is_empty() {
                    self.report("`submit` does not say which form", Some("for example `form = \"login\"`".to_owned()));
                }
                self.check_texts([&submit.form].into_iter().chain(&submit.button));
                self.check_texts(submit.fields.iter().flat_map(|(name, value)| [name, value]));
            }
            ScriptStep::Login(login) => self.check_login(login),
            ScriptStep::Follow(follow) => self.check_follow("follow", follow),
            ScriptStep::Paginate(paginate) => self.check_paginate(paginate),
            ScriptStep::Extract(_) => {}
            ScriptStep::Details(details) => {
                if details.max == Some(0) {
                    self.report("`max = 0` reads no detail page at all", None);
                }
            }
            ScriptStep::ForEach(each) => self.check_for_each(each),
            ScriptStep::If(branch) => {
                self.check_condition("if.when", &branch.when);
                self.reject_cause("if.when", &branch.when);
                self.check_inner_steps(step);
            }
            ScriptStep::Match(it) => self.check_match(it),
            ScriptStep::Substitute(it) => {
                self.require_variable(&it.variable);
                self.check_regex(&it.regex);
                self.define_variable(it.into.as_ref().unwrap_or(&it.variable));
            }
            ScriptStep::Set(values) => {
                self.check_texts(values.values());
                values.keys().for_each(|name| self.define_variable(name));
            }
            ScriptStep::Expect(condition) => self.check_condition("expect", condition),
            ScriptStep::Wait(_) | ScriptStep::Scroll(_) => {}
            ScriptStep::Click(follow) => self.check_follow("click", follow),
            ScriptStep::WaitFor(it) => {
                if it.css.is_none() && it.text.is_none() {
                    self.report("`wait_for` does not say what for", Some("give it a `css` or a `text`".to_owned()));
                }
                it.css.iter().for_each(|css| self.check_css(css));
                self.check_texts(&it.text);
            }
            ScriptStep::Save(name) => self.check_text(name),
        }
    }

    fn check_request(&mut self, ask: &RequestStep) {
        self.check_texts([&ask.url].into_iter().chain(ask.query.values()).chain(ask.headers.values()));
        self.check_texts(ask.form.iter().flat_map(|(name, value)| [name, value]));
        if let Some(json) = &ask.json {
            self.check_json(json);
        }
        for (name, value) in &ask.headers {
            let plain = variables::parse(value)
                .is_ok_and(|parts| parts.iter().all(|part| matches!(part, TemplatePart::Text(_))));
            let bad_value = plain && HeaderValue::from_str(value).is_err();
            if HeaderName::from_bytes(name.as_bytes()).is_err() || bad_value {
                self.report(format!("the header `{name}` has characters that HTTP does not allow"), None);
            } else if RESERVED_HEADERS.contains(&name.to_lowercase().as_str()) {
                self.report(format!("the header `{name}` is set by pieme itself"), None);
            }
        }
        let had_a_page = std::mem::replace(&mut self.has_page, true);
        self.check_address(&ask.url, had_a_page);
    }

    fn check_address(&mut self, text: &str, had_a_page: bool) {
        if text.contains("${") {
            return; // the variable's value is known only in a run
        }
        match Url::parse(text) {
            Ok(url) => self.check_reachable(&url),
            Err(url::ParseError::RelativeUrlWithoutBase) if had_a_page || self.task.url.is_some() => {}
            Err(url::ParseError::RelativeUrlWithoutBase) => {
                let hint = "write it with https:// in front, or give the task a `url` in task.toml".to_owned();
                self.report(format!("“{text}” is a relative URL, and the task has no `url`"), Some(hint));
            }
            Err(error) => self.report(format!("“{text}” is not a URL: {error}"), None),
        }
    }

    fn check_login(&mut self, login: &LoginStep) {
        self.check_texts([&login.user, &login.password].into_iter().chain(&login.form).chain(&login.totp));
        self.check_texts(login.fields.iter().flat_map(|(name, value)| [name, value]));
        self.check_texts(&login.url);
        if !login.password.contains("${secret:") {
            let hint = "write `password = \"${secret:NAME}\"` and type `pieme secret set NAME --task TASK --origin \
                        https://host`";
            self.report("the password is written in the script, where everybody can read it", Some(hint.to_owned()));
        }
        if login.basic && (login.form.is_some() || login.totp.is_some()) {
            self.report("`basic = true` takes no `form` and no `totp`", None);
        }
        if let Some(sign) = &login.logged_out_if {
            self.check_condition("login.logged_out_if", sign);
            self.reject_cause("login.logged_out_if", sign);
        }
        let had_a_page = std::mem::replace(&mut self.has_page, true);
        if let Some(url) = &login.url {
            self.check_address(url, had_a_page);
        }
    }

    fn check_follow(&mut self, what: &str, follow: &LinkSelector) {
        if follow.css.is_none() && follow.text.is_none() && follow.rel.is_none() {
            self.report(
                format!("`{what}` does not say which link"),
                Some("give it a `text`, a `css` or a `rel`".to_owned()),
            );
        }
        follow.css.iter().for_each(|css| self.check_css(css));
        self.check_texts(&follow.text);
    }

    fn check_paginate(&mut self, paginate: &PaginateStep) {
        if let Some(next) = &paginate.next {
            self.check_follow("paginate.next", next);
        }
        if paginate.max_pages == Some(0) {
            self.report("`max_pages = 0` reads no page at all", None);
        }
        if paginate.step == Some(0) {
            self.report("`step = 0` requests the same page for ever", None);
        }
        let ways = [
            paginate.next.is_some(),
            paginate.param.is_some(),
            paginate.url.is_some() || paginate.cursor.is_some(),
            paginate.scroll,
        ];
        if ways.iter().filter(|&&is_said| is_said).count() > 1 {
            self.report("`paginate` takes only one of `next`, `param`, `url` and `scroll`", None);
        }
        let Some(url) = &paginate.url else { return };
        let wanted = if paginate.cursor.is_some() { "cursor" } else { "page" };
        if !url.contains(&format!("${{{wanted}}}")) {
            let hint = format!("write `${{{wanted}}}` where it changes from page to page");
            self.report("the address in `paginate.url` is always the same", Some(hint));
        }
        let known = self.known_variables.clone();
        self.known_variables.insert(wanted.to_owned());
        self.check_text(url);
        self.known_variables = known;
        self.check_address(url, true);
    }

    fn check_for_each(&mut self, each: &ForEachStep) {
        let said = [each.list.is_some(), each.file.is_some(), each.variable.is_some()];
        if said.iter().filter(|&&is_said| is_said).count() != 1 {
            let hint = "for example `in = [\"Halifax\", \"Truro\"]` or `file = \"towns.csv\"`".to_owned();
            self.report("`for_each` takes exactly one of `in`, `file` and `variable`", Some(hint));
        }
        if let Some(file) = &each.file
            && !is_items_file(file)
        {
            let hint = "put a .csv, .jsonl or .txt file into the task's folder and write its name alone".to_owned();
            self.report(format!("`for_each` cannot read “{file}”"), Some(hint));
        }
        self.check_texts(each.list.iter().flatten());
        each.variable.iter().for_each(|name| self.require_variable(name));
        if each.steps.is_empty() {
            self.report("`for_each` has no steps", Some("add `[[step.for_each.steps]]`".to_owned()));
        }
        self.define_variable(&each.name);
        if each.file.is_some() {
            self.known_prefixes.insert(format!("{}.", each.name));
        }
        self.check_nested_steps("steps", &each.steps);
    }

    fn check_inner_steps(&mut self, step: &ScriptStep) {
        for (key, steps) in step.inner() {
            self.check_nested_steps(key, steps);
        }
    }

    fn check_nested_steps(&mut self, key: &str, steps: &[ScriptStep]) {
        // A level adds three parts to the path: key, number, verb.
        if self.path.len() / 3 >= MAX_DEPTH {
            return self.report(format!("steps are nested more than {MAX_DEPTH} levels deep"), None);
        }
        self.check_steps(key, steps);
    }

    fn check_match(&mut self, it: &MatchStep) {
        let places = [it.css.is_some(), it.json.is_some(), it.header.is_some(), it.variable.is_some(), it.url];
        if places.iter().filter(|&&is_said| is_said).count() > 1 {
            self.report("`match` takes only one of `css`, `json`, `header`, `variable` and `url`", None);
        }
        if places.iter().all(|&is_said| !is_said) && it.regex.is_none() {
            let hint = "give it a `css`, a `regex`, a `json` path or a `header`".to_owned();
            self.report("`match` does not say what to look for", Some(hint));
        }
        if it.attribute.is_some() && it.css.is_none() {
            self.report("`attribute` needs a `css` selector for the element", None);
        }
        if !self.has_page && it.variable.is_none() {
            self.report("`match` needs a page, and no step before it gets one", None);
        }
        it.css.iter().for_each(|css| self.check_css(css));
        self.check_texts(&it.default);
        it.variable.iter().for_each(|name| self.require_variable(name));
        let groups = it.regex.as_ref().map(|pattern| self.check_regex(pattern)).unwrap_or_default();
        if it.into.is_none() && groups.is_empty() && it.regex.is_some() | it.css.is_some() | it.json.is_some() {
            let hint = "give it `into = \"NAME\"`, or name a group of the expression: `(?<name>…)`".to_owned();
            self.report("`match` does not say which variable it sets", Some(hint));
        }
        groups.iter().chain(&it.into).for_each(|name| self.define_variable(name));
    }

    fn check_condition(&mut self, what: &str, condition: &Condition) {
        let of_page = [condition.url.is_some(), condition.text.is_some(), condition.css.is_some()];
        let said = condition.status.is_some() || of_page.contains(&true) || condition.variable.is_some();
        if !said && condition.matches.is_none() {
            let hint = "give it a `status`, `url`, `text` or `css`".to_owned();
            self.report(format!("`{what}` has no condition"), Some(hint));
        }
        if condition.equals.is_some() && condition.variable.is_none() {
            self.report("`equals` needs a `variable` to compare", None);
        }
        condition.variable.iter().for_each(|name| self.require_variable(name));
        condition.css.iter().for_each(|css| self.check_css(css));
        self.check_texts(condition.url.iter().chain(&condition.text).chain(&condition.equals));
        if let Some(pattern) = &condition.matches {
            self.check_regex(pattern);
        }
    }

    fn reject_cause(&mut self, what: &str, condition: &Condition) {
        if condition.cause.is_some() {
            self.report(format!("`cause` belongs to `expect`; `{what}` does not end the run"), None);
        }
    }
}

fn is_items_file(name: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    matches!(ending, Some("csv" | "jsonl" | "txt")) && !name.starts_with('.') && !name.contains(['/', '\\', '\0'])
}
