//! Walks through a script: where the robot stands, what it has found out, and how each step is reported.

use std::collections::BTreeMap;

use chrono::{NaiveDate, Utc};
use encoding_rs::Encoding;

use super::blank::Blanks;
use super::session::{Request, Session, shown};
use super::variables::{self, Values};
use super::{Observer, Trouble, steps};
use crate::model::{Failure, Page, Step, Task, TraceLine};
use crate::page::{Tree, charset};

pub struct Walker<'a> {
    pub task: &'a Task,
    pub session: Session,
    pub blanks: Blanks,
    secrets: &'a BTreeMap<String, String>,
    pub variables: BTreeMap<String, String>,
    observer: &'a mut dyn Observer,
    today: NaiveDate,
    pub stand: Option<Stand>,
    /// Has the page that the robot stands on been extracted from?
    pub extracted: bool,
    /// The step that is being walked: its number from 1 (0: implied) and its verb.
    step: (u32, &'static str),
}

/// Where the robot stands: a page, read.
pub struct Stand {
    pub page: Page,
    pub tree: Tree,
    pub encoding: &'static Encoding,
}

impl<'a> Walker<'a> {
    pub fn new(
        task: &'a Task,
        secrets: &'a BTreeMap<String, String>,
        session: Session,
        observer: &'a mut dyn Observer,
        today: NaiveDate,
    ) -> Walker<'a> {
        Walker {
            task,
            session,
            blanks: Blanks::new(secrets),
            secrets,
            variables: BTreeMap::new(),
            observer,
            today,
            stand: None,
            extracted: false,
            step: (0, "get"),
        }
    }

    /// What a task without script does.
    pub async fn run_default(&mut self) -> Result<(), Trouble> {
        let Some(url) = &self.task.url else {
            return Err(
                self.trouble(Failure::Config, "the task names no `url`, neither in task.toml nor in robot.toml")
            );
        };
        self.step = (0, "get");
        self.go(Request::get(url.clone()), true).await?;
        self.step = (0, "paginate");
        steps::paginate(self, &Default::default()).await
    }

    pub async fn run(&mut self, all: &[Step]) -> Result<(), Trouble> {
        for (index, step) in all.iter().enumerate() {
            self.step = (index as u32 + 1, step.verb());
            // A bad status is this page's end, unless the script is about to look at it.
            let strict = !matches!(all.get(index + 1), Some(Step::Expect(expect)) if expect.status.is_some());
            steps::run(self, step, strict).await?;
        }
        let says_where = all.iter().any(|step| matches!(step, Step::Extract(_) | Step::Paginate(_)));
        if !says_where && !self.extracted && self.stand.is_some() {
            self.step = (0, "extract");
            self.extract()?;
        }
        Ok(())
    }

    /// Sends a request and stands on the page it brings. `strict`: a page with a bad status is trouble.
    pub async fn go(&mut self, request: Request, strict: bool) -> Result<(), Trouble> {
        let sent = self.session.send(request).await;
        for line in std::mem::take(&mut self.session.log) {
            self.trace(line);
        }
        let page = sent.map_err(|error| self.trouble(error.cause(), error.to_string()))?;
        let objection = objection(&page).filter(|_| strict || page.meta.status < 400);
        let told = match self.task.fetch.charset.as_str() {
            "auto" => page.meta.header("content-type").and_then(charset::from_content_type),
            told => Some(told),
        };
        let decoded = charset::decode(&page.body, told);
        let tree = Tree::parse(&decoded.text);
        if let Some(cut) = tree.cut {
            self.trace(format!("{} was not read to its end: {cut:?}", shown(&page.meta.url)));
        }
        if decoded.had_errors {
            let encoding = decoded.encoding.name();
            self.trace(format!("{} is not all {encoding}: what is not became U+FFFD", shown(&page.meta.url)));
        }
        self.stand = Some(Stand { page, tree, encoding: decoded.encoding });
        self.extracted = false;
        match objection {
            None => Ok(()),
            Some((cause, sentence)) => Err(self.trouble(cause, sentence)),
        }
    }

    /// Hands the current page out; answers how many rows on it were new.
    pub fn extract(&mut self) -> Result<usize, Trouble> {
        let Some(stand) = &mut self.stand else { return Err(self.no_page()) };
        self.blanks.page(&mut stand.page);
        self.extracted = true;
        let rows = self.observer.page(&stand.page, &stand.tree);
        let text = format!("{} has {rows} new rows", shown(&stand.page.meta.url));
        self.trace(text);
        Ok(rows)
    }

    /// Where the robot stands; a step that needs a page comes only after one that brings it.
    pub fn here(&self) -> Result<&Stand, Trouble> {
        self.stand.as_ref().ok_or_else(|| self.no_page())
    }

    pub fn expand(&self, text: &str) -> Result<String, Trouble> {
        let values = Values { variables: &self.variables, secrets: self.secrets, today: self.today };
        variables::expand(text, &values).map_err(|error| self.trouble(Failure::Config, error.to_string()))
    }

    pub fn trace(&mut self, text: impl AsRef<str>) {
        let (step, verb) = self.step;
        let text = one_line(&self.blanks.text(text.as_ref()));
        self.observer.trace(TraceLine { at: Utc::now(), step, verb: verb.to_owned(), text });
    }

    /// What went wrong in this step, with the page it happened on.
    pub fn trouble(&self, cause: Failure, sentence: impl AsRef<str>) -> Trouble {
        let (step, verb) = self.step;
        let place = if step == 0 { String::new() } else { format!("step {step} ({verb}): ") };
        let mut page = self.stand.as_ref().map(|stand| stand.page.clone());
        if let Some(page) = &mut page {
            self.blanks.page(page);
        }
        Trouble { cause, sentence: place + &one_line(&self.blanks.text(sentence.as_ref())), page }
    }

    fn no_page(&self) -> Trouble {
        self.trouble(Failure::Config, "there is no page yet; begin with a `get` step")
    }
}

/// Longer sentences and lines are cut: a site could fill a log with one title.
const MAX_LINE_CHARS: usize = 2_000;

/// Text from a site on one line, without what a terminal would obey.
fn one_line(text: &str) -> String {
    let plain = |c: char| {
        if c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') { ' ' } else { c }
    };
    text.chars().map(plain).take(MAX_LINE_CHARS).collect()
}

/// What speaks against using the page: its status, or that it is no page at all.
pub fn objection(page: &Page) -> Option<(Failure, String)> {
    let (url, status) = (shown(&page.meta.url), page.meta.status);
    if status >= 400 {
        let cause = match status {
            401 => Failure::Login,
            403 | 407 | 429 | 451 => Failure::Blocked,
            503 if asks_for_a_human(&page.body) => Failure::Blocked,
            _ => Failure::Http,
        };
        let reason =
            reqwest::StatusCode::from_u16(status).ok().and_then(|it| it.canonical_reason()).unwrap_or_default();
        return Some((cause, format!("{url} answered with status {status} {reason}").trim_end().to_owned()));
    }
    let kind = foreign_kind(&page.body)?;
    Some((Failure::Http, format!("{url} is {kind}, not a web page")))
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
