//! What a task.toml can say that parses and still cannot work.

use url::Url;

use super::problem::Problem;
use super::source::Source;
use crate::alert::{self, Channels};
use crate::due;
use crate::extract::Shape;
use crate::model::{Script, Span, Step, Task};
use crate::robot;

pub(super) fn task(source: &Source, task: &Task) -> Result<(), Problem> {
    due::check(&task.schedule)
        .map_err(|error| source.problem_at_key(&["schedule", error.key()], error.to_string()).hint(error.hint()))?;
    if let Some(url) = &task.url {
        web_address(url).map_err(|why| source.problem_at_key(&["url"], why).hint(WEB_HINT))?;
    }
    limits(source, task)?;
    fetch(source, task)?;
    columns(source, task)?;
    alerts(source, task, None)?;
    shares(source, task)
}

/// Where alerts go; with what config.toml gives to them, whether it has what they need.
pub(super) fn alerts(source: &Source, task: &Task, channels: Option<&Channels>) -> Result<(), Problem> {
    for (index, url) in task.alert.urls.iter().enumerate() {
        let place = ["alert", "urls", &index.to_string()];
        alert::check(url, channels).map_err(|error| source.problem_at_key(&place, error.message).hint(error.hint))?;
    }
    Ok(())
}

/// A run must know where to start: `url`, or a robot.toml that begins with `get`.
pub(super) fn start(task_source: &Source, task: &Task, robot: Option<&Source>, script: &Script) -> Result<(), Problem> {
    if let (Some(source), Some(Step::Get(ask) | Step::Post(ask))) = (robot, script.steps.first()) {
        return first_get(source, &ask.url, task);
    }
    if robot.is_some() && names_an_address(script) {
        return Ok(());
    }
    match &task.url {
        Some(_) => Ok(()),
        None => Err(Problem::new(task_source.file(), "there is no `url` to start from")
            .hint("write url = \"https://example.org/list\", or begin robot.toml with a `get` step")),
    }
}

/// A script may come to its first page by other ways than a `get` at its beginning.
fn names_an_address(script: &Script) -> bool {
    script.every_step().into_iter().any(|step| match step {
        Step::Get(_) | Step::Post(_) => true,
        Step::Login(login) => login.url.is_some(),
        _ => false,
    })
}

/// What the robot itself would stumble over, said before it walks.
pub(super) fn steps(task_source: &Source, task: &Task, robot: Option<&Source>, script: &Script) -> Result<(), Problem> {
    let Some(found) = robot::check(task, script).into_iter().next() else { return Ok(()) };
    let path: Vec<&str> = found.path.iter().map(String::as_str).collect();
    let problem = match robot {
        Some(source) if !path.is_empty() => source.problem_at_key(&path, found.message),
        Some(_) | None => task_source.problem_at_key(&["url"], found.message),
    };
    Err(match found.hint {
        Some(hint) => problem.hint(hint),
        None => problem,
    })
}

const WEB_HINT: &str = "write an address that starts with https:// or http://";

fn first_get(source: &Source, url: &str, task: &Task) -> Result<(), Problem> {
    // Variables are filled in when the step runs; until then there is nothing to judge.
    if url.contains("${") {
        return Ok(());
    }
    let problem = |why: String| source.problem_at_key(&["step", "0", "get"], why).hint(WEB_HINT);
    let parsed = match &task.url {
        Some(base) => base.join(url),
        None => Url::parse(url),
    };
    parsed.map_err(|error| error.to_string()).and_then(|url| web_address(&url)).map_err(problem)
}

fn web_address(url: &Url) -> Result<(), String> {
    match url.scheme() {
        "http" | "https" if url.host().is_some() => Ok(()),
        scheme => Err(format!("pieme fetches http and https addresses, not {scheme}")),
    }
}

fn limits(source: &Source, task: &Task) -> Result<(), Problem> {
    let limits = &task.limits;
    let zero = [
        ("timeout", limits.timeout == Span::default()),
        ("memory", limits.memory.0 == 0),
        ("max_pages", limits.max_pages == 0),
        ("max_requests", limits.max_requests == 0),
        ("max_page_bytes", limits.max_page_bytes.0 == 0),
    ];
    match zero.into_iter().find(|(_, is_zero)| *is_zero) {
        Some((key, _)) => {
            let message = format!("a run with {key} = 0 cannot fetch anything");
            Err(source.problem_at_key(&["limits", key], message).hint("leave the key out for the default"))
        }
        None => Ok(()),
    }
}

fn fetch(source: &Source, task: &Task) -> Result<(), Problem> {
    let fetch = &task.fetch;
    if fetch.charset != "auto" && encoding_rs::Encoding::for_label(fetch.charset.as_bytes()).is_none() {
        let message = format!("there is no charset `{}`", fetch.charset);
        return Err(source
            .problem_at_key(&["fetch", "charset"], message)
            .hint("write \"auto\", \"utf-8\", \"windows-1252\" …"));
    }
    if let Some(proxy) = &fetch.proxy
        && let Err(why) = robot::check_proxy(proxy, fetch.allow_private)
    {
        let problem = source.problem_at_key(&["fetch", "proxy"], why);
        return Err(problem.hint("write \"http://proxy.example:3128\", or https, socks5 or socks5h"));
    }
    for (index, host) in fetch.allow_hosts.iter().flatten().enumerate() {
        if url::Host::parse(host).is_err() {
            let message = format!("`{host}` is not the name of a host");
            let place = ["fetch", "allow_hosts", &index.to_string()];
            return Err(source.problem_at_key(&place, message).hint("write the name alone, as in \"example.org\""));
        }
    }
    Ok(())
}

fn columns(source: &Source, task: &Task) -> Result<(), Problem> {
    for (index, column) in task.columns.iter().enumerate() {
        let number = index.to_string();
        let at = |key, message: String| source.problem_at_key(&["column", &number, key], message);
        if column.name.trim().is_empty() {
            return Err(at("name", "a column needs a name".to_owned()));
        }
        let lower = column.name.to_lowercase();
        if task.columns[..index].iter().any(|other| other.name.to_lowercase() == lower) {
            return Err(at("name", format!("there are two columns named `{}`", column.name))
                .hint("upper and lower case do not tell columns apart in a database"));
        }
    }
    let shape = Shape::new(&task.columns).map_err(|error| {
        let place = ["column", &error.column.to_string(), error.key];
        source.problem_at_key(&place, error.message).hint(error.hint)
    })?;
    for (index, name) in task.data.key.iter().enumerate() {
        if shape.is_gone(name) {
            let message = format!("the column `{name}` identifies records, and is gone: others are made of it");
            let place = ["data", "key", &index.to_string()];
            return Err(source.problem_at_key(&place, message).hint("name one of the columns that it becomes"));
        }
    }
    Ok(())
}

fn shares(source: &Source, task: &Task) -> Result<(), Problem> {
    let max_row_drop = task.expect.max_row_drop.map(|share| ("max_row_drop", share));
    for (key, share) in std::iter::once(("similarity", task.expect.similarity)).chain(max_row_drop) {
        if !(0.0..=1.0).contains(&share) {
            let message = format!("{key} is a share between 0 and 1, not {share}");
            return Err(source.problem_at_key(&["expect", key], message));
        }
    }
    Ok(())
}
