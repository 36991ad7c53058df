//! The subject and the text of a notification.

use chrono::{DateTime, TimeDelta, Utc};

use super::notification::{Notification, NotificationKind};
use crate::model::counted;

/// `hotels: blocked, 2 failures in a row`
pub fn subject(notice: &Notification) -> String {
    let Notification { task, state, fails, .. } = notice;
    match notice.kind {
        NotificationKind::Failed if *fails > 1 => format!("{task}: {state}, {fails} failures in a row"),
        NotificationKind::Failed => format!("{task}: {state}"),
        NotificationKind::NeedsLabel => {
            format!("{task} needs a person: {}", notice.cause.as_deref().unwrap_or("label"))
        }
        NotificationKind::Recovered => format!("{task} has recovered"),
        NotificationKind::Overdue => format!("{task} is overdue"),
        NotificationKind::Changed => match (notice.changes, notice.rows) {
            (Some(changes), _) => format!("{task} has changed: {changes}"),
            (None, Some(rows)) => format!("{task} has changed: {}", counted(rows, "row")),
            (None, None) => format!("{task} has changed"),
        },
        NotificationKind::Test => format!("{task}: test alert"),
    }
}

/// What happened, since when, how old the published rows are, and the command to type.
pub fn text(notice: &Notification) -> String {
    let named = notice.title.as_ref().map(|title| format!("{} ({title})", notice.task));
    let named = named.unwrap_or_else(|| notice.task.to_string());
    let mut lines = vec![format!("{named}: {}", notice.state), String::new(), notice.sentence.clone()];
    lines.extend(notice.detail.clone());
    lines.push(String::new());
    if let Some(since) = notice.since {
        let word = if notice.kind == NotificationKind::Recovered { "The problem began on" } else { "Since" };
        lines.push(format!("{word} {} ({} ago).", instant(since), span(notice.at - since)));
    }
    lines.extend(published_data_age(notice));
    if !notice.advice.is_empty() {
        lines.extend([String::new(), format!("Next: {}", notice.advice)]);
    }
    lines.extend(notice.link.clone());
    let mut text = lines.join("\n");
    while text.contains("\n\n\n") {
        text = text.replace("\n\n\n", "\n\n");
    }
    text
}

fn published_data_age(notice: &Notification) -> Option<String> {
    if notice.kind == NotificationKind::Test {
        return None;
    }
    Some(match (notice.rows, notice.last_ok) {
        (Some(rows), Some(at)) => {
            format!("Published: {}, last good {} ({} ago).", counted(rows, "row"), instant(at), span(notice.at - at))
        }
        (Some(rows), None) => format!("Published: {}.", counted(rows, "row")),
        (None, _) => "Nothing is published yet.".to_owned(),
    })
}

fn instant(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M UTC").to_string()
}

/// A duration in one unit.
fn span(time: TimeDelta) -> String {
    match time.num_seconds().max(0) {
        seconds @ 0..100 => format!("{seconds} s"),
        seconds @ 100..6_000 => format!("{} min", seconds / 60),
        seconds @ 6_000..172_800 => format!("{} h", seconds / 3_600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::model::{ChangeCounts, State, TaskName};

    #[test]
    fn an_alert_says_what_since_when_how_old_and_what_to_type() {
        let now = DateTime::from_timestamp(1_800_000_000, 0).expect("a time of this century");
        let task = TaskName::new("hotels").expect("a name");
        let notice = Notification {
            kind: NotificationKind::Failed,
            state: State::Blocked,
            title: Some("Hotels in Halifax".to_owned()),
            sentence: "the page takes us for a machine".to_owned(),
            since: Some(now - TimeDelta::hours(6)),
            fails: 2,
            rows: Some(48),
            last_ok: Some(now - TimeDelta::hours(12)),
            advice: "pieme log hotels".to_owned(),
            ..Notification::test(task, Uuid::nil(), now)
        };
        assert_eq!(subject(&notice), "hotels: blocked, 2 failures in a row");
        assert_eq!(
            text(&notice),
            "hotels (Hotels in Halifax): blocked\n\nthe page takes us for a machine\n\n\
             Since 2027-01-15 02:00 UTC (6 h ago).\nPublished: 48 rows, last good 2027-01-14 20:00 UTC (12 h ago).\n\n\
             Next: pieme log hotels"
        );
        let well =
            Notification { kind: NotificationKind::Recovered, state: State::Ok, advice: String::new(), ..notice };
        assert_eq!(subject(&well), "hotels has recovered");
        let changes = Some(ChangeCounts { added: 2, changed: 14, removed: 1 });
        let changed = Notification { kind: NotificationKind::Changed, changes, ..well.clone() };
        assert_eq!(subject(&changed), "hotels has changed: 2 added, 14 changed, 1 removed");
        assert!(text(&well).contains("The problem began on 2027-01-15 02:00 UTC"), "{}", text(&well));
    }
}
