//! Prints a draft as robot.toml and task.toml.

use std::net::{IpAddr, Ipv4Addr};

use serde_json::{Map, Value};

use super::{Draft, DraftStep};
use crate::guard::is_global;
use crate::model::private_grant::{is_local_name, private_line};
use crate::model::{PrivateGrant, ScriptStep};

/// Longer lines are written as a table.
const WIDTH: usize = 128;

pub fn robot(draft: &Draft) -> String {
    let mut out = String::new();
    for note in &draft.notes {
        comment(&mut out, note);
    }
    if !draft.secrets.is_empty() {
        comment(
            &mut out,
            "Secrets are not in this file. Store each, with the name of the task; the value is asked for:",
        );
        for (command, description) in draft.secret_commands("TASK") {
            comment(&mut out, &format!("  {command}  # {description}"));
        }
    }
    for step in &draft.steps {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&step_with_comments(step));
    }
    out
}

pub fn task(draft: &Draft) -> String {
    let Some(url) = &draft.url else {
        return "# No start address was found: write url = \"https://…\"\n".to_owned();
    };
    let mut out = format!("url = {}\n", text(url.as_str()));
    let address = match url.host() {
        Some(url::Host::Ipv4(address)) => Some(IpAddr::V4(address)),
        Some(url::Host::Ipv6(address)) => Some(IpAddr::V6(address)),
        Some(url::Host::Domain(name)) if is_local_name(name) => Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        Some(url::Host::Domain(_)) | None => None,
    };
    let port = url.port_or_known_default().unwrap_or_default();
    if let (Some(address), Some(host)) = (address.filter(|address| !is_global(*address)), url.host_str()) {
        let line = private_line("TASK", &[PrivateGrant::needed_for(host, address, port)]);
        let what = "The site is on this machine or in a private network. To allow it, add to config.toml:";
        [what, "  [private]", &format!("  {line}")].into_iter().for_each(|it| comment(&mut out, it));
    }
    out
}

/// One step as written in robot.toml.
pub fn step(step: &ScriptStep) -> String {
    body(&DraftStep::new(step.clone()))
}

fn step_with_comments(step: &DraftStep) -> String {
    let mut out = String::new();
    for said in &step.comments {
        comment(&mut out, said);
    }
    let toml = body(step);
    if step.is_proposal {
        toml.lines().for_each(|line| comment(&mut out, line));
    } else {
        out.push_str(&toml);
    }
    out
}

/// `verb = value` on one line where it fits, otherwise a table; nested tables likewise.
fn body(step: &DraftStep) -> String {
    let value = serde_json::to_value(&step.step).unwrap_or_default();
    let Some((verb, value)) = value.as_object().and_then(|map| map.iter().next()) else { return String::new() };
    let value =
        if matches!(step.step, ScriptStep::Get(_) | ScriptStep::Post(_)) { shortest(value) } else { value.clone() };
    let line = format!("{verb} = {}", inline(&value));
    match &value {
        Value::Object(map) if line.chars().count() > WIDTH => {
            format!("[[step]]\n{}", table(&format!("step.{verb}"), map))
        }
        _ => format!("[[step]]\n{line}\n"),
    }
}

/// Shortens `get = { url = "…" }` to `get = "…"`.
fn shortest(value: &Value) -> Value {
    match value.as_object() {
        Some(map) if map.len() == 1 => {
            map.get("url").cloned().filter(Value::is_string).unwrap_or_else(|| value.clone())
        }
        _ => value.clone(),
    }
}

fn table(name: &str, map: &Map<String, Value>) -> String {
    let mut out = format!("[{name}]\n");
    let mut further = Vec::new();
    for (name, value) in map {
        let line = format!("{} = {}", key(name), inline(value));
        match value {
            Value::Object(inner) if line.chars().count() > WIDTH => further.push((name, inner)),
            _ => out.push_str(&(line + "\n")),
        }
    }
    for (inner_name, inner) in further {
        out.push_str(&table(&format!("{name}.{}", key(inner_name)), inner));
    }
    out
}

fn inline(value: &Value) -> String {
    match value {
        // TOML has no null; steps of a draft contain none.
        Value::Null => "\"\"".to_owned(),
        Value::Bool(it) => it.to_string(),
        Value::Number(it) => number(it),
        Value::String(it) => text(it),
        Value::Array(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Value::Object(map) if map.is_empty() => "{}".to_owned(),
        Value::Object(map) => {
            let entries: Vec<String> = map.iter().map(|(name, it)| format!("{} = {}", key(name), inline(it))).collect();
            format!("{{ {} }}", entries.join(", "))
        }
    }
}

/// Integers beyond TOML's 64 bits become floats; JSON makes no difference.
fn number(it: &serde_json::Number) -> String {
    match it.as_i64() {
        Some(whole) => whole.to_string(),
        None => toml_edit::Value::from(it.as_f64().unwrap_or_default()).to_string().trim().to_owned(),
    }
}

fn key(name: &str) -> String {
    let is_bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    if is_bare { name.to_owned() } else { text(name) }
}

/// A string on one line, because a step is read line by line.
fn text(value: &str) -> String {
    let mut out = String::from("\"");
    for c in value.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out + "\""
}

/// Writes a comment, wrapped if it is too long; its text can never leave the comment.
fn comment(out: &mut String, said: &str) {
    let plain: String = said.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let indent: String = plain.chars().take_while(|c| *c == ' ').collect();
    let mut line = format!("# {indent}");
    let empty = line.len();
    for word in plain.split_whitespace() {
        if line.len() > empty && line.chars().count() + word.chars().count() >= WIDTH && !plain.contains(" = ") {
            out.push_str(line.trim_end());
            out.push('\n');
            line = format!("# {indent}");
        }
        line.push_str(word);
        line.push(' ');
    }
    out.push_str(line.trim_end());
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use url::Url;

    use super::*;
    use crate::model::Script;

    fn printed(steps: Vec<ScriptStep>) -> String {
        let url = Some(Url::parse("https://a.test/").expect("a URL"));
        Draft {
            url,
            steps: steps.into_iter().map(DraftStep::new).collect(),
            notes: vec!["a\nnote".to_owned()],
            secrets: Vec::new(),
        }
        .robot_toml()
    }

    #[test]
    fn a_short_step_is_one_line_and_a_long_one_a_table() {
        let script: Script = toml::from_str(
            "[[step]]\nget = 'https://a.test/'\n[[step]]\npost = { url = '/a', form = { 'b c' = 'd\"e' } }\n[[step]]\n\
             post = { url = 'https://a.test/a-rather-long-address/of/a/list?with=parameters', json = { filters = { \
             city = 'Halifax', \
             stars = [1, 2], from = '2026-12-01', to = '2026-12-24', breakfast = true, most = 12.5, order = 'price', \
             page = 1 }, n = 1 } }",
        )
        .expect("a script");
        let text = printed(script.steps.clone());
        assert_eq!(toml::from_str::<Script>(&text).expect("sound TOML"), script, "{text}");
        insta::assert_snapshot!(text, @r##"
        # a note

        [[step]]
        get = "https://a.test/"

        [[step]]
        post = { url = "/a", form = { "b c" = "d\"e" } }

        [[step]]
        [step.post]
        url = "https://a.test/a-rather-long-address/of/a/list?with=parameters"
        [step.post.json]
        n = 1
        [step.post.json.filters]
        breakfast = true
        city = "Halifax"
        from = "2026-12-01"
        most = 12.5
        order = "price"
        page = 1
        stars = [1, 2]
        to = "2026-12-24"
        "##);
    }

    proptest! {
        #[test]
        fn whatever_a_step_holds_it_is_read_back(
            url in "\\PC{1,90}", name in "\\PC{0,10}", value in "[\\PC\n\t\u{1}]{0,90}", header in "[a-z-]{1,12}"
        ) {
            let json = serde_json::json!({
                name.clone(): [value.clone(), 1, 1.5, u64::MAX, true, {}, []], "b": { "c": value.clone() }
            });
            let ask = crate::model::script::RequestStep {
                url,
                headers: [(header, value.clone())].into(),
                form: [(name, value)].into(),
                json: Some(json),
                ..Default::default()
            };
            let script = Script { steps: vec![ScriptStep::Post(ask)] };
            let text = printed(script.steps.clone());
            let mut back: Script = toml::from_str(&text).expect("sound TOML");
            // 2^64 - 1 does not fit into TOML's whole numbers.
            if let (ScriptStep::Post(was), ScriptStep::Post(is)) = (&script.steps[0], &mut back.steps[0]) {
                prop_assert_eq!((&was.url, &was.headers, &was.form), (&is.url, &is.headers, &is.form));
            }
        }
    }
}
