//! Makes a draft from a recorded visit: only the requests that are needed to reach the list.
//!
//! The list is found first: data that no page shows, a series of pages, a page whose rows were clicked, or the last
//! page. Then every form sent on the way becomes a step, and the pages that these steps need are fetched.

mod step_builder;
mod target;

use std::collections::BTreeSet;
use std::io::Read;

use serde_json::Value;
use url::Url;

use super::har::{self, HarEntry, HarError};
use super::pages::RecordedPage;
use super::recorded_request::RecordedRequest;
use super::secret::{Vault, site_of};
use super::{Draft, redacted_draft};

/// A visit: one request to the site, with the page it led to after redirects.
pub struct Visit {
    pub request: RecordedRequest,
    pub is_document: bool,
    pub page: Option<RecordedPage>,
    pub json: Option<Value>,
}

impl Visit {
    /// The address after redirects.
    pub fn url(&self) -> &Url {
        self.page.as_ref().map_or(&self.request.url, |page| &page.url)
    }

    pub fn is_page(&self) -> bool {
        self.is_document && !self.request.is_post()
    }
}

/// Makes a draft from a HAR file.
pub fn from_har(from: impl Read) -> Result<Draft, HarError> {
    let recording = har::read(from, har::MAX_BYTES)?;
    let total = recording.total;
    let Some(site) = site(&recording.entries) else { return Err(HarError::Nothing(total)) };
    let (own, others): (Vec<HarEntry>, Vec<HarEntry>) =
        recording.entries.into_iter().partition(|entry| is_on_site(&entry.request.url, &site));
    let visits = visits(own);
    let target = target::find_list(&visits).ok_or(HarError::Nothing(total))?;
    let mut vault = Vault::new(Some(&site));
    for visit in &visits {
        suppress_cookies(&visit.request, &mut vault);
    }
    let steps = step_builder::steps(&visits, &target, &mut vault);
    let mut notes = vec![
        format!("Draft made from a HAR recording (requests: {total}). Test it step by step: pieme step TASK"),
        format!("The task.toml needs: url = \"{}\"", super::host_and_path(visits[target.first_visit].url())),
    ];
    let hosts: BTreeSet<&str> =
        others.iter().filter(|entry| entry.is_document).filter_map(|entry| entry.request.url.host_str()).collect();
    if !hosts.is_empty() {
        let hosts = hosts.into_iter().collect::<Vec<_>>().join(", ");
        notes.push(format!("Pages of other sites in the recording are left out: {hosts}."));
    }
    Ok(redacted_draft(Some(visits[target.first_visit].url().clone()), steps, notes, &vault))
}

/// The site of the first page, or of the first data where there is no page.
fn site(entries: &[HarEntry]) -> Option<String> {
    let first = entries.iter().find(|it| it.is_document).or_else(|| entries.first())?;
    first.request.url.host_str().map(str::to_owned)
}

fn is_on_site(url: &Url, site: &str) -> bool {
    url.host_str().is_some_and(|host| site_of(host) == site_of(site))
}

/// Groups requests into visits: a redirect and its target are one visit.
fn visits(entries: Vec<HarEntry>) -> Vec<Visit> {
    let mut visits: Vec<Visit> = Vec::new();
    // The visit that is being redirected, and the target address.
    let mut on_its_way: Option<(Visit, Option<Url>)> = None;
    for entry in entries {
        let HarEntry { request: asked, location, is_document, text } = entry;
        let arrived = on_its_way.take_if(|(_, to)| to.as_ref() == Some(&asked.url));
        let leads_to = location.map(|it| asked.url.join(&it).ok());
        let here = asked.url.clone();
        let mut visit = match arrived {
            Some((from, _)) if from.request.is_post() => from,
            Some(_) | None => Visit { request: asked, is_document, page: None, json: None },
        };
        if let Some(to) = leads_to {
            visits.extend(on_its_way.replace((visit, to)).map(|(left, _)| left).filter(|left| left.request.is_post()));
            continue;
        }
        match text {
            Some(text) if visit.is_document => visit.page = Some(RecordedPage::new(here, &text)),
            Some(text) => visit.json = serde_json::from_str(&text).ok(),
            None => {}
        }
        visits.push(visit);
    }
    visits.extend(on_its_way.map(|(left, _)| left).filter(|left| left.request.is_post()));
    visits
}

fn suppress_cookies(asked: &RecordedRequest, vault: &mut Vault) {
    const MIN_LEN: usize = 16;
    for (_, value) in asked.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("cookie")) {
        let values = value.split(';').filter_map(|pair| pair.split_once('=')).map(|(_, value)| value.trim());
        values.filter(|value| value.len() >= MIN_LEN).for_each(|value| vault.suppress(value));
    }
}

#[cfg(test)]
mod tests;
