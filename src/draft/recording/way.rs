//! The way to the list: what was sent, as steps, and the pages that these steps stand on.

use std::collections::BTreeMap;

use super::super::asked::{Asked, field, plain};
use super::super::curl::{empty_login, user_field};
use super::super::pages::path_of;
use super::super::secret::{Vault, is_forgery_token, is_password, smells, word};
use super::super::series::Series;
use super::super::{DraftStep, asked::Sent};
use super::target::{Goes, Target};
use super::{Visit, page_request};
use crate::model::Step;
use crate::model::script::{Details, Login, Match, Paginate, Submit};

pub fn steps(visits: &[Visit], target: &Target, vault: &mut Vault) -> Vec<DraftStep> {
    let mut way = Way { visits, target, vault, steps: Vec::new(), here: None, tokens: BTreeMap::new() };
    for index in 0..=target.first {
        way.pass(index);
    }
    way.arrive();
    way.steps
}

struct Way<'v> {
    visits: &'v [Visit],
    target: &'v Target,
    vault: &'v mut Vault,
    steps: Vec<DraftStep>,
    /// The visit whose page the robot stands on.
    here: Option<usize>,
    /// What the list's own headers are written as, where an earlier answer gave them out.
    tokens: BTreeMap<String, String>,
}

/// A value that could be a token: too long to be typed, or called so.
const MIN_TOKEN: usize = 16;

impl<'v> Way<'v> {
    /// Takes over what was sent here; pages that were only looked at are left.
    fn pass(&mut self, index: usize) {
        let visit = &self.visits[index];
        if !visit.asked.is_post() || index == self.target.first && self.target.is_data {
            return;
        }
        let fields = visit.asked.fields();
        if let Some(login) = self.login(index) {
            self.push(login, Some(index));
        } else if self.is_code(fields) {
            self.one_time_code(fields);
            self.here = Some(index);
        } else if visit.is_document && !fields.is_empty() {
            if !self.submit(index) {
                self.post(index);
            }
        } else if asks_for_password(&visit.asked) {
            self.post(index);
            self.tokens_of(index);
        }
    }

    /// The list itself, and how it goes on.
    fn arrive(&mut self) {
        let first = self.target.first;
        let list = &self.visits[first];
        if self.target.is_data {
            self.data(first);
        } else if self.here != Some(first) {
            let step = self.request(&page_request(&list.asked.url), &BTreeMap::new());
            self.push(step, Some(first));
        }
        if let Some(paginate) = self.paginate(list) {
            self.push(DraftStep::new(Step::Paginate(paginate)), None);
        }
        if self.target.details > 0 {
            let comment = format!(
                "The recording also visited {} of the pages behind the rows. To add their columns, take the # away:",
                self.target.details
            );
            let step = DraftStep { is_proposal: true, ..DraftStep::new(Step::Details(Details::default())) };
            self.steps.push(step.saying([comment]));
        }
    }

    fn push(&mut self, step: DraftStep, here: Option<usize>) {
        self.steps.push(step);
        self.here = here.or(self.here);
    }

    fn request(&mut self, asked: &Asked, taken: &BTreeMap<String, String>) -> DraftStep {
        let (ask, comments) = asked.ask(self.vault, taken);
        DraftStep::new(if asked.is_post() { Step::Post(ask) } else { Step::Get(ask) }).saying(comments)
    }

    /// Stands on the page of a visit, fetching it if need be.
    fn go_to(&mut self, index: usize) {
        if self.here != Some(index) {
            let step = self.request(&page_request(self.visits[index].url()), &BTreeMap::new());
            self.push(step, Some(index));
        }
    }

    fn login(&mut self, index: usize) -> Option<DraftStep> {
        let visit = &self.visits[index];
        let fields = visit.asked.fields();
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
        let password = self.vault.hide(password_field, format!("the field {password_field}"), password);
        let user = if smells(user_field, user) { field(user_field, user, self.vault) } else { plain(user) };
        let url = page.map_or(&visit.asked.url, |page| &page.url);
        let url = Some(page_request(url).ask(self.vault, &BTreeMap::new()).0.url);
        for (_, value) in fields.iter().filter(|(name, _)| is_forgery_token(name)) {
            self.vault.silence(value);
        }
        let login = Login { url, user, password, ..empty_login() };
        Some(
            DraftStep::new(Step::Login(login))
                .saying(["The log-in; it is skipped while the kept session still holds.".to_owned()]),
        )
    }

    /// A short number that is asked for right after the password.
    fn is_code(&self, fields: &[(String, String)]) -> bool {
        const WORDS: &[&str] = &["otp", "code", "2fa", "mfa", "token", "pin", "verification"];
        let after_login = matches!(self.steps.last(), Some(DraftStep { step: Step::Login(_), .. }));
        after_login
            && fields
                .iter()
                .any(|(name, value)| is_short_number(value) && WORDS.iter().any(|it| name.to_lowercase().contains(it)))
    }

    fn one_time_code(&mut self, fields: &[(String, String)]) {
        let Some((_, value)) = fields.iter().find(|(_, value)| is_short_number(value)) else { return };
        let key = self.vault.hide(
            "totp",
            "the key of the one-time codes, in base32, as the site showed it beside its QR code",
            value,
        );
        if let Some(DraftStep { step: Step::Login(login), .. }) = self.steps.last_mut() {
            login.totp = Some(key);
        }
    }

    /// A form of an earlier page, if one of them has it.
    fn submit(&mut self, index: usize) -> bool {
        let asked = &self.visits[index].asked;
        let found = (0..index)
            .rev()
            .find_map(|at| Some((at, self.visits[at].page.as_ref()?.sent_by(&asked.url, asked.fields())?)));
        let Some((at, form)) = found else { return false };
        for (_, value) in asked.fields().iter().filter(|(name, _)| is_forgery_token(name)) {
            self.vault.silence(value);
        }
        self.go_to(at);
        let fields = form.typed.iter().map(|(name, value)| (plain(name), field(name, value, self.vault))).collect();
        let submit = Submit { form: plain(&form.form), fields, button: form.button.as_deref().map(plain) };
        self.push(DraftStep::new(Step::Submit(submit)), Some(index));
        true
    }

    /// A request of its own making; tokens in it are taken from the page that gave them out.
    fn post(&mut self, index: usize) {
        let asked = &self.visits[index].asked;
        let mut taken = BTreeMap::new();
        for (name, value) in asked.fields() {
            let could_be = is_forgery_token(name) || value.len() >= MIN_TOKEN;
            if could_be && let Some(variable) = self.take(index, name, value) {
                taken.insert(name.clone(), variable);
            }
        }
        let step = self.request(asked, &taken);
        self.push(step, Some(index));
    }

    /// Takes a value from the page that it stands on, if one does; answers what stands for it.
    fn take(&mut self, before: usize, name: &str, value: &str) -> Option<String> {
        let place = (0..before).rev().find_map(|at| Some((at, self.visits[at].page.as_ref()?.place_of(value)?)));
        let (at, (css, attribute)) = place?;
        self.vault.silence(value);
        self.go_to(at);
        let variable = word(name);
        let step =
            Match { css: Some(css), attribute: Some(attribute), into: Some(variable.clone()), ..Match::default() };
        self.push(DraftStep::new(Step::Match(step)), None);
        Some(format!("${{{variable}}}"))
    }

    /// What this answer gave out and the list's headers carry: a token of a log-in by script.
    fn tokens_of(&mut self, index: usize) {
        let list = &self.visits[self.target.first].asked;
        let Some(json) = self.visits[index].json.as_ref() else { return };
        for (name, value) in &list.headers {
            let (scheme, token) =
                value.rsplit_once(' ').map_or(("", value.as_str()), |(scheme, token)| (scheme, token));
            if token.len() < MIN_TOKEN || name.eq_ignore_ascii_case("cookie") {
                continue;
            }
            let Some(path) = path_of(json, token) else { continue };
            self.vault.silence(token);
            let variable = word(path.rsplit('.').next().unwrap_or("token"));
            let step = Match { json: Some(path), into: Some(variable.clone()), ..Match::default() };
            self.push(DraftStep::new(Step::Match(step)), None);
            self.tokens.insert(name.to_lowercase(), format!("{scheme} ${{{variable}}}").trim_start().to_owned());
        }
    }

    /// The data that bring the list; a page before them where there was one, for its cookies and tokens.
    fn data(&mut self, first: usize) {
        let asked = &self.visits[first].asked;
        let page = (0..first).rev().find(|&at| self.visits[at].is_page());
        if let Some(page) = page.filter(|_| self.steps.is_empty()) {
            self.go_to(page);
        }
        let mut taken = self.tokens.clone();
        for (name, value) in asked.headers.iter().filter(|(name, _)| is_forgery_token(name)) {
            if let Some(variable) = self.take(first, name, value) {
                taken.insert(name.to_lowercase(), variable);
            }
        }
        let comment = "The rows come as data: no page shows them until a script has drawn it.".to_owned();
        let step = self.request(asked, &taken).saying([comment]);
        self.push(step, Some(first));
    }

    fn paginate(&self, list: &Visit) -> Option<Paginate> {
        Some(match self.target.series.clone()? {
            Goes::ByItself => Paginate::default(),
            Goes::By(Series::Param { name, from, step }) => {
                let has_number = list.url().query_pairs().any(|(it, _)| it == name.as_str());
                // As `paginate` counts when nothing is said: pages from 1, rows from 0.
                let expected = if step == 1 { 2 } else { step };
                let from = Some(from).filter(|&from| !has_number && from != expected);
                Paginate { param: Some(name), from, step: Some(step).filter(|&step| step != 1), ..Paginate::default() }
            }
            Goes::By(Series::Path { url, from }) => {
                Paginate { url: Some(url), from: Some(from).filter(|&from| from != 2), ..Paginate::default() }
            }
            Goes::By(Series::Cursor { .. }) => return None,
            Goes::Cursor { name, path } => {
                let mut url = list.asked.url.clone();
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
                Paginate {
                    url: Some(format!("{}{sign}{name}=${{cursor}}", plain(url.as_str()))),
                    cursor: Some(path),
                    ..Paginate::default()
                }
            }
        })
    }
}

fn is_short_number(value: &str) -> bool {
    (4..=8).contains(&value.len()) && value.chars().all(|c| c.is_ascii_digit())
}

/// A log-in by script: JSON or a form that a script has sent, with a password in it.
fn asks_for_password(asked: &Asked) -> bool {
    match &asked.sent {
        Sent::Json(json) => json.as_object().is_some_and(|map| map.keys().any(|key| is_password(key))),
        Sent::Form(fields) | Sent::Multipart(fields) => fields.iter().any(|(name, _)| is_password(name)),
        Sent::Nothing | Sent::Other(_) => false,
    }
}
