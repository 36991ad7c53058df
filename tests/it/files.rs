//! An HTTP server for a fixed set of pages; every other path is 404.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Pages by path, served on loopback until the test ends.
pub struct Files {
    port: u16,
    pages: Arc<Mutex<BTreeMap<String, String>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Files {
    pub fn serve<const N: usize>(pages: [(&str, String); N]) -> Files {
        let pages: BTreeMap<String, String> = pages.into_iter().map(|(path, text)| (path.to_owned(), text)).collect();
        let pages = Arc::new(Mutex::new(pages));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port of loopback is free");
        let port = listener.local_addr().expect("it is bound").port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (notes, served) = (Arc::clone(&asked), Arc::clone(&pages));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let Some(path) = path_of(&stream) else { continue };
                notes.lock().expect("no test panics with it").push(path.clone());
                let answer = answer(served.lock().expect("no test panics with it").get(&path));
                let _ = (&stream).write_all(answer.as_bytes());
            }
        });
        Files { port, pages, asked }
    }

    /// The site changes: another page stands there from now on.
    pub fn put(&self, path: &str, page: String) {
        self.pages.lock().expect("no test panics with it").insert(path.to_owned(), page);
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Number of requests for paths with this prefix.
    pub fn asked(&self, beginning: &str) -> usize {
        self.asked.lock().expect("no test panics with it").iter().filter(|path| path.starts_with(beginning)).count()
    }
}

fn path_of(stream: &TcpStream) -> Option<String> {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next()?.ok()?;
    // Reads to the end of the headers: closing a socket with unread bytes resets the connection.
    lines.map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
    Some(first.split(' ').nth(1)?.to_owned())
}

fn answer(text: Option<&String>) -> String {
    let (status, text) = text.map_or(("404 Not Found", "<h1>Not found</h1>"), |text| ("200 OK", text));
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}", text.len());
    format!("{head}\r\nConnection: close\r\n\r\n{text}")
}

/// A page of twenty books with a link to the next page.
pub fn books(page: usize, next: Option<&str>) -> String {
    let book = |i: usize| {
        format!(
            "<article class=product><h3><a href='book-{i}.html'>Book number {i}</a></h3><p class=price>£{}.50</p>\
             <p class=stock>{} in stock</p></article>",
            10 + i,
            i * 3 % 17
        )
    };
    let rows: String = (20 * (page - 1)..20 * page).map(book).collect();
    let next = next.map(|to| format!("<ul class=pager><li class=next><a href='{to}'>next</a></li></ul>"));
    let next = next.unwrap_or_default();
    format!("<!DOCTYPE html><html><title>Books</title><h1>All books</h1><section>{rows}</section>{next}</html>")
}
