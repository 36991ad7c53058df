//! A server that hangs costs its own tasks their time, and no other site.

use std::net::{Ipv4Addr, TcpListener};

use crate::stage::Stage;

/// A server that accepts every connection and never answers.
fn hung() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    let port = listener.local_addr().expect("a port").port();
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for connection in listener.incoming().flatten() {
            kept.push(connection);
        }
    });
    port
}

#[test]
fn five_tasks_of_a_hung_site_leave_a_slot_to_another_site() {
    let mut stage = Stage::new();
    let port = hung();
    let config = stage.read("config.toml");
    stage.write("config.toml", &format!("max_running = 2\n{config}"));
    stage.grant_private(&format!("127.0.0.1:{port}"));
    for number in 1..=5 {
        let task = format!("url = \"http://127.0.0.1:{port}/{number}\"\nfetch.retries = 0\n");
        stage.write(&format!("tasks/hung-{number}/task.toml"), &task);
    }
    stage.start_daemon();
    let begun = || stage.sql("SELECT count(*) FROM _runs WHERE task LIKE 'hung-%'");
    stage.wait_for("a run at the hung site", || begun() == "1");
    stage.drop_folder("practice-shop");
    stage.wait_for_state("practice-shop", "ok");
    assert_eq!(begun(), "1", "the others wait in the queue");
    let ended = "SELECT count(*) FROM _runs WHERE task LIKE 'hung-%' AND ended IS NOT NULL";
    assert_eq!(stage.sql(ended), "0", "and the shop did not wait for the hung site");
}
