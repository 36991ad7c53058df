//! `pieme completions`: completion scripts for commands, options and task names.

use std::io;
use std::path::Path;

use clap::{Command, ValueEnum};
use clap_complete::{Shell, generate};

use super::{CliError, Config, VerbResult, exit, output};

/// Print the completion script for a shell
#[derive(clap::Args)]
#[command(after_help = "Examples:
  source <(pieme completions bash)   for bash; write it into ~/.bashrc
  source <(pieme completions zsh)    for zsh; write it into ~/.zshrc, after compinit
  pieme completions fish | source    for fish; write it into ~/.config/fish/config.fish")]
pub(super) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: ShellName,
}

/// The shells whose scripts are tested; clap_complete knows more.
#[derive(Clone, Copy, ValueEnum)]
enum ShellName {
    Bash,
    Zsh,
    Fish,
}

/// Print the names of the task folders, one per line; for the scripts of `pieme completions`
#[derive(clap::Args)]
pub(super) struct TaskNamesArgs {}

pub(super) fn run(pieme: Command, args: &Args) -> VerbResult {
    let mut pieme = visible(&pieme);
    let script = match args.shell {
        ShellName::Bash => bash(&mut pieme),
        ShellName::Zsh => zsh(&mut pieme),
        ShellName::Fish => fish(&mut pieme),
    };
    match output::bytes(script.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(CliError::failed(format!("cannot write the script: {error}")))
        }
        Ok(()) | Err(_) => Ok(exit::DONE),
    }
}

/// Prints nothing where the configuration is wrong: a message would disturb the line that is being typed.
pub(super) fn task_names(config: Option<&Path>) -> u8 {
    let Ok(config) = Config::find(config) else { return exit::CONFIG };
    let mut names = super::task_names(&config);
    names.sort();
    names.iter().for_each(output::say);
    exit::DONE
}

/// The command line without hidden commands, which the generators would list.
fn visible(pieme: &Command) -> Command {
    let verbs = pieme.get_subcommands().filter(|verb| !verb.is_hide_set()).cloned();
    Command::new("pieme").version(env!("CARGO_PKG_VERSION")).args(pieme.get_arguments().cloned()).subcommands(verbs)
}

fn generated(shell: Shell, pieme: &mut Command) -> String {
    let mut script = Vec::new();
    generate(shell, pieme, "pieme", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// The commands with a task name as argument.
fn verbs_of_tasks(pieme: &Command) -> Vec<&str> {
    let takes_task =
        |verb: &&Command| verb.get_positionals().any(|it| ["task", "tasks"].contains(&it.get_id().as_str()));
    pieme.get_subcommands().filter(takes_task).map(Command::get_name).collect()
}

/// The generated function completes options; the function around it completes task names.
fn bash(pieme: &mut Command) -> String {
    let script = generated(Shell::Bash, pieme);
    let script = script.replace("complete -F _pieme -o", "complete -F _pieme_or_tasks -o");
    let verbs = verbs_of_tasks(pieme).join(" ");
    format!(
        r#"{script}
_pieme_or_tasks() {{
    _pieme "$@"
    if [[ "$2" != -* && "$3" != -* && ${{COMP_CWORD}} -gt 1 && " {verbs} " == *" ${{COMP_WORDS[1]}} "* ]]; then
        COMPREPLY=( $(compgen -W "$("$1" task-names 2>/dev/null)" -- "$2") )
    fi
}}
"#
    )
}

/// Replaces the action of task arguments in the generated specifications by our own.
fn zsh(pieme: &mut Command) -> String {
    let mut script = String::new();
    for line in generated(Shell::Zsh, pieme).lines() {
        let argument = line.trim_start_matches(['\'', '*', ':']);
        let is_task = line.starts_with('\'') && ["task", "tasks"].iter().any(|id| argument.starts_with(id));
        match line.strip_suffix(":_default' \\") {
            Some(start) if is_task => script.push_str(&format!("{start}:_pieme_task_names' \\")),
            _ => script.push_str(line),
        }
        script.push('\n');
        if line.starts_with("#compdef") {
            script.push_str(ZSH_TASK_NAMES);
        }
    }
    script
}

const ZSH_TASK_NAMES: &str = r#"
_pieme_task_names() {
    local -a names
    names=(${(f)"$(pieme task-names 2>/dev/null)"})
    compadd -a names
}
"#;

fn fish(pieme: &mut Command) -> String {
    let mut script = generated(Shell::Fish, pieme);
    for verb in verbs_of_tasks(pieme) {
        script.push_str(&format!(
            "complete -c pieme -n \"__fish_pieme_using_subcommand {verb}\" -f -a \"(pieme task-names 2>/dev/null)\"\n"
        ));
    }
    script
}
