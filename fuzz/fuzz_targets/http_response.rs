//! Raw bytes as what a server sends to a run: a page within the size limit, or a sentence, and the run ends in time.

#![no_main]

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

use libfuzzer_sys::fuzz_target;
use pieme::model::{AddressGrants, Page, Script, Task, TraceLine};
use pieme::page::Tree;
use pieme::robot::{
    Arrival, ConnectFuture, Connector, HostFuture, LinksError, Observer, PageRows, RecordLink, RunHost, WalkInput,
    walk_with_host,
};
use tokio::net::TcpStream;

const MAX_PAGE: usize = 64 << 10;
const TASK: &str = "url = 'http://shop.test/'\nlimits.max_page_bytes = '64K'\nlimits.max_requests = 12\n\
                    fetch.retries = 0\nfetch.delay = '0s'\nfetch.robots_txt = false\n";
/// The deadline of the run, and what it may take beyond it.
const PATIENCE: Duration = Duration::from_secs(2);
const SLACK: Duration = Duration::from_secs(2);

/// Every connection leads to a server that sends the bytes and closes.
struct Wire(Arc<[u8]>);

impl Connector for Wire {
    fn open(&self, _host: &str, _port: u16, _patience: Duration) -> ConnectFuture {
        let bytes = Arc::clone(&self.0);
        Box::pin(async move {
            let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
            let address = server.local_addr().expect("it is bound");
            std::thread::spawn(move || {
                // A client that has read enough hangs up.
                let _ = server.accept().and_then(|(mut stream, _)| {
                    stream.set_read_timeout(Some(PATIENCE))?;
                    stream.set_write_timeout(Some(PATIENCE))?;
                    let _ = stream.read(&mut [0; 4096])?;
                    stream.write_all(&bytes)
                });
            });
            Ok(TcpStream::connect(address).await.expect("it listens"))
        })
    }
}

struct Host(Arc<[u8]>);

impl RunHost for Host {
    fn acquire_turn<'h>(&'h mut self, _host: &'h str, _delay: Duration) -> HostFuture<'h, Duration> {
        Box::pin(std::future::ready(Duration::ZERO))
    }

    fn finish_turn(&mut self, _pause: Duration) {}

    fn connector(&self) -> Option<Arc<dyn Connector>> {
        Some(Arc::new(Wire(Arc::clone(&self.0))))
    }
}

struct Seen;

impl Observer for Seen {
    fn page(&mut self, page: &Page, _tree: &Tree, _with: &[(String, String)], _arrival: Arrival) -> PageRows {
        assert!(page.body.len() <= MAX_PAGE, "{} bytes", page.body.len());
        assert!(page.meta.header("set-cookie").is_none());
        PageRows { all: 1, new: 1 }
    }

    fn links(&mut self, _column: Option<&str>) -> Result<Vec<RecordLink>, LinksError> {
        Ok(Vec::new())
    }

    fn detail(&mut self, _record: usize, _page: &Page, _tree: &Tree) {}
    fn save(&mut self, _page: &Page, _name: &str) {}
    fn trace(&mut self, _line: TraceLine) {}
}

fuzz_target!(|bytes: &[u8]| {
    let task: Task = toml::from_str(TASK).expect("a task of ours");
    let (script, started) = (Script::default(), Instant::now());
    let order = WalkInput {
        task: &task,
        script: &script,
        addresses: &AddressGrants::default(),
        secrets: &BTreeMap::new(),
        files: &BTreeMap::new(),
        cookies: None,
        deadline: started + PATIENCE,
        browser: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let outcome = runtime.block_on(walk_with_host(Box::new(Host(bytes.into())), order, &mut Seen));
    assert!(started.elapsed() < PATIENCE + SLACK, "{:?}", started.elapsed());
    if let Err(trouble) = outcome.result {
        assert!(!trouble.sentence.is_empty());
        assert!(trouble.page.is_none_or(|page| page.body.len() <= MAX_PAGE));
    }
});
