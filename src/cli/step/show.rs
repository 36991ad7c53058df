//! Prints a step and the page it leads to. All texts come from the robot's process, which has read the site's pages.

use serde_json::Value;

use super::TerminalWalk;
use crate::cli::output;
use crate::model::{TaskName, counted};
use crate::show::times;
use crate::stepwise::PageContents;

const LINE: usize = 200;
/// Width of the excerpt of a page's text.
const EXCERPT: usize = 400;

pub(crate) fn head(walk: &TerminalWalk, name: &TaskName) {
    let all = walk.steps.len();
    let from = if walk.written_steps == 0 { "without a robot.toml" } else { "of robot.toml" };
    output::say(format!("{name}: {} {from}", counted(all, "step")));
    output::say(
        "Enter = next, b = back, r = run the rest, p = page, l = links, f = forms, v = variables, w FILE = write page, \
         q = quit",
    );
}

/// The step that comes next.
pub(crate) fn next(walk: &TerminalWalk) {
    let (at, all) = (walk.done(), walk.steps.len());
    if at == all {
        output::say(format!("\nAll {} done: {}", counted(all, "step"), rows_so_far(walk)));
        return;
    }
    output::say(format!("\n── step {} of {all}", at + 1));
    walk.source(at).lines().for_each(|line| output::say(output::cell(line, LINE)));
}

/// What a step did.
pub(crate) fn step(walk: &TerminalWalk, index: usize) {
    output::say(format!("── step {} ({})", index + 1, walk.steps[index].verb()));
    for line in walk.last("trace").as_array().into_iter().flatten() {
        let (verb, text) = (text_of(line, "verb"), text_of(line, "text"));
        let inner = verb.split_once(" › ").map(|(_, inner)| format!("{inner}: ")).unwrap_or_default();
        let since = times::after(line["since_step_ms"].as_u64().unwrap_or(0));
        output::say(format!("  {since:>9} {}", output::cell(&format!("{inner}{text}"), LINE)));
    }
    // A variable that is set for the first time is in the trace.
    for (name, before, after) in walk.changes() {
        if let Some(before) = before {
            let (name, before) = (output::cell(&name, 60), output::cell(&before, 60));
            output::say(format!("  {name} was {before}, is now {}", output::cell(&after, 60)));
        }
    }
    page(walk);
    if let Some((cause, sentence)) = walk.failure() {
        output::say(format!("  FAILED ({cause}): {}", output::cell(&sentence, 2_000)));
    }
}

/// The current page.
pub(crate) fn page(walk: &TerminalWalk) {
    let page = walk.last("page");
    if page.is_null() {
        return output::say("  No page yet.");
    }
    let number = |field: &str| page[field].as_u64().unwrap_or(0);
    output::say(format!("  page    {}", output::cell(text_of(page, "url"), LINE)));
    let (bytes, took) = (counted(number("bytes"), "byte"), number("elapsed_ms"));
    output::say(format!("  answer  {}, {bytes}, {took} ms", number("status")));
    for (name, value) in page["headers"].as_object().into_iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        output::say(format!("          {}: {}", output::cell(name, 60), output::cell(value, 120)));
    }
    output::say(format!("  title   {}", output::cell(text_of(page, "title"), LINE)));
    output::say(format!("  text    {}", output::cell(text_of(page, "text"), EXCERPT)));
    output::say(format!("  rows    {}", rows_here(walk, page)));
}

/// The page's text, broken into lines.
pub(crate) fn text(walk: &TerminalWalk) {
    let Some(contents) = contents(walk) else { return };
    let mut line = String::new();
    for word in contents.text.split(' ') {
        if line.chars().count() + word.chars().count() > 110 {
            output::say(output::cell(&line, LINE));
            line.clear();
        }
        line = format!("{line}{word} ");
    }
    output::say(output::cell(&line, LINE));
}

pub(crate) fn links(walk: &TerminalWalk) {
    let Some(contents) = contents(walk) else { return };
    for (text, target) in &contents.links {
        output::say(format!("  {}  {}", output::cell(text, 60), output::cell(target, LINE)));
    }
    let listed = contents.links.len();
    let rest = if contents.link_count > listed { format!(", the first {listed} shown") } else { String::new() };
    output::say(format!("{}{rest}", counted(contents.link_count, "link")));
}

pub(crate) fn forms(walk: &TerminalWalk) {
    let Some(contents) = contents(walk) else { return };
    for it in &contents.forms {
        let (name, action) = (output::cell(&it.name, 60), output::cell(&it.action, 120));
        let (purpose, method) = (output::cell(&it.purpose, 20), output::cell(&it.method, 10));
        output::say(format!("  “{name}” ({purpose}): {method} {action}"));
        for field in &it.fields {
            output::say(format!(
                "    {} ({}) {} = {}",
                output::cell(&field.name, 60),
                output::cell(&field.kind, 20),
                output::cell(&field.label, 40),
                output::cell(&field.value, 40)
            ));
        }
        for button in &it.buttons {
            output::say(format!("    [{}]", output::cell(button, 60)));
        }
    }
    output::say(counted(contents.form_count, "form"));
}

pub(super) fn variables(walk: &TerminalWalk) {
    let all = walk.variables();
    if all.is_empty() {
        output::say("No variable is set.");
    }
    for (name, value) in all {
        output::say(format!("  {} = {}", output::cell(&name, 60), output::cell(&value, LINE)));
    }
}

/// The page's text, links and forms; says so where there are none.
fn contents(walk: &TerminalWalk) -> Option<PageContents> {
    let contents = walk.contents();
    if contents.is_none() {
        let is_large = !walk.last("page").is_null();
        output::say(if is_large { "The page is too large to be shown here." } else { "No page yet." });
    }
    contents
}

fn rows_here(walk: &TerminalWalk, page: &Value) -> String {
    match (page["rows"].as_u64(), page["similarity"].as_f64()) {
        (Some(rows), Some(similarity)) => {
            format!("{rows} on this page with the template (similarity {similarity:.2}); {}", rows_so_far(walk))
        }
        _ => "there is no template yet; the first extraction learns one".to_owned(),
    }
}

fn rows_so_far(walk: &TerminalWalk) -> String {
    let number = |field: &str| walk.last(field).as_u64().unwrap_or(0);
    let details = match number("detail_pages") {
        0 => String::new(),
        details => format!(", {}", counted(details, "detail page")),
    };
    format!("{} extracted from {} so far{details}", counted(number("rows"), "row"), counted(number("pages"), "page"))
}

fn text_of<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_default()
}
