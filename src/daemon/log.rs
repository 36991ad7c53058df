//! Where the daemon's log goes: a terminal reads lines, the journal gets fields, everything else gets JSON.

use std::io::{self, IsTerminal};

use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, fmt};

use crate::config::LogFormat;

/// Sets the log up once for the whole process. `RUST_LOG` chooses what is logged, `info` by default.
pub fn start(format: LogFormat) -> io::Result<()> {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let layer = match settle(format) {
        LogFormat::Journal => tracing_journald::layer()?.boxed(),
        LogFormat::Json => fmt::layer().json().with_writer(io::stderr).boxed(),
        LogFormat::Human | LogFormat::Auto => {
            fmt::layer().with_target(false).with_ansi(io::stderr().is_terminal()).with_writer(io::stderr).boxed()
        }
    };
    tracing_subscriber::registry().with(layer.with_filter(filter)).try_init().map_err(io::Error::other)
}

fn settle(format: LogFormat) -> LogFormat {
    match format {
        LogFormat::Auto if std::env::var_os("JOURNAL_STREAM").is_some() => LogFormat::Journal,
        LogFormat::Auto if io::stderr().is_terminal() => LogFormat::Human,
        LogFormat::Auto => LogFormat::Json,
        said => said,
    }
}
