//! Starts Chromium for one run, and ends it with all its child processes.
//!
//! It is controlled over two pipes, not over a port: a debugging port on loopback is open to every user of the machine.
//! A Chromium whose pipes close ends by itself, which also covers a SIGKILL of our own process. All its processes stay
//! in the run's process group, so that the parent's kill of the group ends them. Only its two crash handlers leave the
//! group; they end when the others are gone (measured: 0.3 to 0.4 s after the kill), and the parent kills them, too.

use std::ffi::OsStr;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nix::unistd::geteuid;
use tempfile::TempDir;

use super::BrowserPaths;
use crate::robot::error::SessionError;

/// This program; with [`LAUNCH_BROWSER`] it confines itself and becomes Chromium.
const THIS_PROGRAM: &str = "/proc/self/exe";
/// The argument that makes the program a launcher of Chromium.
pub const LAUNCH_BROWSER: &str = "launch-browser";

/// Chromium's program names in the distributions.
const PROGRAMS: &[&str] = &["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
/// A run has an empty environment, hence no PATH.
const FOLDERS: &[&str] = &["/usr/local/bin", "/usr/bin", "/bin", "/snap/bin"];
/// How often and how long the removal of a temporary profile waits for Chromium's other processes.
const REMOVAL_TRIES: u32 = 40;
const REMOVAL_PAUSE: Duration = Duration::from_millis(50);
/// How much of its stderr is read when it does not start.
const MAX_STDERR_BYTES: usize = 64 << 10;

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

/// A Chromium for one run. It is started before the run's process enters the sandbox, in which it could start none, and
/// taken when the first page is needed. A problem is reported then, too.
pub struct LaunchedBrowser(Mutex<Option<Result<Chromium, SessionError>>>);

impl LaunchedBrowser {
    pub fn launch(paths: BrowserPaths<'_>) -> LaunchedBrowser {
        LaunchedBrowser(Mutex::new(Some(Chromium::start(paths))))
    }

    pub(super) fn take(&self) -> Result<Chromium, SessionError> {
        let gone = || Err(SessionError::BrowserStart("it was started already".to_owned()));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_else(gone)
    }
}

/// A running Chromium.
pub(super) struct Chromium {
    child: Child,
    pub(super) pipes: Option<(ChildStdin, ChildStdout)>,
    /// Of its proxy; Chromium's first connection waits until the proxy accepts.
    pub(super) listener: Option<TcpListener>,
    /// Its stderr, for the error message when it does not start.
    stderr: fs::File,
    /// Removed when Chromium ends. A run's profile is removed by the parent.
    profile: Option<TempDir>,
}

impl Chromium {
    fn start(paths: BrowserPaths<'_>) -> Result<Chromium, SessionError> {
        let program = find_program(paths.program)?;
        // Chromium has no sandbox of its own as root.
        if geteuid().is_root() && !IS_UNIT_TEST {
            return Err(SessionError::BrowserAsRoot);
        }
        let failed = |error: std::io::Error| SessionError::BrowserStart(error.to_string());
        let temporary = if paths.scratch.is_none() { Some(temporary_profile().map_err(failed)?) } else { None };
        let folder = temporary.as_ref().map(TempDir::path).or(paths.scratch).unwrap_or(Path::new("/"));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let open = || fs::OpenOptions::new().read(true).append(true).create(true).open(folder.join("stderr"));
        let stderr = open().map_err(failed)?;
        let mut command = command(&program, folder, port);
        command.stderr(stderr.try_clone().map_err(failed)?);
        let mut child = command.spawn().map_err(failed)?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        Ok(Chromium { child, pipes, listener: Some(listener), stderr, profile: temporary })
    }

    /// Why it did not start: the telling line of its stderr.
    pub(super) fn startup_error(&self) -> String {
        let mut said = vec![0; MAX_STDERR_BYTES];
        let length = self.stderr.read_at(&mut said, 0).unwrap_or(0);
        said.truncate(length);
        let said = String::from_utf8_lossy(&said);
        let telling =
            |line: &&str| ["FATAL", "sandbox", "cannot", "not found", "Failed to"].iter().any(|it| line.contains(it));
        let line = said.lines().filter(|line| !line.contains("dbus")).find(telling);
        line.or_else(|| said.lines().last()).unwrap_or("it printed no error").trim().to_owned()
    }
}

impl Drop for Chromium {
    /// It ends by itself when its pipes close. In a run's sandbox nothing here is allowed, and the parent does it.
    fn drop(&mut self) {
        if let Some(profile) = self.profile.take() {
            let _ = self.child.kill();
            let _ = self.child.wait();
            // Its other processes may still write.
            for _ in 0..REMOVAL_TRIES {
                if fs::remove_dir_all(profile.path()).is_ok() {
                    break;
                }
                std::thread::sleep(REMOVAL_PAUSE);
            }
        }
    }
}

/// The unit tests attack this engine from inside the test runner, which is no launcher, and which may be root.
const IS_UNIT_TEST: bool = cfg!(test);

fn command(program: &Path, profile: &Path, port: u16) -> Command {
    let mut command = if IS_UNIT_TEST {
        let (shell, words) = shell_command_of_browser(program);
        let mut command = Command::new(shell);
        command.args(words).args(geteuid().is_root().then_some("--no-sandbox"));
        command
    } else {
        let mut command = Command::new(THIS_PROGRAM);
        command.arg(LAUNCH_BROWSER).arg(port.to_string()).arg(profile).arg(program);
        command
    };
    command
        .args(SWITCHES)
        .arg(format!("--proxy-server=http://{}", SocketAddr::from((Ipv4Addr::LOCALHOST, port))))
        .arg(format!("--user-data-dir={}", profile.display()))
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("LANG", "C.UTF-8")
        .envs(["HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"].map(|it| (it, profile)))
        .envs(["DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS"].map(|it| (it, "disabled:")))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    command
}

/// The shell that executes Chromium with its pipes in place, and the words before Chromium's switches.
pub fn shell_command_of_browser(program: &Path) -> (&'static str, [&OsStr; 4]) {
    ("/bin/sh", [OsStr::new("-c"), OsStr::new(MOVE_PIPES), OsStr::new("sh"), program.as_os_str()])
}

/// A new folder in the system's temporary folder.
fn temporary_profile() -> std::io::Result<TempDir> {
    tempfile::Builder::new().prefix("pieme-browser-").tempdir()
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
