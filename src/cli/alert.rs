//! `pieme alert`: try the ways that alerts go, and see what became of those that were sent.

use chrono::Utc;
use serde::Serialize;
use uuid::Uuid;

use crate::alert::{self, Means, Notice, Target};
use crate::config::{Config, secrets};
use crate::model::TaskName;
use crate::store::Delivery;

use super::{Complaint, Done, exit, out, reader, task_folder, task_name};

/// Try where alerts go, and see what became of them
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    Test(Test),
    List(List),
}

/// Send a test alert to each target of a task, and say for each what happened
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pieme alert test hotels                       every target in the [alert] of hotels
  pieme alert test --url mailto:me@example.org  one target, before it stands in a task
  pieme alert test --url exec:page_me --json

Exit code: 0 when every target took it, 1 otherwise. Secrets are read from here: in the environment of the daemon's unit
they may be others.")]
struct Test {
    /// The targets of this task
    #[arg(required_unless_present = "url", conflicts_with = "url")]
    task: Option<String>,
    /// This target, spelled as in alert.urls (docs/alerts.md); may be given several times
    #[arg(long, value_name = "URL")]
    url: Vec<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// The last alerts, newest first, and whether they arrived
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  pieme alert list\n  pieme alert list hotels --last 5\n  pieme alert list --json")]
struct List {
    /// Only this task
    task: Option<String>,
    /// How many
    #[arg(long, default_value_t = 20, value_name = "N")]
    last: u32,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub fn run(config: &Config, args: Args) -> Done {
    match args.verb {
        Verb::Test(args) => test(config, args),
        Verb::List(args) => list(config, &args),
    }
}

/// What came of one try.
#[derive(Serialize)]
struct Tried {
    target: String,
    ok: bool,
    sentence: String,
}

fn test(config: &Config, args: Test) -> Done {
    let (name, urls) = match &args.task {
        None => (TaskName::new("test").expect("a constant name"), args.url),
        Some(task) => {
            let name = task_name(task)?;
            let urls = task_folder(config, &name)?.task.alert.urls;
            (name, urls)
        }
    };
    if urls.is_empty() {
        let sentence =
            format!("{name} has no targets: write [alert] urls = [\"mailto:me@example.org\"] into its task.toml");
        return Err(Complaint::new(exit::CONFIG, sentence));
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Complaint::new(exit::FAILED, error.to_string()))?;
    let mut notice = Notice::test(name.clone(), Uuid::now_v7(), Utc::now());
    notice.link = config.alert.link_for(&notice);
    let mut tried = Vec::new();
    for url in &urls {
        let done = runtime.block_on(try_once(config, url, &notice));
        let sentence = done.as_ref().map_or_else(Clone::clone, |()| "delivered".to_owned());
        let line = Tried { target: Target::shown(url), ok: done.is_ok(), sentence };
        if !args.json {
            out::say(format!("{}: {}", out::cell(&line.target, 200), out::cell(&line.sentence, 1_000)));
        }
        tried.push(line);
    }
    let ok = tried.iter().all(|it| it.ok);
    if args.json {
        out::json(&serde_json::json!({ "ok": ok, "id": notice.id, "targets": tried }));
    }
    Ok(if ok { exit::DONE } else { exit::FAILED })
}

async fn try_once(config: &Config, url: &str, notice: &Notice) -> Result<(), String> {
    let (settings, smtp) = (&config.alert, &config.smtp);
    alert::check(url, Some(&config.channels())).map_err(|error| format!("{}; {}", error.message, error.hint))?;
    let names = alert::secrets_of(url, settings, smtp);
    let secrets = secrets::gather(config, &names).map_err(|error| error.to_string())?;
    let done = alert::deliver(&Means { settings, smtp, secrets }, url, notice, Utc::now()).await;
    done.map_err(|error| error.to_string())
}

/// A delivery as it is printed.
#[derive(Serialize)]
struct Line {
    id: String,
    at: chrono::DateTime<Utc>,
    task: TaskName,
    subject: String,
    target: String,
    /// delivered, waiting or given-up
    delivery: &'static str,
    tries: u32,
    trouble: Option<String>,
}

fn list(config: &Config, args: &List) -> Done {
    let only = args.task.as_deref().map(task_name).transpose()?;
    let lines: Vec<Line> = reader(config)?.deliveries(only.as_ref(), args.last)?.into_iter().map(line).collect();
    if args.json {
        out::json(&serde_json::json!({ "alerts": lines }));
        return Ok(exit::DONE);
    }
    if lines.is_empty() {
        out::say("no alerts yet");
        return Ok(exit::DONE);
    }
    let mut table = out::table(&["AT", "ALERT", "TARGET", "DELIVERY", "TRIES", "TROUBLE"]);
    for line in lines {
        table.add_row([
            line.at.format("%Y-%m-%d %H:%M").to_string(),
            out::cell(&line.subject, 60),
            out::cell(&line.target, 60),
            line.delivery.to_owned(),
            line.tries.to_string(),
            out::cell(line.trouble.as_deref().unwrap_or_default(), 100),
        ]);
    }
    out::say(table);
    Ok(exit::DONE)
}

fn line(delivery: Delivery) -> Line {
    let notice: Option<Notice> = serde_json::from_str(&delivery.letter.json).ok();
    Line {
        subject: notice.as_ref().map_or_else(|| delivery.letter.task.to_string(), alert::subject),
        id: delivery.letter.id,
        at: delivery.made_at,
        task: delivery.letter.task,
        target: Target::shown(&delivery.letter.target),
        delivery: match (delivery.delivered_at, delivery.next_try) {
            (Some(_), _) => "delivered",
            (None, Some(_)) => "waiting",
            (None, None) => "given-up",
        },
        tries: delivery.letter.tries,
        trouble: delivery.trouble,
    }
}
