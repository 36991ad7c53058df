//! Binds the sockets of the dashboard and the search page, and retries while an address is taken. Runs do not depend on
//! it.

use std::future::Future;
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::Router;
use tokio::net::{TcpListener, UnixListener};
use tokio::time::sleep;

use crate::config::{ListenAddress, LiveGrants};
use crate::daemon::http::connections::{LimitedListener, ListenerHealth};
use crate::daemon::http::serve as http;

/// Each open page holds one connection for its events, and a browser opens six at a time.
const MOST_CONNECTIONS: usize = 256;
/// Pause before an address that is taken is tried again.
const RETRY_DELAY: Duration = Duration::from_secs(10);
/// The socket's group may connect: a reverse proxy belongs to it.
const SOCKET_MODE: u32 = 0o660;

/// Serves until the daemon ends, and writes the address to the file `note`. No task reaches the port.
pub(super) fn serve(
    place: ListenAddress,
    router: Router,
    note: PathBuf,
    mut listening: ListenerHealth,
    grants: LiveGrants,
) {
    tokio::spawn(async move {
        match &place {
            ListenAddress::Off => {}
            ListenAddress::Tcp(address) => {
                let listener = until_open(&place, &mut listening, || TcpListener::bind(address)).await;
                if let Ok(at) = listener.local_addr() {
                    grants.add_daemon_port(at.port());
                    report_open(&format!("http://{at}/"), at.ip().is_loopback(), &note);
                }
                http::serve(LimitedListener::new(listener, MOST_CONNECTIONS, listening), router).await;
            }
            ListenAddress::Unix(path) => {
                let listener = until_open(&place, &mut listening, || async { open_socket(path) }).await;
                report_open(&place.to_string(), true, &note);
                http::serve(LimitedListener::new(listener, MOST_CONNECTIONS, listening), router).await;
            }
        }
    });
}

async fn until_open<T, F: Future<Output = io::Result<T>>>(
    place: &ListenAddress,
    listening: &mut ListenerHealth,
    open: impl Fn() -> F,
) -> T {
    let mut said = false;
    loop {
        let opened = open().await;
        listening.report_open(opened.as_ref().map(|_| ()));
        match opened {
            Ok(listener) => return listener,
            Err(error) if said => tracing::debug!(%place, %error, "web server: cannot listen"),
            Err(error) => {
                said = true;
                let retry_s = RETRY_DELAY.as_secs();
                tracing::error!(%place, %error, retry_s, "web server: cannot listen; retrying");
            }
        }
        sleep(RETRY_DELAY).await;
    }
}

fn open_socket(path: &Path) -> io::Result<UnixListener> {
    // A killed daemon leaves its socket behind. Any other kind of file is not removed.
    if path.symlink_metadata().is_ok_and(|meta| meta.file_type().is_socket()) {
        std::fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(SOCKET_MODE))?;
    Ok(listener)
}

fn report_open(url: &str, is_here: bool, note: &Path) {
    tracing::info!(%url, "web server: listening");
    if !is_here {
        tracing::warn!(
            "web server: reachable from other machines without TLS, so a password can be intercepted; \
             put a web server with TLS in front of it (docs/dashboard.md)"
        );
    }
    if let Err(error) = std::fs::write(note, format!("{url}\n")) {
        tracing::debug!(file = %note.display(), %error, "web server: address file not written");
    }
}
