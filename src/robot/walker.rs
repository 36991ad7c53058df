//! Walks through a script: where the robot stands, what it has found out, and how each step is reported.

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
    /// Started when the first page is wanted, for tasks that ask for it.
    pub browser: Option<Browser>,
    browser_paths: BrowserPaths<'a>,
    pub redactor: Redactor,
    /// What the site has handed out, which is blanked where the walk is shown.
    pub tokens: SiteTokens,
    secrets: &'a BTreeMap<String, String>,
    /// Files of the task's folder that the script reads, by name.
    pub files: &'a BTreeMap<String, String>,
    pub variables: BTreeMap<String, String>,
    pub observer: &'a mut dyn Observer,
    today: NaiveDate,
    pub current: Option<Rc<LoadedPage>>,
    /// Has the page that the robot stands on been extracted from?
    pub extracted: bool,
    /// Columns that every row of now gets: the items of the `for_each` around.
    pub item_columns: Vec<(String, String)>,
    /// How the site was entered, to enter it again when it has thrown us out.
    pub login: Option<LoginState>,
    /// Pages that `paginate` has read, over the whole run.
    pub pages: u32,
    /// What a person should know about a walk that went well.
    pub remark: Option<String>,
    /// The steps that are being walked, from the outermost in: place among its neighbours and verb.
    path: Vec<(usize, &'static str)>,
}

/// The rows of a larger page take longer to read than a site to answer, and the answer's time would be counted wrong.
const MAX_PREFETCH_PAGE_BYTES: usize = 64 << 10;

/// Where the robot stands: a page, read.
pub struct LoadedPage {
    pub page: Page,
    /// The body, decoded.
    pub text: String,
    pub tree: Tree,
    pub encoding: &'static Encoding,
}

/// How everything stood between two steps.
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

    /// What a task without script does.
    pub async fn run_default(&mut self) -> Result<(), WalkError> {
        let Some(url) = &self.task.url else {
            return Err(self.error(Failure::Config, "the task names no `url`, neither in task.toml nor in robot.toml"));
        };
        self.go(PageRequest::get(url.clone()), true).await?;
        steps::paginate(self, &Default::default()).await
    }

    pub async fn run(&mut self, all: &[ScriptStep]) -> Result<(), WalkError> {
        steps::run_all(self, all).await?;
        self.extract_by_default(all)
    }

    /// Steps that never say where to extract mean the last page they came to.
    pub fn extract_by_default(&mut self, all: &[ScriptStep]) -> Result<(), WalkError> {
        if !has_extracting_step(all) && !self.extracted && self.current.is_some() {
            self.extract()?;
        }
        Ok(())
    }

    /// What can be gone back to.
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

    /// Sends a request and stands on the page it brings. `strict`: a page with a bad status is trouble. Where the site has
    /// forgotten us in the meantime, we log in again, once, and ask once more.
    pub async fn go(&mut self, request: PageRequest, strict: bool) -> Result<(), WalkError> {
        let again = self.repeatable_request(&request);
        let arrived = self.go_without_relogin(request, strict).await;
        self.retry_after_login(arrived, again, strict).await
    }

    /// The request once more, should the site have forgotten us.
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
                let sentence = "the site had logged us out when the form was sent; it is not sent twice";
                Err(self.error(Failure::Login, sentence))
            }
        }
    }

    /// As [`Walker::go`], whoever the site takes us for. A page that sends its visitor on is not where one stands.
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

    /// Stands on the page that was sent, or on the one that it sends its visitor on to.
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

    /// Can the next page be asked for before the rows of this one are read?
    pub fn can_prefetch(&self) -> bool {
        !self.has_browser()
            && self.current.as_ref().is_some_and(|stand| stand.page.body.len() <= MAX_PREFETCH_PAGE_BYTES)
    }

    /// Hands the current page out and goes on to the next one, unless no row was new. The site answers while the rows are read:
    /// a run that waits for every answer with nothing to do costs a fifth more, for its processor falls asleep and is woken again.
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
            // The connection is a task of its own, and writes now.
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

    /// Where the browser has gone on since, back to the page that the robot stands on.
    pub async fn return_browser_to_page(&mut self) -> Result<(), WalkError> {
        let (Some(browser), Some(stand)) = (&self.browser, &self.current) else { return Ok(()) };
        if browser.shows(&stand.page) {
            return Ok(());
        }
        let url = stand.page.meta.url.clone();
        self.trace(format!("goes back to {}", display_url(&url)));
        self.go_without_relogin(PageRequest::get(url), true).await
    }

    /// Stands on a page; `strict`: one with a bad status is trouble. So is one that was not read whole: rows, links or fields
    /// may be among what is missing.
    pub fn load_checked(&mut self, page: Page, strict: bool) -> Result<(), WalkError> {
        let objection = page_problem(&page).filter(|_| strict || page.meta.status < 400);
        self.load(page);
        match objection {
            None => self.check_complete(),
            Some((cause, sentence)) => Err(self.error(cause, sentence)),
        }
    }

    /// Is the current page read whole?
    fn check_complete(&self) -> Result<(), WalkError> {
        let LoadedPage { page, tree, .. } = self.current_page()?;
        match tree.limit {
            None => Ok(()),
            Some(cut) => Err(self.error(Failure::Limit, cut.sentence(&display_url(&page.meta.url), page.body.len()))),
        }
    }

    /// The request that the current page's `<meta http-equiv=refresh>` makes.
    fn meta_refresh_request(&mut self) -> Result<Option<PageRequest>, WalkError> {
        let here = self.current_page()?;
        let Some(target) = meta_refresh::target(&here.tree).filter(|_| here.page.meta.status < 300) else {
            return Ok(None);
        };
        let from = PageRequest::get(here.page.meta.url.clone());
        let base = link::base(&here.tree, &from.url);
        let Ok(to) = base.join(&target) else { return Ok(None) };
        // A page that only calls itself again is one that wants to look fresh.
        if display_url(&to) == display_url(&from.url) {
            return Ok(None);
        }
        let next = self.session.follow_redirect(&from, 302, to.as_str());
        let next = next.map_err(|error| self.error(error.cause(), error.to_string()))?;
        self.trace(format!("{} sends on to {}", display_url(&from.url), display_url(&next.url)));
        Ok(Some(next))
    }

    /// Does the task want its pages from a browser?
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

    /// Traces what happened on the wire, and says what went wrong there.
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

    /// Reads a page and stands on it.
    pub fn load(&mut self, page: Page) {
        let told = match self.task.fetch.charset.as_str() {
            // A browser has read the page already, and hands it out in UTF-8.
            _ if self.has_browser() => Some("utf-8"),
            "auto" => page.meta.header("content-type").and_then(charset::from_content_type),
            told => Some(told),
        };
        let decoded = charset::decode(&page.body, told);
        let tree = Tree::parse(&decoded.text);
        if decoded.had_errors {
            let encoding = decoded.encoding.name();
            self.trace(format!("{} is not all {encoding}: what is not became U+FFFD", display_url(&page.meta.url)));
        }
        if decoded.encoding != encoding_rs::UTF_8 {
            self.trace(format!("read as {}", decoded.encoding.name()));
        }
        self.tokens.read_page(&tree);
        let (text, encoding) = (decoded.text, decoded.encoding);
        self.current = Some(Rc::new(LoadedPage { page, text, tree, encoding }));
        self.extracted = false;
    }

    /// Stands on a piece of HTML that the current page holds; the page's own text stays.
    pub fn load_fragment(&mut self, html: &str) -> Result<(), WalkError> {
        let Some(stand) = &self.current else { return Err(self.no_page_error()) };
        let page = Page { meta: stand.page.meta.clone(), body: html.as_bytes().to_vec() };
        let part = LoadedPage { page, text: stand.text.clone(), tree: Tree::parse(html), encoding: encoding_rs::UTF_8 };
        self.current = Some(Rc::new(part));
        self.check_complete()
    }

    /// Is the current page one to be used at all?
    pub fn check_status(&self) -> Result<(), WalkError> {
        match page_problem(&self.current_page()?.page) {
            None => Ok(()),
            Some((cause, sentence)) => Err(self.error(cause, sentence)),
        }
    }

    /// Hands the current page out; answers how many rows on it were new.
    pub fn extract(&mut self) -> Result<usize, WalkError> {
        self.report_page(false)
    }

    /// Hands the page out once more, with what has come to it since; answers how many rows on it were not there before.
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

    /// Keeps the current page under a name.
    pub fn save(&mut self, name: &str) -> Result<(), WalkError> {
        let Some(stand) = self.current.clone() else { return Err(self.no_page_error()) };
        let name = self.expand(name)?;
        let page = self.redacted_page(&stand.page);
        self.observer.save(page.as_ref().unwrap_or(&stand.page), &name);
        self.trace(format!("kept {} as “{name}”", display_url(&stand.page.meta.url)));
        Ok(())
    }

    /// The page as it is kept: without the secrets that the site has sent back, and without tokens in its address and headers.
    /// `None` where there is nothing to blank.
    pub fn redacted_page(&self, page: &Page) -> Option<Page> {
        let mut meta = page.meta.clone();
        if !self.tokens.redact_meta(&mut meta) && self.redactor.is_empty() {
            return None;
        }
        let mut page = Page { meta, body: page.body.clone() };
        self.redactor.redact_page(&mut page);
        Some(page)
    }

    /// A text as people may see it: no secret, and no token of the site's.
    pub fn redact(&self, text: &str) -> String {
        self.tokens.redact(&self.redactor.redact_text(text))
    }

    /// Waits, but not beyond the run's time.
    pub async fn pause(&mut self, time: Duration) -> Result<(), WalkError> {
        let waited = self.session.pause(time).await;
        waited.map_err(|error| self.error(error.cause(), error.to_string()))
    }

    /// Where the robot stands; a step that needs a page comes only after one that brings it.
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

    /// The same for what happened a while ago.
    fn trace_at(&mut self, at: DateTime<Utc>, text: &str) {
        let (step, verb) = self.step_position();
        let text = one_line(self.redact(text));
        self.observer.trace(TraceLine { at, step, verb, text });
    }

    /// What went wrong in this step, with the page it happened on.
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

    /// The outermost step, counted from 1 (0: implied), and the verbs from there in: `for_each › get`.
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
    format!("{} has {rows} new rows", display_url(&stand.page.meta.url))
}

/// Do these steps say where rows are to be taken from?
pub fn has_extracting_step(all: &[ScriptStep]) -> bool {
    all.iter().any(|step| {
        matches!(step, ScriptStep::Extract(_) | ScriptStep::Paginate(_) | ScriptStep::ForEach(_))
            || step.inner().into_iter().any(|(_, inner)| has_extracting_step(inner))
    })
}

/// Longer sentences and lines are cut: a site could fill a log with one title.
const MAX_LINE_CHARS: usize = 2_000;

/// Text from a site on one line, without what a terminal would obey.
fn one_line(text: String) -> String {
    let is_obeyed = |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if text.len() <= MAX_LINE_CHARS && !text.chars().any(is_obeyed) {
        return text;
    }
    text.chars().map(|c| if is_obeyed(c) { ' ' } else { c }).take(MAX_LINE_CHARS).collect()
}

/// What speaks against using the page: its status, or that it is no page at all.
pub fn page_problem(page: &Page) -> Option<(Failure, String)> {
    let (url, status) = (|| display_url(&page.meta.url), page.meta.status);
    // Nobody had asked whether it is unchanged.
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
        let wish = wish
            .map(|wait| format!(" and asks to be left alone for {}; the next run tries again", retry::rounded(wait)));
        return Some((cause, said + &wish.unwrap_or_default()));
    }
    let kind = file_kind(&page.body)?;
    Some((Failure::Http, format!("{} is {kind}, not a web page", url())))
}

/// Words of pages that stand between a robot and the site.
fn is_challenge_page(body: &[u8]) -> bool {
    const WORDS: &[&str] =
        &["captcha", "are you human", "verify you are human", "just a moment", "unusual traffic", "access denied"];
    let text = String::from_utf8_lossy(body).to_lowercase();
    WORDS.iter().any(|word| text.contains(word))
}

/// Files that come as text/html now and then, by their first bytes.
fn file_kind(body: &[u8]) -> Option<&'static str> {
    const KINDS: &[(&[u8], &str)] = &[
        (b"%PDF-", "a PDF file"),
        (b"\x89PNG", "a PNG picture"),
        (b"\xff\xd8\xff", "a JPEG picture"),
        (b"GIF8", "a GIF picture"),
        (b"\x7fELF", "a program"),
        (b"PK\x03\x04", "a ZIP archive"),
        (b"\x1f\x8b", "a gzip archive"),
        (b"\x28\xb5\x2f\xfd", "a zstd archive"),
        (b"BZh", "a bzip2 archive"),
        (b"7z\xbc\xaf", "a 7z archive"),
        (b"Rar!", "a RAR archive"),
        (b"\xfd7zXZ", "an xz archive"),
        (b"\xd0\xcf\x11\xe0", "an Office document"),
        (b"RIFF", "a sound or picture"),
        (b"\0asm", "a program"),
    ];
    KINDS.iter().find(|(magic, _)| body.starts_with(magic)).map(|(_, kind)| *kind)
}
