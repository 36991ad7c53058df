//! The state of a walk: current page, variables, session; and how each step is traced and its errors are reported.

use std::collections::BTreeMap;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use chrono::{DateTime, NaiveDate, Utc};
use encoding_rs::Encoding;

use super::browser::{Browser, BrowserPaths};
use super::error::SessionError;
use super::manners::{meta_refresh, retry};
use super::redact::Redactor;
use super::session::{PageRequest, Session, display_url};
use super::steps::LoginState;
use super::tokens::SiteTokens;
use super::variables::{self, VariableScope};
use super::{Observer, WalkError, WalkInput, link, session, steps};
use crate::model::task::Engine;
use crate::model::{Failure, Page, ScriptStep, Task, TraceLine};
use crate::page::{Tree, charset};

pub struct Walker<'a> {
    pub task: &'a Task,
    pub session: Session,
    /// Started with the first page, for tasks with the browser engine.
    pub browser: Option<Browser>,
    browser_paths: BrowserPaths<'a>,
    pub redactor: Redactor,
    /// CSRF tokens and session ids from the site, redacted in everything that is shown.
    pub tokens: SiteTokens,
    secrets: &'a BTreeMap<String, String>,
    /// Files of the task's folder that the script reads, by name.
    pub files: &'a BTreeMap<String, String>,
    pub variables: BTreeMap<String, String>,
    pub observer: &'a mut dyn Observer,
    today: NaiveDate,
    pub current: Option<Rc<LoadedPage>>,
    /// Whether rows were extracted from the current page.
    pub extracted: bool,
    /// Columns that every row gets from the enclosing `for_each` steps.
    pub item_columns: Vec<(String, String)>,
    /// The login that was made, to repeat it when the session expires.
    pub login: Option<LoginState>,
    /// Pages that `paginate` has read, over the whole run.
    pub pages: u32,
    /// A note about a successful walk for a person.
    pub remark: Option<String>,
    /// The steps under way, outermost first: index among its siblings and verb.
    path: Vec<(usize, &'static str)>,
}

/// Extracting from a larger page takes longer than a site's response, and the response time would be measured wrong.
const MAX_PREFETCH_PAGE_BYTES: usize = 64 << 10;

/// A page with its decoded text and parsed tree.
pub struct LoadedPage {
    pub page: Page,
    /// The body, decoded.
    pub text: String,
    pub tree: Tree,
    pub encoding: &'static Encoding,
}

/// The state of a walk between two steps.
#[derive(Clone)]
pub struct WalkSnapshot {
    session: session::SessionSnapshot,
    variables: BTreeMap<String, String>,
    current: Option<Rc<LoadedPage>>,
    extracted: bool,
    login: Option<LoginState>,
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
            browser_paths: order.browser_paths,
            redactor: Redactor::new(order.secrets),
            tokens: SiteTokens::of(order.script),
            secrets: order.secrets,
            files: order.files,
            variables: BTreeMap::new(),
            observer,
            today,
            current: None,
            extracted: false,
            item_columns: Vec::new(),
            login: None,
            pages: 0,
            remark: None,
            path: Vec::new(),
        }
    }

    /// The implied script of a task without robot.toml: get `url`, paginate.
    pub async fn run_default(&mut self) -> Result<(), WalkError> {
        let Some(url) = &self.task.url else {
            return Err(self.error(Failure::Config, "the task has no `url`, neither in task.toml nor in robot.toml"));
        };
        self.go(PageRequest::get(url.clone()), true).await?;
        steps::paginate(self, &Default::default()).await
    }

    pub async fn run(&mut self, all: &[ScriptStep]) -> Result<(), WalkError> {
        steps::run_all(self, all).await?;
        self.extract_by_default(all)
    }

    /// Extracts from the last page if no step of the script says where to extract.
    pub fn extract_by_default(&mut self, all: &[ScriptStep]) -> Result<(), WalkError> {
        if !has_extracting_step(all) && !self.extracted && self.current.is_some() {
            self.extract()?;
        }
        Ok(())
    }

    pub fn snapshot(&self) -> WalkSnapshot {
        WalkSnapshot {
            session: self.session.snapshot(),
            variables: self.variables.clone(),
            current: self.current.clone(),
            extracted: self.extracted,
            login: self.login.clone(),
            pages: self.pages,
            remark: self.remark.clone(),
        }
    }

    pub fn restore(&mut self, memory: WalkSnapshot) {
        self.session.restore(memory.session);
        self.variables = memory.variables;
        self.current = memory.current;
        self.extracted = memory.extracted;
        self.login = memory.login;
        self.pages = memory.pages;
        self.remark = memory.remark;
    }

    pub fn enter_step(&mut self, step: &ScriptStep, index: usize) {
        self.path.push((index, step.verb()));
    }

    pub fn leave_step(&mut self) {
        self.path.pop();
    }

    /// Sends a request and makes its page the current one. With `strict`, a page with an error status is an error. If
    /// the session has expired, logs in again, once, and repeats the request.
    pub async fn go(&mut self, request: PageRequest, strict: bool) -> Result<(), WalkError> {
        let again = self.repeatable_request(&request);
        let arrived = self.go_without_relogin(request, strict).await;
        self.retry_after_login(arrived, again, strict).await
    }

    /// A copy of the request to repeat after a login; a form is never sent twice.
    fn repeatable_request(&self, request: &PageRequest) -> Option<PageRequest> {
        (self.login.is_some() && !request.post).then(|| request.clone())
    }

    async fn retry_after_login(
        &mut self,
        arrived: Result<(), WalkError>,
        again: Option<PageRequest>,
        strict: bool,
    ) -> Result<(), WalkError> {
        if self.login.is_none() || !steps::is_logged_out(self)? {
            return arrived;
        }
        steps::log_in_again(self).await?;
        match again {
            Some(request) => self.go_without_relogin(request, strict).await,
            None => {
                let sentence = "the session had expired when the form was sent; a form is never sent twice";
                Err(self.error(Failure::Login, sentence))
            }
        }
    }

    /// As [`Walker::go`], without logging in again. Follows redirects and `<meta http-equiv=refresh>`.
    pub async fn go_without_relogin(&mut self, request: PageRequest, strict: bool) -> Result<(), WalkError> {
        if self.has_browser() {
            let came = self.fetch_in_browser(request).await;
            let page = self.trace_exchange(came)?;
            return self.load_checked(page, strict);
        }
        let mut hops = 0;
        self.session.no_retries = self.login.as_ref().is_some_and(LoginState::is_in_progress);
        let sent = self.session.send_after_hops(request, &mut hops).await;
        self.load_following_meta_refresh(sent, hops, strict).await
    }

    /// Loads the page, or the one that its meta refresh leads to.
    async fn load_following_meta_refresh(
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

    /// Whether the next page may be requested before the rows of this one are extracted.
    pub fn can_prefetch(&self) -> bool {
        !self.has_browser()
            && self.current.as_ref().is_some_and(|stand| stand.page.body.len() <= MAX_PREFETCH_PAGE_BYTES)
    }

    /// Prefetch: requests the next page, extracts the rows of the current one meanwhile, and loads the next one unless
    /// no row was new. A run that waits idle for every response costs a fifth more: its processor falls asleep and is
    /// woken again.
    pub async fn extract_while_prefetching(&mut self, request: PageRequest) -> Result<usize, WalkError> {
        let again = self.repeatable_request(&request);
        let Some(stand) = self.current.clone() else { return Err(self.no_page_error()) };
        let blanked = self.redacted_page(&stand.page);
        self.extracted = true;
        self.session.no_retries = self.login.as_ref().is_some_and(LoginState::is_in_progress);
        let mut hops = 0;
        let (rows, sent) = {
            let mut asking = pin!(self.session.send_after_hops(request, &mut hops));
            let early = futures_util::poll!(asking.as_mut());
            // Lets the connection, which is a task of its own, write the request now.
            tokio::task::yield_now().await;
            let rows = self.observer.page(blanked.as_ref().unwrap_or(&stand.page), &stand.tree, &self.item_columns);
            let sent = match early {
                _ if rows == 0 => None,
                Poll::Ready(sent) => Some(sent),
                Poll::Pending => Some(asking.await),
            };
            (rows, sent)
        };
        self.trace(new_rows_text(&stand, rows));
        if let Some(sent) = sent {
            let arrived = self.load_following_meta_refresh(sent, hops, true).await;
            self.retry_after_login(arrived, again, true).await?;
        }
        Ok(rows)
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
        let base = link::base(&here.tree, &from.url);
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

    pub fn has_browser(&self) -> bool {
        self.task.fetch.engine == Engine::Browser
    }

    async fn fetch_in_browser(&mut self, request: PageRequest) -> Result<Page, SessionError> {
        if self.browser.is_none() {
            let starting = Browser::start(self.browser_paths, self.task, &mut self.session, self.redactor.clone());
            self.browser = Some(starting.await?);
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
        let told = match self.task.fetch.charset.as_str() {
            // The browser engine returns the DOM in UTF-8, whatever the page's charset is.
            _ if self.has_browser() => Some("utf-8"),
            "auto" => page.meta.header("content-type").and_then(charset::from_content_type),
            told => Some(told),
        };
        let decoded = charset::decode(&page.body, told);
        let tree = Tree::parse(&decoded.text);
        if decoded.had_errors {
            let encoding = decoded.encoding.name();
            let url = display_url(&page.meta.url);
            self.trace(format!("{url} has bytes that are invalid in {encoding}; they became U+FFFD"));
        }
        if decoded.encoding != encoding_rs::UTF_8 {
            self.trace(format!("decoded as {}", decoded.encoding.name()));
        }
        self.tokens.read_page(&tree);
        let (text, encoding) = (decoded.text, decoded.encoding);
        self.current = Some(Rc::new(LoadedPage { page, text, tree, encoding }));
        self.extracted = false;
    }

    /// Makes a piece of HTML inside the current page the current page; its text stays that of the whole page.
    pub fn load_fragment(&mut self, html: &str) -> Result<(), WalkError> {
        let Some(stand) = &self.current else { return Err(self.no_page_error()) };
        let page = Page { meta: stand.page.meta.clone(), body: html.as_bytes().to_vec() };
        let part = LoadedPage { page, text: stand.text.clone(), tree: Tree::parse(html), encoding: encoding_rs::UTF_8 };
        self.current = Some(Rc::new(part));
        self.check_complete()
    }

    /// Fails if the current page has an error status or is not a web page.
    pub fn check_status(&self) -> Result<(), WalkError> {
        match page_problem(&self.current_page()?.page) {
            None => Ok(()),
            Some((cause, sentence)) => Err(self.error(cause, sentence)),
        }
    }

    /// Extracts from the current page; returns how many rows were new.
    pub fn extract(&mut self) -> Result<usize, WalkError> {
        self.report_page(false)
    }

    /// Extracts again from a page that has grown; returns how many rows were added.
    pub fn extract_grown(&mut self) -> Result<usize, WalkError> {
        self.report_page(true)
    }

    fn report_page(&mut self, grown: bool) -> Result<usize, WalkError> {
        let Some(stand) = self.current.clone() else { return Err(self.no_page_error()) };
        self.extracted = true;
        let blanked = self.redacted_page(&stand.page);
        let page = blanked.as_ref().unwrap_or(&stand.page);
        let rows = if grown {
            self.observer.page_grown(page, &stand.tree, &self.item_columns)
        } else {
            self.observer.page(page, &stand.tree, &self.item_columns)
        };
        self.trace(new_rows_text(&stand, rows));
        Ok(rows)
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

    pub fn expand(&self, text: &str) -> Result<String, WalkError> {
        let values = VariableScope { variables: &self.variables, secrets: self.secrets, today: self.today };
        variables::expand(text, &values).map_err(|error| self.error(Failure::Config, error.to_string()))
    }

    pub fn set_variable(&mut self, name: &str, value: String) {
        if self.tokens.is_variable(name) {
            self.tokens.add(&value);
        }
        self.trace(format!("{name} = {value}"));
        self.variables.insert(name.to_owned(), value);
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
        WalkError { cause, sentence: place + &one_line(self.redact(sentence.as_ref())), page }
    }

    /// The number of the outermost step, from 1 (0: implied), and the verbs of all steps under way: `for_each › get`.
    fn step_position(&self) -> (u32, String) {
        let step = self.path.first().map_or(0, |(index, _)| *index as u32 + 1);
        let verbs: Vec<&str> = self.path.iter().map(|(_, verb)| *verb).collect();
        (step, if verbs.is_empty() { "run".to_owned() } else { verbs.join(" › ") })
    }

    fn no_page_error(&self) -> WalkError {
        self.error(Failure::Config, "there is no page yet; begin with a `get` step")
    }
}

fn new_rows_text(stand: &LoadedPage, rows: usize) -> String {
    format!("{} has {rows} new row{}", display_url(&stand.page.meta.url), if rows == 1 { "" } else { "s" })
}

/// Whether one of these steps extracts rows.
pub fn has_extracting_step(all: &[ScriptStep]) -> bool {
    all.iter().any(|step| {
        matches!(step, ScriptStep::Extract(_) | ScriptStep::Paginate(_) | ScriptStep::ForEach(_))
            || step.inner().into_iter().any(|(_, inner)| has_extracting_step(inner))
    })
}

/// Longer errors and trace lines are truncated: a site could fill a log with one title.
const MAX_LINE_CHARS: usize = 2_000;

/// The text on one line, without control characters and bidirectional overrides: it may come from a site.
fn one_line(text: String) -> String {
    let is_obeyed = |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if text.len() <= MAX_LINE_CHARS && !text.chars().any(is_obeyed) {
        return text;
    }
    text.chars().map(|c| if is_obeyed(c) { ' ' } else { c }).take(MAX_LINE_CHARS).collect()
}

/// Why the page cannot be used: an error status, or a file that is not a web page.
pub fn page_problem(page: &Page) -> Option<(Failure, String)> {
    let (url, status) = (|| display_url(&page.meta.url), page.meta.status);
    // A 304 here answers a request that was not conditional.
    if status >= 400 || status == 304 {
        let cause = match status {
            401 => Failure::Login,
            403 | 407 | 429 | 451 => Failure::Blocked,
            503 if is_challenge_page(&page.body) => Failure::Blocked,
            _ => Failure::Http,
        };
        let reason =
            reqwest::StatusCode::from_u16(status).ok().and_then(|it| it.canonical_reason()).unwrap_or_default();
        let said = format!("{} answered with status {status} {reason}", url()).trim_end().to_owned();
        let wish = retry::retry_after(&page.meta, page.meta.fetched_at);
        let wish =
            wish.map(|wait| format!(" and asks for a pause of {}; the next run tries again", retry::rounded(wait)));
        return Some((cause, said + &wish.unwrap_or_default()));
    }
    let kind = file_kind(&page.body)?;
    Some((Failure::Http, format!("{} is {kind}, not a web page", url())))
}

/// Recognises pages of bot protection by their words.
fn is_challenge_page(body: &[u8]) -> bool {
    const WORDS: &[&str] =
        &["captcha", "are you human", "verify you are human", "just a moment", "unusual traffic", "access denied"];
    let text = String::from_utf8_lossy(body).to_lowercase();
    WORDS.iter().any(|word| text.contains(word))
}

/// Recognises files by their first bytes: some servers send them as text/html.
fn file_kind(body: &[u8]) -> Option<&'static str> {
    const KINDS: &[(&[u8], &str)] = &[
        (b"%PDF-", "a PDF file"),
        (b"\x89PNG", "a PNG image"),
        (b"\xff\xd8\xff", "a JPEG image"),
        (b"GIF8", "a GIF image"),
        (b"\x7fELF", "a program"),
        (b"PK\x03\x04", "a ZIP archive"),
        (b"\x1f\x8b", "a gzip archive"),
        (b"\x28\xb5\x2f\xfd", "a zstd archive"),
        (b"BZh", "a bzip2 archive"),
        (b"7z\xbc\xaf", "a 7z archive"),
        (b"Rar!", "a RAR archive"),
        (b"\xfd7zXZ", "an xz archive"),
        (b"\xd0\xcf\x11\xe0", "an Office document"),
        (b"RIFF", "an audio, video or image file"),
        (b"\0asm", "a program"),
    ];
    KINDS.iter().find(|(magic, _)| body.starts_with(magic)).map(|(_, kind)| *kind)
}
