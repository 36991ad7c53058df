//! Prints a step and the page it leads to.

use url::Url;

use super::TerminalWalk;
use crate::cli::output;
use crate::model::{TaskName, counted};
use crate::page::Tree;
use crate::page::text::collapse;
use crate::page::{form, links};
use crate::show::times;
use crate::stepwise::{diagnostic_headers, title};

const LINE: usize = 200;
/// Width of the excerpt of a page's text.
const EXCERPT: usize = 400;
const LISTED: usize = 200;

pub(crate) fn head(walk: &TerminalWalk<'_>, name: &TaskName) {
    let all = walk.walk.stepper.steps().len();
    let from = if walk.walk.stepper.is_implied(0) { "without a robot.toml" } else { "of robot.toml" };
    output::say(format!("{name}: {} {from}", counted(all, "step")));
    output::say(
        "Enter = next, b = back, r = run the rest, p = page, l = links, f = forms, v = variables, w FILE = write page, \
         q = quit",
    );
}

/// The step that comes next.
pub(crate) fn next(walk: &TerminalWalk<'_>) {
    let (at, all) = (walk.walk.stepper.steps_done(), walk.walk.stepper.steps().len());
    if at == all {
        output::say(format!("\nAll {} done: {}", counted(all, "step"), rows_so_far(walk)));
        return;
    }
    output::say(format!("\n── step {} of {all}", at + 1));
    walk.source(at).lines().for_each(|line| output::say(output::cell(line, LINE)));
}

/// What a step did.
pub(crate) fn step(walk: &TerminalWalk<'_>, index: usize) {
    let watch = walk.walk.progress.borrow();
    output::say(format!("── step {} ({})", index + 1, walk.walk.stepper.steps()[index].verb()));
    for line in &watch.trace {
        let inner = line.verb.split_once(" › ").map(|(_, inner)| format!("{inner}: ")).unwrap_or_default();
        let since = times::since(walk.walk.stepper.step_started_at(), line.at);
        output::say(format!("  {since:>9} {}", output::cell(&format!("{inner}{}", line.text), LINE)));
    }
    drop(watch);
    // A variable that is set for the first time is in the trace.
    for (name, before, after) in walk.walk.changes() {
        if let Some(before) = before {
            output::say(format!("  {name} was {}, is now {}", output::cell(&before, 60), output::cell(&after, 60)));
        }
    }
    page(walk);
    if let Some(trouble) = &walk.walk.error {
        output::say(format!("  FAILED ({}): {}", trouble.cause, output::cell(&trouble.sentence, 2_000)));
    }
}

/// The current page.
pub(crate) fn page(walk: &TerminalWalk<'_>) {
    let (Some(page), Some(tree)) = (walk.walk.stepper.page(), walk.walk.stepper.tree()) else {
        return output::say("  No page yet.");
    };
    let meta = &page.meta;
    output::say(format!("  page    {}", output::cell(meta.url.as_str(), LINE)));
    output::say(format!("  answer  {}, {}, {} ms", meta.status, counted(page.body.len(), "byte"), meta.elapsed_ms));
    for (name, value) in diagnostic_headers(&page) {
        output::say(format!("          {name}: {}", output::cell(value, 120)));
    }
    output::say(format!("  title   {}", output::cell(&walk.walk.stepper.redact(&title(tree)), LINE)));
    output::say(format!("  text    {}", output::cell(&walk.walk.excerpt(tree), EXCERPT)));
    output::say(format!("  rows    {}", rows_here(walk, tree)));
}

/// The page's text, broken into lines.
pub(crate) fn text(walk: &TerminalWalk<'_>) {
    let Some(tree) = walk.walk.stepper.tree() else { return output::say("No page yet.") };
    let mut line = String::new();
    for word in walk.walk.stepper.redact(&tree.text(tree.root())).split(' ') {
        if line.chars().count() + word.chars().count() > 110 {
            output::say(output::cell(&line, LINE));
            line.clear();
        }
        line = format!("{line}{word} ");
    }
    output::say(output::cell(&line, LINE));
}

pub(crate) fn links(walk: &TerminalWalk<'_>) {
    let (Some(page), Some(tree)) = (walk.walk.stepper.page(), walk.walk.stepper.tree()) else {
        return output::say("No page yet.");
    };
    let base = links::base(tree, &page.meta.url);
    let all: Vec<_> = tree.elements("a").filter(|&node| links::is_link(tree, node)).collect();
    for &node in all.iter().take(LISTED) {
        let href = tree.attribute(node, "href").unwrap_or_default();
        let target = links::resolve(&base, href).map_or_else(|| href.to_owned(), Url::into);
        let (text, target) = (walk.walk.stepper.redact(&collapse(&tree.text(node))), walk.walk.stepper.redact(&target));
        output::say(format!("  {}  {}", output::cell(&text, 60), output::cell(&target, LINE)));
    }
    output::say(format!(
        "{}{}",
        counted(all.len(), "link"),
        if all.len() > LISTED { format!(", the first {LISTED} shown") } else { String::new() }
    ));
}

pub(crate) fn forms(walk: &TerminalWalk<'_>) {
    let Some(tree) = walk.walk.stepper.tree() else { return output::say("No page yet.") };
    let all = form::find_all(tree);
    for it in &all {
        let method = if it.post { "post" } else { "get" };
        let action = walk.walk.stepper.redact(it.action.as_deref().unwrap_or(""));
        let (name, purpose) = (walk.walk.stepper.redact(&it.describe()), it.purpose().name());
        output::say(format!("  “{}” ({purpose}): {method} {}", output::cell(&name, 60), output::cell(&action, 120)));
        for field in it.fields.iter().take(LISTED) {
            let value = walk.walk.stepper.redact(&field.value);
            let kind = format!("{:?}", field.kind).to_lowercase();
            output::say(format!(
                "    {} ({kind}) {} = {}",
                output::cell(&field.name, 60),
                output::cell(&field.label, 40),
                output::cell(&value, 40)
            ));
        }
        for button in &it.buttons {
            output::say(format!("    [{}]", output::cell(&button.text, 60)));
        }
    }
    output::say(counted(all.len(), "form"));
}

pub(super) fn variables(walk: &TerminalWalk<'_>) {
    let all = walk.walk.stepper.variables();
    if all.is_empty() {
        output::say("No variable is set.");
    }
    for (name, value) in all {
        output::say(format!("  {name} = {}", output::cell(&value, LINE)));
    }
}

fn rows_here(walk: &TerminalWalk<'_>, tree: &Tree) -> String {
    let watch = walk.walk.progress.borrow();
    match watch.match_page(tree) {
        Some((rows, similarity)) => {
            format!("{rows} on this page with the template (similarity {similarity:.2}); {}", rows_so_far(walk))
        }
        None if watch.has_template() => "none".to_owned(),
        None => "there is no template yet; the first extraction learns one".to_owned(),
    }
}

fn rows_so_far(walk: &TerminalWalk<'_>) -> String {
    let watch = walk.walk.progress.borrow();
    let details =
        if watch.details > 0 { format!(", {}", counted(watch.details, "detail page")) } else { String::new() };
    format!("{} extracted from {} so far{details}", counted(watch.rows, "row"), counted(watch.pages, "page"))
}
