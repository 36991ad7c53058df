//! Manual pages and completion scripts, rendered by man and loaded by the shells.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::stage::{Said, Stage, in_time};

fn pieme(words: &[&str]) -> Said {
    Command::new(env!("CARGO_BIN_EXE_pieme")).args(words).stdin(Stdio::null()).output().expect("pieme starts").into()
}

/// The verbs that `pieme --help` lists. `pieme help VERB` is another way to type `pieme VERB --help`.
fn listed_verbs() -> Vec<String> {
    let help = pieme(&["--help"]).stdout;
    let (_, listed) = help.split_once("Commands:\n").expect("verbs are listed");
    let verbs = listed.lines().take_while(|line| !line.is_empty()).filter_map(|line| line.strip_prefix("  "));
    // Continuation lines are indented further.
    let verbs = verbs.filter(|line| !line.starts_with(' ')).filter_map(|line| line.split(' ').next());
    let verbs: Vec<String> = verbs.filter(|verb| *verb != "help").map(str::to_owned).collect();
    assert!(verbs.len() > 30 && verbs.contains(&"migrate-store".to_owned()), "{verbs:?}");
    verbs
}

/// The paragraphs below the options, by heading.
fn help_paragraphs(words: &[&str]) -> BTreeMap<String, Vec<String>> {
    let help = pieme(&[words, &["--help"]].concat()).stdout;
    let paragraph = |text: &str| {
        let (heading, lines) = text.split_once('\n')?;
        Some((heading.to_owned(), lines.lines().map(|line| line.trim().to_owned()).collect()))
    };
    help.split("\n\n").filter_map(paragraph).collect()
}

/// The example commands of a command, without their explanations.
fn examples(words: &[&str]) -> Vec<String> {
    let found = help_paragraphs(words).remove("Examples:").unwrap_or_default();
    let command = |line: &String| {
        let line = line.split(" # ").next().unwrap_or_default();
        line.split("  ").next().unwrap_or_default().trim().to_owned()
    };
    found.iter().map(command).collect()
}

fn write_manual(folder: &Path) -> BTreeMap<String, String> {
    let said = pieme(&["manual", folder.to_str().expect("a plain path")]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let read = |entry: fs::DirEntry| {
        (entry.file_name().to_string_lossy().into_owned(), fs::read_to_string(entry.path()).expect("a page"))
    };
    fs::read_dir(folder).expect("it was made").map(|entry| read(entry.expect("an entry"))).collect()
}

/// The page rendered by man, which must print no warning.
fn rendered(page: &Path) -> String {
    let said: Said = Command::new("man")
        .args(["--warnings", "--no-hyphenation", "--no-justification", "--local-file"])
        .arg(page)
        .env("LC_ALL", "C.UTF-8")
        .env("MANWIDTH", "100")
        .env("MANPAGER", "cat")
        .stdin(Stdio::null())
        .output()
        .expect("man is installed")
        .into();
    assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{}", page.display());
    said.stdout
}

fn single_spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text below a heading of a rendered page.
fn section(page: &str, heading: &str) -> String {
    let lines = page.lines().skip_while(|line| *line != heading).skip(1);
    let lines = lines.take_while(|line| line.is_empty() || line.starts_with(' '));
    single_spaced(&lines.collect::<Vec<_>>().join("\n"))
}

#[test]
fn every_verb_has_a_manual_page_that_renders_without_a_warning() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let at = folder.path().join("not/there/yet");
    let pages = write_manual(&at);
    let mut wanted: Vec<(String, String, Vec<String>)> = listed_verbs()
        .iter()
        .map(|verb| (format!("pieme-{verb}.1"), format!("pieme {verb} "), examples(&[verb])))
        .collect();
    wanted.push(("pieme.1".to_owned(), "pieme ".to_owned(), examples(&[])));
    for (verb, sub) in [
        ("alert", "test"),
        ("alert", "list"),
        ("alert", "key"),
        ("secret", "set"),
        ("secret", "list"),
        ("secret", "rm"),
        ("web", "password"),
    ] {
        wanted.push((format!("pieme-{verb}-{sub}.1"), format!("pieme {verb} {sub} "), examples(&[verb, sub])));
    }
    wanted.push((
        "pieme-daemon.8".to_owned(),
        "pieme-daemon ".to_owned(),
        vec!["pieme-daemon --config config.toml".to_owned()],
    ));
    let mut names: Vec<&String> = wanted.iter().map(|(name, ..)| name).collect();
    names.sort();
    assert_eq!(pages.keys().collect::<Vec<_>>(), names);
    for (name, synopsis, examples) in &wanted {
        let page = rendered(&at.join(name));
        let (title, _) = name.rsplit_once('.').expect("a section");
        assert!(section(&page, "NAME").starts_with(&format!("{title} - ")), "{name}: {page}");
        assert!(format!("{} ", section(&page, "SYNOPSIS")).starts_with(synopsis), "{name}: {page}");
        let shown = section(&page, "EXAMPLES");
        assert!(shown.contains("pieme"), "{name} has no example: {page}");
        for example in examples {
            assert!(shown.contains(&single_spaced(example)), "{name} lacks {example}: {shown}");
        }
        assert!(section(&page, "EXIT STATUS").contains("2 The command line is wrong"), "{name}: {page}");
        assert!(section(&page, "SEE ALSO").contains(if title == "pieme" { "pieme-daemon(8)" } else { "pieme(1)" }));
    }
}

#[test]
fn the_manual_is_the_same_whenever_it_is_made() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let pages = write_manual(&folder.path().join("first"));
    assert!(pages == write_manual(&folder.path().join("second")), "two pages differ");
    for (name, text) in &pages {
        assert!(text.is_ascii(), "{name} reads differently in another locale");
        let title = text.lines().find(|line| line.starts_with(".TH ")).expect("a title");
        assert!(title.contains("\" \"\" \"pieme "), "{name} has a date: {title}");
    }
}

#[test]
fn the_manual_names_files_signals_and_every_exit_code_of_help() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    write_manual(folder.path());
    for name in ["pieme.1", "pieme-status.1", "pieme-daemon.8"] {
        let files = section(&rendered(&folder.path().join(name)), "FILES");
        for file in ["/etc/pieme/config.toml", "/var/lib/pieme", "/run/pieme"] {
            assert!(files.contains(file), "{name} lacks {file}: {files}");
        }
    }
    let learn = rendered(&folder.path().join("pieme-learn.1"));
    assert_eq!(section(&learn, "FILES"), "", "it reads a saved page and no configuration");
    let help = pieme(&["--help"]).stdout;
    let (_, codes) = help.split_once("Exit codes: ").expect("exit codes are listed");
    let codes: Vec<&str> = codes.split(';').filter_map(|part| part.split_whitespace().next()).collect();
    assert_eq!(codes.len(), 9, "{codes:?}");
    let page = rendered(&folder.path().join("pieme.1"));
    let (_, exits) = page.split_once("\nEXIT STATUS\n").expect("exit codes");
    for code in codes {
        assert!(exits.lines().any(|line| line.trim_start().starts_with(&format!("{code} "))), "{code}: {exits}");
    }
    let daemon = section(&rendered(&folder.path().join("pieme-daemon.8")), "NOTES");
    assert!(daemon.contains("SIGHUP rescans tasks/"), "{daemon}");
}

#[test]
fn a_manual_that_cannot_be_written_is_said() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let file = folder.path().join("file");
    fs::write(&file, "").expect("a file of ours");
    let said = pieme(&["manual", file.join("man").to_str().expect("a plain path")]);
    assert_eq!(said.code, 1);
    assert!(said.stderr.contains("cannot write"), "{}", said.stderr);
}

/// Runs a shell without user settings, with pieme on the PATH and the practice tasks in the configuration.
fn shell(stage: &Stage, program: &str, words: &[&str]) -> Said {
    let programs = Path::new(env!("CARGO_BIN_EXE_pieme")).parent().expect("a folder").to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([programs].into_iter().chain(std::env::split_paths(&path))).expect("a path");
    let mut command = Command::new(program);
    command.args(words).env("PATH", path).env("HOME", stage.path("")).env("XDG_CONFIG_HOME", stage.path("config"));
    command.env("PIEME_CONFIG", stage.path("config.toml")).current_dir(stage.path(""));
    let said = in_time(&mut command).unwrap_or_else(|| panic!("{program} never ended"));
    assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{program} {words:?}: {}", said.stdout);
    said
}

/// The example of `pieme completions --help` for this shell.
fn example_for(shell: &str) -> String {
    let found = examples(&["completions"]).into_iter().find(|line| line.contains(&format!("completions {shell}")));
    found.unwrap_or_else(|| panic!("no example for {shell}"))
}

/// Calls the registered completion function as bash would; `_` stands for an empty word.
const OFFER: &str = r#"
offer() {
    [[ $(complete -p pieme) =~ -F\ ([^ ]+) ]]
    local function=${BASH_REMATCH[1]}
    COMP_WORDS=("$@")
    if [[ ${COMP_WORDS[-1]} == _ ]]; then COMP_WORDS[-1]=''; fi
    COMP_CWORD=$(($# - 1))
    "$function" pieme "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}"
    echo "${COMPREPLY[*]}"
}
"#;

/// The completions that bash offers for the last word of each command line.
fn bash_offers(stage: &Stage, lines: &[&str]) -> Vec<String> {
    let mut script = format!("{}\n", example_for("bash"));
    script.push_str(OFFER);
    script.extend(lines.iter().map(|line| format!("offer {line}\n")));
    let said = shell(stage, "bash", &["--norc", "--noprofile", "-c", &script]);
    let offers: Vec<String> = said.stdout.lines().map(str::to_owned).collect();
    assert_eq!(offers.len(), lines.len(), "{}", said.stdout);
    offers
}

fn practice() -> Stage {
    let stage = Stage::new();
    stage.drop_folder("practice-shop");
    stage.drop_folder("practice-orders");
    stage
}

#[test]
fn bash_completes_verbs_options_values_and_tasks() {
    let stage = practice();
    let table = [
        ("pieme sta", "status"),
        ("pieme status --ch", "--check"),
        ("pieme --config config.toml status --ch", "--check"),
        ("pieme status --state quar", "quarantined"),
        ("pieme alert te", "test"),
        ("pieme completions z", "zsh"),
        ("pieme records practice-s", "practice-shop"),
        ("pieme export practice-shop practice-o", "practice-orders"),
        ("pieme run _", "practice-orders practice-shop"),
        ("pieme man", ""),
    ];
    let lines: Vec<&str> = table.iter().map(|(line, _)| *line).collect();
    for ((line, expected), offered) in table.iter().zip(bash_offers(&stage, &lines)) {
        assert_eq!(offered, *expected, "{line}");
    }
    let verbs = listed_verbs();
    let lines: Vec<String> = verbs.iter().map(|verb| format!("pieme {verb}")).collect();
    let offers = bash_offers(&stage, &lines.iter().map(String::as_str).collect::<Vec<_>>());
    for (verb, offered) in verbs.iter().zip(offers) {
        assert!(offered.split(' ').any(|it| it == verb), "{verb}: {offered}");
    }
}

#[test]
fn zsh_takes_the_completions() {
    let stage = practice();
    let script = pieme(&["completions", "zsh"]).stdout;
    stage.write("_pieme", &script);
    shell(&stage, "zsh", &["-n", "_pieme"]);
    for verb in listed_verbs() {
        assert!(script.contains(&format!("\n'{verb}:")), "{verb} is not offered");
    }
    let arguments: Vec<&str> =
        script.lines().filter(|line| line.contains("':task") || line.contains(":task --")).collect();
    assert!(arguments.len() > 10, "{arguments:?}");
    for argument in arguments {
        assert!(argument.contains(":_pieme_task_names'"), "{argument}");
    }
    let load = format!("autoload -Uz compinit; compinit -u -D; {}", example_for("zsh"));
    // compadd works only inside a completion: a replacement prints its arguments.
    let ask = "print $_comps[pieme]; compadd() { print -l $names }; _pieme_task_names";
    let said = shell(&stage, "zsh", &["-f", "-c", &format!("{load}; {ask}")]);
    assert_eq!(said.stdout, "_pieme\npractice-orders\npractice-shop\n");
}

#[test]
fn fish_completes_verbs_options_and_tasks() {
    let stage = practice();
    stage.write("pieme.fish", &pieme(&["completions", "fish"]).stdout);
    shell(&stage, "fish", &["--no-config", "-n", "pieme.fish"]);
    let offers = |line: &str| -> Vec<String> {
        let script = format!("{}; complete -C '{line}'", example_for("fish"));
        let said = shell(&stage, "fish", &["--no-config", "-c", &script]);
        said.stdout.lines().filter_map(|line| line.split('\t').next()).map(str::to_owned).collect()
    };
    let verbs = offers("pieme ");
    for verb in listed_verbs() {
        assert!(verbs.contains(&verb), "{verb}: {verbs:?}");
    }
    assert!(!verbs.contains(&"manual".to_owned()), "{verbs:?}");
    for (line, expected) in [
        ("pieme sta", "status"),
        ("pieme status --ch", "--check"),
        ("pieme status --state quar", "quarantined"),
        ("pieme records practice-s", "practice-shop"),
    ] {
        assert_eq!(offers(line), [expected], "{line}");
    }
}

#[test]
fn a_configuration_that_is_wrong_names_no_task_and_says_nothing() {
    let stage = practice();
    let named = stage.pieme(&["task-names"]);
    assert_eq!((named.code, named.stdout.as_str()), (0, "practice-orders\npractice-shop\n"));
    stage.write("config.toml", "tasks = 3\n");
    let named = stage.pieme(&["task-names"]);
    assert_eq!((named.code, named.stdout.as_str(), named.stderr.as_str()), (78, "", ""));
}
