use std::fs;

use super::*;

#[test]
fn a_system_file_that_is_passed_over_is_named() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let (here, system) = (folder.path().join("config.toml"), folder.path().join("etc.toml"));
    assert_eq!(shadowed_note(&here, &system), None);
    fs::write(&here, "").expect("a file");
    assert_eq!(shadowed_note(&here, &system), None, "there is no choice");
    std::os::unix::fs::symlink(&here, &system).expect("a link");
    assert_eq!(shadowed_note(&here, &system), None, "it is the same file");
    fs::remove_file(&system).expect("a link");
    fs::write(&system, "").expect("a file");
    let note = shadowed_note(&here, &system).unwrap_or_default();
    assert!(note.starts_with(&format!("{} is used, not {}", here.display(), system.display())), "{note}");
}

#[test]
fn the_config_file_we_ship_says_the_defaults() {
    let text = include_str!("../../config.toml");
    let shipped: RawConfig = toml::from_str(text).expect("our own file");
    let store = Some("state/pieme.db".to_owned());
    let socket = Some(PathBuf::from("state/control.sock"));
    // The one grant of the file is that of the practice site.
    let private = [("practice-*".to_owned(), vec!["127.0.0.1:8643".to_owned()])].into();
    let web = Some(ListenAddress::default());
    assert_eq!(shipped, RawConfig { store, socket, web, private, ..RawConfig::default() });
    let empty: RawConfig = toml::from_str("").expect("every key has a default");
    assert_eq!(empty, RawConfig::default());
    // Complete: every key that there is stands in it.
    let every = RawConfig {
        store: Some(String::new()),
        socket: Some(PathBuf::new()),
        web: Some(ListenAddress::Off),
        ..RawConfig::default()
    };
    let keys = toml::Table::try_from(every).expect("plain data");
    for (name, value) in &keys {
        let tables = value.as_table().into_iter().flat_map(|table| table.iter());
        let inner = tables.filter(|(_, value)| !value.is_table()).map(|(key, _)| key);
        for key in inner.chain([name].into_iter().filter(|_| !value.is_table())) {
            assert!(text.lines().any(|line| line.starts_with(&format!("{key} = "))), "{name}.{key}");
        }
    }
    assert!(text.contains("\n[alert.exec]\n"));
    for key in ["metrics", "web_url", "signed_with", "link", "port", "username", "password"] {
        assert!(text.contains(&format!("\n# {key} = ")), "{key}, which has no default");
    }
}

fn load(toml: &str) -> (tempfile::TempDir, Result<Config, Problem>) {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let file = folder.path().join("config.toml");
    fs::write(&file, toml).expect("a scratch file");
    let config = Config::load(&file);
    (folder, config)
}

#[test]
fn paths_are_relative_to_the_folder_of_the_file() {
    let (folder, config) = load("tasks = \"sites\"\nstate = \"/var/lib/pieme\"\n");
    let config = config.expect("a config");
    assert_eq!(config.tasks, folder.path().join("sites"));
    assert_eq!(config.secrets, folder.path().join("secrets"));
    assert_eq!(config.store, StoreAddress::from(Path::new("/var/lib/pieme/pieme.db")));
    assert_eq!(config.socket, Path::new("/var/lib/pieme/control.sock"));
    let (folder, config) = load("store = \"rows.db\"\n");
    assert_eq!(config.expect("a config").store, StoreAddress::from(&folder.path().join("rows.db")));
}

#[test]
fn what_cannot_work_is_answered_with_a_hint() {
    for (toml, expected) in [
        (
            "store = \"mysql://db/pieme\"\n",
            ":1:9: unknown store mysql://; the store is an SQLite file or a PostgreSQL database
  1 | store = \"mysql://db/pieme\"
    |         ^^^^^^^^^^^^^^^^^^
  write store = \"state/pieme.db\" or store = \"postgres://user@host/database\"",
        ),
        ("per_host = 0\n", ":1:12: with per_host = 0 no task would ever run\n  1 | per_host = 0\n    |            ^"),
        (
            "[log]\nformat = \"jsn\"\n",
            ":2:10: unknown word `jsn`\n  2 | format = \"jsn\"\n    |          ^^^^^\n  \
             did you mean `json`? (known here: auto, human, json, journal)",
        ),
        (
            "[alert.exec]\npage = [\"page-me\"]\n",
            ":2:8: a command must start with the absolute path of its program
  2 | page = [\"page-me\"]
    |        ^^^^^^^^^^^
  write a list: name = [\"/usr/bin/program\", \"argument\"]",
        ),
        (
            "[private]\n\"shop\" = [\"127.0.0.1:80\", \"10.0.0.1\"]\n",
            ":2:27: `10.0.0.1` names no port; a grant is for one port of a host or network
  2 | \"shop\" = [\"127.0.0.1:80\", \"10.0.0.1\"]
    |                           ^^^^^^^^^^
  write \"127.0.0.1:8643\", \"shop.internal:80\", \"10.1.0.0/16:443\" or \"[fd00::/8]:443\"",
        ),
        (
            "[ceiling]\nmemory = \"0\"\n",
            ":2:10: with memory = 0 no task would ever run\n  2 | memory = \"0\"\n    |          ^^^",
        ),
        (
            "[smtp]\nhost = \"mail\"\nfrom = \"a@b.org\"\nusername = \"a\"\npassword = \"hunter2\"\n",
            ":5:12: a password must not be written in config.toml
  write password = \"${secret:smtp}\" and put the password into the file secrets/smtp (mode 0600)",
        ),
    ] {
        let (folder, config) = load(toml);
        let problem = config.expect_err(toml).to_string();
        let file = folder.path().join("config.toml").display().to_string();
        assert_eq!(problem.strip_prefix(&file), Some(expected), "{problem}");
    }
}

#[test]
fn the_password_of_a_database_is_a_secret_and_is_shown_nowhere() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let file = folder.path().join("config.toml");
    fs::write(&file, "store = 'postgres://me:${secret:db}@db.test/rows'\n").expect("a scratch file");
    let missing = Config::load(&file).expect_err("no such secret").to_string();
    assert!(missing.contains("the secret `db` is missing"), "{missing}");
    fs::create_dir(folder.path().join("secrets")).expect("a folder");
    let secret = folder.path().join("secrets/db");
    fs::write(&secret, "s3:cr@t/\n").expect("a secret");
    fs::set_permissions(&secret, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("our own file");
    let config = Config::load(&file).expect("a config");
    let StoreAddress::Postgres(address) = &config.store else { panic!("an address of PostgreSQL") };
    assert_eq!(address.with_password(), "postgres://me:s3%3Acr%40t%2F@db.test/rows");
    let shown = format!("{config:?} {}", config.store);
    // Not "s3" alone: the name of the scratch folder may have that.
    assert!(!shown.contains("s3:cr") && !shown.contains("s3%3A"), "{shown}");
    fs::write(&file, "store = 'postgres://me:hunter2@db.test/rows'\n").expect("a scratch file");
    let plain = Config::load(&file).expect_err("a password in the file").to_string();
    assert!(plain.contains(":1:9: a password must not be written in config.toml"), "{plain}");
    assert!(!plain.contains("hunter2"), "not even where it is wrong: {plain}");
}

#[test]
fn commands_are_found_where_they_stand_now_and_where_they_stood() {
    let (_folder, config) = load("[exec]\nold = [\"/bin/old\"]\n[alert.exec]\nnew = [\"/bin/new\", \"x\"]\n");
    let names: Vec<String> = config.expect("a config").alert.exec.into_keys().collect();
    assert_eq!(names, ["new", "old"]);
}

#[test]
fn the_file_that_is_named_is_the_one_that_is_read() {
    let (folder, _) = load("max_running = 7\n");
    let file = folder.path().join("config.toml");
    assert_eq!(Config::find(Some(&file)).expect("a config").max_running, 7);
    let error = Config::find(Some(&folder.path().join("other.toml"))).expect_err("there is none");
    assert!(error.file.ends_with("other.toml"), "{error}");
}

#[test]
fn a_changed_file_changes_the_grants_and_a_broken_one_does_not() {
    let (folder, config) = load("[private]\n\"shop\" = [\"10.0.0.1:80\"]\n");
    let (config, file) = (config.expect("a config"), folder.path().join("config.toml"));
    let granted = |config: &Config, task: &str| {
        let task = TaskName::new(task).expect("a name");
        let grants = config.grants.current().addresses_of(&task);
        assert_eq!(grants.daemon_ports, [8642].into(), "the dashboard's port");
        grants.granted.iter().map(ToString::to_string).collect::<Vec<String>>()
    };
    assert_eq!(granted(&config, "shop"), ["10.0.0.1:80"]);
    assert_eq!(granted(&config, "shop-2"), Vec::<String>::new());
    let copy = config.clone();
    fs::write(&file, "[private]\n\"shop*\" = [\"10.0.0.2:80\"]\n").expect("a scratch file");
    for config in [&config, &copy] {
        assert_eq!(granted(config, "shop-2"), ["10.0.0.2:80"]);
    }
    for broken in ["[private]\n\"shop\" = [\"10.0.0.2\"]\n", "tasks = 3\n", "["] {
        fs::write(&file, broken).expect("a scratch file");
        assert_eq!(granted(&config, "shop"), ["10.0.0.2:80"], "{broken}");
    }
    fs::remove_file(&file).expect("a scratch file");
    assert_eq!(granted(&config, "shop"), ["10.0.0.2:80"]);
    fs::write(&file, "").expect("a scratch file");
    assert_eq!(granted(&config, "shop"), Vec::<String>::new());
}
