//! Sets up the daemon's log: lines on a terminal, fields for the systemd journal, JSON elsewhere.

use std::io::{self, IsTerminal};

use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, fmt};

use crate::config::LogFormat;
use crate::model::for_terminal;

/// The filter without `RUST_LOG`. The scheduler logs each job that it creates at `info`. notify warns of folders that
/// were removed while it watched them, as the drafts of `pieme add` are.
const DEFAULT_FILTER: &str = "info,tokio_cron_scheduler=warn,notify=error";

/// Sets the log up once for the whole process. `RUST_LOG` chooses what is logged.
pub fn start(format: LogFormat) -> io::Result<()> {
    let filter = filter(std::env::var(EnvFilter::DEFAULT_ENV).ok().as_deref());
    let layer = match resolve_format(format) {
        LogFormat::Journal => tracing_journald::layer()?.boxed(),
        LogFormat::Json => fmt::layer().json().with_writer(io::stderr).boxed(),
        LogFormat::Human | LogFormat::Auto => {
            fmt::layer().with_target(false).with_ansi(io::stderr().is_terminal()).with_writer(|| SafeStderr).boxed()
        }
    };
    tracing_subscriber::registry().with(layer.with_filter(filter)).try_init().map_err(io::Error::other)
}

/// The logger writes each line at once. Text of a site in it has no effect on a terminal.
struct SafeStderr;

impl io::Write for SafeStderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::stderr().write_all(for_terminal(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

fn resolve_format(format: LogFormat) -> LogFormat {
    match format {
        LogFormat::Auto if std::env::var_os("JOURNAL_STREAM").is_some() => LogFormat::Journal,
        LogFormat::Auto if io::stderr().is_terminal() => LogFormat::Human,
        LogFormat::Auto => LogFormat::Json,
        said => said,
    }
}

/// The filter of `RUST_LOG`, or the default where that is empty or invalid.
fn filter(asked: Option<&str>) -> EnvFilter {
    let asked = asked.filter(|it| !it.trim().is_empty()).and_then(|it| EnvFilter::try_new(it).ok());
    asked.unwrap_or_else(|| EnvFilter::new(DEFAULT_FILTER))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    fn logged(asked: Option<&str>) -> String {
        let written = Arc::new(Mutex::new(Vec::new()));
        let writer = Arc::clone(&written);
        let layer = fmt::layer().with_writer(move || Pen(Arc::clone(&writer))).with_filter(filter(asked));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            tracing::info!(target: "tokio_cron_scheduler::job_scheduler", "Uninited");
            tracing::warn!(target: "tokio_cron_scheduler::job_scheduler", "in trouble");
            tracing::info!("ready");
            tracing::debug!("a detail");
        });
        let bytes = written.lock().expect("nobody panics").clone();
        String::from_utf8(bytes).expect("text")
    }

    struct Pen(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Pen {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("nobody panics").extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_scheduler_is_heard_only_in_trouble_unless_somebody_asks_for_more() {
        for (asked, lines) in [
            (None, vec!["in trouble", "ready"]),
            (Some(""), vec!["in trouble", "ready"]),
            (Some("=,="), vec!["in trouble", "ready"]),
            (Some("info"), vec!["Uninited", "in trouble", "ready"]),
            (Some("debug"), vec!["Uninited", "in trouble", "ready", "a detail"]),
            (Some("error"), vec![]),
        ] {
            let log = logged(asked);
            let found: Vec<&str> =
                ["Uninited", "in trouble", "ready", "a detail"].into_iter().filter(|line| log.contains(line)).collect();
            assert_eq!(found, lines, "RUST_LOG = {asked:?}: {log}");
        }
    }
}
