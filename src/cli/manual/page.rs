//! Renders one manual page. Options come from clap_mangen; names, examples and notes from the command's `--help`.

use clap::{Arg, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, italic, roman};

use super::super::exit;

/// Commands that work on given files and read no configuration.
const WITHOUT_CONFIG: &[&str] =
    &["demo", "learn", "extract", "replay", "repair", "pager", "forms", "curl2robot", "har2robot", "completions"];

const FILES: &[(&str, &str)] = &[
    (
        "/etc/pieme/config.toml",
        "The configuration, unless --config or PIEME_CONFIG names another one, or there is a config.toml in the \
         current folder.",
    ),
    (
        "/var/lib/pieme",
        "The state of the service: the database, the task folders in tasks/, the lock and the control socket. The \
         settings `state` and `tasks` name other folders.",
    ),
    (
        "/run/pieme",
        "The folder for a Unix socket of the dashboard (web = \"unix:/run/pieme/web.sock\"); exists while the service \
         runs.",
    ),
];

const ENVIRONMENT: &[(&str, &str)] = &[
    ("PIEME_CONFIG", "The configuration, if --config is not given."),
    ("PIEME_SECRET_NAME", "The secret NAME, if there is no file with it."),
    ("NO_COLOR", "If set, output has no colours."),
];

const ENVIRONMENT_OF_DAEMON: &[(&str, &str)] = &[
    ("PIEME_CONFIG", "The configuration, if --config is not given."),
    ("PIEME_SECRET_NAME", "The secret NAME, if it is neither a systemd credential nor a file."),
    ("RUST_LOG", "The log level; debug logs every step of every run."),
];

/// pieme(1).
pub(super) fn of_program(pieme: &Command) -> String {
    let mut page = ManualPage::begin(pieme, 1);
    page.verbs(pieme);
    page.help_texts(pieme);
    page.exit_status(&[], exit::MEANINGS);
    page.list("ENVIRONMENT", ENVIRONMENT);
    page.list("FILES", FILES);
    page.see_also(visible_verbs(pieme).map(|verb| (name_of(verb), 1)).chain([("pieme-daemon".to_owned(), 8)]));
    page.finish()
}

/// The page of a subcommand of `parent`.
pub(super) fn of_verb(verb: &Command, parent: &Command) -> String {
    let mut page = ManualPage::begin(verb, 1);
    page.verbs(verb);
    let exits = page.help_texts(verb);
    page.exit_status(&exits, exit::MEANINGS);
    if !WITHOUT_CONFIG.contains(&verb.get_name()) {
        page.list("FILES", FILES);
    }
    let siblings = visible_verbs(parent).filter(|it| parent.get_name() != "pieme" && it.get_name() != verb.get_name());
    let related = visible_verbs(verb).chain(siblings).map(|it| (name_of(it), 1));
    page.see_also([("pieme".to_owned(), 1)].into_iter().chain(related).chain([("pieme-daemon".to_owned(), 8)]));
    page.finish()
}

/// pieme-daemon(8).
pub(super) fn of_daemon(daemon: &Command) -> String {
    let mut page = ManualPage::begin(daemon, 8);
    page.help_texts(daemon);
    page.exit_status(&[], exit::MEANINGS_OF_DAEMON);
    page.list("ENVIRONMENT", ENVIRONMENT_OF_DAEMON);
    page.list("FILES", FILES);
    let related = [("pieme", 1), ("pieme-status", 1), ("pieme-doctor", 1), ("systemctl", 1), ("journalctl", 1)];
    page.see_also(related.map(|(name, section)| (name.to_owned(), section)));
    page.finish()
}

pub(super) fn visible_verbs(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|verb| !verb.is_hide_set())
}

/// `pieme-alert-test` for `pieme alert test`.
pub(super) fn name_of(command: &Command) -> String {
    command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned()
}

/// A page in progress: all sections written so far.
struct ManualPage {
    roff: String,
}

impl ManualPage {
    /// Title, name, synopsis, description, options.
    fn begin(command: &Command, section: u8) -> ManualPage {
        let (name, version) = (name_of(command), env!("CARGO_PKG_VERSION"));
        // By hand: clap_mangen omits an empty date, which shifts the fields after it. Without a date the page is
        // reproducible.
        let title =
            format!(".TH \"{}\" \"{section}\" \"\" \"pieme {version}\" \"pieme manual\"\n", name.to_uppercase());
        let mut page = ManualPage { roff: format!("{}{title}", preamble()) };
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        page.section("NAME", [roman(format!("{name} - {}", about.trim_end_matches('.')))]);
        page.section("SYNOPSIS", synopsis(command));
        page.head("DESCRIPTION");
        let description = command.get_long_about().or_else(|| command.get_about()).map(ToString::to_string);
        description.unwrap_or_default().split("\n\n").for_each(|paragraph| page.paragraph(paragraph));
        page.options(command);
        page
    }

    /// The options, and the arguments after them, under the headings of `--help`.
    fn options(&mut self, command: &Command) {
        let mut bytes = Vec::new();
        // Writing into memory does not fail.
        let _ = Man::new(with_short_lists(command.clone())).render_options_section(&mut bytes);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let text = text.strip_prefix(&preamble()).unwrap_or(&text);
        // An argument without a help text yields an empty line.
        text.lines().filter(|line| !line.is_empty()).for_each(|line| self.raw(line));
    }

    /// Writes the notes and examples that follow the options in `--help`; returns its paragraphs about exit codes.
    fn help_texts(&mut self, command: &Command) -> Vec<String> {
        let mut texts = HelpTexts::of(command);
        // A command with subcommands shows their examples.
        if texts.examples.is_empty() {
            texts.examples = visible_verbs(command).flat_map(|verb| HelpTexts::of(verb).examples).collect();
        }
        if !texts.notes.is_empty() {
            self.head("NOTES");
            texts.notes.iter().for_each(|note| self.note(note));
        }
        if !texts.examples.is_empty() {
            self.head("EXAMPLES");
            texts.examples.iter().for_each(|(command, meaning)| self.item([bold(command)], meaning));
        }
        texts.exits
    }

    /// Lists the subcommands.
    fn verbs(&mut self, command: &Command) {
        if visible_verbs(command).next().is_none() {
            return;
        }
        self.head("COMMANDS");
        for verb in visible_verbs(command) {
            let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
            self.item([bold(name_of(verb)), roman("(1)")], &about);
        }
    }

    fn exit_status(&mut self, special: &[String], codes: &[(u8, &str)]) {
        self.head("EXIT STATUS");
        special.iter().for_each(|paragraph| self.paragraph(paragraph));
        codes.iter().for_each(|(code, meaning)| self.item([bold(code.to_string())], meaning));
    }

    fn list(&mut self, heading: &str, items: &[(&str, &str)]) {
        self.head(heading);
        items.iter().for_each(|(name, meaning)| self.item([italic(*name)], meaning));
    }

    fn see_also(&mut self, pages: impl IntoIterator<Item = (String, u8)>) {
        let mut line = Vec::new();
        for (name, section) in pages {
            if !line.is_empty() {
                line.push(roman(", "));
            }
            line.extend([bold(name), roman(format!("({section})"))]);
        }
        self.section("SEE ALSO", line);
    }

    /// Keeps the line breaks of indented text; other text is filled.
    fn note(&mut self, text: &str) {
        if text.lines().any(|line| line.starts_with("  ")) {
            let mut roff = Roff::new();
            roff.control("PP", []).control("nf", []);
            for line in text.lines() {
                roff.text([roman(line)]);
            }
            self.add(roff.control("fi", []));
        } else {
            self.paragraph(text);
        }
    }

    fn paragraph(&mut self, text: &str) {
        let mut roff = Roff::new();
        // The first paragraph of a section needs no .PP.
        if !self.roff.lines().next_back().is_some_and(|line| line.starts_with(".SH")) {
            roff.control("PP", []);
        }
        for line in text.lines() {
            roff.text([roman(line.trim())]);
        }
        self.add(&roff);
    }

    fn item(&mut self, name: impl Into<Vec<Inline>>, meaning: &str) {
        let mut roff = Roff::new();
        roff.control("TP", []).text(name);
        if !meaning.is_empty() {
            roff.text([roman(meaning)]);
        }
        self.add(&roff);
    }

    fn head(&mut self, heading: &str) {
        self.add(Roff::new().control("SH", [heading]));
    }

    fn section(&mut self, heading: &str, line: impl Into<Vec<Inline>>) {
        self.add(Roff::new().control("SH", [heading]).text(line));
    }

    fn add(&mut self, roff: &Roff) {
        let text = roff.render();
        self.roff.push_str(text.strip_prefix(&preamble()).unwrap_or(&text));
    }

    fn raw(&mut self, line: &str) {
        self.roff.push_str(line);
        self.roff.push('\n');
    }

    /// Pure ASCII, so that the page reads the same in every locale and with every formatter.
    fn finish(self) -> String {
        let mut text = String::with_capacity(self.roff.len());
        for c in self.roff.chars() {
            match c.is_ascii() {
                true => text.push(c),
                false => text.push_str(&format!("\\[u{:04X}]", u32::from(c))),
            }
        }
        text
    }
}

/// The preamble that Roff::render writes each time; a page needs it once.
fn preamble() -> String {
    Roff::new().render()
}

/// Names the possible values in the help text instead of a bullet list, which would take half a page.
fn with_short_lists(command: Command) -> Command {
    command.mut_args(|arg| {
        let values = arg.get_possible_values();
        // Flags have the values true and false; values with a help text of their own keep their lines.
        if values.is_empty() || !arg.get_action().takes_values() || values.iter().any(|it| it.get_help().is_some()) {
            return arg;
        }
        let words: Vec<&str> = values.iter().filter(|it| !it.is_hide_set()).map(|it| it.get_name()).collect();
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let help = format!("{}: {}", help.trim_end_matches('.'), words.join(", "));
        arg.help(help).hide_possible_values(true)
    })
}

/// `pieme log [--last N] [--json] TASK`, with the value names that clap_mangen omits.
fn synopsis(command: &Command) -> Vec<Inline> {
    let mut line = vec![bold(command.get_bin_name().unwrap_or_else(|| command.get_name()))];
    let is_shown = |arg: &&Arg| !arg.is_hide_set() && !["help", "version"].contains(&arg.get_id().as_str());
    for option in command.get_opts().chain(command.get_arguments().filter(|arg| is_flag(arg))).filter(is_shown) {
        let name = option.get_long().map(|long| format!("--{long}"));
        let name = name.or_else(|| option.get_short().map(|short| format!("-{short}"))).unwrap_or_default();
        let mut words = vec![bold(name)];
        if !is_flag(option) {
            let (is_optional, equals) = (is_optional(option), option.is_require_equals_set());
            words.push(roman(match (is_optional, equals) {
                (true, true) => "[=",
                (true, false) => " [",
                (false, true) => "=",
                (false, false) => " ",
            }));
            words.push(italic(values_of(option)));
            words.extend(is_optional.then(|| roman("]")));
        }
        line.extend(in_brackets(words, !option.is_required_set()));
    }
    for argument in command.get_positionals().filter(is_shown) {
        let more = if argument.get_num_args().is_some_and(|range| range.max_values() > 1) { "..." } else { "" };
        line.extend(in_brackets(vec![italic(values_of(argument)), roman(more)], !argument.is_required_set()));
    }
    if command.has_subcommands() {
        line.extend([roman(" "), italic("COMMAND")]);
    }
    line
}

fn is_flag(arg: &Arg) -> bool {
    !arg.is_positional() && !arg.get_action().takes_values()
}

fn is_optional(arg: &Arg) -> bool {
    arg.get_num_args().is_some_and(|range| range.min_values() == 0)
}

fn values_of(arg: &Arg) -> String {
    arg.get_value_names().map(|names| names.join(" ")).unwrap_or_else(|| arg.get_id().as_str().to_uppercase())
}

fn in_brackets(words: Vec<Inline>, optional: bool) -> Vec<Inline> {
    let (open, close) = if optional { (" [", "]") } else { (" ", "") };
    [roman(open)].into_iter().chain(words).chain([roman(close)]).collect()
}

/// The text below the options in `--help`, by kind.
struct HelpTexts {
    /// A command and its explanation.
    examples: Vec<(String, String)>,
    notes: Vec<String>,
    exits: Vec<String>,
}

impl HelpTexts {
    fn of(command: &Command) -> HelpTexts {
        let text = command.get_after_long_help().or_else(|| command.get_after_help()).map(ToString::to_string);
        let mut texts = HelpTexts { examples: Vec::new(), notes: Vec::new(), exits: Vec::new() };
        for paragraph in text.unwrap_or_default().split("\n\n") {
            let (first, rest) = paragraph.split_once('\n').unwrap_or((paragraph, ""));
            match first {
                "Examples:" | "Example:" => texts.examples.extend(rest.lines().map(example)),
                "" => {}
                _ if first.starts_with("Exit code") => texts.exits.push(paragraph.to_owned()),
                _ => texts.notes.push(paragraph.to_owned()),
            }
        }
        texts
    }
}

/// Splits an example into the command and, after ` #` or several spaces, its explanation.
fn example(line: &str) -> (String, String) {
    let line = line.trim();
    let comment = line.split_once(" # ").or_else(|| line.split_once("   ")).or_else(|| line.split_once("  "));
    let (command, meaning) = comment.unwrap_or((line, ""));
    (command.trim().to_owned(), meaning.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_is_a_command_and_what_it_does() {
        for (line, command, meaning) in [
            ("  pieme run hotels", "pieme run hotels", ""),
            ("  pieme run hotels   now", "pieme run hotels", "now"),
            ("  pieme run hotels  # at once", "pieme run hotels", "at once"),
            ("  pieme search '\"grand hotel\"' bar*      a phrase", "pieme search '\"grand hotel\"' bar*", "a phrase"),
        ] {
            assert_eq!(example(line), (command.to_owned(), meaning.to_owned()), "{line}");
        }
    }
}
