//! Prints the numbers behind a run's outcome, with the values they were compared with.

use serde_json::{Value, json};

use crate::config::Config;
use crate::judge::VerdictExplanation;
use crate::model::{ColumnType, PastRun, TaskName};
use crate::show::values::{self, UnparsedReason};
use crate::show::verdict;
use crate::store::{Rows, Store};

use super::{CliError, log, open_reader, output, task_folder};

/// Texts of the site are cut on a terminal; `--json` has them whole.
const WIDTH: usize = 2_000;
const NAME_WIDTH: usize = 40;

/// Rows that are searched for texts without a value.
const LOOKED_AT: u64 = 1_000;

/// Explains the run whose id starts with `id`, or the last one.
pub(crate) fn explain(config: &Config, name: &TaskName, id: Option<&str>) -> Result<(String, Value), CliError> {
    let folder = task_folder(config, name)?;
    let store = open_reader(config)?;
    let run = match id {
        Some(id) => log::find_run(&store, name, id)?,
        None => store.past_verdicts(name, 1)?.pop().ok_or_else(|| CliError::failed(log::not_run_yet(name)))?,
    };
    let account = verdict::account(&store, &folder, &run)?;
    let rows = rows_of(&store, name, &run)?;
    let reasons = rows.as_ref().map(values::reasons).unwrap_or_default();
    let value = json!({ "task": name, "run": run, "measured": account, "unread": reasons });
    Ok((text(name, &run, &account, &reasons), value))
}

/// The first rows of a run, where they are still stored.
fn rows_of(store: &Store, name: &TaskName, run: &PastRun) -> Result<Option<Rows>, CliError> {
    let published = store.published(name, LOOKED_AT, 0)?.filter(|rows| rows.run == run.run);
    Ok(match published {
        Some(rows) => Some(rows),
        None => store.quarantined_rows(run.run, LOOKED_AT, 0)?,
    })
}

fn text(name: &TaskName, run: &PastRun, account: &VerdictExplanation, reasons: &[UnparsedReason<'_>]) -> String {
    let verdict = &run.verdict;
    let (outcome, cause) = (verdict.outcome.word(), verdict.outcome.cause());
    let head = format!(
        "{name}, run {}, {}: {outcome} ({cause})\n  {}\n",
        run.run,
        run.started_at.format("%Y-%m-%d %H:%M:%S UTC"),
        output::cell(&verdict.sentence, WIDTH)
    );
    [
        head,
        similarity(account),
        rows(account),
        records(account),
        columns(account) + &unparsed(reasons),
        signals(account),
    ]
    .join("\n")
}

fn similarity(account: &VerdictExplanation) -> String {
    let similarity = &account.similarity;
    let Some(value) = similarity.value else {
        return "Similarity: no page was compared with the template.\n".to_owned();
    };
    let wanted = similarity.wanted;
    let mut text = format!("Similarity {value:.2}, required {wanted:.2} (expect.similarity)");
    if similarity.parts.is_empty() {
        return text + ". Its parts were not stored.\n";
    }
    text.push_str(": the smallest of its parts. SIM is the part, scaled to the same limit.\n");
    let rows = similarity.parts.iter().map(|part| {
        [
            part.name.to_owned(),
            part.value.map_or("–".to_owned(), |value| format!("{value:.2}")),
            format!("{:.2}", part.line),
            format!("{:.2}", part.as_similarity),
            mark(part.is_off),
            part.sentence.to_owned(),
        ]
    });
    format!("{text}{}\n", output::table(&["PART", "NOW", "LIMIT", "SIM", "", ""], rows))
}

fn rows(account: &VerdictExplanation) -> String {
    let rows = &account.rows;
    let allowed = rows.drop_allowed * 100.0;
    let told = if rows.drop_is_told { "expect.max_row_drop" } else { "learned from good runs" };
    let against = match rows.usual {
        None => format!("there is no good run to compare with; at least {} required (expect.min_rows)", rows.min_rows),
        Some(usual) => {
            let good: Vec<String> = rows.good.iter().map(u64::to_string).collect();
            let good = good.join(" ");
            let fewest = rows.fewest;
            format!(
                "good runs before had {good}, newest first; {usual} is usual; less than {allowed:.0} % may be missing \
                 ({told}), so at least {fewest} required"
            )
        }
    };
    let off = rows.off.as_ref().map(|off| format!("\n  OFF: {off}")).unwrap_or_default();
    format!("Rows {}; {against}{off}\n", rows.rows)
}

fn records(account: &VerdictExplanation) -> String {
    let records = &account.records;
    let Some(shared) = records.shared else {
        return "Records: there is not enough data to compare them with earlier runs.\n".to_owned();
    };
    let by = output::cell(&records.columns.join(", "), WIDTH);
    let before: Vec<String> = records.before.iter().map(|&it| percent(Some(it))).collect();
    let before = if before.is_empty() { "nothing yet".to_owned() } else { before.join(", ") };
    let rows = &account.rows;
    let strange = rows.reason.map(|reason| format!("\n  {reason}")).unwrap_or_default();
    let known = records.known.map(|it| {
        format!(
            "\n  of {} known records {} are rows again, {} elsewhere on the page",
            it.sought, it.found, it.elsewhere
        )
    });
    let known = known.unwrap_or_default();
    let place = match records.same_cells {
        Some(same) => {
            let same = percent(Some(same));
            let so = if records.is_in_place { ": the page is understood" } else { "" };
            format!("\n  about {same} of the cells stand under their columns as in the last good run{so}")
        }
        None => String::new(),
    };
    format!(
        "Records, identified by {by}: about {} are shared with the last good run; good runs before shared {before}, \
         newest first{known}{place}{strange}\n",
        percent(Some(shared))
    )
}

fn columns(account: &VerdictExplanation) -> String {
    if account.columns.is_empty() {
        return "Columns: no statistics.\n".to_owned();
    }
    let header = ["COLUMN", "TYPE", "FILLED", "UNREAD", "BEFORE", "LIMIT", "KIND", "BEFORE", "", ""];
    let rows = account.columns.iter().map(|column| {
        [
            output::cell(&column.name, NAME_WIDTH),
            column.type_.map_or("text", ColumnType::word).to_owned(),
            percent(Some(column.filled)),
            percent(column.type_.map(|_| column.unread)),
            percent(column.filled_before),
            percent(column.must_fill),
            column.kind.unwrap_or("–").to_owned(),
            column.kind_before.unwrap_or("–").to_owned(),
            mark(column.off.is_some()),
            column.off.as_ref().map(|off| output::cell(off, WIDTH)).unwrap_or_default(),
        ]
    });
    format!("{}\n", output::table(&header, rows))
}

/// The reasons why texts have no value of their column's type.
fn unparsed(reasons: &[UnparsedReason<'_>]) -> String {
    let line = |reason: &UnparsedReason<'_>| format!("  UNREAD {}\n", output::cell(&reason.line(), WIDTH));
    reasons.iter().map(line).collect()
}

fn signals(account: &VerdictExplanation) -> String {
    let shown = account.signs.iter().filter(|sign| sign.now);
    let said = shown.map(|sign| {
        let told = if sign.is_news { "unlike good pages" } else { "as good pages did, so it does not count" };
        format!("{}, {told}", sign.sign)
    });
    let said: Vec<String> = said.collect();
    if said.is_empty() {
        "The page shows nothing unusual besides its list.".to_owned()
    } else {
        format!("The page: {}.", said.join("; "))
    }
}

fn percent(share: Option<f64>) -> String {
    share.map_or("–".to_owned(), |share| format!("{:.0} %", share * 100.0))
}

fn mark(is_off: bool) -> String {
    if is_off { "OFF".to_owned() } else { String::new() }
}
