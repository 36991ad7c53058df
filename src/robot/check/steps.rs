//! What each kind of step must say to make sense.

use reqwest::header::{HeaderName, HeaderValue};
use url::Url;

use super::super::variables::{self, Part};
use super::{Check, MAX_DEPTH};
use crate::model::Step;
use crate::model::script::{Ask, Condition, Follow, ForEach, Login, Match, Paginate};

/// Headers that belong to the connection and not to the script.
const RESERVED_HEADERS: &[&str] = &["host", "content-length", "transfer-encoding", "connection", "upgrade", "te"];

impl Check<'_> {
    pub(super) fn one(&mut self, step: &Step) {
        match step {
            Step::Get(ask) => {
                if !ask.form.is_empty() || ask.json.is_some() {
                    self.problem("`get` sends no `form` and no `json`", Some("write `post` instead".to_owned()));
                }
                self.ask(ask);
            }
            Step::Post(ask) => {
                if !ask.form.is_empty() && ask.json.is_some() {
                    self.problem("`post` sends `form` or `json`, not both", None);
                }
                self.ask(ask);
            }
            Step::Submit(submit) => {
                if submit.form.trim().is_empty() {
                    self.problem("`submit` does not say which form", Some("for example `form = \"login\"`".to_owned()));
                }
                self.texts([&submit.form].into_iter().chain(&submit.button));
                self.texts(submit.fields.iter().flat_map(|(name, value)| [name, value]));
            }
            Step::Login(login) => self.login(login),
            Step::Follow(follow) => self.follow("follow", follow),
            Step::Paginate(paginate) => self.paginate(paginate),
            Step::Extract(_) => {}
            Step::Details(details) => {
                if details.max == Some(0) {
                    self.problem("`max = 0` reads no detail page at all", None);
                }
            }
            Step::ForEach(each) => self.for_each(each),
            Step::If(branch) => {
                self.condition("if.when", &branch.when);
                self.no_cause("if.when", &branch.when);
                self.inside(step);
            }
            Step::Match(it) => self.take(it),
            Step::Substitute(it) => {
                self.uses(&it.variable);
                self.regex(&it.regex);
                self.sets(it.into.as_ref().unwrap_or(&it.variable));
            }
            Step::Set(values) => {
                self.texts(values.values());
                values.keys().for_each(|name| self.sets(name));
            }
            Step::Expect(condition) => self.condition("expect", condition),
            Step::Wait(_) | Step::Scroll(_) => {}
            Step::Click(follow) => self.follow("click", follow),
            Step::WaitFor(it) => {
                if it.css.is_none() && it.text.is_none() {
                    self.problem("`wait_for` does not say what for", Some("give it a `css` or a `text`".to_owned()));
                }
                it.css.iter().for_each(|css| self.css(css));
                self.texts(&it.text);
            }
            Step::Save(name) => self.text(name),
        }
    }

    fn ask(&mut self, ask: &Ask) {
        self.texts([&ask.url].into_iter().chain(ask.query.values()).chain(ask.headers.values()));
        self.texts(ask.form.iter().flat_map(|(name, value)| [name, value]));
        if let Some(json) = &ask.json {
            self.json(json);
        }
        for (name, value) in &ask.headers {
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
        self.address(&ask.url, had_a_page);
    }

    fn address(&mut self, text: &str, had_a_page: bool) {
        if text.contains("${") {
            return; // what the variable holds is known only in the run
        }
        match Url::parse(text) {
            Ok(url) => self.reachable(&url),
            Err(url::ParseError::RelativeUrlWithoutBase) if had_a_page || self.task.url.is_some() => {}
            Err(url::ParseError::RelativeUrlWithoutBase) => {
                let hint = "write it with https:// in front, or give the task a `url` in task.toml".to_owned();
                self.problem(format!("“{text}” is relative, and there is nothing it could be relative to"), Some(hint));
            }
            Err(error) => self.problem(format!("“{text}” is not an address: {error}"), None),
        }
    }

    fn login(&mut self, login: &Login) {
        self.texts([&login.user, &login.password].into_iter().chain(&login.form).chain(&login.totp));
        self.texts(login.fields.iter().flat_map(|(name, value)| [name, value]));
        self.texts(&login.url);
        if !login.password.contains("${secret:") {
            let hint = "write `password = \"${secret:NAME}\"` and put it into secrets/NAME (mode 0600)".to_owned();
            self.problem("the password stands in the script, where everybody can read it", Some(hint));
        }
        if login.basic && (login.form.is_some() || login.totp.is_some()) {
            self.problem("HTTP basic authentication has no form and no code", None);
        }
        if let Some(sign) = &login.logged_out_if {
            self.condition("login.logged_out_if", sign);
            self.no_cause("login.logged_out_if", sign);
        }
        let had_a_page = std::mem::replace(&mut self.on_a_page, true);
        if let Some(url) = &login.url {
            self.address(url, had_a_page);
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
        self.texts(&follow.text);
    }

    fn paginate(&mut self, paginate: &Paginate) {
        if let Some(next) = &paginate.next {
            self.follow("paginate.next", next);
        }
        if paginate.max_pages == Some(0) {
            self.problem("`max_pages = 0` reads no page at all", None);
        }
        if paginate.step == Some(0) {
            self.problem("`step = 0` asks for the same page for ever", None);
        }
        let ways = [
            paginate.next.is_some(),
            paginate.param.is_some(),
            paginate.url.is_some() || paginate.cursor.is_some(),
            paginate.scroll,
        ];
        if ways.iter().filter(|&&is_said| is_said).count() > 1 {
            self.problem("`paginate` goes on by `next`, `param`, `url` or `scroll`; say one of them", None);
        }
        let Some(url) = &paginate.url else { return };
        let wanted = if paginate.cursor.is_some() { "cursor" } else { "page" };
        if !url.contains(&format!("${{{wanted}}}")) {
            let hint = format!("write `${{{wanted}}}` where it changes from page to page");
            self.problem("the address in `paginate.url` is always the same", Some(hint));
        }
        let known = self.known.clone();
        self.known.insert(wanted.to_owned());
        self.text(url);
        self.known = known;
        self.address(url, true);
    }

    fn for_each(&mut self, each: &ForEach) {
        let said = [each.list.is_some(), each.file.is_some(), each.variable.is_some()];
        if said.iter().filter(|&&is_said| is_said).count() != 1 {
            let hint = "for example `in = [\"Halifax\", \"Truro\"]` or `file = \"towns.csv\"`".to_owned();
            self.problem("`for_each` goes through `in`, `file` or `variable`; say one of them", Some(hint));
        }
        if let Some(file) = &each.file
            && !is_plain_file(file)
        {
            let hint = "put a .csv, .jsonl or .txt file into the task's folder and write its name alone".to_owned();
            self.problem(format!("“{file}” cannot be read from here"), Some(hint));
        }
        self.texts(each.list.iter().flatten());
        each.variable.iter().for_each(|name| self.uses(name));
        if each.steps.is_empty() {
            self.problem("`for_each` has no steps", Some("add `[[step.for_each.steps]]`".to_owned()));
        }
        self.sets(&each.name);
        if each.file.is_some() {
            self.prefixes.insert(format!("{}.", each.name));
        }
        self.all_inside("steps", &each.steps);
    }

    fn inside(&mut self, step: &Step) {
        for (key, steps) in step.inner() {
            self.all_inside(key, steps);
        }
    }

    fn all_inside(&mut self, key: &str, steps: &[Step]) {
        // A level is three parts of the path: key, number, verb.
        if self.path.len() / 3 >= MAX_DEPTH {
            return self.problem("steps inside steps, too deep to follow", None);
        }
        self.all(key, steps);
    }

    fn take(&mut self, it: &Match) {
        let places = [it.css.is_some(), it.json.is_some(), it.header.is_some(), it.variable.is_some(), it.url];
        if places.iter().filter(|&&is_said| is_said).count() > 1 {
            self.problem("`match` looks in one place: `css`, `json`, `header`, `variable` or `url`", None);
        }
        if places.iter().all(|&is_said| !is_said) && it.regex.is_none() {
            let hint = "give it a `css`, a `regex`, a `json` path or a `header`".to_owned();
            self.problem("`match` does not say what to look for", Some(hint));
        }
        if it.attribute.is_some() && it.css.is_none() {
            self.problem("`attribute` is one of an element: say which by `css`", None);
        }
        if !self.on_a_page && it.variable.is_none() {
            self.problem("`match` needs a page, and no step before it gets one", None);
        }
        it.css.iter().for_each(|css| self.css(css));
        self.texts(&it.default);
        it.variable.iter().for_each(|name| self.uses(name));
        let groups = it.regex.as_ref().map(|pattern| self.regex(pattern)).unwrap_or_default();
        if it.into.is_none() && groups.is_empty() && it.regex.is_some() | it.css.is_some() | it.json.is_some() {
            let hint = "give it `into = \"NAME\"`, or name a group of the expression: `(?<name>…)`".to_owned();
            self.problem("`match` does not say where what it finds goes", Some(hint));
        }
        groups.iter().chain(&it.into).for_each(|name| self.sets(name));
    }

    fn condition(&mut self, what: &str, condition: &Condition) {
        let of_page = [condition.url.is_some(), condition.text.is_some(), condition.css.is_some()];
        let said = condition.status.is_some() || of_page.contains(&true) || condition.variable.is_some();
        if !said && condition.matches.is_none() {
            let hint = "give it a `status`, `url`, `text` or `css`".to_owned();
            self.problem(format!("`{what}` does not say what"), Some(hint));
        }
        if condition.equals.is_some() && condition.variable.is_none() {
            self.problem("`equals` is about a variable: say which by `variable`", None);
        }
        condition.variable.iter().for_each(|name| self.uses(name));
        condition.css.iter().for_each(|css| self.css(css));
        self.texts(condition.url.iter().chain(&condition.text).chain(&condition.equals));
        if let Some(pattern) = &condition.matches {
            self.regex(pattern);
        }
    }

    fn no_cause(&mut self, what: &str, condition: &Condition) {
        if condition.cause.is_some() {
            self.problem(format!("`cause` belongs to `expect`; `{what}` ends nothing"), None);
        }
    }
}

fn is_plain_file(name: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    matches!(ending, Some("csv" | "jsonl" | "txt")) && !name.starts_with('.') && !name.contains(['/', '\\', '\0'])
}
