//! Turns the changes of tasks into feed items: one per record, or one for a change whose records are not listed.

use url::Url;

use crate::config::Config;
use crate::export::feed::{Head, NewsItem};
use crate::model::{TaskName, counted};
use crate::store::{CellChange, CellValue, ChangeKind, ChangeSet, RecordChange, Store, StoreError};

/// Changes of a task that are read; each has at least one item.
const CHANGES: u32 = 200;

/// The newest items of all tasks together.
pub(super) fn newest_items(
    config: &Config,
    store: &Store,
    tasks: &[TaskName],
    most: u32,
) -> Result<(Head, Vec<NewsItem>), StoreError> {
    let mut items = Vec::new();
    let mut updated = None;
    for task in tasks {
        let several = (tasks.len() > 1).then_some(task);
        items.extend(items_of(store, task, several, most)?);
        // A feed without items is as old as its rows.
        let seen = store.published(task, 0, 0)?.map(|rows| rows.last_seen);
        updated = updated.max(seen);
    }
    items.sort_by_key(|item| std::cmp::Reverse(item.at));
    items.truncate(most as usize);
    let folder = |task: &TaskName| crate::tasks::read(&config.tasks.join(task.as_str())).ok();
    let titles: Vec<String> = tasks
        .iter()
        .map(|task| folder(task).and_then(|it| it.task.title).unwrap_or_else(|| task.to_string()))
        .collect();
    let link = tasks.first().filter(|_| tasks.len() == 1).and_then(folder).and_then(|it| it.task.url);
    let names: Vec<&str> = tasks.iter().map(TaskName::as_str).collect();
    let updated = items.first().map(|item| item.at).or(updated).unwrap_or_default();
    let head = Head {
        title: titles.join(", "),
        link: link.map(|url| url.to_string()),
        id: format!("urn:pieme:{}", names.join("+")),
        updated,
    };
    Ok((head, items))
}

fn items_of(
    store: &Store,
    task: &TaskName,
    several: Option<&TaskName>,
    most: u32,
) -> Result<Vec<NewsItem>, StoreError> {
    let before = several.map(|task| format!("{task}: ")).unwrap_or_default();
    let mut items = Vec::new();
    for change in store.changes(task, None, CHANGES)? {
        let left = most.saturating_sub(u32::try_from(items.len()).unwrap_or(u32::MAX));
        if left == 0 {
            break;
        }
        let records = store.records_of(change.id, 0, left)?;
        match records.is_empty() {
            true => items.push(summary_item(&change, &before)),
            false => items.extend(records.iter().map(|record| item(&change, record, &before))),
        }
    }
    Ok(items)
}

/// A change whose records are not listed, or not compared yet.
fn summary_item(change: &ChangeSet, before: &str) -> NewsItem {
    let counts = change.known_counts().map_or_else(|| "changed".to_owned(), |counts| counts.to_string());
    let rows = format!("{}, {} before", counted(change.rows_after, "row"), change.rows_before);
    let why = change.unlisted.map(|why| why.sentence().to_owned());
    NewsItem {
        id: format!("urn:uuid:{}", change.run),
        title: format!("{before}{counts}"),
        link: None,
        at: change.at,
        lines: [rows].into_iter().chain(why).collect(),
    }
}

fn item(change: &ChangeSet, record: &RecordChange, before: &str) -> NewsItem {
    let line = |cell: &CellChange| {
        let text = |cell: &CellValue| cell.text.clone().unwrap_or_default();
        match record.what {
            ChangeKind::Added => format!("{}: {}", cell.column, text(&cell.to)),
            ChangeKind::Removed => format!("{}: {}", cell.column, text(&cell.from)),
            ChangeKind::Changed => format!("{}: {} → {}", cell.column, text(&cell.from), text(&cell.to)),
        }
    };
    let said = |cell: &CellChange| cell.to.text.is_some() || cell.from.text.is_some();
    NewsItem {
        // Feed readers recognise an item by its id: it is the same in every database and never changes.
        id: format!("urn:uuid:{}#{}", change.run, record.key),
        title: format!("{before}{}: {}", record.what.word(), record.name),
        link: record.cells.iter().find_map(link),
        at: change.at,
        lines: record.cells.iter().filter(|cell| said(cell)).map(line).collect(),
    }
}

/// The first cell that is an http or https URL.
fn link(cell: &CellChange) -> Option<String> {
    let is_web = |text: &&str| Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
    let sides = [&cell.to, &cell.from];
    let texts = sides.into_iter().flat_map(|side| [side.value.as_str(), side.text.as_deref()]).flatten();
    texts.filter(is_web).map(str::to_owned).next()
}
