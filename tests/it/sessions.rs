//! A kept session is used again: log-ins counted by the site.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::stage::Stage;

/// Who is shown what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    /// The log-in page shows its form to everybody.
    FormForAll,
    /// The log-in page sends those who are logged in to the front page.
    Redirect,
    /// The members' page has no form; a stranger gets a short list and a link to the log-in page.
    PublicList,
}

struct Members {
    port: u16,
    log_ins: Arc<AtomicUsize>,
    /// The session that is valid; another one has expired.
    session: Arc<Mutex<usize>>,
}

impl Members {
    fn start(manner: Manner) -> Members {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port of loopback is free");
        let port = listener.local_addr().expect("an address").port();
        let (log_ins, session) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(1)));
        let site = (Arc::clone(&log_ins), Arc::clone(&session));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A client that has left needs no answer.
                let _ = serve(&stream, manner, &site.0, *site.1.lock().expect("nobody panics here"));
            }
        });
        Members { port, log_ins, session }
    }

    fn log_ins(&self) -> usize {
        self.log_ins.load(Ordering::SeqCst)
    }

    fn expire(&self) {
        *self.session.lock().expect("nobody panics here") += 1;
    }
}

fn serve(mut stream: &TcpStream, manner: Manner, log_ins: &AtomicUsize, session: usize) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        head += &line;
        if line == "\r\n" {
            break;
        }
    }
    reader.read_exact(&mut vec![0; length])?;
    let is_member = head.contains(&format!("sid=s{session}"));
    let form = "<form method=post action=/login><input name=user><input type=password name=pw>\
        <button>Log in</button></form>";
    let (status, more, body) = match head.split(' ').take(2).collect::<Vec<_>>()[..] {
        ["POST", "/login"] => {
            log_ins.fetch_add(1, Ordering::SeqCst);
            ("303 See Other", format!("location: /\r\nset-cookie: sid=s{session}; Path=/\r\n"), String::new())
        }
        ["GET", "/login"] if is_member && manner == Manner::Redirect => {
            ("302 Found", "location: /\r\n".to_owned(), String::new())
        }
        ["GET", "/login"] => ("200 OK", String::new(), form.to_owned()),
        ["GET", "/list"] if is_member => ("200 OK", String::new(), list(30) + "<a href=/logout>Log out</a>"),
        ["GET", "/list"] if manner == Manner::PublicList => {
            ("200 OK", String::new(), list(20) + "<a href=/login>Log in</a>")
        }
        ["GET", "/list"] => ("302 Found", "location: /login\r\n".to_owned(), String::new()),
        ["GET", "/"] => ("200 OK", String::new(), "<p>Welcome</p>".to_owned()),
        _ => ("404 Not Found", String::new(), String::new()),
    };
    let body = format!("<html><body>{body}</body></html>");
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: text/html\r\n{more}content-length: {}\r\n", body.len());
    stream.write_all(format!("{head}connection: close\r\n\r\n{body}").as_bytes())
}

fn list(rows: usize) -> String {
    let row = |n: usize| format!("<li class=order><a href=/o/{n}>Order {n}</a> <b class=sum>{n}.50 €</b></li>");
    format!("<h1>Orders</h1><ul class=orders>{}</ul>", (1..=rows).map(row).collect::<String>())
}

fn logs_in_once(manner: Manner) {
    let site = Members::start(manner);
    let stage = Stage::new();
    let origin = format!("http://127.0.0.1:{}", site.port);
    stage.grant_private(&origin);
    stage.write("secrets/members", "open sesame");
    stage.make_private("secrets/members");
    stage.grant("members", &origin);
    stage.write("tasks/orders/task.toml", &format!("url = \"{origin}/list\"\nfetch.delay = \"0s\"\n"));
    let robot = "[[step]]\nlogin = { url = \"/login\", user = \"me\", password = \"${secret:members}\" }\n\
        [[step]]\nget = \"/list\"\n[[step]]\npaginate = {}\n";
    stage.write("tasks/orders/robot.toml", robot);
    let run = || {
        stage.pieme(&["run", "orders"]);
        let said = stage.pieme(&["records", "orders", "--json"]).json();
        (site.log_ins(), said["records"].as_array().map_or(0, Vec::len))
    };
    assert_eq!(run(), (1, 30), "{manner:?}: the first run\n{}", stage.pieme(&["log", "orders"]).stdout);
    assert_eq!(run(), (1, 30), "{manner:?}: the second run\n{}", stage.pieme(&["log", "orders"]).stdout);
    site.expire();
    assert_eq!(run(), (2, 30), "{manner:?}: the session has expired\n{}", stage.pieme(&["log", "orders"]).stdout);
    assert_eq!(run(), (2, 30), "{manner:?}: the new session\n{}", stage.pieme(&["log", "orders"]).stdout);
}

#[test]
fn a_log_in_page_that_shows_its_form_to_everybody_causes_no_second_log_in() {
    logs_in_once(Manner::FormForAll);
}

#[test]
fn a_log_in_page_that_sends_members_away_causes_no_second_log_in() {
    logs_in_once(Manner::Redirect);
}

#[test]
fn an_expired_session_is_noticed_on_a_list_that_everybody_may_see() {
    logs_in_once(Manner::PublicList);
}
