//! What the hostile child does. It writes frames by hand: a kind (one byte), two lengths (big endian), JSON, raw bytes.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use chrono::Utc;
use pieme::model::{CachedPage, Failure, PageMeta, RobotsTxt, TraceLine, Verdict};
use pieme::protocol::{FetchRequest, RunMessage};

use super::home;

pub const TEMPLATE: &str = include_str!("../../../../tasks/practice-shop/template.json");

pub struct Attack {
    pub name: &'static str,
    /// How the run must end: outcome and cause.
    pub outcome: &'static str,
    /// A part of its sentence.
    pub sentence: &'static str,
    act: fn(&mut Child) -> io::Result<()>,
}

const fn attack(
    name: &'static str,
    outcome: &'static str,
    sentence: &'static str,
    act: fn(&mut Child) -> io::Result<()>,
) -> Attack {
    Attack { name, outcome, sentence, act }
}

/// Those that break no rule end when the child reports.
const DONE: &str = "the attack is over";
const CRASH: &str = "failed crash";
const REPORTED: &str = "failed network";

pub const ATTACKS: &[Attack] = &[
    // What a real run of a large list sends: batches of 1 MiB and 1,000 rows, 20 pages of up to 8 MiB.
    attack("honest", REPORTED, DONE, Child::honest),
    attack("everything", REPORTED, DONE, Child::everything),
    attack("rows-many", REPORTED, DONE, |child| child.rows(1_000, 1, "")),
    attack("rows-tiny-cells", REPORTED, DONE, |child| child.rows(160, 500, "\"\"")),
    attack("rows-short-cells", REPORTED, DONE, |child| child.rows(160, 500, "\"ab\"")),
    attack("rows-long-cells", REPORTED, DONE, |child| child.rows(1, 2, &long_cell())),
    attack("rows-too-many-cells", CRASH, "rows", |child| child.rows(4_000, 500, "\"\"")),
    attack("rows-empty", REPORTED, DONE, |child| child.flood(ROWS, &empty_rows(), &[])),
    attack("traces", CRASH, "trace", |child| child.send_for_ever(TRACE, &json(&trace(&"x".repeat(8_000))), &[])),
    attack("trace-unknown-verb", CRASH, "trace.verb", |child| {
        child.send(TRACE, &json(&trace("x")).replace(r#""get""#, r#""pwned""#), &[])
    }),
    attack("pages", CRASH, "page", Child::pages),
    attack("page-headers", CRASH, "page", |child| child.send_for_ever(PAGE, &json(&page_with_headers()), &[])),
    attack("robots", CRASH, "robots.txt", |child| child.send_for_ever(ROBOTS, &json(&robots()), &[])),
    attack("cached-pages", CRASH, "cached page", |child| {
        child.send_for_ever(CACHE_PAGE, &json(&cached()), &noise(2 << 20))
    }),
    attack("bodies-not-read", "failed timeout", "", Child::bodies),
    attack("turns-not-read", "failed timeout", "", |child| child.flood(REQUEST, &json(&turn()), &[])),
    attack("connections-not-read", "failed timeout", "", Child::connections),
    attack("progress", REPORTED, DONE, |child| {
        child.flood(PROGRESS, &json(&RunMessage::Progress { pages: 1, rows: 1 }), &[])
    }),
    attack("template-unasked", CRASH, "was not asked for", |child| child.send(TEMPLATE_KIND, &json(&template()), &[])),
    attack("template-damaged", CRASH, "template", |child| {
        child.send(TEMPLATE_KIND, &json(&RunMessage::Learned { template: "{\"version\": 1}".to_owned() }), &[])
    }),
    attack("template-twice", CRASH, "template", |child| child.flood(TEMPLATE_KIND, &json(&template()), &[])),
    attack("cookies-twice", CRASH, "cookies", |child| {
        child.flood(COOKIES, &json(&RunMessage::Cookies { json: "[]".to_owned() }), &[])
    }),
    attack("end-too-large", CRASH, "end", |child| {
        let sentence = "x".repeat(8 << 20);
        child.send(END, &json(&RunMessage::End(Verdict::failed(Failure::Http, sentence))), &[])
    }),
    attack("half-frame", CRASH, "", |child| child.half_frame(PAGE)),
    attack("frame-of-4-gib", CRASH, "over the limit", |child| child.header(ROWS, u32::MAX, u32::MAX)),
    attack("deep-json", CRASH, "JSON values", |child| child.send(ROWS, &"[".repeat(2_000_000), &[])),
    attack("other-kind", CRASH, "another kind", |child| child.send(TRACE, &json(&turn()), &[])),
    attack("unknown-kind", CRASH, "unknown kind", |child| child.send(99, "{}", &[])),
    attack("not-json", CRASH, "invalid", |child| child.send(END, "\u{1b}[2J", &[])),
    attack("state-of-a-step", CRASH, "does not belong to its job", |child| child.send(STATE, "{}", &[])),
];

const REQUEST: u8 = 3;
const TRACE: u8 = 4;
const PAGE: u8 = 5;
const ROWS: u8 = 6;
const PROGRESS: u8 = 7;
const COOKIES: u8 = 8;
const TEMPLATE_KIND: u8 = 9;
const CACHE_PAGE: u8 = 11;
const ROBOTS: u8 = 12;
const END: u8 = 13;
const STATE: u8 = 14;

/// The whole child: reads nothing but its job, attacks, and reports if it still can.
pub fn run() {
    let home = home();
    let read = |name: &str| std::fs::read_to_string(home.join("hostile").join(name)).expect("the test wrote it");
    let pipe = OpenOptions::new().write(true).open("/proc/self/fd/3").expect("the parent's pipe");
    let seconds: u64 = read("seconds").parse().expect("a number");
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut child = Child { pipe, until, port: read("site").parse().expect("a port") };
    // Something of the job: the parent writes it at once.
    let _ = io::stdin().read(&mut [0; 9]);
    let name = read("attack");
    let attack = ATTACKS.iter().find(|it| it.name == name).expect("a known attack");
    // A closed pipe: the parent has had enough.
    if (attack.act)(&mut child).is_ok() {
        let verdict = Verdict::failed(Failure::Network, DONE);
        let _ = child.send(END, &json(&RunMessage::End(verdict)), &[]);
    }
}

pub struct Child {
    pipe: File,
    until: Instant,
    port: u16,
}

impl Child {
    fn header(&mut self, kind: u8, json: u32, raw: u32) -> io::Result<()> {
        let mut header = vec![kind];
        header.extend(json.to_be_bytes());
        header.extend(raw.to_be_bytes());
        self.pipe.write_all(&header)
    }

    fn send(&mut self, kind: u8, json: &str, raw: &[u8]) -> io::Result<()> {
        self.header(kind, json.len() as u32, raw.len() as u32)?;
        self.pipe.write_all(json.as_bytes())?;
        self.pipe.write_all(raw)
    }

    /// The same message again and again, as fast as the parent takes it.
    fn flood(&mut self, kind: u8, json: &str, raw: &[u8]) -> io::Result<()> {
        while Instant::now() < self.until {
            self.send(kind, json, raw)?;
        }
        Ok(())
    }

    /// Until the parent has had enough.
    fn send_for_ever(&mut self, kind: u8, json: &str, raw: &[u8]) -> io::Result<()> {
        loop {
            self.send(kind, json, raw)?;
        }
    }

    /// Messages of this many rows and cells, each another record: what is equal is not written.
    fn rows(&mut self, rows: usize, cells: usize, cell: &str) -> io::Result<()> {
        let mut record = 0_u64;
        while Instant::now() < self.until {
            self.send(ROWS, &rows_json(&mut record, rows, cells, cell), &[])?;
        }
        Ok(())
    }

    fn honest(&mut self) -> io::Result<()> {
        let meta = || page(Vec::new());
        for index in 0..20 {
            let bytes = if index == 0 { 8 << 20 } else { 2 << 20 };
            self.send(PAGE, &json(&RunMessage::Page { index, meta: meta() }), &noise(bytes))?;
        }
        let mut record = 0;
        let cell = format!("\"{}\"", "x".repeat(65));
        while Instant::now() < self.until {
            self.send(ROWS, &rows_json(&mut record, 1_000, 15, &cell), &[])?;
        }
        Ok(())
    }

    /// The most of every kind that the budgets allow, in turns.
    fn everything(&mut self) -> io::Result<()> {
        let (mut record, mut round) = (0, 0);
        let (page_body, cached_body, cell) = (noise(8 << 20), noise(2 << 20), long_cell());
        while Instant::now() < self.until {
            for (rows, cells, cell) in [(1_000, 1, ""), (160, 500, "\"ab\""), (1, 2, &*cell)] {
                self.send(ROWS, &rows_json(&mut record, rows, cells, cell), &[])?;
            }
            if round < 80 {
                self.send(TRACE, &json(&trace(&"\u{1}".repeat(8_000))), &[])?;
            }
            if round < 31 {
                let meta = PageMeta { saved_as: Some("page".to_owned()), ..page(Vec::new()) };
                self.send(PAGE, &json(&RunMessage::Page { index: 1_000 + round, meta }), &page_body)?;
                self.send(CACHE_PAGE, &json(&cached()), &cached_body)?;
            }
            if round < 3 {
                self.send(ROBOTS, &json(&robots()), &[])?;
            }
            round += 1;
        }
        Ok(())
    }

    fn pages(&mut self) -> io::Result<()> {
        let body = noise(8 << 20);
        for index in 0.. {
            // As saved pages, of which there may be a thousand.
            let meta = PageMeta { saved_as: Some("page".to_owned()), ..page(Vec::new()) };
            self.send(PAGE, &json(&RunMessage::Page { index: 1_000 + index % 1_000, meta }), &body)?;
        }
        Ok(())
    }

    /// Asks for a large cached page again and again, and reads no answer.
    fn bodies(&mut self) -> io::Result<()> {
        self.send(CACHE_PAGE, &json(&cached()), &noise(2 << 20))?;
        self.flood(REQUEST, &json(&RunMessage::Request(FetchRequest::Body { url: address() })), &[])
    }

    fn connections(&mut self) -> io::Result<()> {
        for question in 0..900_000 {
            let request = FetchRequest::Connect { question, host: "127.0.0.1".to_owned(), port: self.port };
            self.send(REQUEST, &json(&RunMessage::Request(request)), &[])?;
        }
        Ok(())
    }

    fn half_frame(&mut self, kind: u8) -> io::Result<()> {
        self.header(kind, 1_000, 8 << 20)?;
        self.pipe.write_all(b"{\"page\":")?;
        Err(io::ErrorKind::BrokenPipe.into())
    }
}

fn json(message: &RunMessage) -> String {
    serde_json::to_string(message).expect("plain data")
}

/// Bytes that cannot be compressed.
fn noise(len: usize) -> Vec<u8> {
    let mut dice = crate::promises::Dice(7);
    (0..len / 8).flat_map(|_| dice.next().to_ne_bytes()).collect()
}

fn address() -> url::Url {
    "https://site.example/page".parse().expect("an address")
}

fn trace(text: &str) -> RunMessage {
    RunMessage::Trace(TraceLine { at: Utc::now(), step: 1, verb: "get".to_owned(), text: text.to_owned() })
}

fn page(headers: Vec<(String, String)>) -> PageMeta {
    PageMeta { url: address(), status: 200, headers, fetched_at: Utc::now(), elapsed_ms: 1, saved_as: None }
}

fn page_with_headers() -> RunMessage {
    RunMessage::Page { index: 0, meta: page(vec![("server".to_owned(), "x".repeat(2_000_000))]) }
}

fn robots() -> RunMessage {
    let text = "x".repeat(RobotsTxt::MAX_BYTES);
    RunMessage::Robots(RobotsTxt { origin: "https://site.example".to_owned(), text, fetched_at: Utc::now() })
}

fn cached() -> RunMessage {
    RunMessage::CachePage(CachedPage {
        url: address(),
        etag: None,
        last_modified: None,
        request_digest: 1,
        headers: Vec::new(),
        fetched_at: Utc::now(),
    })
}

fn turn() -> RunMessage {
    RunMessage::Request(FetchRequest::Turn { host: "site.example".to_owned(), delay_ms: 0 })
}

fn template() -> RunMessage {
    RunMessage::Learned { template: TEMPLATE.to_owned() }
}

fn long_cell() -> String {
    format!("\"{}\"", "x".repeat(2_000_000))
}

fn rows_json(record: &mut u64, rows: usize, cells: usize, cell: &str) -> String {
    let columns: Vec<String> = (0..cells).map(|n| format!("\"c{n}\"")).collect();
    let mut row = || {
        *record += 1;
        format!("{{\"cells\":[\"{record}\"{}],\"page\":0}}", format!(",{cell}").repeat(cells - 1))
    };
    let rows: Vec<String> = (0..rows).map(|_| row()).collect();
    format!("{{\"rows\":{{\"columns\":[{}],\"rows\":[{}]}}}}", columns.join(","), rows.join(","))
}

/// A thousand rows without a cell in a table of 500 columns: small here, large on the disk.
fn empty_rows() -> String {
    let columns: Vec<String> = (0..500).map(|n| format!("\"c{n}\"")).collect();
    let rows = vec![r#"{"cells":[],"page":0}"#; 1_000];
    format!("{{\"rows\":{{\"columns\":[{}],\"rows\":[{}]}}}}", columns.join(","), rows.join(","))
}
