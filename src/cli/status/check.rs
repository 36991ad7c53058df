//! `--check`: one line and an exit code in the format of monitoring plug-ins.

use crate::config::Config;
use crate::judge::Severity;
use crate::model::{State, counted};
use crate::show::StatusLine;

use super::{Args, CliError, StatusReport, output, read_status};

const OK: u8 = 0;
const WARNING: u8 = 1;
const CRITICAL: u8 = 2;
const UNKNOWN: u8 = 3;

/// Tasks that the line names; the rest are counted.
const NAMED: usize = 10;

pub(crate) fn check(config: &Config, args: &Args) -> Result<u8, CliError> {
    let look = read_status(config, args)?;
    if !look.is_known {
        return Ok(unknown(&format!("no daemon has ever run: there is no database {}", config.store)));
    }
    let (word, code, text) = line(&look);
    output::say(format!("PIEME {word} - {text}"));
    Ok(code)
}

/// Any error is UNKNOWN, never OK.
pub(crate) fn exit_code(done: Result<u8, CliError>) -> u8 {
    done.unwrap_or_else(|complaint| unknown(&complaint.sentence))
}

fn unknown(sentence: &str) -> u8 {
    // `|` would start the performance data, and plug-ins print one line.
    let sentence = sentence.lines().next().unwrap_or_default().replace('|', "/");
    output::say(format!("PIEME UNKNOWN - {}", output::cell(&sentence, 500)));
    UNKNOWN
}

fn line(look: &StatusReport) -> (&'static str, u8, String) {
    let lines = &look.lines;
    if lines.is_empty() {
        return ("UNKNOWN", UNKNOWN, "there is no such task".to_owned());
    }
    let worst = lines.iter().map(|line| line.severity).max().unwrap_or(Severity::Fine);
    let runs = look.daemon_runs && look.waits_for.is_none();
    let (word, code) = match (runs, worst) {
        (false, _) | (true, Severity::Critical) => ("CRITICAL", CRITICAL),
        (true, Severity::Warning) => ("WARNING", WARNING),
        (true, Severity::Fine) => ("OK", OK),
    };
    let down = match (look.daemon_runs, &look.waits_for) {
        (false, _) => "the daemon is not running, nothing is fetched; ".to_owned(),
        (true, Some(reason)) => {
            format!("the daemon waits for the database, nothing is fetched ({}); ", reason.replace('|', "/"))
        }
        (true, None) => String::new(),
    };
    (word, code, format!("{down}{}|{}", in_words(lines), performance_data(lines)))
}

fn in_words(lines: &[StatusLine]) -> String {
    let mut off: Vec<&StatusLine> = lines.iter().filter(|line| line.severity > Severity::Fine).collect();
    off.sort_by_key(|line| (std::cmp::Reverse(line.severity), line.state));
    let all = lines.len();
    if off.is_empty() {
        let waits = State::ALL.iter().filter(|&&state| !is_good(state)).filter_map(|&state| {
            let count = lines.iter().filter(|line| line.state == state).count();
            (count > 0).then(|| format!(", {count} {state}"))
        });
        let good = lines.iter().filter(|line| is_good(line.state)).count();
        return format!("{good} of {} ok{}", counted(all, "task"), waits.collect::<String>());
    }
    let named: Vec<String> = off.iter().take(NAMED).map(|line| format!("{} {}", line.task, line.state)).collect();
    let more = off.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{} of {}: {}{more}", off.len(), counted(all, "task"), named.join(", "))
}

fn is_good(state: State) -> bool {
    matches!(state, State::Ok | State::Changed | State::Running)
}

/// Every task counts once: `ok`, `warning`, `critical`, `paused` or `waiting`. `oldest` is the age of the oldest good
/// data.
fn performance_data(lines: &[StatusLine]) -> String {
    let count = |which: &dyn Fn(&StatusLine) -> bool| lines.iter().filter(|line| which(line)).count();
    let is_waiting = |line: &StatusLine| matches!(line.state, State::Queued | State::Never);
    let is_paused = |line: &StatusLine| line.state == State::Paused;
    let is = |line: &StatusLine, severity: Severity| line.severity == severity;
    let ok = count(&|line| is(line, Severity::Fine) && !is_waiting(line) && !is_paused(line));
    let (warning, critical) = (count(&|line| is(line, Severity::Warning)), count(&|line| is(line, Severity::Critical)));
    let (paused, waiting, all) = (count(&is_paused), count(&is_waiting), lines.len());
    let oldest = lines.iter().filter_map(|line| line.age_s).max();
    let oldest = oldest.map(|age| format!(" oldest={age}s;;;0")).unwrap_or_default();
    format!(
        "ok={ok};;;0;{all} warning={warning};;;0;{all} critical={critical};;;0;{all} \
         paused={paused};;;0;{all} waiting={waiting};;;0;{all}{oldest}"
    )
}
