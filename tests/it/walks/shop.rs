//! A shop of five pages on loopback, paged through in several ways; one of its pages can be bad.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

pub const PAGES: usize = 5;
const ROWS_A_PAGE: usize = 10;
/// The last page is shorter.
const LAST_ROWS: usize = 6;
pub const ROWS: usize = (PAGES - 1) * ROWS_A_PAGE + LAST_ROWS;

/// What is wrong with a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An error page with status 200.
    ErrorPage,
    /// The same within the site's frame, with a list of links.
    ErrorPageWithList,
    /// Fewer bytes than announced.
    Cut,
    /// The end is missing between two rows, and nothing announced it.
    CutUnannounced,
    /// Chunks without an end.
    CutChunks,
    /// The frame with its pager, and no row.
    NoRows,
    /// The frame alone: no row, no pager.
    NoRowsNoPager,
    /// Half of the rows, with everything else in place.
    HalfOfRows,
    Status500,
    Status404,
    /// A page of the same site in another template.
    OtherTemplate,
}

pub const FAULTS: [Fault; 11] = [
    Fault::ErrorPage,
    Fault::ErrorPageWithList,
    Fault::Cut,
    Fault::CutUnannounced,
    Fault::CutChunks,
    Fault::NoRows,
    Fault::NoRowsNoPager,
    Fault::HalfOfRows,
    Fault::Status500,
    Fault::Status404,
    Fault::OtherTemplate,
];

/// How the pages are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paging {
    NextLink,
    /// A page parameter, and numbered links on the page.
    Numbers,
    /// A page parameter, and no link.
    Parameter,
    /// A button with an address; the further pages are fragments.
    LoadMore,
    /// JSON with a cursor.
    Cursor,
}

impl Paging {
    pub const ALL: [Paging; 5] =
        [Paging::NextLink, Paging::Numbers, Paging::Parameter, Paging::LoadMore, Paging::Cursor];

    pub fn path(self) -> &'static str {
        match self {
            Paging::NextLink => "/next",
            Paging::Numbers => "/numbers",
            Paging::Parameter => "/parameter",
            Paging::LoadMore => "/more",
            Paging::Cursor => "/cursor",
        }
    }

    pub fn robot(self) -> String {
        let paginate = match self {
            Paging::NextLink | Paging::LoadMore => "{}",
            Paging::Numbers | Paging::Parameter => "{ param = \"page\" }",
            Paging::Cursor => "{ url = \"/cursor?page=${cursor}\", cursor = \"next\" }",
        };
        format!("[[step]]\nget = \"{}\"\n[[step]]\npaginate = {paginate}\n", self.path())
    }
}

/// The bad page, by its number from 1.
type BadPage = Arc<Mutex<Option<(Fault, usize)>>>;

pub struct Shop {
    pub port: u16,
    bad: BadPage,
}

impl Shop {
    pub fn start() -> Shop {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port of loopback is free");
        let port = listener.local_addr().expect("an address").port();
        let bad = BadPage::default();
        let known = Arc::clone(&bad);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let bad = *known.lock().expect("nobody panics here");
                serve(&stream, bad);
            }
        });
        Shop { port, bad }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub fn set_bad(&self, bad: Option<(Fault, usize)>) {
        *self.bad.lock().expect("nobody panics here") = bad;
    }
}

fn serve(mut stream: &TcpStream, bad: Option<(Fault, usize)>) {
    let mut lines = BufReader::new(stream).lines();
    let Some(Ok(first)) = lines.next() else { return };
    lines.by_ref().find(|line| line.as_ref().map_or(true, String::is_empty));
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let answer = answer(&path, bad);
    // A client that has left needs no answer.
    let _ = stream.write_all(answer.as_bytes());
}

fn answer(path: &str, bad: Option<(Fault, usize)>) -> String {
    let Some(paging) = Paging::ALL.into_iter().find(|it| path.starts_with(it.path())) else {
        return response("404 Not Found", "text/html", "<html><h1>404 Not Found</h1></html>");
    };
    let number = path.split_once("page=").and_then(|(_, number)| number.parse().ok()).unwrap_or(1);
    let fault = bad.filter(|(_, page)| *page == number).map(|(fault, _)| fault);
    let kind = if paging == Paging::Cursor { "application/json" } else { "text/html; charset=utf-8" };
    let whole = page(paging, number, fault);
    match fault {
        Some(Fault::ErrorPage) if paging == Paging::Cursor => {
            response("200 OK", kind, "{\"error\":\"something went wrong\"}")
        }
        Some(Fault::ErrorPage) => response("200 OK", kind, ERROR_PAGE),
        Some(Fault::ErrorPageWithList) => response("200 OK", "text/html; charset=utf-8", &error_page_with_list()),
        Some(Fault::Cut) => {
            let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n", whole.len());
            head + cut(&whole)
        }
        Some(Fault::CutUnannounced) => response("200 OK", kind, cut(&whole)),
        Some(Fault::CutChunks) => {
            let half = cut(&whole);
            let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n");
            format!("{head}{:x}\r\n{half}\r\n", half.len())
        }
        Some(Fault::Status500) => response("500 Internal Server Error", kind, ERROR_PAGE),
        Some(Fault::Status404) => response("404 Not Found", kind, ERROR_PAGE),
        Some(Fault::OtherTemplate) => response("200 OK", "text/html; charset=utf-8", OTHER_TEMPLATE),
        Some(Fault::NoRows | Fault::NoRowsNoPager | Fault::HalfOfRows) | None => response("200 OK", kind, &whole),
    }
}

fn response(status: &str, kind: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
}

/// The page up to its middle, which is behind a row.
fn cut(page: &str) -> &str {
    let end_of_row = if page.starts_with('{') { "}," } else { "</li>" };
    let ends: Vec<usize> = page.match_indices(end_of_row).map(|(at, it)| at + it.len()).collect();
    &page[..ends[ends.len() / 2]]
}

fn products(page: usize) -> Vec<usize> {
    let count = match page {
        1..PAGES => ROWS_A_PAGE,
        PAGES => LAST_ROWS,
        _ => 0,
    };
    (1..=count).map(|row| page * 100 + row).collect()
}

fn page(paging: Paging, number: usize, fault: Option<Fault>) -> String {
    let mut products = products(number);
    match fault {
        Some(Fault::NoRows | Fault::NoRowsNoPager) => products.clear(),
        Some(Fault::HalfOfRows) => products.truncate(products.len() / 2),
        _ => {}
    }
    let has_pager = fault != Some(Fault::NoRowsNoPager);
    if paging == Paging::Cursor {
        let row = |id: &usize| format!("{{\"id\":{id},\"name\":\"Lamp {id}\",\"price\":\"{}.50 EUR\"}}", id % 90);
        let rows: Vec<String> = products.iter().map(row).collect();
        let next = if has_pager && number < PAGES { (number + 1).to_string() } else { "null".to_owned() };
        return format!("{{\"items\":[{}],\"next\":{next}}}", rows.join(","));
    }
    let row = |id: &usize| {
        format!(
            "<li class=product><a href=\"/lamp/{id}\"><b>Lamp {id}</b></a> <span class=price>{}.50 €</span> \
             <em class=stock>{} in stock</em></li>\n",
            id % 90,
            id % 7
        )
    };
    let list = format!("<ul class=products>\n{}</ul>", products.iter().map(row).collect::<String>());
    let pager = if has_pager { pager(paging, number) } else { String::new() };
    if paging == Paging::LoadMore && number > 1 {
        return list + &pager;
    }
    framed("Lamps", &format!("<h1>Lamps</h1>\n{pager}{list}"))
}

fn pager(paging: Paging, number: usize) -> String {
    let link = |page: usize, text: &str| format!("<a href=\"{}?page={page}\">{text}</a> ", paging.path());
    match paging {
        Paging::NextLink if number < PAGES => {
            format!("<div class=pager>{}</div>", link(number + 1, "Next"))
        }
        Paging::Numbers => {
            let others = (1..=PAGES).filter(|it| *it != number);
            format!("<div class=pages>{}</div>", others.map(|page| link(page, &page.to_string())).collect::<String>())
        }
        Paging::LoadMore if number < PAGES => {
            format!("<button type=button data-url=\"{}?page={}\">Load more</button>", paging.path(), number + 1)
        }
        Paging::NextLink | Paging::LoadMore | Paging::Parameter | Paging::Cursor => String::new(),
    }
}

fn framed(title: &str, content: &str) -> String {
    format!(
        "<!doctype html><html><head><title>{title}</title></head><body>\n\
         <nav><ul><li><a href=\"/\">Home</a></li><li><a href=\"/lamps\">Lamps</a></li>\
         <li><a href=\"/chairs\">Chairs</a></li></ul></nav>\n{content}\n\
         <footer><p>Lamps and chairs since 1987</p></footer></body></html>"
    )
}

const ERROR_PAGE: &str = "<!doctype html><html><head><title>Something went wrong</title></head><body>\
    <h1>Something went wrong</h1><p>Please try again in some minutes.</p></body></html>";

/// The links are written like the rows.
fn error_page_with_list() -> String {
    let row = |name: &str| {
        format!(
            "<li class=product><a href=\"/{name}\"><b>{name}</b></a> <span class=price>1.50 €</span> \
             <em class=stock>1 in stock</em></li>\n"
        )
    };
    let list: String = ["Favourites", "Bestseller"].map(row).concat();
    framed("Internal server error", &format!("<h1>Internal server error</h1><ul class=products>{list}</ul>"))
}

const OTHER_TEMPLATE: &str = "<!doctype html><html><head><title>Lamps</title></head><body><main>\
    <article><h2>Our magazine</h2><p>How to choose a lamp for a desk.</p></article>\
    <article><h2>Opening hours</h2><p>Nine to five on every working day.</p></article>\
    <article><h2>About us</h2><p>Lamps and chairs since 1987.</p></article></main></body></html>";
