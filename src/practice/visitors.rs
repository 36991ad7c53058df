//! Who is visiting: one session a cookie, with the token its log-in form must send back.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::http::{HeaderMap, HeaderValue, header};
use uuid::Uuid;

const COOKIE: &str = "practice_session";
/// The oldest visitor is forgotten beyond this many, so that nobody can fill the memory.
const MAX_VISITORS: usize = 1_000;

#[derive(Clone)]
pub struct Visitor {
    pub id: String,
    pub csrf: String,
    pub logged_in: bool,
}

#[derive(Default)]
pub struct Visitors(Mutex<Book>);

#[derive(Default)]
struct Book {
    by_id: HashMap<String, Visitor>,
    oldest_first: VecDeque<String>,
}

impl Visitors {
    /// The visitor that the request's cookie names.
    pub fn known(&self, headers: &HeaderMap) -> Option<Visitor> {
        let id = cookie(headers)?;
        self.book().by_id.get(id).cloned()
    }

    pub fn known_or_new(&self, headers: &HeaderMap) -> Visitor {
        self.known(headers).unwrap_or_else(|| self.enter(false))
    }

    /// A session of its own for who has just logged in: the id from before the log-in is worth nothing any more.
    pub fn log_in(&self, old: &Visitor) -> Visitor {
        self.log_out(old);
        self.enter(true)
    }

    pub fn log_out(&self, visitor: &Visitor) {
        self.book().by_id.remove(&visitor.id);
    }

    fn enter(&self, logged_in: bool) -> Visitor {
        let token = || Uuid::now_v7().simple().to_string();
        let visitor = Visitor { id: token(), csrf: token(), logged_in };
        let mut book = self.book();
        if book.oldest_first.len() >= MAX_VISITORS
            && let Some(oldest) = book.oldest_first.pop_front()
        {
            book.by_id.remove(&oldest);
        }
        book.oldest_first.push_back(visitor.id.clone());
        book.by_id.insert(visitor.id.clone(), visitor.clone());
        visitor
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        // Nothing is left half done under this lock, so a panic elsewhere does not spoil it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Visitor {
    pub fn set_cookie(&self) -> HeaderValue {
        let text = format!("{COOKIE}={}; Path=/; HttpOnly; SameSite=Lax", self.id);
        HeaderValue::from_str(&text).expect("the id is hexadecimal")
    }
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies.flat_map(|value| value.split(';')).find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        (name.trim() == COOKIE).then(|| value.trim())
    })
}
