//! DNS rebinding with a real DNS server, in a network namespace of its own: the first answers of a name are public, the
//! later ones are not. Whatever a run asks for, it reaches public addresses only.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use nix::sched::{CloneFlags, unshare};

use super::super::files::books;
use super::super::stage::Stage;

/// Every address of these networks is this machine in the namespace, but no interface has it: pieme counts them as
/// public or private by themselves. No packet leaves the namespace, which has no other interface.
const NETWORKS: &str = "set -e; mount --make-rprivate /; ip link set lo up
for net in 45.33.0.0/16 10.0.0.0/8 169.254.0.0/16; do ip route add local $net dev lo; done
mount --bind \"$1\" \"$(readlink -f /etc/resolv.conf)\"";
const DNS: Ipv4Addr = Ipv4Addr::new(45, 33, 0, 53);
const PUBLIC: Ipv4Addr = Ipv4Addr::new(45, 33, 0, 66);
/// How long a connection that was made takes to be seen.
const SOON: Duration = Duration::from_secs(5);

#[test]
fn a_name_that_changes_its_address_reaches_only_addresses_that_were_checked() {
    // A thread has namespaces of its own, and so have the processes and threads that it starts.
    std::thread::spawn(|| match enter_namespaces() {
        Ok(()) => attack(),
        Err(why) => eprintln!("left out: no network namespace can be made here: {why}"),
    })
    .join()
    .expect("no panic");
}

fn enter_namespaces() -> Result<(), String> {
    unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS).map_err(|errno| errno.to_string())?;
    let servers = tempfile::NamedTempFile::new().expect("a scratch file");
    std::fs::write(servers.path(), format!("nameserver {DNS}\n")).expect("a file of ours");
    let made = Command::new("sh").args(["-c", NETWORKS, "sh"]).arg(servers.path()).output();
    let made = made.map_err(|error| error.to_string())?;
    if made.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&made.stderr).into_owned()) }
}

fn attack() {
    let names = UdpSocket::bind((DNS, 53)).expect("the port is free in a new namespace");
    std::thread::spawn(move || answer_names(&names));
    let web = TcpListener::bind("0.0.0.0:80").expect("the port is free in a new namespace");
    let (tell, reached) = channel();
    std::thread::spawn(move || serve(&web, &tell));
    let stage = Stage::new();
    stage.revoke_private();
    for (private, sentence) in [
        ("127.0.0.1", "not a public address"),
        ("10.0.0.5", "not a public address"),
        ("169.254.169.254", "a cloud metadata address"),
    ] {
        // Before robots.txt, before the page, before the next page.
        for public_answers in 0..4 {
            let name = format!("{public_answers}-{}.example", private.replace('.', "-"));
            let task = format!("url = \"http://{name}/1\"\n[fetch]\nretries = 0\ndelay = \"0s\"\n");
            stage.write("tasks/rebound/task.toml", &task);
            let verdict = stage.pieme(&["run", "rebound", "--json"]).json();
            let said = verdict["sentence"].as_str().unwrap_or_default();
            assert_eq!(verdict["outcome"], "failed", "{name}: {verdict}");
            assert!(said.contains(private) && said.contains(sentence), "{name}: {said}");
            let found: Vec<Ipv4Addr> = reached.try_iter().collect();
            assert_eq!(found, vec![PUBLIC; public_answers], "{name}: {said}");
        }
    }
    control(&reached);
}

/// Without the guard the same names lead to private addresses.
fn control(reached: &Receiver<Ipv4Addr>) {
    for expected in [PUBLIC, Ipv4Addr::new(10, 0, 0, 5)] {
        TcpStream::connect(("1-10-0-0-5.control.example", 80)).expect("somebody listens");
        assert_eq!(reached.recv_timeout(SOON), Ok(expected));
    }
}

/// `N-A-B-C-D.example` has N public answers, then A.B.C.D.
fn answer_names(socket: &UdpSocket) {
    let (mut asked, mut query) = (HashMap::<String, u32>::new(), [0; 512]);
    while let Ok((len, from)) = socket.recv_from(&mut query) {
        let name_end = 12 + query[12..len].iter().position(|&byte| byte == 0).expect("a name ends") + 1;
        let (name, is_v4) = (String::from_utf8_lossy(&query[13..name_end]).into_owned(), query[name_end + 1] == 1);
        let first = name.split(|c: char| c.is_control()).next().unwrap_or_default();
        let numbers: Vec<u8> = first.split('-').filter_map(|part| part.parse().ok()).collect();
        let mut address = None;
        if let ([public, a, b, c, d], true) = (&numbers[..], is_v4) {
            let count = asked.entry(name.clone()).or_default();
            *count += 1;
            let is_public = *count <= u32::from(*public);
            address = Some(if is_public { PUBLIC } else { Ipv4Addr::new(*a, *b, *c, *d) });
        }
        let mut answer = query[..2].to_vec();
        answer.extend([0x81, 0x80, 0, 1, 0, u8::from(address.is_some()), 0, 0, 0, 0]);
        answer.extend(&query[12..name_end + 4]);
        if let Some(address) = address {
            // The name of the question, A, IN, no time to live.
            answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4]);
            answer.extend(address.octets());
        }
        let _ = socket.send_to(&answer, from);
    }
}

/// A list whose every page has a next one. Tells which address each connection came for.
fn serve(listener: &TcpListener, tell: &Sender<Ipv4Addr>) {
    for stream in listener.incoming().flatten() {
        let Ok(std::net::SocketAddr::V4(local)) = stream.local_addr() else { continue };
        let _ = tell.send(*local.ip());
        let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
        let path = lines.next().and_then(|line| Some(line.split(' ').nth(1)?.to_owned())).unwrap_or_default();
        lines.take_while(|line| !line.is_empty()).for_each(drop);
        let page: usize = path.trim_start_matches('/').parse().unwrap_or(0);
        let body = if page == 0 { String::new() } else { books(page, Some(&format!("/{}", page + 1))) };
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length";
        let _ = (&stream).write_all(format!("{head}: {}\r\n\r\n{body}", body.len()).as_bytes());
    }
}
