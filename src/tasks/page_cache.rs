//! The page cache of a task (.state/pages.json and .state/page-NN.zst) for conditional requests, and its robots.txt
//! files (.state/robots.json). All of it is expendable: what is damaged or missing is fetched again.

use std::hash::Hasher;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher13;
use url::Url;

use super::folder::{FileError, Folder, PRIVATE_FILE, PRIVATE_FOLDER};
use super::state::STATE;
use crate::model::{CachedPage, RobotsTxt};

const INDEX: &str = "pages.json";
const ROBOTS: &str = "robots.json";

/// More than a run reads by default (`limits.max_pages`), and few enough for a fixed set of slots.
const MAX_PAGES: usize = 64;
const MAX_ALL_BYTES: u64 = 32 << 20;
const MAX_INDEX_BYTES: u64 = 2 << 20;

/// A task uses few hosts.
const MAX_ROBOTS: usize = 8;
const MAX_ROBOTS_FILE: u64 = 16 << 20;

/// The cached pages of one task; the least recently used are dropped for new ones.
#[derive(Debug)]
pub struct PageCache {
    dir: PathBuf,
    entries: Vec<PageCacheEntry>,
    changed: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct PageCacheEntry {
    page: CachedPage,
    /// The number of the body's file.
    slot: usize,
    bytes: u64,
    /// Of the body's file: after a crash between the two writes the body may be another page's.
    digest: u64,
    used_at: DateTime<Utc>,
}

impl PageCache {
    pub fn read(dir: &Path) -> PageCache {
        let entries: Vec<PageCacheEntry> = read_json(dir, INDEX, MAX_INDEX_BYTES).unwrap_or_default();
        let entries = entries.into_iter().filter(|entry| entry.slot < MAX_PAGES).take(MAX_PAGES).collect();
        PageCache { dir: dir.to_owned(), entries, changed: false }
    }

    pub fn pages(&self) -> Vec<CachedPage> {
        self.entries.iter().map(|entry| entry.page.clone()).collect()
    }

    /// The body as it was stored, still compressed.
    pub fn body(&mut self, url: &Url, now: DateTime<Utc>) -> Option<Vec<u8>> {
        let entry = self.entries.iter_mut().find(|entry| entry.page.url == *url)?;
        let folder = Folder::open(&self.dir).ok()?.subfolder(STATE).ok()??;
        let bytes = folder.read_private(&file(entry.slot), CachedPage::MAX_BODY_BYTES as u64).ok()??;
        entry.used_at = now;
        self.changed = true;
        (digest(&bytes) == entry.digest).then_some(bytes)
    }

    /// Stores a page, replacing an earlier version. A page that is too large is not stored.
    pub fn put(&mut self, page: CachedPage, body: &[u8], now: DateTime<Utc>) -> Result<(), FileError> {
        let json = serde_json::to_string(&page).map_or(usize::MAX, |json| json.len());
        if body.len() > CachedPage::MAX_BODY_BYTES || json > CachedPage::MAX_JSON_BYTES {
            return Ok(());
        }
        self.changed = true;
        self.entries.retain(|entry| entry.page.url != page.url);
        let bytes = body.len() as u64;
        while self.entries.len() >= MAX_PAGES || self.all_bytes() + bytes > MAX_ALL_BYTES {
            self.drop_oldest()?;
        }
        let slot = (0..MAX_PAGES).find(|slot| self.entries.iter().all(|entry| entry.slot != *slot));
        let slot = slot.expect("there are fewer pages than slots");
        let folder = Folder::open(&self.dir)?.make_subfolder(STATE, PRIVATE_FOLDER)?;
        folder.replace(&file(slot), body, PRIVATE_FILE)?;
        self.entries.push(PageCacheEntry { page, slot, bytes, digest: digest(body), used_at: now });
        Ok(())
    }

    /// Writes the index. Until then new bodies are not referenced, and the next page may overwrite them.
    pub fn write(&self) -> Result<(), FileError> {
        if !self.changed {
            return Ok(());
        }
        write_json(&self.dir, INDEX, &self.entries)
    }

    fn all_bytes(&self) -> u64 {
        self.entries.iter().map(|entry| entry.bytes).sum()
    }

    fn drop_oldest(&mut self) -> Result<(), FileError> {
        let oldest = (0..self.entries.len()).min_by_key(|&index| self.entries[index].used_at);
        let Some(oldest) = oldest else { return Ok(()) };
        let entry = self.entries.remove(oldest);
        Folder::open(&self.dir)?.make_subfolder(STATE, PRIVATE_FOLDER)?.remove(&file(entry.slot))
    }
}

pub fn read_robots(dir: &Path) -> Vec<RobotsTxt> {
    read_json(dir, ROBOTS, MAX_ROBOTS_FILE).unwrap_or_default()
}

/// Stores these and, as far as the limit allows, the known ones of other origins.
pub fn write_robots(dir: &Path, new: Vec<RobotsTxt>) -> Result<(), FileError> {
    let mut all: Vec<RobotsTxt> = new;
    for old in read_robots(dir) {
        if all.iter().all(|it| it.origin != old.origin) {
            all.push(old);
        }
    }
    all.retain(|it| it.text.len() <= RobotsTxt::MAX_BYTES && it.origin.len() <= CachedPage::MAX_JSON_BYTES);
    all.truncate(MAX_ROBOTS);
    write_json(dir, ROBOTS, &all)
}

fn read_json<T: serde::de::DeserializeOwned>(dir: &Path, name: &str, most: u64) -> Option<T> {
    let folder = Folder::open(dir).ok()?.subfolder(STATE).ok()??;
    serde_json::from_slice(&folder.read_private(name, most).ok()??).ok()
}

fn write_json<T: Serialize>(dir: &Path, name: &str, value: &T) -> Result<(), FileError> {
    let json = serde_json::to_vec(value).expect("plain data");
    Folder::open(dir)?.make_subfolder(STATE, PRIVATE_FOLDER)?.replace(name, &json, PRIVATE_FILE)
}

fn file(slot: usize) -> String {
    format!("page-{slot:02}.zst")
}

fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write(bytes);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn page(path: &str) -> CachedPage {
        CachedPage {
            url: Url::parse(&format!("https://shop.test/{path}")).expect("a URL of the test"),
            etag: Some("\"1\"".to_owned()),
            last_modified: None,
            request_digest: 7,
            headers: vec![("content-type".to_owned(), "text/html".to_owned())],
            fetched_at: at(0),
        }
    }

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).expect("a time of the test")
    }

    #[test]
    fn a_kept_page_comes_back_and_nobody_else_may_read_it() {
        let dir = tempfile::tempdir().expect("a scratch folder");
        let mut kept = PageCache::read(dir.path());
        kept.put(page("a"), b"body", at(1)).expect("kept");
        kept.write().expect("written");
        let mut again = PageCache::read(dir.path());
        assert_eq!(again.pages(), [page("a")]);
        assert_eq!(again.body(&page("a").url, at(2)).as_deref(), Some(&b"body"[..]));
        assert_eq!(again.body(&page("b").url, at(2)), None);
        for (name, mode) in [(".state", 0o700), (".state/pages.json", 0o600), (".state/page-00.zst", 0o600)] {
            let found = fs::metadata(dir.path().join(name)).expect("it is there").permissions().mode() & 0o777;
            assert_eq!(found, mode, "{name}");
        }
    }

    #[test]
    fn a_body_that_is_not_the_pages_is_not_given_out() {
        let dir = tempfile::tempdir().expect("a scratch folder");
        let mut kept = PageCache::read(dir.path());
        kept.put(page("a"), b"body", at(1)).expect("kept");
        kept.write().expect("written");
        // As after a crash: the next page took the place, and the index was never written.
        let mut crashed = PageCache { dir: dir.path().to_owned(), entries: Vec::new(), changed: false };
        crashed.put(page("b"), b"other", at(2)).expect("kept");
        assert_eq!(PageCache::read(dir.path()).body(&page("a").url, at(3)), None);
        fs::write(dir.path().join(".state/pages.json"), "{").expect("a scratch file");
        assert!(PageCache::read(dir.path()).pages().is_empty(), "what is damaged is nothing");
    }

    #[test]
    fn the_oldest_gives_way_by_count_and_by_size() {
        let dir = tempfile::tempdir().expect("a scratch folder");
        let mut kept = PageCache::read(dir.path());
        for n in 0..70 {
            kept.put(page(&n.to_string()), b"small", at(n)).expect("kept");
        }
        assert_eq!(kept.pages().len(), MAX_PAGES);
        assert_eq!(kept.body(&page("5").url, at(100)), None, "the oldest six are gone");
        assert!(kept.body(&page("6").url, at(100)).is_some());
        kept.put(page("huge"), &vec![0; CachedPage::MAX_BODY_BYTES + 1], at(101)).expect("left out");
        assert_eq!(kept.body(&page("huge").url, at(102)), None);
        for n in 0..20 {
            kept.put(page(&format!("large{n}")), &vec![0; CachedPage::MAX_BODY_BYTES], at(200 + n)).expect("kept");
        }
        assert!(kept.all_bytes() <= MAX_ALL_BYTES);
        let files = fs::read_dir(dir.path().join(".state")).expect("the folder").count();
        assert_eq!(files, kept.pages().len(), "no file stays behind");
    }

    #[test]
    fn robots_of_few_origins_are_kept() {
        let dir = tempfile::tempdir().expect("a scratch folder");
        let of = |n: usize| RobotsTxt {
            origin: format!("https://{n}.test"),
            text: format!("Disallow: /{n}"),
            fetched_at: at(0),
        };
        for n in 0..20 {
            write_robots(dir.path(), vec![of(n)]).expect("written");
        }
        let kept = read_robots(dir.path());
        assert_eq!((kept.len(), &kept[0]), (MAX_ROBOTS, &of(19)));
    }
}
