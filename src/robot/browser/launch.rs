//! Starts Chromium for one run, and ends it with all its child processes.
//!
//! It is controlled over two pipes, not over a port: a debugging port on loopback is open to every user of the machine.
//! A Chromium whose pipes close ends by itself, which also covers a SIGKILL of our own process. All its processes stay
//! in the run's process group, so that the parent's kill of the group ends them. Only its two crash handlers leave the
//! group; they end when the others are gone (measured: 0.3 to 0.4 s after the kill).

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};
use tempfile::TempDir;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::process_tree::{is_alive, process_and_descendants};
use crate::robot::error::SessionError;

/// Chromium's program names in the distributions.
const PROGRAMS: &[&str] = &["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
/// A run has an empty environment, hence no PATH.
const FOLDERS: &[&str] = &["/usr/local/bin", "/usr/bin", "/bin", "/snap/bin"];
/// In its profile Chromium creates `/org.chromium.Chromium.123456/SingletonSocket`, and a socket's path has at most 107
/// bytes.
const MAX_PROFILE_PATH: usize = 107 - 45;
/// How long its helper processes get to end before their profile is removed.
const EXIT_GRACE: Duration = Duration::from_secs(2);
/// How much of its stderr is read when it does not start.
const MAX_STDERR_BYTES: u64 = 64 << 10;

/// Chromium expects its pipes at the descriptors 3 and 4; without `unsafe`, a child can only be given 0, 1 and 2.
const MOVE_PIPES: &str = r#"exec "$@" 3<&0 4>&1 0</dev/null 1>/dev/null"#;

const SWITCHES: &[&str] = &[
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-startup-window",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--window-size=1280,1024",
    "--lang=en",
    "--mute-audio",
    // No dialogs, first-run pages or reports.
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-component-extensions-with-background-pages",
    "--disable-sync",
    "--disable-notifications",
    "--password-store=basic",
    "--use-mock-keychain",
    // No connections of its own, and none past the proxy.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-client-side-phishing-detection",
    "--metrics-recording-only",
    "--no-pings",
    "--disable-quic",
    "--dns-prefetch-disable",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp", // its former name
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--disable-features=Translate,OptimizationHints,MediaRouter,DialMediaRouteProvider,NetworkPrediction,Prerender2,\
     AutofillServerCommunication,CertificateTransparencyComponentUpdater,HttpsUpgrades,\
     HttpsFirstBalancedModeAutoEnable,PrivacySandboxSettings4,InterestFeedContentSuggestions,WebOTP,\
     SpareRendererForSitePerProcess,EncryptedClientHello",
    // Pages in the background are not throttled.
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--blink-settings=imagesEnabled=false",
    "--disk-cache-size=33554432",
];

/// A running Chromium.
pub struct Chromium {
    child: Child,
    profile: Option<TempDir>,
    /// Its stderr, for the error message when it does not start.
    stderr_file: PathBuf,
    /// Whether Chromium's own sandbox is on.
    pub sandboxed: bool,
}

impl Chromium {
    /// `program` is the one of config.toml; without it, the first that is found. The profile is a new folder in
    /// `scratch`.
    pub fn start(
        program: Option<&Path>,
        scratch: Option<&Path>,
        proxy: SocketAddr,
    ) -> Result<(Chromium, ChildStdin, ChildStdout), SessionError> {
        let program = find_program(program)?;
        let failed = |error: std::io::Error| SessionError::BrowserStart(error.to_string());
        let profile = profile(scratch).map_err(failed)?;
        let words = profile.path().join("stderr");
        let sandboxed = !geteuid().is_root();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", MOVE_PIPES, "sh"]).arg(&program).args(SWITCHES);
        command.arg(format!("--proxy-server=http://{proxy}"));
        command.arg(format!("--user-data-dir={}", profile.path().display()));
        if !sandboxed {
            // As root, Chromium refuses to start with its sandbox.
            command.arg("--no-sandbox");
        }
        command
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("LANG", "C.UTF-8")
            .envs(
                ["HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"]
                    .map(|it| (it, profile.path())),
            )
            .envs(["DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS"].map(|it| (it, "disabled:")))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(&words).map_err(failed)?)
            .kill_on_drop(true);
        let mut child = command.spawn().map_err(failed)?;
        let to = child.stdin.take().expect("stdin is piped");
        let from = child.stdout.take().expect("stdout is piped");
        Ok((Chromium { child, profile: Some(profile), stderr_file: words, sandboxed }, to, from))
    }

    /// Why it did not start: the telling line of its stderr.
    pub fn startup_error(&self) -> String {
        use std::io::Read;
        let mut said = String::new();
        let read =
            fs::File::open(&self.stderr_file).and_then(|file| file.take(MAX_STDERR_BYTES).read_to_string(&mut said));
        // Output that is not UTF-8 is ignored.
        drop(read);
        let telling =
            |line: &&str| ["FATAL", "sandbox", "cannot", "not found", "Failed to"].iter().any(|it| line.contains(it));
        let line = said.lines().filter(|line| !line.contains("dbus")).find(telling);
        line.or_else(|| said.lines().last()).unwrap_or("it printed no error").trim().to_owned()
    }

    /// Kills it with all its descendants, and removes its profile.
    pub async fn end(&mut self) {
        let Some(root) = self.child.id() else { return };
        let Some(profile) = self.profile.take() else { return };
        let family = process_and_descendants(root, profile.path());
        for &pid in &family {
            // An error means that the process is gone already.
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        let _ = self.child.wait().await;
        let gone = async {
            while family.iter().any(|&pid| is_alive(pid)) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        // A process that is left is killed with the run's process group.
        let _ = tokio::time::timeout(EXIT_GRACE, gone).await;
        // Files that are left are removed with the run's scratch folder.
        let _ = profile.close();
    }
}

/// A new folder in `scratch`, or in the system's temporary folder if that path is too long.
fn profile(scratch: Option<&Path>) -> std::io::Result<TempDir> {
    let mut name = tempfile::Builder::new();
    name.prefix("b").rand_bytes(4);
    match scratch.filter(|folder| folder.as_os_str().len() + "/b1234".len() <= MAX_PROFILE_PATH) {
        Some(folder) => name.tempdir_in(folder),
        None => name.prefix("pieme-browser-").tempdir(),
    }
}

pub fn find_program(told: Option<&Path>) -> Result<PathBuf, SessionError> {
    if let Some(told) = told {
        return if told.is_file() {
            Ok(told.to_owned())
        } else {
            Err(SessionError::NoSuchBrowser(told.display().to_string()))
        };
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).chain(FOLDERS.iter().map(PathBuf::from)).collect();
    let places = PROGRAMS.iter().flat_map(|program| folders.iter().map(move |folder| folder.join(program)));
    places.into_iter().find(|place| place.is_file()).ok_or(SessionError::NoBrowser)
}
