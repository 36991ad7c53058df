//! The HTTP server of `/metrics` and `/healthz`, if `metrics` is set in config.toml. It is read-only.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use chrono::Utc;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use crate::config::Config;
use crate::store::{Store, StoreError};

use super::connections::LimitedListener;
use super::host_metrics::HostMetrics;
use super::metrics::{DaemonMetrics, MetricsText, print_tasks};
use super::serve::serve;
use crate::daemon::store_handle::StoreHandle;
use crate::daemon::threads::blocking;

/// Connections at the same time; further clients wait.
const MOST_CONNECTIONS: usize = 32;
/// Reading ten thousand folders keeps the loop busy for some seconds.
const MAX_LAG: Duration = Duration::from_secs(15);
/// A write to the store takes milliseconds, or waits for a long publication.
const STORE_TIMEOUT: Duration = Duration::from_secs(5);
/// Each health check of the store is a disk write, so its result is cached: clients cannot cause more writes than this.
const HEALTH_CACHE_TIME: Duration = Duration::from_secs(2);

struct MetricsServer {
    config: Arc<Config>,
    store: StoreHandle,
    metrics: Arc<DaemonMetrics>,
    only_loopback: bool,
    /// The last health check of the store, and when it was.
    store_health: Mutex<Option<(Instant, Result<(), String>)>>,
}

/// Serves until the daemon ends.
pub async fn listen(
    address: SocketAddr,
    config: Arc<Config>,
    store_handle: StoreHandle,
    figures: Arc<DaemonMetrics>,
) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(address).await?;
    let at = listener.local_addr()?;
    config.grants.add_daemon_port(at.port());
    if !at.ip().is_loopback() {
        tracing::warn!(
            "metrics listen on {at}, not on loopback: anyone who can reach it can read the names of the tasks"
        );
    }
    let listening = figures.listeners.register("metrics");
    let desk = MetricsServer {
        config,
        store: store_handle,
        metrics: figures,
        only_loopback: at.ip().is_loopback(),
        store_health: Mutex::default(),
    };
    let desk = Arc::new(desk);
    let router = Router::new()
        .route("/metrics", get(metrics))
        .route("/healthz", get(health))
        .layer(middleware::from_fn_with_state(Arc::clone(&desk), check_host))
        .with_state(desk);
    let listener = LimitedListener::new(listener, MOST_CONNECTIONS, listening);
    tokio::spawn(serve(listener, router));
    Ok(at)
}

/// Middleware: Host allow-list against DNS rebinding, when the server listens on loopback only.
async fn check_host(State(desk): State<Arc<MetricsServer>>, request: Request, next: Next) -> Response {
    if desk.only_loopback && !is_loopback_host(request.headers()) {
        return (StatusCode::FORBIDDEN, "forbidden: request this by its IP address or as localhost\n").into_response();
    }
    next.run(request).await
}

/// Whether the Host header names loopback.
pub fn is_loopback_host(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST).and_then(|host| host.to_str().ok()) else { return false };
    let address = host.parse::<SocketAddr>().map(|it| it.ip()).or_else(|_| host.trim_matches(['[', ']']).parse());
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    address.is_ok_and(|it: IpAddr| it.is_loopback()) || name == "localhost"
}

#[derive(Deserialize)]
struct MetricsQuery {
    /// `/metrics?tasks=0` leaves the lines of each task out.
    tasks: Option<u8>,
}

async fn metrics(State(desk): State<Arc<MetricsServer>>, Query(wanted): Query<MetricsQuery>) -> Response {
    let mut page = MetricsText::default();
    desk.metrics.print(&mut page);
    let (address, state) = (desk.config.store.clone(), desk.config.state.clone());
    let with_tasks = wanted.tasks != Some(0);
    // A reader of its own, so that the store's thread is not blocked.
    let read = blocking(move || {
        let store = Store::open_reader(&address)?;
        let tasks = if with_tasks { store.tasks()? } else { Vec::new() };
        Ok::<_, StoreError>((tasks, store.pending_deliveries()?, store.file_bytes()))
    });
    let (read, host, store) =
        tokio::join!(read, blocking(move || HostMetrics::measure(&state)), desk.check_store_writable());
    let one = |value: u64| [(String::new(), value as f64)];
    page.gauge(
        "pieme_store_up",
        "1 when the database accepts writes, 0 when it does not.",
        one(u64::from(store.is_ok())),
    );
    match host {
        Ok(host) => host.print(&mut page),
        Err(error) => tracing::warn!("host metrics left out: {error}"),
    }
    match read {
        Ok(Ok((tasks, waiting, size))) => {
            page.gauge("pieme_alerts_waiting", "Alerts that wait for delivery.", one(waiting));
            // Only for SQLite; a database server reports its own size.
            if let Some((file, log)) = size {
                page.gauge("pieme_store_size_bytes", "Size of the database with its write-ahead log.", one(file + log));
            }
            if with_tasks {
                print_tasks(&mut page, &desk.config.tasks, &tasks, Utc::now());
            }
        }
        Ok(Err(error)) => tracing::warn!("task metrics left out: {error}"),
        Err(error) => tracing::warn!("task metrics left out: {error}"),
    }
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], page.0).into_response()
}

async fn health(State(desk): State<Arc<MetricsServer>>) -> Response {
    let store = desk.check_store_writable().await;
    let (status, body) = health_of(desk.metrics.lag(), &store, &desk.metrics.listeners.all());
    (status, Json(body)).into_response()
}

fn health_of(lag: Duration, store: &Result<(), String>, listeners: &[(&str, Option<String>)]) -> (StatusCode, Value) {
    let ok = lag <= MAX_LAG && store.is_ok() && listeners.iter().all(|(_, trouble)| trouble.is_none());
    let said = |trouble: &Option<String>| trouble.clone().unwrap_or_else(|| "ok".to_owned());
    let listeners: BTreeMap<&str, String> = listeners.iter().map(|(name, trouble)| (*name, said(trouble))).collect();
    let body = json!({
        "ok": ok,
        "version": env!("CARGO_PKG_VERSION"),
        "scheduler_lag_seconds": lag.as_secs_f64(),
        "store": store.as_ref().map_or_else(String::as_str, |()| "ok"),
        "listeners": listeners,
    });
    (if ok { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, body)
}

impl MetricsServer {
    async fn check_store_writable(&self) -> Result<(), String> {
        let mut last = self.store_health.lock().await;
        if let Some((at, found)) = last.as_ref()
            && at.elapsed() < HEALTH_CACHE_TIME
        {
            return found.clone();
        }
        let write = self.store.call(|store| store.record_alive(Utc::now()));
        let found = match timeout(STORE_TIMEOUT, write).await {
            Ok(done) => done.map_err(|error| error.to_string()),
            Err(_) => Err(format!("no answer for {} s", STORE_TIMEOUT.as_secs())),
        };
        *last = Some((Instant::now(), found.clone()));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_loop_a_store_that_takes_no_writes_and_a_dead_listener_are_no_health() {
        let seconds = Duration::from_secs;
        let dead = Some("it has ended".to_owned());
        for (lag, store, listener, code) in [
            (seconds(0), Ok(()), None, 200),
            (seconds(15), Ok(()), None, 200),
            (seconds(16), Ok(()), None, 503),
            (seconds(0), Err("full".to_owned()), None, 503),
            (seconds(0), Ok(()), dead, 503),
        ] {
            let (status, body) = health_of(lag, &store, &[("control", listener)]);
            assert_eq!((status.as_u16(), &body["ok"]), (code, &json!(code == 200)), "{lag:?} {store:?}: {body}");
        }
    }

    #[test]
    fn only_loopback_itself_is_answered_on_loopback() {
        for (host, is_ours) in [
            ("127.0.0.1:9642", true),
            ("127.0.0.1", true),
            ("localhost:9642", true),
            ("[::1]:9642", true),
            ("evil.test", false),
            ("evil.test:9642", false),
            ("127.0.0.1.evil.test:9642", false),
            ("192.168.0.7:9642", false),
        ] {
            let headers = HeaderMap::from_iter([(header::HOST, host.parse().expect("a header"))]);
            assert_eq!(is_loopback_host(&headers), is_ours, "{host}");
        }
        assert!(!is_loopback_host(&HeaderMap::new()));
    }
}
