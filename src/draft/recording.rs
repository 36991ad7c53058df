//! A recorded visit → a draft: what was needed to come to the list, and nothing else.
//!
//! The list is found first: data that no page shows, a series of pages, a page whose rows were clicked, or the last page.
//! Then everything that was sent on the way there becomes a step, and the pages that these steps stand on are fetched.

mod target;
mod way;

use std::collections::BTreeSet;
use std::io::Read;

use serde_json::Value;
use url::Url;

use super::asked::{Asked, Sent};
use super::har::{self, Entry, HarError};
use super::pages::Seen;
use super::secret::{Vault, site_of};
use super::{Draft, finished};

/// A visit: one request of the site, with the page that came of it in the end.
pub struct Visit {
    pub asked: Asked,
    pub is_document: bool,
    pub page: Option<Seen>,
    pub json: Option<Value>,
}

impl Visit {
    /// Where the browser was afterwards.
    pub fn url(&self) -> &Url {
        self.page.as_ref().map_or(&self.asked.url, |page| &page.url)
    }

    pub fn is_page(&self) -> bool {
        self.is_document && !self.asked.is_post()
    }
}

/// The draft of a HAR file.
pub fn of_har(from: impl Read) -> Result<Draft, HarError> {
    let recording = har::read(from, har::MAX_BYTES)?;
    let total = recording.total;
    let Some(site) = site(&recording.entries) else { return Err(HarError::Nothing(total)) };
    let (own, others): (Vec<Entry>, Vec<Entry>) =
        recording.entries.into_iter().partition(|entry| is_of(&entry.asked.url, &site));
    let visits = visits(own);
    let target = target::find(&visits).ok_or(HarError::Nothing(total))?;
    let mut vault = Vault::new(Some(&site));
    for visit in &visits {
        silence_cookies(&visit.asked, &mut vault);
    }
    let steps = way::steps(&visits, &target, &mut vault);
    let mut notes = vec![
        format!("A draft, made from a recording of {total} requests. Try it step by step: pieme step TASK"),
        format!("With it goes a task.toml: url = \"{}\"", super::bare(visits[target.first].url())),
    ];
    let hosts: BTreeSet<&str> =
        others.iter().filter(|entry| entry.is_document).filter_map(|entry| entry.asked.url.host_str()).collect();
    if !hosts.is_empty() {
        let hosts = hosts.into_iter().collect::<Vec<_>>().join(", ");
        notes.push(format!("Pages of other sites were visited too and are left out: {hosts}."));
    }
    Ok(finished(Some(visits[target.first].url().clone()), steps, notes, &vault))
}

/// The site is that of the first page; of the first data where there is no page.
fn site(entries: &[Entry]) -> Option<String> {
    let first = entries.iter().find(|it| it.is_document).or_else(|| entries.first())?;
    first.asked.url.host_str().map(str::to_owned)
}

fn is_of(url: &Url, site: &str) -> bool {
    url.host_str().is_some_and(|host| site_of(host) == site_of(site))
}

/// Requests with what came of them: a redirect and its target are one visit.
fn visits(entries: Vec<Entry>) -> Vec<Visit> {
    let mut visits: Vec<Visit> = Vec::new();
    // The visit that a redirect is on its way from, and the address it leads to.
    let mut on_its_way: Option<(Visit, Option<Url>)> = None;
    for entry in entries {
        let Entry { asked, location, is_document, text } = entry;
        let arrived = on_its_way.take_if(|(_, to)| to.as_ref() == Some(&asked.url));
        let leads_to = location.map(|it| asked.url.join(&it).ok());
        let here = asked.url.clone();
        let mut visit = match arrived {
            Some((from, _)) if from.asked.is_post() => from,
            Some(_) | None => Visit { asked, is_document, page: None, json: None },
        };
        if let Some(to) = leads_to {
            visits.extend(on_its_way.replace((visit, to)).map(|(left, _)| left).filter(|left| left.asked.is_post()));
            continue;
        }
        match text {
            Some(text) if visit.is_document => visit.page = Some(Seen::new(here, &text)),
            Some(text) => visit.json = serde_json::from_str(&text).ok(),
            None => {}
        }
        visits.push(visit);
    }
    visits.extend(on_its_way.map(|(left, _)| left).filter(|left| left.asked.is_post()));
    visits
}

fn silence_cookies(asked: &Asked, vault: &mut Vault) {
    const MIN_LEN: usize = 16;
    for (_, value) in asked.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("cookie")) {
        let values = value.split(';').filter_map(|pair| pair.split_once('=')).map(|(_, value)| value.trim());
        values.filter(|value| value.len() >= MIN_LEN).for_each(|value| vault.silence(value));
    }
}

/// A plain request for a page that was visited.
pub fn page_request(url: &Url) -> Asked {
    Asked { method: "GET".to_owned(), url: url.clone(), headers: Vec::new(), sent: Sent::Nothing }
}

#[cfg(test)]
mod tests;
