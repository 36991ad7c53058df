//! Search results as a JSON document.

use serde_json::{Map, Value as Json, json};

use crate::store::{Hit, SearchResults, Snippet};

pub fn document(answer: &SearchResults) -> Json {
    let SearchResults { hits, total, is_total_capped: is_more, unindexed_rows: behind } = answer;
    let hit = |hit: &Hit| {
        let cells = hit.columns.iter().zip(&hit.row.cells);
        let record: Map<String, Json> =
            cells.filter_map(|(name, cell)| Some((name.clone(), cell.clone()?.into()))).collect();
        let matches: Vec<Json> = hit
            .snippets()
            .into_iter()
            .map(|(column, Snippet { text, marks })| json!({ "column": column, "snippet": text, "marks": marks }))
            .collect();
        json!({
            "task": hit.task, "rank": hit.rank, "first_seen": hit.first_seen, "record": record, "matches": matches,
        })
    };
    let hits: Vec<Json> = hits.iter().map(hit).collect();
    json!({ "total": total, "more": is_more, "behind": behind, "hits": hits })
}
