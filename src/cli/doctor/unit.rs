//! Reads the systemd unit and checks that it permits what the configuration needs.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::config::Config;
use crate::model::StoreAddress;

const UNIT: &str = "pieme-daemon.service";
const PROPERTIES: &str = "LoadState,ActiveState,SubState,Result,NRestarts,NeedDaemonReload,User,ExecStart,\
                          ProtectSystem,StateDirectory,RuntimeDirectory,ReadWritePaths,NoExecPaths,ExecPaths";

/// The unit's properties, as `systemctl show` prints them.
pub(super) struct SystemdUnit(HashMap<String, String>);

impl SystemdUnit {
    /// None on a machine without systemd, or without the unit.
    pub fn query() -> Option<SystemdUnit> {
        if !Path::new("/run/systemd/system").is_dir() {
            return None;
        }
        let shown = Command::new("systemctl").args(["show", UNIT, "--property", PROPERTIES]).output().ok()?;
        SystemdUnit::read(&String::from_utf8_lossy(&shown.stdout))
    }

    fn read(shown: &str) -> Option<SystemdUnit> {
        let pairs = shown.lines().filter_map(|line| line.split_once('='));
        let unit = SystemdUnit(pairs.map(|(key, value)| (key.to_owned(), value.trim().to_owned())).collect());
        (unit.get("LoadState") == "loaded").then_some(unit)
    }

    fn get(&self, key: &str) -> &str {
        self.0.get(key).map_or("", String::as_str)
    }

    pub fn user(&self) -> &str {
        self.get("User")
    }

    /// Problems of the unit, each with what to do.
    pub fn faults(&self, config: &Config) -> Vec<String> {
        let mut faults = Vec::new();
        if self.get("NeedDaemonReload") == "yes" {
            faults.push(
                "the unit file has changed since systemd read it: type `sudo systemctl daemon-reload`".to_owned(),
            );
        }
        if matches!(self.get("ActiveState"), "failed" | "activating") {
            let (result, restarts) = (self.get("Result"), self.get("NRestarts"));
            faults.push(format!(
                "the service is not running ({result}, restarts: {restarts}): see `journalctl -u pieme-daemon -n 20`"
            ));
        }
        faults.extend(self.unwritable_paths(config).into_iter().map(|(key, path)| {
            let shown = path.display();
            format!(
                "{key} is at {shown}, where the unit does not allow the daemon to write: add `[Service]` and \
                 `ReadWritePaths={shown}` with `sudo systemctl edit pieme-daemon`, or move it below /var/lib/pieme"
            )
        }));
        faults
    }

    /// The configuration that the service is started with.
    pub fn config(&self) -> Option<PathBuf> {
        let (_, after) = self.get("ExecStart").split_once("--config ")?;
        after.split([' ', ';']).next().map(PathBuf::from)
    }

    /// Whether a program at this path may be started.
    pub fn may_execute(&self, program: &Path) -> bool {
        let is_below = |key: &str| self.paths(key).any(|it| program.starts_with(it));
        !is_below("NoExecPaths") || is_below("ExecPaths")
    }

    /// Configured paths that the daemon must write and the unit protects.
    fn unwritable_paths(&self, config: &Config) -> Vec<(&'static str, PathBuf)> {
        if self.get("ProtectSystem") != "strict" {
            return Vec::new();
        }
        let folder = |file: &Path| file.parent().map(Path::to_owned);
        let store = match &config.store {
            StoreAddress::Sqlite(file) => folder(file),
            StoreAddress::Postgres(_) => None,
        };
        let needed = [
            ("tasks", Some(config.tasks.clone())),
            ("state", Some(config.state.clone())),
            ("store", store),
            ("socket", folder(&config.socket)),
        ];
        let of_systemd = |key, home: &str| self.paths(key).map(|it| Path::new(home).join(it)).collect::<Vec<_>>();
        let mut open = of_systemd("StateDirectory", "/var/lib");
        open.extend(of_systemd("RuntimeDirectory", "/run"));
        open.extend(self.paths("ReadWritePaths"));
        let is_open = |path: &Path| open.iter().any(|it| path.starts_with(it));
        let needed = needed.into_iter().filter_map(|(key, path)| Some((key, path?)));
        needed.filter(|(_, path)| !is_open(path)).collect()
    }

    fn paths(&self, key: &str) -> impl Iterator<Item = PathBuf> {
        self.get(key).split_whitespace().map(|it| PathBuf::from(it.trim_start_matches(['-', '+'])))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const SHOWN: &str = "LoadState=loaded\nActiveState=active\nProtectSystem=strict\nStateDirectory=pieme\n\
        RuntimeDirectory=pieme\nReadWritePaths=\nNoExecPaths=/\nExecPaths=/usr/bin/pieme /usr/lib\nUser=pieme\n\
        ExecStart={ path=/usr/bin/pieme-daemon ; argv[]=/usr/bin/pieme-daemon --config /etc/pieme/config.toml ; \
        ignore_errors=no }\n";

    fn config(text: &str) -> Config {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let file = folder.path().join("config.toml");
        fs::write(&file, text).expect("a file");
        Config::load(&file).expect("a configuration")
    }

    #[test]
    fn what_the_unit_shuts_out_is_named_by_its_key() {
        let unit = SystemdUnit::read(SHOWN).expect("it is loaded");
        let sound =
            "tasks = \"/var/lib/pieme/tasks\"\nstate = \"/var/lib/pieme\"\nsocket = \"/run/pieme/control.sock\"\n";
        assert!(unit.faults(&config(sound)).is_empty());
        let elsewhere = format!("{sound}store = \"/srv/pieme/pieme.db\"\n");
        let faults = unit.faults(&config(&elsewhere));
        assert_eq!(faults.len(), 1);
        assert!(faults[0].starts_with("store is at /srv/pieme,"), "{faults:?}");
        assert_eq!(unit.faults(&config("")).len(), 4, "relative paths, as of a clone");
        let opened = SHOWN.replace("ReadWritePaths=", "ReadWritePaths=-/srv/pieme");
        assert!(SystemdUnit::read(&opened).expect("it is loaded").faults(&config(&elsewhere)).is_empty());
    }

    #[test]
    fn the_units_configuration_and_programs_are_read() {
        let unit = SystemdUnit::read(SHOWN).expect("it is loaded");
        assert_eq!(unit.config(), Some(PathBuf::from("/etc/pieme/config.toml")));
        assert!(!unit.may_execute(Path::new("/usr/bin/chromium")));
        assert!(unit.may_execute(Path::new("/usr/bin/pieme")));
        assert!(SystemdUnit::read("LoadState=not-found\n").is_none());
    }

    #[test]
    fn a_service_that_does_not_come_up_is_a_fault() {
        let shown = SHOWN.replace("ActiveState=active", "ActiveState=activating\nResult=exit-code\nNRestarts=3");
        let faults = SystemdUnit::read(&shown).expect("it is loaded").faults(&config(
            "tasks = \"/var/lib/pieme/tasks\"\n\
            state = \"/var/lib/pieme\"\nsocket = \"/run/pieme/control.sock\"\n",
        ));
        assert!(faults[0].contains("exit-code") && faults[0].contains("journalctl"), "{faults:?}");
    }
}
