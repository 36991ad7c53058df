//! Why a run ended as it did: every number beside what it was measured against, as `pieme explain` has it.

use maud::{Markup, html};

use crate::judge::VerdictExplanation;
use crate::model::ColumnType;

pub fn show(account: &VerdictExplanation) -> Markup {
    html! {
        h2 { "Numbers" }
        (similarity(account))
        (rows(account))
        (columns(account))
        (signals(account))
    }
}

fn similarity(account: &VerdictExplanation) -> Markup {
    let similarity = &account.similarity;
    html! {
        h3 { "Similarity" }
        @match similarity.value {
            None => p { "No page was compared with the template." },
            Some(value) => p { (two_decimals(value)) ", and " (two_decimals(similarity.wanted)) " is wanted: the least of its parts." },
        }
        @if !similarity.parts.is_empty() {
            table {
                thead { tr { @for name in ["Part", "Now", "Line", ""] { th.number[["Now", "Line"].contains(&name)] scope="col" { @if name.is_empty() { span.sr { "What it says" } } @else { (name) } } } } }
                tbody { @for part in &similarity.parts { tr.off[part.is_off] {
                    th scope="row" { (part.name) }
                    td.number { (part.value.map_or("–".to_owned(), two_decimals)) }
                    td.number { (two_decimals(part.line)) }
                    td { @if part.is_off { strong { "off: " } } (part.sentence) }
                } } }
            }
        }
    }
}

fn rows(account: &VerdictExplanation) -> Markup {
    let rows = &account.rows;
    let good: Vec<String> = rows.good.iter().map(u64::to_string).collect();
    html! {
        h3 { "Rows" }
        p {
            (rows.rows) "; "
            @match rows.usual {
                None => { "there is no good run to compare with, " (rows.min_rows) " are wanted." },
                Some(usual) => {
                    "good runs before had " (good.join(" ")) ", newest first; " (usual) " is usual, " (rows.fewest) " are enough."
                },
            }
        }
        @if let Some(off) = &rows.off { p.off { "off: " (off) } }
    }
}

fn columns(account: &VerdictExplanation) -> Markup {
    html! {
        @if !account.columns.is_empty() {
            h3 { "Columns" }
            div.sheet role="region" aria-label="Columns" tabindex="0" { table {
                thead { tr { @for name in ["Column", "Type", "Filled", "Before", "Line", "Kind", "Before", "Off"] { th scope="col" { (name) } } } }
                tbody { @for column in &account.columns { tr.off[column.off.is_some()] {
                    th scope="row" { (column.name) }
                    td { (column.type_.map_or("text", ColumnType::word)) }
                    td.number { (percent(Some(column.filled))) }
                    td.number { (percent(column.filled_before)) }
                    td.number { (percent(column.must_fill)) }
                    td { (column.kind.unwrap_or("–")) }
                    td { (column.kind_before.unwrap_or("–")) }
                    td { (column.off.as_deref().unwrap_or_default()) }
                } } }
            } }
        }
    }
}

fn signals(account: &VerdictExplanation) -> Markup {
    let said: Vec<String> = account
        .signs
        .iter()
        .filter(|sign| sign.now)
        .map(|sign| {
            let told = if sign.is_news { "which no good page did" } else { "as good pages did, so it tells nothing" };
            format!("{}, {told}", sign.sign)
        })
        .collect();
    html! { @if !said.is_empty() { h3 { "The page" } p { (said.join("; ")) "." } } }
}

fn two_decimals(value: f64) -> String {
    format!("{value:.2}")
}

fn percent(share: Option<f64>) -> String {
    share.map_or("–".to_owned(), |share| format!("{:.0} %", share * 100.0))
}
