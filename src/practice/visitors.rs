//! Sessions of the practice site: one per cookie, with the CSRF token of its login form.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::http::{HeaderMap, HeaderValue, header};
use uuid::Uuid;

const COOKIE: &str = "practice_session";
const CLUB_COOKIE: &str = "practice_club";
/// Maximum number of sessions; one more removes the oldest.
const MAX_VISITORS: usize = 1_000;

#[derive(Clone)]
pub struct ShopVisitor {
    pub id: String,
    pub csrf: String,
    pub logged_in: bool,
}

#[derive(Default)]
pub struct Visitors(Mutex<VisitorTable>);

#[derive(Default)]
struct VisitorTable {
    by_id: HashMap<String, ShopVisitor>,
    oldest_first: VecDeque<String>,
}

impl Visitors {
    /// The visitor of the request's cookie.
    pub fn find(&self, headers: &HeaderMap) -> Option<ShopVisitor> {
        let id = cookie(headers, COOKIE)?;
        self.table().by_id.get(id).cloned()
    }

    pub fn find_or_create(&self, headers: &HeaderMap) -> ShopVisitor {
        self.find(headers).unwrap_or_else(|| self.create(false))
    }

    /// A new session after the login: the id from before the login becomes invalid (session fixation).
    pub fn log_in(&self, old: &ShopVisitor) -> ShopVisitor {
        self.log_out(old);
        self.create(true)
    }

    pub fn log_out(&self, visitor: &ShopVisitor) {
        self.table().by_id.remove(&visitor.id);
    }

    fn create(&self, logged_in: bool) -> ShopVisitor {
        let token = || Uuid::now_v7().simple().to_string();
        let visitor = ShopVisitor { id: token(), csrf: token(), logged_in };
        let mut book = self.table();
        if book.oldest_first.len() >= MAX_VISITORS
            && let Some(oldest) = book.oldest_first.pop_front()
        {
            book.by_id.remove(&oldest);
        }
        book.oldest_first.push_back(visitor.id.clone());
        book.by_id.insert(visitor.id.clone(), visitor.clone());
        visitor
    }

    fn table(&self) -> MutexGuard<'_, VisitorTable> {
        // No panic can leave the table inconsistent under this lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sessions of the club, each with the number of visits left.
#[derive(Default)]
pub struct Club(Mutex<HashMap<String, u32>>);

impl Club {
    /// The cookie of a session with this number of visits.
    pub fn admit(&self, visits: u32) -> HeaderValue {
        let id = Uuid::now_v7().simple().to_string();
        let mut members = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if members.len() >= MAX_VISITORS {
            members.clear();
        }
        members.insert(id.clone(), visits);
        HeaderValue::from_str(&format!("{CLUB_COOKIE}={id}; Path=/; HttpOnly")).expect("the id is hexadecimal")
    }

    /// Uses one visit; returns false if none is left.
    pub fn visit(&self, headers: &HeaderMap) -> bool {
        let mut members = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let left = cookie(headers, CLUB_COOKIE).and_then(|id| members.get_mut(id));
        left.is_some_and(|left| {
            let may = *left > 0;
            *left = left.saturating_sub(1);
            may
        })
    }
}

impl ShopVisitor {
    pub fn set_cookie(&self) -> HeaderValue {
        let text = format!("{COOKIE}={}; Path=/; HttpOnly; SameSite=Lax", self.id);
        HeaderValue::from_str(&text).expect("the id is hexadecimal")
    }
}

fn cookie<'h>(headers: &'h HeaderMap, wanted: &str) -> Option<&'h str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies.flat_map(|value| value.split(';')).find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        (name.trim() == wanted).then(|| value.trim())
    })
}
