//! `pieme alert`: sends a test alert, lists the last alerts with their delivery, and prints the key of a receiver.

use chrono::Utc;
use serde::Serialize;
use uuid::Uuid;

use crate::alert::{self, DeliveryContext, DeliveryTarget, Notification};
use crate::config::{Config, secret_use, secrets};
use crate::model::TaskName;
use crate::store::Delivery;

use super::{CliError, VerbResult, exit, open_reader, output, task_folder, task_name};

/// Send a test alert, list the last alerts, or print the key of a webhook's receiver
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: AlertVerb,
}

#[derive(clap::Subcommand)]
enum AlertVerb {
    Test(TestAlertArgs),
    List(ListAlertsArgs),
    Key(WebhookKeyArgs),
}

/// Send a test alert to each target of a task and print the results
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pieme alert test hotels                       every target in [alert] of the task
  pieme alert test --url mailto:me@example.org  one target, before it is written into a task
  pieme alert test --url exec:page_me --json

Exit code: 0 when every target accepted the alert, 1 otherwise. Secrets are read in this shell's
environment; the daemon may have others in its own.")]
struct TestAlertArgs {
    /// The targets of this task
    #[arg(required_unless_present = "url", conflicts_with = "url")]
    task: Option<String>,
    /// A target, written as in alert.urls (docs/alerts.md); repeatable
    #[arg(long, value_name = "URL")]
    url: Vec<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// List the last alerts, newest first, and whether they were delivered
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  pieme alert list\n  pieme alert list hotels --last 5\n  pieme alert list --json")]
struct ListAlertsArgs {
    /// Only this task
    task: Option<String>,
    /// Number of alerts
    #[arg(long, default_value_t = 20, value_name = "N")]
    last: u32,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Print the key with which a receiver checks the signatures of its webhooks
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pieme alert key https://example.org/hook    give it to the receiver at example.org
  pieme alert key https://example.org/hook --json

Every origin (scheme, host and port) has a key of its own, derived from `signed_with` under [alert]
of config.toml: what one receiver was sent, no other accepts.")]
struct WebhookKeyArgs {
    /// The webhook, written as in alert.urls
    url: String,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn run(config: &Config, args: Args) -> VerbResult {
    match args.verb {
        AlertVerb::Test(args) => test(config, args),
        AlertVerb::List(args) => list(config, &args),
        AlertVerb::Key(args) => key(config, &args),
    }
}

fn key(config: &Config, args: &WebhookKeyArgs) -> VerbResult {
    let usage = |sentence: String| CliError::new(exit::USAGE, sentence);
    let url = alert::webhook_url(&args.url).map_err(|error| usage(format!("{}; {}", error.message, error.hint)))?;
    let url = url.ok_or_else(|| usage("only webhooks (https://… or http://…) are signed".to_owned()))?;
    let own = alert::config_secrets(&args.url, &config.alert, &config.smtp);
    let secrets = secrets::lookup_all(config, &own).map_err(|error| CliError::new(exit::CONFIG, error.to_string()))?;
    let Some(key) = config.alert.signing_key(&secrets).and_then(|key| alert::webhook_key(&key, &url)) else {
        let sentence = "webhooks are not signed: write signed_with = \"${secret:hooks}\" under [alert] of config.toml";
        return Err(CliError::new(exit::CONFIG, sentence));
    };
    if args.json {
        let origin = url.origin().ascii_serialization();
        output::json(&serde_json::json!({ "origin": origin, "key": key }));
    } else {
        output::say(key);
    }
    Ok(exit::DONE)
}

/// The result of one test delivery.
#[derive(Serialize)]
struct TestDelivery {
    target: String,
    ok: bool,
    sentence: String,
}

fn test(config: &Config, args: TestAlertArgs) -> VerbResult {
    let (name, urls) = match &args.task {
        None => (TaskName::new("test").expect("a constant name"), args.url),
        Some(task) => {
            let name = task_name(task)?;
            let urls = task_folder(config, &name)?.task.alert.urls;
            (name, urls)
        }
    };
    if urls.is_empty() {
        return Err(CliError::config(format!(
            "{name} has no alert targets: write [alert] urls = [\"mailto:me@example.org\"] into its task.toml"
        )));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(CliError::failed)?;
    let mut notice = Notification::test(name.clone(), Uuid::now_v7(), Utc::now());
    notice.link = config.alert.link_for(&notice);
    let mut tried = Vec::new();
    for url in &urls {
        let done = runtime.block_on(try_once(config, args.task.is_some().then_some(&name), url, &notice));
        let sentence = done.as_ref().map_or_else(Clone::clone, |()| "delivered".to_owned());
        let line = TestDelivery { target: DeliveryTarget::redacted(url), ok: done.is_ok(), sentence };
        if !args.json {
            output::say(format!("{}: {}", output::cell(&line.target, 200), output::cell(&line.sentence, 1_000)));
        }
        tried.push(line);
    }
    let ok = tried.iter().all(|it| it.ok);
    if args.json {
        output::json(&serde_json::json!({ "ok": ok, "id": notice.id, "targets": tried }));
    }
    Ok(if ok { exit::DONE } else { exit::FAILED })
}

async fn try_once(config: &Config, task: Option<&TaskName>, url: &str, notice: &Notification) -> Result<(), String> {
    let (settings, smtp) = (&config.alert, &config.smtp);
    alert::check(url, Some(&config.channels())).map_err(|error| format!("{}; {}", error.message, error.hint))?;
    let granted = secret_use::granted_for_alert(config, task, url).map_err(|error| error.to_string())?;
    let names = alert::config_secrets(url, settings, smtp);
    let secrets = secrets::lookup_all(config, &names).map_err(|error| error.to_string())?;
    let daemon_ports = config.grants.current().daemon_ports;
    let means = DeliveryContext { settings, smtp, daemon_ports, secrets, granted };
    alert::deliver(&means, url, notice, Utc::now()).await.map_err(|error| error.to_string())
}

/// A delivery as it is printed.
#[derive(Serialize)]
struct DeliveryLine {
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

fn list(config: &Config, args: &ListAlertsArgs) -> VerbResult {
    let only = args.task.as_deref().map(task_name).transpose()?;
    let lines: Vec<DeliveryLine> =
        open_reader(config)?.deliveries(only.as_ref(), args.last)?.into_iter().map(line).collect();
    if args.json {
        return output::answer(&serde_json::json!({ "alerts": lines }));
    }
    if lines.is_empty() {
        output::say("No alerts yet.");
        return Ok(exit::DONE);
    }
    let cells = |line: &DeliveryLine| {
        [
            line.at.format("%Y-%m-%d %H:%M").to_string(),
            output::cell(&line.subject, 60),
            output::cell(&line.target, 60),
            line.delivery.to_owned(),
            line.tries.to_string(),
            output::cell(line.trouble.as_deref().unwrap_or_default(), 100),
        ]
    };
    output::say(output::table(&["AT", "ALERT", "TARGET", "DELIVERY", "TRIES", "TROUBLE"], lines.iter().map(cells)));
    Ok(exit::DONE)
}

fn line(delivery: Delivery) -> DeliveryLine {
    let notice: Option<Notification> = serde_json::from_str(&delivery.entry.json).ok();
    DeliveryLine {
        subject: notice.as_ref().map_or_else(|| delivery.entry.task.to_string(), alert::subject),
        id: delivery.entry.id,
        at: delivery.made_at,
        task: delivery.entry.task,
        target: DeliveryTarget::redacted(&delivery.entry.target),
        delivery: match (delivery.delivered_at, delivery.next_attempt) {
            (Some(_), _) => "delivered",
            (None, Some(_)) => "waiting",
            (None, None) => "given-up",
        },
        tries: delivery.entry.attempts,
        trouble: delivery.last_error,
    }
}
