//! Builds the steps to the list: what was sent, and the pages that these steps need.

use std::collections::BTreeMap;

use super::super::DraftStep;
use super::super::curl::{take_attribute, user_field};
use super::super::pages::path_of;
use super::super::secret::{Vault, identifier, is_csrf_token_name, is_password};
use super::super::series::Series;
use super::Visit;
use super::target::{Continuation, ListTarget};
use crate::draft::recorded_request::{RecordedBody, RecordedRequest, escape_variables, redacted_field, redacted_url};
use crate::model::ScriptStep;
use crate::model::script::{DetailsStep, LoginStep, MatchStep, PaginateStep, SubmitStep};

pub fn steps(visits: &[Visit], target: &ListTarget, vault: &mut Vault) -> Vec<DraftStep> {
    let mut way =
        StepBuilder { visits, target, vault, steps: Vec::new(), current_visit: None, tokens: BTreeMap::new() };
    for index in 0..=target.first_visit {
        way.add_visit(index);
    }
    way.add_list();
    way.steps
}

struct StepBuilder<'v> {
    visits: &'v [Visit],
    target: &'v ListTarget,
    vault: &'v mut Vault,
    steps: Vec<DraftStep>,
    /// The visit whose page is the robot's current page.
    current_visit: Option<usize>,
    /// Values for the list's own headers that come from an earlier response.
    tokens: BTreeMap<String, String>,
}

/// Minimum length of a token: longer than anything a person types.
const MIN_TOKEN: usize = 16;

impl<'v> StepBuilder<'v> {
    /// Adds steps for what was sent in a visit; pages that were only viewed are left out.
    fn add_visit(&mut self, index: usize) {
        let visit = &self.visits[index];
        if !visit.request.is_post() || index == self.target.first_visit && self.target.is_data {
            return;
        }
        let fields = visit.request.fields();
        if let Some(login) = self.login(index) {
            self.push(login, Some(index));
        } else if self.is_one_time_code(fields) {
            self.one_time_code(fields);
            self.current_visit = Some(index);
        } else if visit.is_document && !fields.is_empty() {
            if !self.submit(index) {
                self.post(index);
            }
        } else if asks_for_password(&visit.request) {
            self.post(index);
            self.take_tokens_of_answer(index);
        }
    }

    /// Adds the list itself and its pagination.
    fn add_list(&mut self) {
        let first = self.target.first_visit;
        let list = &self.visits[first];
        if self.target.is_data {
            self.add_data_request(first);
        } else if self.current_visit != Some(first) {
            let step = self.request(&RecordedRequest::get(list.request.url.clone()), &BTreeMap::new());
            self.push(step, Some(first));
        }
        if let Some(paginate) = self.paginate(list) {
            self.push(DraftStep::new(ScriptStep::Paginate(paginate)), None);
        }
        if self.target.details > 0 {
            let comment = format!(
                "The recording also visited detail pages ({} in all). To add their columns, remove the # below:",
                self.target.details
            );
            let step = DraftStep { is_proposal: true, ..DraftStep::new(ScriptStep::Details(DetailsStep::default())) };
            self.steps.push(step.with_comments([comment]));
        }
    }

    fn push(&mut self, step: DraftStep, here: Option<usize>) {
        self.steps.push(step);
        self.current_visit = here.or(self.current_visit);
    }

    fn request(&mut self, asked: &RecordedRequest, taken: &BTreeMap<String, String>) -> DraftStep {
        let (ask, comments) = asked.to_request_step(self.vault, taken);
        DraftStep::new(if asked.is_post() { ScriptStep::Post(ask) } else { ScriptStep::Get(ask) })
            .with_comments(comments)
    }

    /// Makes the page of a visit the current one, fetching it if necessary.
    fn go_to(&mut self, index: usize) {
        if self.current_visit != Some(index) {
            let step = self.request(&RecordedRequest::get(self.visits[index].url().clone()), &BTreeMap::new());
            self.push(step, Some(index));
        }
    }

    fn login(&mut self, index: usize) -> Option<DraftStep> {
        let visit = &self.visits[index];
        let fields = visit.request.fields();
        let passwords: Vec<_> = fields.iter().filter(|(name, _)| is_password(name)).collect();
        let [(password_field, password)] = passwords.as_slice() else { return None };
        let page = self.visits[..index]
            .iter()
            .rev()
            .filter_map(|it| it.page.as_ref())
            .find(|it| it.login_form(password_field).is_some());
        let named = page.and_then(|page| Some(page.login_form(password_field)?.username()?.name.clone()));
        let by_form =
            named.and_then(|name| fields.iter().find(|(it, _)| *it == name)).map(|(name, value)| (name, value));
        let (user_field, user) = by_form.or_else(|| user_field(fields))?;
        let password = self.vault.replace_secret(password_field, format!("the field {password_field}"), password);
        let user = redacted_field(user_field, user, self.vault);
        let url = page.map_or(&visit.request.url, |page| &page.url);
        let url = Some(redacted_url(url, self.vault, &mut Vec::new()).0);
        for (_, value) in fields.iter().filter(|(name, _)| is_csrf_token_name(name)) {
            self.vault.suppress(value);
        }
        let login = LoginStep { url, user, password, ..LoginStep::default() };
        Some(
            DraftStep::new(ScriptStep::Login(login))
                .with_comments(["Logs in; skipped while the kept session is still logged in.".to_owned()]),
        )
    }

    /// True for a short number that is sent right after the password.
    fn is_one_time_code(&self, fields: &[(String, String)]) -> bool {
        const WORDS: &[&str] = &["otp", "code", "2fa", "mfa", "token", "pin", "verification"];
        let after_login = matches!(self.steps.last(), Some(DraftStep { step: ScriptStep::Login(_), .. }));
        after_login
            && fields
                .iter()
                .any(|(name, value)| is_short_number(value) && WORDS.iter().any(|it| name.to_lowercase().contains(it)))
    }

    fn one_time_code(&mut self, fields: &[(String, String)]) {
        let Some((_, value)) = fields.iter().find(|(_, value)| is_short_number(value)) else { return };
        let key = self.vault.replace_secret(
            "totp",
            "the TOTP secret in base32, as the site showed it beside its QR code",
            value,
        );
        if let Some(DraftStep { step: ScriptStep::Login(login), .. }) = self.steps.last_mut() {
            login.totp = Some(key);
        }
    }

    /// Adds a `submit` step if an earlier page has the form.
    fn submit(&mut self, index: usize) -> bool {
        let asked = &self.visits[index].request;
        let found = (0..index)
            .rev()
            .find_map(|at| Some((at, self.visits[at].page.as_ref()?.submitted_form(&asked.url, asked.fields())?)));
        let Some((at, form)) = found else { return false };
        for (_, value) in asked.fields().iter().filter(|(name, _)| is_csrf_token_name(name)) {
            self.vault.suppress(value);
        }
        self.go_to(at);
        let fields = form
            .typed
            .iter()
            .map(|(name, value)| (escape_variables(name), redacted_field(name, value, self.vault)))
            .collect();
        let submit = SubmitStep {
            form: escape_variables(&form.form),
            fields,
            button: form.button.as_deref().map(escape_variables),
        };
        self.push(DraftStep::new(ScriptStep::Submit(submit)), Some(index));
        true
    }

    /// Adds the request itself; tokens in it are read from the page that contains them.
    fn post(&mut self, index: usize) {
        let asked = &self.visits[index].request;
        let mut taken = BTreeMap::new();
        for (name, value) in asked.fields() {
            let could_be = is_csrf_token_name(name) || value.len() >= MIN_TOKEN;
            if could_be && let Some(variable) = self.take_from_page(index, name, value) {
                taken.insert(name.clone(), variable);
            }
        }
        let step = self.request(asked, &taken);
        self.push(step, Some(index));
    }

    /// Reads a value from the earlier page that contains it; returns the variable.
    fn take_from_page(&mut self, before: usize, name: &str, value: &str) -> Option<String> {
        let place =
            (0..before).rev().find_map(|at| Some((at, self.visits[at].page.as_ref()?.attribute_holding(value)?)));
        let (at, (css, attribute)) = place?;
        self.vault.suppress(value);
        self.go_to(at);
        let variable = identifier(name);
        self.push(take_attribute(&css, &attribute, &variable), None);
        Some(format!("${{{variable}}}"))
    }

    /// Reads tokens from this response that the list's headers carry, as after a login by script.
    fn take_tokens_of_answer(&mut self, index: usize) {
        let list = &self.visits[self.target.first_visit].request;
        let Some(json) = self.visits[index].json.as_ref() else { return };
        for (name, value) in &list.headers {
            let (scheme, token) =
                value.rsplit_once(' ').map_or(("", value.as_str()), |(scheme, token)| (scheme, token));
            if token.len() < MIN_TOKEN || name.eq_ignore_ascii_case("cookie") {
                continue;
            }
            let Some(path) = path_of(json, token) else { continue };
            self.vault.suppress(token);
            let variable = identifier(path.rsplit('.').next().unwrap_or("token"));
            let step = MatchStep { json: Some(path), into: Some(variable.clone()), ..MatchStep::default() };
            self.push(DraftStep::new(ScriptStep::Match(step)), None);
            self.tokens.insert(name.to_lowercase(), format!("{scheme} ${{{variable}}}").trim_start().to_owned());
        }
    }

    /// Adds the data request of the list, after a page where there was one, for its cookies and tokens.
    fn add_data_request(&mut self, first: usize) {
        let asked = &self.visits[first].request;
        let page = (0..first).rev().find(|&at| self.visits[at].is_page());
        if let Some(page) = page.filter(|_| self.steps.is_empty()) {
            self.go_to(page);
        }
        let mut taken = self.tokens.clone();
        for (name, value) in asked.headers.iter().filter(|(name, _)| is_csrf_token_name(name)) {
            if let Some(variable) = self.take_from_page(first, name, value) {
                taken.insert(name.to_lowercase(), variable);
            }
        }
        let comment = "The rows are loaded as JSON: the page shows them only after a script has run.".to_owned();
        let step = self.request(asked, &taken).with_comments([comment]);
        self.push(step, Some(first));
    }

    fn paginate(&self, list: &Visit) -> Option<PaginateStep> {
        Some(match self.target.continuation.clone()? {
            Continuation::NextLink => PaginateStep::default(),
            Continuation::Counting(Series::Param { name, from, step }) => {
                let has_number = list.url().query_pairs().any(|(it, _)| it == name.as_str());
                // The defaults of `paginate`: pages from 1, rows from 0.
                let expected = if step == 1 { 2 } else { step };
                let from = Some(from).filter(|&from| !has_number && from != expected);
                PaginateStep {
                    param: Some(name),
                    from,
                    step: Some(step).filter(|&step| step != 1),
                    ..PaginateStep::default()
                }
            }
            Continuation::Counting(Series::Path { url, from }) => {
                PaginateStep { url: Some(url), from: Some(from).filter(|&from| from != 2), ..PaginateStep::default() }
            }
            Continuation::Counting(Series::Cursor { .. }) => return None,
            Continuation::Cursor { name, path } => {
                let mut url = list.request.url.clone();
                let others: Vec<(String, String)> = url
                    .query_pairs()
                    .filter(|(it, _)| *it != name.as_str())
                    .map(|(a, b)| (a.into(), b.into()))
                    .collect();
                if others.is_empty() {
                    url.set_query(None);
                } else {
                    url.query_pairs_mut().clear().extend_pairs(others);
                }
                let sign = if url.query().is_some() { '&' } else { '?' };
                PaginateStep {
                    url: Some(format!("{}{sign}{name}=${{cursor}}", escape_variables(url.as_str()))),
                    cursor: Some(path),
                    ..PaginateStep::default()
                }
            }
        })
    }
}

fn is_short_number(value: &str) -> bool {
    (4..=8).contains(&value.len()) && value.chars().all(|c| c.is_ascii_digit())
}

/// True for a login by script: JSON or a form with a password, sent by a script.
fn asks_for_password(asked: &RecordedRequest) -> bool {
    match &asked.body {
        RecordedBody::Json(json) => json.as_object().is_some_and(|map| map.keys().any(|key| is_password(key))),
        RecordedBody::Form(fields) | RecordedBody::Multipart(fields) => {
            fields.iter().any(|(name, _)| is_password(name))
        }
        RecordedBody::Empty | RecordedBody::Other(_) => false,
    }
}
