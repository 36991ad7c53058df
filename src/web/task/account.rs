//! The measurements behind a run's outcome, each beside its limit, as `pieme explain` prints them.

use maud::{Markup, html};

use crate::judge::VerdictExplanation;
use crate::model::ColumnType;
use crate::web::components;

pub(crate) fn show(account: &VerdictExplanation) -> Markup {
    html! {
        h2 { "Measurements" }
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
            Some(value) => p {
                (two_decimals(value)) "; at least " (two_decimals(similarity.wanted)) " is required. "
                "The similarity is the lowest of its parts."
            },
        }
        @if !similarity.parts.is_empty() {
            table {
                thead { tr {
                    th scope="col" { "Part" }
                    th.number scope="col" { "Value" }
                    th.number scope="col" { "Limit" }
                    th scope="col" { span.sr { "Meaning" } }
                } }
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
            (components::counted(rows.rows, "row")) ". "
            @match rows.usual {
                None => { "There is no good run to compare with; at least " (rows.min_rows) " required." },
                Some(usual) => {
                    "Earlier good runs had " (good.join(", ")) ", newest first. "
                    "Usual: " (usual) "; at least " (rows.fewest) " required."
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
                thead { tr {
                    @for name in ["Column", "Type", "Filled", "Before", "Limit", "Kind", "Before", "Off"] {
                        th scope="col" { (name) }
                    }
                } }
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
            let told = if sign.is_news { "unlike every good page" } else { "as on good pages, so it is ignored" };
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
