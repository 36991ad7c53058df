//! An open page follows changes: new rows, a daemon that stops and comes back.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use super::super::stage::{Stage, signal_process};
use super::{Browser, keep_pictures, logged_in, open};

const SHOP: &str = "practice-shop";
const LIVE: &str = "document.documentElement.dataset.live === 'yes'";
const BANNER: &str = "document.querySelector('#lost')?.offsetHeight > 0";
const STATE: &str = "document.querySelector('#task-practice-shop .state')";

/// A relay with a constant address before the dashboard, which may move or be down. A port that a daemon gives up could
/// be taken by others.
struct Relay {
    url: String,
    path: Arc<Mutex<Path>>,
}

#[derive(Default)]
struct Path {
    /// Address of the dashboard; none: it is down.
    to: Option<String>,
    open: Vec<TcpStream>,
}

impl Relay {
    fn start(dashboard: &str) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port of loopback is free");
        let url = format!("http://{}/", listener.local_addr().expect("it is bound"));
        let relay = Relay { url, path: Arc::default() };
        relay.lead_to(dashboard);
        let path = Arc::clone(&relay.path);
        std::thread::spawn(move || listener.incoming().flatten().for_each(|stream| pass_on(stream, &path)));
        relay
    }

    fn lead_to(&self, dashboard: &str) {
        let address = dashboard.trim().trim_start_matches("http://").trim_end_matches('/').to_owned();
        self.path.lock().expect("nobody panics here").to = Some(address);
    }

    /// Closes the open connections too.
    fn cut(&self) {
        let mut path = self.path.lock().expect("nobody panics here");
        path.to = None;
        path.open.drain(..).for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
    }
}

fn pass_on(from: TcpStream, path: &Mutex<Path>) {
    let mut path = path.lock().expect("nobody panics here");
    let Some(to) = path.to.as_ref().and_then(|to| TcpStream::connect(to).ok()) else { return };
    for (mut one, mut other) in
        [(&from, &to), (&to, &from)].map(|(a, b)| (a.try_clone(), b.try_clone())).into_iter().flat_map(both)
    {
        path.open.extend(one.try_clone());
        std::thread::spawn(move || {
            let _ = io::copy(&mut one, &mut other);
            let _ = other.shutdown(Shutdown::Both);
        });
    }
}

fn both((one, other): (io::Result<TcpStream>, io::Result<TcpStream>)) -> Option<(TcpStream, TcpStream)> {
    Some((one.ok()?, other.ok()?))
}

/// The status page with the shop in state `ok`, seen through a relay.
fn looking() -> (Stage, Relay, Browser) {
    let mut stage = Stage::new();
    stage.drop_folder(SHOP);
    let relay = Relay::start(&open(&mut stage));
    stage.wait_for_state(SHOP, "ok");
    let mut browser = logged_in(&relay.url);
    browser.wait_for("the state", &format!("{STATE}?.textContent === 'ok' && {LIVE}"));
    assert_eq!(browser.eval(BANNER), false, "{}", browser.text());
    browser.eval("window.isSame = true");
    (stage, relay, browser)
}

/// The colours of the shop's state.
fn colours(browser: &mut Browser) -> String {
    browser.eval(&format!("{{ const it = getComputedStyle({STATE}); it.color + it.backgroundColor }}")).to_string()
}

#[test]
fn the_first_rows_appear_without_a_reload() {
    let mut stage = Stage::new();
    stage.drop_folder(SHOP);
    let file = "tasks/practice-shop/task.toml";
    let task = stage.read(file);
    stage.write(file, &format!("enabled = false\n{task}"));
    let url = open(&mut stage);
    stage.wait_for_state(SHOP, "paused");
    let mut browser = logged_in(&url);
    browser.goto(&format!("{url}task/{SHOP}"));
    assert!(browser.text().contains("Nothing is published yet"), "{}", browser.text());
    browser.wait_for("news to be heard", LIVE);
    keep_pictures(&mut browser, "rows-none");
    browser.eval("window.isSame = true");
    stage.write(file, &task);
    browser.wait_for("its rows", "document.querySelectorAll('#sheet tbody tr').length === 48");
    browser.wait_for("its facts", "document.querySelector('#facts').innerText.includes('48 rows')");
    assert!(!browser.text().contains("Nothing is published yet"), "{}", browser.text());
    assert_eq!(browser.eval("document.querySelector('#q').offsetHeight > 0"), true, "rows can be filtered");
    assert_eq!(browser.eval("window.isSame"), true, "without a new page");
}

#[test]
fn a_lost_connection_is_said_and_the_page_catches_up_by_itself() {
    let (stage, relay, mut browser) = looking();
    let green = colours(&mut browser);
    relay.cut();
    browser.wait_for("the banner", BANNER);
    assert!(browser.text_of("#lost").contains("does not answer"), "{}", browser.text_of("#lost"));
    stage.wait_for("what is not known any more to be grey", || colours(&mut browser) != green);
    keep_pictures(&mut browser, "lost");
    assert_eq!(stage.pieme(&["pause", SHOP]).code, 0);
    relay.lead_to(&stage.read("state/web-url"));
    browser.wait_for("the new state", &format!("{STATE}?.textContent === 'paused' && {LIVE}"));
    assert_eq!(browser.eval(BANNER), false, "{}", browser.text());
    assert_eq!(browser.eval("window.isSame"), true, "without a new page");
}

#[test]
fn a_page_outlives_the_daemon_and_goes_on_with_the_next_one() {
    let (mut stage, relay, mut browser) = looking();
    browser.goto(&format!("{}?q=shop", relay.url));
    browser.wait_for("news to be heard", LIVE);
    relay.cut();
    stage.signal_daemon("-KILL");
    stage.daemon_ended();
    browser.wait_for("the banner", BANNER);
    std::fs::remove_file(stage.path("state/web-url")).expect("the dead daemon's address");
    stage.start_daemon();
    stage.wait_for("the dashboard", || !stage.read("state/web-url").is_empty());
    relay.lead_to(&stage.read("state/web-url"));
    browser.wait_for(
        "the page of before",
        &format!("location.search === '?q=shop' && {STATE}?.textContent === 'ok' && {LIVE}"),
    );
    assert_eq!(browser.eval(BANNER), false, "{}", browser.text());
}

#[test]
fn a_daemon_that_hangs_is_not_alive() {
    let (stage, _relay, mut browser) = looking();
    let green = colours(&mut browser);
    stage.signal_daemon("-STOP");
    browser.wait_for("the banner", BANNER);
    stage.wait_for("it to be grey", || colours(&mut browser) != green);
    signal_process(stage.daemon_pid(), "-CONT");
    browser.wait_for("it to be back", &format!("{STATE}?.textContent === 'ok' && {LIVE}"));
    stage.wait_for("it to be green", || colours(&mut browser) == green);
    assert_eq!(browser.eval("window.isSame"), true, "the log-in is still good");
}
