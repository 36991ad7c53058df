//! Walks through a script: where the robot stands, what it has found out, and how each step is reported.

use std::collections::BTreeMap;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use chrono::{DateTime, NaiveDate, Utc};
use encoding_rs::Encoding;

use super::blank::Blanks;
use super::browser::{Browser, Seat};
use super::manners::{refresh, retry};
use super::session::{Request, Session, shown};
use super::steps::LoggedIn;
use super::tokens::Tokens;
use super::trouble::SessionError;
use super::variables::{self, Values};
use super::{Observer, Order, Trouble, link, session, steps};
use crate::model::task::Engine;
use crate::model::{Failure, Page, Step, Task, TraceLine};
use crate::page::{Tree, charset};

pub struct Walker<'a> {
    pub task: &'a Task,
    pub session: Session,
    /// Started when the first page is wanted, for tasks that ask for it.
    pub browser: Option<Browser>,
    seat: Seat<'a>,
    pub blanks: Blanks,
    /// What the site has handed out, which is blanked where the walk is shown.
    pub tokens: Tokens,
    secrets: &'a BTreeMap<String, String>,
    /// Files of the task's folder that the script reads, by name.
    pub files: &'a BTreeMap<String, String>,
    pub variables: BTreeMap<String, String>,
    pub observer: &'a mut dyn Observer,
    today: NaiveDate,
    pub stand: Option<Rc<Stand>>,
    /// Has the page that the robot stands on been extracted from?
    pub extracted: bool,
    /// Columns that every row of now gets: the items of the `for_each` around.
    pub with: Vec<(String, String)>,
    /// How the site was entered, to enter it again when it has thrown us out.
    pub login: Option<LoggedIn>,
    /// Pages that `paginate` has read, over the whole run.
    pub pages: u32,
    /// What a person should know about a walk that went well.
    pub remark: Option<String>,
    /// The steps that are being walked, from the outermost in: place among its neighbours and verb.
    path: Vec<(usize, &'static str)>,
}

/// The rows of a larger page take longer to read than a site to answer, and the answer's time would be counted wrong.
const SMALL_PAGE: usize = 64 << 10;

/// Where the robot stands: a page, read.
pub struct Stand {
    pub page: Page,
    /// The body, decoded.
    pub text: String,
    pub tree: Tree,
    pub encoding: &'static Encoding,
}

/// How everything stood between two steps.
#[derive(Clone)]
pub struct Memory {
    session: session::Memory,
    variables: BTreeMap<String, String>,
    stand: Option<Rc<Stand>>,
    extracted: bool,
    login: Option<LoggedIn>,
    pages: u32,
    remark: Option<String>,
}

impl<'a> Walker<'a> {
    pub fn new(order: &Order<'a>, session: Session, observer: &'a mut dyn Observer, today: NaiveDate) -> Walker<'a> {
        Walker {
            task: order.task,
            session,
            browser: None,
            seat: order.seat,
            blanks: Blanks::new(order.secrets),
            tokens: Tokens::of(order.script),
            secrets: order.secrets,
            files: order.files,
            variables: BTreeMap::new(),
            observer,
            today,
            stand: None,
            extracted: false,
            with: Vec::new(),
            login: None,
            pages: 0,
            remark: None,
            path: Vec::new(),
        }
    }

    /// What a task without script does.
    pub async fn run_default(&mut self) -> Result<(), Trouble> {
        let Some(url) = &self.task.url else {
            return Err(
                self.trouble(Failure::Config, "the task names no `url`, neither in task.toml nor in robot.toml")
            );
        };
        self.go(Request::get(url.clone()), true).await?;
        steps::paginate(self, &Default::default()).await
    }

    pub async fn run(&mut self, all: &[Step]) -> Result<(), Trouble> {
        steps::run_all(self, all).await?;
        self.extract_if_silent(all)
    }

    /// Steps that never say where to extract mean the last page they came to.
    pub fn extract_if_silent(&mut self, all: &[Step]) -> Result<(), Trouble> {
        if !says_where(all) && !self.extracted && self.stand.is_some() {
            self.extract()?;
        }
        Ok(())
    }

    /// What can be gone back to.
    pub fn memory(&self) -> Memory {
        Memory {
            session: self.session.memory(),
            variables: self.variables.clone(),
            stand: self.stand.clone(),
            extracted: self.extracted,
            login: self.login.clone(),
            pages: self.pages,
            remark: self.remark.clone(),
        }
    }

    pub fn go_back_to(&mut self, memory: Memory) {
        self.session.remember(memory.session);
        self.variables = memory.variables;
        self.stand = memory.stand;
        self.extracted = memory.extracted;
        self.login = memory.login;
        self.pages = memory.pages;
        self.remark = memory.remark;
    }

    pub fn enter(&mut self, step: &Step, index: usize) {
        self.path.push((index, step.verb()));
    }

    pub fn leave(&mut self) {
        self.path.pop();
    }

    /// Sends a request and stands on the page it brings. `strict`: a page with a bad status is trouble. Where the site has
    /// forgotten us in the meantime, we log in again, once, and ask once more.
    pub async fn go(&mut self, request: Request, strict: bool) -> Result<(), Trouble> {
        let again = self.again(&request);
        let arrived = self.arrive(request, strict).await;
        self.unless_logged_out(arrived, again, strict).await
    }

    /// The request once more, should the site have forgotten us.
    fn again(&self, request: &Request) -> Option<Request> {
        (self.login.is_some() && !request.post).then(|| request.clone())
    }

    async fn unless_logged_out(
        &mut self,
        arrived: Result<(), Trouble>,
        again: Option<Request>,
        strict: bool,
    ) -> Result<(), Trouble> {
        if self.login.is_none() || !steps::is_logged_out(self)? {
            return arrived;
        }
        steps::log_in_again(self).await?;
        match again {
            Some(request) => self.arrive(request, strict).await,
            None => {
                let sentence = "the site had logged us out when the form was sent; it is not sent twice";
                Err(self.trouble(Failure::Login, sentence))
            }
        }
    }

    /// As [`Walker::go`], whoever the site takes us for. A page that sends its visitor on is not where one stands.
    pub async fn arrive(&mut self, request: Request, strict: bool) -> Result<(), Trouble> {
        if self.has_browser() {
            let came = self.browse(request).await;
            let page = self.told(came)?;
            return self.stand_unless_bad(page, strict);
        }
        let mut hops = 0;
        self.session.once_only = self.login.as_ref().is_some_and(LoggedIn::is_busy);
        let sent = self.session.send_on(request, &mut hops).await;
        self.stand_where_sent(sent, hops, strict).await
    }

    /// Stands on the page that was sent, or on the one that it sends its visitor on to.
    async fn stand_where_sent(
        &mut self,
        mut sent: Result<Page, SessionError>,
        mut hops: u32,
        strict: bool,
    ) -> Result<(), Trouble> {
        loop {
            let page = self.told(sent)?;
            self.stand_unless_bad(page, strict)?;
            let Some(next) = self.sent_on()? else { return Ok(()) };
            hops += 1;
            sent = self.session.send_on(next, &mut hops).await;
        }
    }

    /// Can the next page be asked for before the rows of this one are read?
    pub fn can_ask_ahead(&self) -> bool {
        !self.has_browser() && self.stand.as_ref().is_some_and(|stand| stand.page.body.len() <= SMALL_PAGE)
    }

    /// Hands the current page out and goes on to the next one, unless no row was new. The site answers while the rows are read:
    /// a run that waits for every answer with nothing to do costs a fifth more, for its processor falls asleep and is woken again.
    pub async fn extract_and_go(&mut self, request: Request) -> Result<usize, Trouble> {
        let again = self.again(&request);
        let Some(stand) = self.stand.clone() else { return Err(self.no_page()) };
        let blanked = self.blanked(&stand.page);
        self.extracted = true;
        self.session.once_only = self.login.as_ref().is_some_and(LoggedIn::is_busy);
        let mut hops = 0;
        let (rows, sent) = {
            let mut asking = pin!(self.session.send_on(request, &mut hops));
            let early = futures_util::poll!(asking.as_mut());
            // The connection is a task of its own, and writes now.
            tokio::task::yield_now().await;
            let rows = self.observer.page(blanked.as_ref().unwrap_or(&stand.page), &stand.tree, &self.with);
            let sent = match early {
                _ if rows == 0 => None,
                Poll::Ready(sent) => Some(sent),
                Poll::Pending => Some(asking.await),
            };
            (rows, sent)
        };
        self.trace(new_rows(&stand, rows));
        if let Some(sent) = sent {
            let arrived = self.stand_where_sent(sent, hops, true).await;
            self.unless_logged_out(arrived, again, true).await?;
        }
        Ok(rows)
    }

    /// Where the browser has gone on since, back to the page that the robot stands on.
    pub async fn come_back(&mut self) -> Result<(), Trouble> {
        let (Some(browser), Some(stand)) = (&self.browser, &self.stand) else { return Ok(()) };
        if browser.shows(&stand.page) {
            return Ok(());
        }
        let url = stand.page.meta.url.clone();
        self.trace(format!("goes back to {}", shown(&url)));
        self.arrive(Request::get(url), true).await
    }

    /// Stands on a page; `strict`: one with a bad status is trouble. So is one that was not read whole: rows, links or fields
    /// may be among what is missing.
    pub fn stand_unless_bad(&mut self, page: Page, strict: bool) -> Result<(), Trouble> {
        let objection = objection(&page).filter(|_| strict || page.meta.status < 400);
        self.stand_on(page);
        match objection {
            None => self.check_whole(),
            Some((cause, sentence)) => Err(self.trouble(cause, sentence)),
        }
    }

    /// Is the current page read whole?
    fn check_whole(&self) -> Result<(), Trouble> {
        let Stand { page, tree, .. } = self.here()?;
        match tree.cut {
            None => Ok(()),
            Some(cut) => Err(self.trouble(Failure::Limit, cut.sentence(&shown(&page.meta.url), page.body.len()))),
        }
    }

    /// The request that the current page's `<meta http-equiv=refresh>` makes.
    fn sent_on(&mut self) -> Result<Option<Request>, Trouble> {
        let here = self.here()?;
        let Some(target) = refresh::target(&here.tree).filter(|_| here.page.meta.status < 300) else { return Ok(None) };
        let from = Request::get(here.page.meta.url.clone());
        let base = link::base(&here.tree, &from.url);
        let Ok(to) = base.join(&target) else { return Ok(None) };
        // A page that only calls itself again is one that wants to look fresh.
        if shown(&to) == shown(&from.url) {
            return Ok(None);
        }
        let next = self.session.follow(&from, 302, to.as_str());
        let next = next.map_err(|error| self.trouble(error.cause(), error.to_string()))?;
        self.trace(format!("{} sends on to {}", shown(&from.url), shown(&next.url)));
        Ok(Some(next))
    }

    /// Does the task want its pages from a browser?
    pub fn has_browser(&self) -> bool {
        self.task.fetch.engine == Engine::Browser
    }

    async fn browse(&mut self, request: Request) -> Result<Page, SessionError> {
        if self.browser.is_none() {
            let starting = Browser::start(self.seat, self.task, &mut self.session, self.blanks.clone());
            self.browser = Some(starting.await?);
        }
        let browser = self.browser.as_mut().expect("it was started just now");
        browser.go(&mut self.session, request).await
    }

    /// Traces what happened on the wire, and says what went wrong there.
    pub fn told<T>(&mut self, sent: Result<T, SessionError>) -> Result<T, Trouble> {
        let lines = std::mem::take(&mut self.session.log);
        if !lines.is_empty() {
            self.tokens.read_cookies(self.session.jar.iter().map(|cookie| (cookie.name(), cookie.value())));
        }
        for line in lines {
            self.trace_at(line.at, &line.text);
        }
        sent.map_err(|error| self.trouble(error.cause(), error.to_string()))
    }

    /// Reads a page and stands on it.
    pub fn stand_on(&mut self, page: Page) {
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
            self.trace(format!("{} is not all {encoding}: what is not became U+FFFD", shown(&page.meta.url)));
        }
        if decoded.encoding != encoding_rs::UTF_8 {
            self.trace(format!("read as {}", decoded.encoding.name()));
        }
        self.tokens.read(&tree);
        let (text, encoding) = (decoded.text, decoded.encoding);
        self.stand = Some(Rc::new(Stand { page, text, tree, encoding }));
        self.extracted = false;
    }

    /// Stands on a piece of HTML that the current page holds; the page's own text stays.
    pub fn stand_on_part(&mut self, html: &str) -> Result<(), Trouble> {
        let Some(stand) = &self.stand else { return Err(self.no_page()) };
        let page = Page { meta: stand.page.meta.clone(), body: html.as_bytes().to_vec() };
        let part = Stand { page, text: stand.text.clone(), tree: Tree::parse(html), encoding: encoding_rs::UTF_8 };
        self.stand = Some(Rc::new(part));
        self.check_whole()
    }

    /// Is the current page one to be used at all?
    pub fn check_status(&self) -> Result<(), Trouble> {
        match objection(&self.here()?.page) {
            None => Ok(()),
            Some((cause, sentence)) => Err(self.trouble(cause, sentence)),
        }
    }

    /// Hands the current page out; answers how many rows on it were new.
    pub fn extract(&mut self) -> Result<usize, Trouble> {
        self.hand_out(false)
    }

    /// Hands the page out once more, with what has come to it since; answers how many rows on it were not there before.
    pub fn extract_grown(&mut self) -> Result<usize, Trouble> {
        self.hand_out(true)
    }

    fn hand_out(&mut self, grown: bool) -> Result<usize, Trouble> {
        let Some(stand) = self.stand.clone() else { return Err(self.no_page()) };
        self.extracted = true;
        let blanked = self.blanked(&stand.page);
        let page = blanked.as_ref().unwrap_or(&stand.page);
        let rows = if grown {
            self.observer.grown(page, &stand.tree, &self.with)
        } else {
            self.observer.page(page, &stand.tree, &self.with)
        };
        self.trace(new_rows(&stand, rows));
        Ok(rows)
    }

    /// Keeps the current page under a name.
    pub fn save(&mut self, name: &str) -> Result<(), Trouble> {
        let Some(stand) = self.stand.clone() else { return Err(self.no_page()) };
        let name = self.expand(name)?;
        let page = self.blanked(&stand.page);
        self.observer.save(page.as_ref().unwrap_or(&stand.page), &name);
        self.trace(format!("kept {} as “{name}”", shown(&stand.page.meta.url)));
        Ok(())
    }

    /// The page as it is kept: without the secrets that the site has sent back, and without tokens in its address and headers.
    /// `None` where there is nothing to blank.
    pub fn blanked(&self, page: &Page) -> Option<Page> {
        let mut meta = page.meta.clone();
        if !self.tokens.blank_meta(&mut meta) && self.blanks.is_empty() {
            return None;
        }
        let mut page = Page { meta, body: page.body.clone() };
        self.blanks.page(&mut page);
        Some(page)
    }

    /// A text as people may see it: no secret, and no token of the site's.
    pub fn blank(&self, text: &str) -> String {
        self.tokens.blank(&self.blanks.text(text))
    }

    /// Waits, but not beyond the run's time.
    pub async fn pause(&mut self, time: Duration) -> Result<(), Trouble> {
        let waited = self.session.pause(time).await;
        waited.map_err(|error| self.trouble(error.cause(), error.to_string()))
    }

    /// Where the robot stands; a step that needs a page comes only after one that brings it.
    pub fn here(&self) -> Result<&Stand, Trouble> {
        self.stand.as_deref().ok_or_else(|| self.no_page())
    }

    pub fn expand(&self, text: &str) -> Result<String, Trouble> {
        let values = Values { variables: &self.variables, secrets: self.secrets, today: self.today };
        variables::expand(text, &values).map_err(|error| self.trouble(Failure::Config, error.to_string()))
    }

    pub fn remember(&mut self, name: &str, value: String) {
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
        let (step, verb) = self.place();
        let text = one_line(self.blank(text));
        self.observer.trace(TraceLine { at, step, verb, text });
    }

    /// What went wrong in this step, with the page it happened on.
    pub fn trouble(&self, cause: Failure, sentence: impl AsRef<str>) -> Trouble {
        let (step, verb) = self.place();
        let place = if step == 0 { String::new() } else { format!("step {step} ({verb}): ") };
        let mut page = self.stand.as_ref().map(|stand| stand.page.clone());
        if let Some(page) = &mut page {
            self.blanks.page(page);
            self.tokens.blank_meta(&mut page.meta);
        }
        Trouble { cause, sentence: place + &one_line(self.blank(sentence.as_ref())), page }
    }

    /// The outermost step, counted from 1 (0: implied), and the verbs from there in: `for_each › get`.
    fn place(&self) -> (u32, String) {
        let step = self.path.first().map_or(0, |(index, _)| *index as u32 + 1);
        let verbs: Vec<&str> = self.path.iter().map(|(_, verb)| *verb).collect();
        (step, if verbs.is_empty() { "run".to_owned() } else { verbs.join(" › ") })
    }

    fn no_page(&self) -> Trouble {
        self.trouble(Failure::Config, "there is no page yet; begin with a `get` step")
    }
}

fn new_rows(stand: &Stand, rows: usize) -> String {
    format!("{} has {rows} new rows", shown(&stand.page.meta.url))
}

/// Do these steps say where rows are to be taken from?
pub fn says_where(all: &[Step]) -> bool {
    all.iter().any(|step| {
        matches!(step, Step::Extract(_) | Step::Paginate(_) | Step::ForEach(_))
            || step.inner().into_iter().any(|(_, inner)| says_where(inner))
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
pub fn objection(page: &Page) -> Option<(Failure, String)> {
    let (url, status) = (|| shown(&page.meta.url), page.meta.status);
    // Nobody had asked whether it is unchanged.
    if status >= 400 || status == 304 {
        let cause = match status {
            401 => Failure::Login,
            403 | 407 | 429 | 451 => Failure::Blocked,
            503 if asks_for_a_human(&page.body) => Failure::Blocked,
            _ => Failure::Http,
        };
        let reason =
            reqwest::StatusCode::from_u16(status).ok().and_then(|it| it.canonical_reason()).unwrap_or_default();
        let said = format!("{} answered with status {status} {reason}", url()).trim_end().to_owned();
        let wish = retry::wish(&page.meta, page.meta.fetched_at);
        let wish = wish
            .map(|wait| format!(" and asks to be left alone for {}; the next run tries again", retry::rounded(wait)));
        return Some((cause, said + &wish.unwrap_or_default()));
    }
    let kind = foreign_kind(&page.body)?;
    Some((Failure::Http, format!("{} is {kind}, not a web page", url())))
}

/// Words of pages that stand between a robot and the site.
fn asks_for_a_human(body: &[u8]) -> bool {
    const WORDS: &[&str] =
        &["captcha", "are you human", "verify you are human", "just a moment", "unusual traffic", "access denied"];
    let text = String::from_utf8_lossy(body).to_lowercase();
    WORDS.iter().any(|word| text.contains(word))
}

/// Files that come as text/html now and then, by their first bytes.
fn foreign_kind(body: &[u8]) -> Option<&'static str> {
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
