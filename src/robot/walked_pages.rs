//! Checks that the pages of a walk are whole and of one kind. Pure.
//!
//! A page is compared with its siblings, pages of the same walk that had rows. So a site that never closes its
//! documents, or shows a log-in form on every page, raises no alarm.

use std::collections::HashSet;

use super::loaded_page::LoadedPage;
use super::{Arrival, PageRows};
use crate::model::address::display_url;
use crate::model::{Failure, Signs, counted};
use crate::page::signs;

/// Why rows of a walk are missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageFault {
    /// The page shows something else than its list.
    Failed(Failure, String),
    /// The page has no row, or too few. What was read may be right: the rows are quarantined.
    MissingRows(String),
}

/// The pages that had rows, and those that had none before them.
#[derive(Clone, Default)]
pub struct WalkedPages {
    /// The page with the most rows.
    richest: Option<Sibling>,
    /// A page with rows of each form.
    endings: Vec<PageEnd>,
    /// Pages without rows that came before the first one with rows: nothing could be compared yet.
    pending: Vec<PageLook>,
}

/// A page with rows.
#[derive(Clone)]
struct Sibling {
    rows: usize,
    title: String,
    look: PageLook,
}

#[derive(Clone)]
struct PageEnd {
    form: PageForm,
    is_cut: bool,
    url: String,
}

/// What a page says about itself.
#[derive(Clone)]
struct PageLook {
    url: String,
    signs: Signs,
}

impl PageLook {
    fn of(page: &LoadedPage) -> PageLook {
        let signs = Signs { cut_off: is_cut(page), ..signs::detect(&page.tree, &page.page.body) };
        PageLook { url: display_url(&page.page.meta.url), signs }
    }

    /// Why the page has no rows, by the signs that the other page does not show.
    fn fault_beside(&self, sibling: &Signs) -> Option<PageFault> {
        let (own, url) = (&self.signs, &self.url);
        let failed = |cause, what: &str| Some(PageFault::Failed(cause, format!("{url} {what}; {PUBLISHED}")));
        if own.blocked && !sibling.blocked {
            return failed(Failure::Blocked, "blocks robots and shows no row");
        }
        if own.login && !sibling.login {
            return failed(Failure::Login, "asks to log in and shows no row");
        }
        if own.error && !sibling.error {
            return failed(Failure::Http, "is an error page");
        }
        if own.cut_off && !sibling.cut_off {
            return failed(Failure::Network, "is cut off");
        }
        None
    }
}

const PUBLISHED: &str = "the list is not whole, and the last good rows stay published";

impl WalkedPages {
    /// Checks a page after its rows were extracted.
    pub fn check(&mut self, page: &LoadedPage, rows: PageRows, arrival: Arrival) -> Result<(), PageFault> {
        if page.tree.ending.inside_tag {
            let url = display_url(&page.page.meta.url);
            return Err(PageFault::Failed(Failure::Network, format!("{url} is cut off inside a tag; {PUBLISHED}")));
        }
        match rows.all {
            0 => self.check_without_rows(page, arrival),
            some => self.check_with_rows(page, some),
        }
    }

    fn check_without_rows(&mut self, page: &LoadedPage, arrival: Arrival) -> Result<(), PageFault> {
        let look = PageLook::of(page);
        let Some(richest) = &self.richest else {
            self.pending.push(look);
            return Ok(());
        };
        // Whether a page that pieme counted itself is the end of the list is not decided by this page alone.
        if arrival == Arrival::Counted {
            return Ok(());
        }
        if let Some(fault) = look.fault_beside(&richest.look.signs) {
            return Err(fault);
        }
        match arrival {
            Arrival::Promised => Err(PageFault::MissingRows(format!(
                "{} has no row, although the page before leads to it; {PUBLISHED}. If the last page of this site may \
                 be empty, write `paginate = {{ ends_empty = true }}`",
                look.url
            ))),
            Arrival::Step | Arrival::Counted => Ok(()),
        }
    }

    fn check_with_rows(&mut self, page: &LoadedPage, rows: usize) -> Result<(), PageFault> {
        self.check_ending(page)?;
        let url = || display_url(&page.page.meta.url);
        match &self.richest {
            Some(richest) if rows >= richest.rows.div_ceil(2) && rows <= richest.rows => return Ok(()),
            Some(richest) if rows < richest.rows => {
                return check_titles(url, &signs::title(&page.tree), &richest.title);
            }
            _ => {}
        }
        let sibling = Sibling { rows, title: signs::title(&page.tree), look: PageLook::of(page) };
        if let Some(before) = self.richest.as_ref().filter(|before| before.rows * 2 < rows) {
            check_titles(|| before.look.url.clone(), &before.title, &sibling.title)?;
        }
        let pending = std::mem::take(&mut self.pending);
        let fault = pending.iter().find_map(|look| look.fault_beside(&sibling.look.signs));
        self.richest = Some(sibling);
        fault.map_or(Ok(()), Err)
    }

    /// Of pages of one form either all are closed or none: one that differs is cut off.
    fn check_ending(&mut self, page: &LoadedPage) -> Result<(), PageFault> {
        let own = PageEnd { form: form(page), is_cut: is_cut(page), url: display_url(&page.page.meta.url) };
        let Some(sibling) = self.endings.iter().find(|it| it.form == own.form) else {
            self.endings.push(own);
            return Ok(());
        };
        if own.is_cut == sibling.is_cut {
            return Ok(());
        }
        let url = if own.is_cut { &own.url } else { &sibling.url };
        let sentence = format!("{url} is cut off: other pages of this walk have an end, it has none; {PUBLISHED}");
        Err(PageFault::Failed(Failure::Network, sentence))
    }

    /// The signs that a page of this walk with rows shows.
    fn known_signs(&self) -> Signs {
        self.richest.as_ref().map(|it| it.look.signs).unwrap_or_default()
    }

    /// The end of a list whose pages pieme counts: `first` has no rows, and neither has `second`, the page after it.
    /// The first one is bad if it says so and the second one does not.
    pub fn check_end(&self, first: &LoadedPage, second: &LoadedPage) -> Result<(), PageFault> {
        let (first_status, second_status) = (first.page.meta.status, second.page.meta.status);
        let url = display_url(&first.page.meta.url);
        if first_status >= 400 && first_status != second_status {
            let sentence = format!("{url} answered with status {first_status}, and the page after it does not");
            return Err(PageFault::Failed(Failure::Http, format!("{sentence}; {PUBLISHED}")));
        }
        let (known, look) = (self.known_signs(), PageLook::of(first));
        let Some(fault) = look.fault_beside(&known) else {
            let are_pages = first_status < 400 && second_status < 400;
            return if are_pages && !are_alike(first, second) { Err(other_page(&url)) } else { Ok(()) };
        };
        // Both say the same: that is what the site shows behind the end.
        if PageLook::of(second).fault_beside(&known).map(|it| it.cause()) == Some(fault.cause()) {
            return Ok(());
        }
        Err(fault)
    }

    /// A page without rows that is not the end: the page after it has rows.
    pub fn gap(&self, gap: &LoadedPage, rows: usize) -> PageFault {
        let look = PageLook::of(gap);
        look.fault_beside(&self.known_signs()).unwrap_or_else(|| {
            let status = gap.page.meta.status;
            if status >= 400 {
                let sentence = format!("{} answered with status {status}; {PUBLISHED}", look.url);
                return PageFault::Failed(Failure::Http, sentence);
            }
            let sentence = format!("{} has no row, but the page after it has {}", look.url, counted(rows, "row"));
            PageFault::MissingRows(format!("{sentence}; {PUBLISHED}"))
        })
    }
}

fn other_page(url: &str) -> PageFault {
    let sentence = format!("{url} has no row and does not look like the page after it, which has none either");
    PageFault::MissingRows(format!("{sentence}; {PUBLISHED}"))
}

/// True if the pages share at least half of their texts. What a site shows behind the end of a list is one page with
/// another number in it.
fn are_alike(first: &LoadedPage, second: &LoadedPage) -> bool {
    let texts = |page: &LoadedPage| -> HashSet<String> {
        let texts = page.tree.visible_texts(page.tree.root());
        texts.map(|text| text.chars().filter(|c| !c.is_numeric() && !c.is_whitespace()).collect()).collect()
    };
    let (first, second) = (texts(first), texts(second));
    first.intersection(&second).count() * 2 >= first.union(&second).count()
}

impl PageFault {
    fn cause(&self) -> Option<Failure> {
        match self {
            PageFault::Failed(cause, _) => Some(*cause),
            PageFault::MissingRows(_) => None,
        }
    }
}

/// An error page may have a list that looks like rows. `other` is the title of a page with more than twice as many.
fn check_titles(url: impl Fn() -> String, title: &str, other: &str) -> Result<(), PageFault> {
    if title == other || !signs::is_error_title(title) || signs::is_error_title(other) {
        return Ok(());
    }
    Err(PageFault::Failed(Failure::Http, format!("{} is an error page; {PUBLISHED}", url())))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PageForm {
    Document,
    Fragment,
    Json,
}

fn form(page: &LoadedPage) -> PageForm {
    if page.tree.is_json() {
        PageForm::Json
    } else if signs::is_document(&page.page.body) {
        PageForm::Document
    } else {
        PageForm::Fragment
    }
}

/// True if the end of the page is missing. Only a comparison tells whether that means anything.
fn is_cut(page: &LoadedPage) -> bool {
    match form(page) {
        PageForm::Document => !signs::is_closed(&page.page.body),
        PageForm::Fragment => page.tree.ending.open_block,
        PageForm::Json => false,
    }
}

/// The pages of a list with the number of their rows. The last one may have fewer.
#[derive(Default)]
pub struct FullPages(Vec<(String, usize)>);

impl FullPages {
    /// So many pages are needed to know how many rows a page has.
    const MIN_PAGES: usize = 3;

    pub fn add(&mut self, url: String, rows: usize) {
        self.0.push((url, rows));
    }

    /// Finds the one page that lacks more than a quarter of the rows that every other page has. A list whose pages vary
    /// has no such page.
    pub fn check(&self) -> Result<(), PageFault> {
        let full = &self.0[..self.0.len().saturating_sub(1)];
        let Some((index, (url, fewest))) = full.iter().enumerate().min_by_key(|(_, (_, rows))| *rows) else {
            return Ok(());
        };
        let mut others = full.iter().enumerate().filter(|(it, _)| *it != index).map(|(_, (_, rows))| *rows);
        let usual = others.next().unwrap_or_default();
        if full.len() < Self::MIN_PAGES || others.any(|rows| rows != usual) || fewest * 4 >= usual * 3 {
            return Ok(());
        }
        let sentence = format!("{url} has {}, every other page before the last {usual}", counted(*fewest, "row"));
        Err(PageFault::MissingRows(format!("{sentence}; {PUBLISHED}")))
    }
}
