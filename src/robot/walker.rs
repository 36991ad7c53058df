//! The state of a walk: current page, variables, session; and how each step is traced and its errors are reported.

use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;
use std::time::Duration;

use chrono::{DateTime, NaiveDate, Utc};
use url::Url;

use super::browser::{Browser, LaunchedBrowser};
use super::error::{SessionError, WalkError};
use super::loaded_page::LoadedPage;
use super::login_state::LoginState;
use super::page_problem::page_problem;
use super::redact::{Redactor, one_line};
use super::request::{PageRequest, SecretNames};
use super::session::{Session, SessionSnapshot};
use super::tokens::SiteTokens;
use super::walked_pages::WalkedPages;
use super::{Observer, WalkInput};
use crate::model::address::display_url;
use crate::model::task::Engine;
use crate::model::{Failure, GrantedSecret, Page, ScriptStep, Task, TraceLine};
use crate::page::{Selector, links, meta_refresh};

pub struct Walker<'a> {
    pub task: &'a Task,
    pub session: Session,
    /// Started with the first page, for tasks with the browser engine.
    pub browser: Option<Browser>,
    launched: Option<&'a LaunchedBrowser>,
    pub redactor: Redactor,
    /// CSRF tokens and session ids from the site, redacted in everything that is shown.
    pub tokens: SiteTokens,
    pub(super) secrets: &'a BTreeMap<String, GrantedSecret>,
    /// Files of the task's folder that the script reads, by name.
    pub files: &'a BTreeMap<String, String>,
    pub variables: BTreeMap<String, String>,
    /// The secrets that a variable's value was made of, by the variable's name.
    pub(super) variable_secrets: BTreeMap<String, SecretNames>,
    /// The address that the script named last, with the secrets in it; relative addresses of the script are resolved
    /// against it.
    pub(super) script_base: Option<(Url, SecretNames)>,
    pub observer: &'a mut dyn Observer,
    pub(super) today: NaiveDate,
    pub current: Option<Rc<LoadedPage>>,
    /// Whether rows were extracted from the current page.
    pub extracted: bool,
    /// Columns that every row gets from the enclosing `for_each` steps.
    pub item_columns: Vec<(String, String)>,
    /// The login that was made, to repeat it when the session expires.
    pub login: Option<LoginState>,
    /// Compares the pages that rows were extracted from.
    pub walked: WalkedPages,
    /// What pages behind the end of a list look like.
    pub known_ends: HashSet<u64>,
    /// Pages that `paginate` has read, over the whole run.
    pub pages: u32,
    /// A note about a successful walk for a person.
    pub remark: Option<String>,
    /// The steps under way, outermost first: index among its siblings and verb.
    path: Vec<(usize, &'static str)>,
}

/// The state of a walk between two steps.
#[derive(Clone)]
pub struct WalkSnapshot {
    session: SessionSnapshot,
    variables: BTreeMap<String, String>,
    variable_secrets: BTreeMap<String, SecretNames>,
    script_base: Option<(Url, SecretNames)>,
    current: Option<Rc<LoadedPage>>,
    extracted: bool,
    login: Option<LoginState>,
    walked: WalkedPages,
    pages: u32,
    remark: Option<String>,
}

impl<'a> Walker<'a> {
    pub fn new(
        order: &WalkInput<'a>,
        session: Session,
        observer: &'a mut dyn Observer,
        today: NaiveDate,
    ) -> Walker<'a> {
        Walker {
            task: order.task,
            session,
            browser: None,
            launched: order.browser,
            redactor: Redactor::new(order.secrets.values().map(|secret| &secret.value)),
            tokens: SiteTokens::of(order.script),
            secrets: order.secrets,
            files: order.files,
            variables: BTreeMap::new(),
            variable_secrets: BTreeMap::new(),
            script_base: None,
            observer,
            today,
            current: None,
            extracted: false,
            item_columns: Vec::new(),
            login: None,
            walked: WalkedPages::default(),
            known_ends: HashSet::new(),
            pages: 0,
            remark: None,
            path: Vec::new(),
        }
    }

    pub fn snapshot(&self) -> WalkSnapshot {
        WalkSnapshot {
            session: self.session.snapshot(),
            variables: self.variables.clone(),
            variable_secrets: self.variable_secrets.clone(),
            script_base: self.script_base.clone(),
            current: self.current.clone(),
            extracted: self.extracted,
            login: self.login.clone(),
            walked: self.walked.clone(),
            pages: self.pages,
            remark: self.remark.clone(),
        }
    }

    pub fn restore(&mut self, memory: WalkSnapshot) {
        self.session.restore(memory.session);
        self.variables = memory.variables;
        self.variable_secrets = memory.variable_secrets;
        self.script_base = memory.script_base;
        self.current = memory.current;
        self.extracted = memory.extracted;
        self.login = memory.login;
        self.walked = memory.walked;
        self.pages = memory.pages;
        self.remark = memory.remark;
    }

    pub fn enter_step(&mut self, step: &ScriptStep, index: usize) {
        self.path.push((index, step.verb()));
    }

    pub fn leave_step(&mut self) {
        self.path.pop();
    }

    /// Sends a request and makes its page the current one. With `strict`, a page with an error status is an error.
    /// Follows redirects and `<meta http-equiv=refresh>`, and never logs in again.
    pub async fn go_without_relogin(&mut self, request: PageRequest, strict: bool) -> Result<(), WalkError> {
        if self.has_browser() {
            let came = self.fetch_in_browser(request).await;
            let page = self.trace_exchange(came)?;
            return self.load_checked(page, strict);
        }
        let mut hops = 0;
        self.session.no_retries = self.is_logging_in();
        let sent = self.session.send_after_hops(request, &mut hops).await;
        self.load_following_meta_refresh(sent, hops, strict).await
    }

    /// Loads the page, or the one that its meta refresh leads to.
    pub async fn load_following_meta_refresh(
        &mut self,
        mut sent: Result<Page, SessionError>,
        mut hops: u32,
        strict: bool,
    ) -> Result<(), WalkError> {
        loop {
            let page = self.trace_exchange(sent)?;
            self.load_checked(page, strict)?;
            let Some(next) = self.meta_refresh_request()? else { return Ok(()) };
            hops += 1;
            sent = self.session.send_after_hops(next, &mut hops).await;
        }
    }

    /// Navigates the browser back to the current page if it shows another one.
    pub async fn return_browser_to_page(&mut self) -> Result<(), WalkError> {
        let (Some(browser), Some(stand)) = (&self.browser, &self.current) else { return Ok(()) };
        if browser.shows(&stand.page) {
            return Ok(());
        }
        let url = stand.page.meta.url.clone();
        self.trace(format!("goes back to {}", display_url(&url)));
        self.go_without_relogin(PageRequest::get(url), true).await
    }

    /// Makes a page the current one. With `strict`, an error status is an error. A page that was parsed only in part is
    /// always one: rows, links or fields may be missing.
    pub fn load_checked(&mut self, page: Page, strict: bool) -> Result<(), WalkError> {
        let objection = page_problem(&page).filter(|_| strict || page.meta.status < 400);
        self.load(page);
        match objection {
            None => self.check_complete(),
            Some((cause, sentence)) => Err(self.error(cause, sentence)),
        }
    }

    /// Fails if the current page was parsed only in part.
    fn check_complete(&self) -> Result<(), WalkError> {
        let LoadedPage { page, tree, .. } = self.current_page()?;
        match tree.limit {
            None => Ok(()),
            Some(cut) => Err(self.error(Failure::Limit, cut.sentence(&display_url(&page.meta.url), page.body.len()))),
        }
    }

    /// The request that the current page's `<meta http-equiv=refresh>` asks for.
    fn meta_refresh_request(&mut self) -> Result<Option<PageRequest>, WalkError> {
        let here = self.current_page()?;
        let Some(target) = meta_refresh::target(&here.tree).filter(|_| here.page.meta.status < 300) else {
            return Ok(None);
        };
        let from = PageRequest::get(here.page.meta.url.clone());
        let base = links::base(&here.tree, &from.url);
        let Ok(to) = base.join(&target) else { return Ok(None) };
        // A page that only reloads itself is not a redirect.
        if display_url(&to) == display_url(&from.url) {
            return Ok(None);
        }
        let next = self.session.follow_redirect(&from, 302, to.as_str());
        let next = next.map_err(|error| self.error(error.cause(), error.to_string()))?;
        self.trace(format!("{} redirects to {} (meta refresh)", display_url(&from.url), display_url(&next.url)));
        Ok(Some(next))
    }

    /// Whether a login is in progress: its requests are not retried.
    pub fn is_logging_in(&self) -> bool {
        self.login.as_ref().is_some_and(|login| login.in_progress)
    }

    pub fn has_browser(&self) -> bool {
        self.task.fetch.engine == Engine::Browser
    }

    async fn fetch_in_browser(&mut self, request: PageRequest) -> Result<Page, SessionError> {
        if self.browser.is_none() {
            let launched = self.launched.ok_or(SessionError::NoBrowser)?;
            self.browser = Some(Browser::start(launched, self.task, &mut self.session).await?);
        }
        let browser = self.browser.as_mut().expect("it was started just now");
        browser.go(&mut self.session, request).await
    }

    /// Writes the session's log lines to the trace and converts its error.
    pub fn trace_exchange<T>(&mut self, sent: Result<T, SessionError>) -> Result<T, WalkError> {
        let lines = std::mem::take(&mut self.session.log);
        if !lines.is_empty() {
            self.tokens.read_cookies(self.session.jar.iter().map(|cookie| (cookie.name(), cookie.value())));
        }
        for line in lines {
            self.trace_at(line.at, &line.text);
        }
        sent.map_err(|error| self.error(error.cause(), error.to_string()))
    }

    /// Decodes and parses a page and makes it the current one.
    pub fn load(&mut self, page: Page) {
        // The browser engine returns the DOM in UTF-8, whatever the page's charset is.
        let charset = if self.has_browser() { "utf-8" } else { &self.task.fetch.charset };
        let loaded = LoadedPage::parse(page, charset);
        let encoding = loaded.encoding;
        if loaded.has_invalid_bytes {
            let (url, encoding) = (display_url(&loaded.page.meta.url), encoding.name());
            self.trace(format!("{url} has bytes that are invalid in {encoding}; they became U+FFFD"));
        }
        if encoding != encoding_rs::UTF_8 {
            self.trace(format!("decoded as {}", encoding.name()));
        }
        self.tokens.read_page(&loaded.tree);
        self.current = Some(Rc::new(loaded));
        self.extracted = false;
    }

    /// Makes a piece of HTML inside the current page the current page; its text stays that of the whole page.
    pub fn load_fragment(&mut self, html: &str) -> Result<(), WalkError> {
        self.current = Some(Rc::new(self.current_page()?.fragment(html)));
        self.check_complete()
    }

    /// Fails if the current page has an error status or is not a web page.
    pub fn check_status(&self) -> Result<(), WalkError> {
        match page_problem(&self.current_page()?.page) {
            None => Ok(()),
            Some((cause, sentence)) => Err(self.error(cause, sentence)),
        }
    }

    pub fn save(&mut self, name: &str) -> Result<(), WalkError> {
        let Some(stand) = self.current.clone() else { return Err(self.no_page_error()) };
        let name = self.expand(name)?;
        let page = self.redacted_page(&stand.page);
        self.observer.save(page.as_ref().unwrap_or(&stand.page), &name);
        self.trace(format!("saved {} as “{name}”", display_url(&stand.page.meta.url)));
        Ok(())
    }

    /// The page as it is stored: without secrets that the site sent back, and without tokens in its URL and headers.
    /// `None` if there is nothing to redact.
    pub fn redacted_page(&self, page: &Page) -> Option<Page> {
        let mut meta = page.meta.clone();
        if !self.tokens.redact_meta(&mut meta) && self.redactor.is_empty() {
            return None;
        }
        let mut page = Page { meta, body: page.body.clone() };
        self.redactor.redact_page(&mut page);
        Some(page)
    }

    /// The text without secrets and without the site's tokens, as it may be shown.
    pub fn redact(&self, text: &str) -> String {
        self.tokens.redact(&self.redactor.redact_text(text))
    }

    /// Waits, at most until the run's deadline.
    pub async fn pause(&mut self, time: Duration) -> Result<(), WalkError> {
        let waited = self.session.pause(time).await;
        waited.map_err(|error| self.error(error.cause(), error.to_string()))
    }

    /// The current page; an error before the first step that fetches one.
    pub fn current_page(&self) -> Result<&LoadedPage, WalkError> {
        self.current.as_deref().ok_or_else(|| self.no_page_error())
    }

    /// A CSS selector of the script.
    pub fn selector(&self, css: &str) -> Result<Selector, WalkError> {
        Selector::parse(&self.expand(css)?).map_err(|error| self.error(Failure::Config, error.to_string()))
    }

    pub fn trace(&mut self, text: impl AsRef<str>) {
        self.trace_at(Utc::now(), text.as_ref());
    }

    fn trace_at(&mut self, at: DateTime<Utc>, text: &str) {
        let (step, verb) = self.step_position();
        let text = one_line(self.redact(text));
        self.observer.trace(TraceLine { at, step, verb, text });
    }

    /// An error of the current step, with the current page for diagnostics.
    pub fn error(&self, cause: Failure, sentence: impl AsRef<str>) -> WalkError {
        let (step, verb) = self.step_position();
        let place = if step == 0 { String::new() } else { format!("step {step} ({verb}): ") };
        let mut page = self.current.as_ref().map(|stand| stand.page.clone());
        if let Some(page) = &mut page {
            self.redactor.redact_page(page);
            self.tokens.redact_meta(&mut page.meta);
        }
        WalkError { cause, sentence: place + &one_line(self.redact(sentence.as_ref())), page, is_incomplete: false }
    }

    /// The number of the outermost step, from 1 (0: implied), and the verbs of all steps under way: `for_each › get`.
    fn step_position(&self) -> (u32, String) {
        let step = self.path.first().map_or(0, |(index, _)| *index as u32 + 1);
        let verbs: Vec<&str> = self.path.iter().map(|(_, verb)| *verb).collect();
        (step, if verbs.is_empty() { "run".to_owned() } else { verbs.join(" › ") })
    }

    pub fn no_page_error(&self) -> WalkError {
        self.error(Failure::Config, "there is no page yet; begin with a `get` step")
    }
}
