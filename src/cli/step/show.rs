//! What is shown of a step and of the page it leads to.

use url::Url;

use super::Walk;
use crate::cli::out;
use crate::model::TaskName;
use crate::page::Tree;
use crate::page::tree::collapse;
use crate::robot::{form, link};
use crate::show::trace;
use crate::stepwise::{telling, title};

const LINE: usize = 200;
/// Columns of the terminal for the beginning of a page's text.
const EXCERPT: usize = 400;
const LISTED: usize = 200;

pub fn head(walk: &Walk<'_>, name: &TaskName) {
    let all = walk.stepper.steps().len();
    let from = if walk.stepper.is_implied(0) { "without a robot.toml" } else { "of robot.toml" };
    out::say(format!("{name}: {all} steps {from}"));
    out::say(
        "Enter = next, b = back, r = run the rest, p = page, l = links, f = forms, v = variables, w FILE = write the page, q = quit",
    );
}

/// The step that comes next.
pub fn next(walk: &Walk<'_>) {
    let (at, all) = (walk.stepper.done(), walk.stepper.steps().len());
    if at == all {
        out::say(format!("\nall {all} steps are done: {}", rows_so_far(walk)));
        return;
    }
    out::say(format!("\n── step {} of {all}", at + 1));
    walk.source(at).lines().for_each(|line| out::say(out::cell(line, LINE)));
}

/// What a step did.
pub fn step(walk: &Walk<'_>, index: usize) {
    let watch = walk.seen.borrow();
    out::say(format!("── step {} ({})", index + 1, walk.stepper.steps()[index].verb()));
    for line in &watch.trace {
        let inner = line.verb.split_once(" › ").map(|(_, inner)| format!("{inner}: ")).unwrap_or_default();
        let since = trace::since(walk.stepper.began(), line.at);
        out::say(format!("  {since:>9} {}", out::cell(&format!("{inner}{}", line.text), LINE)));
    }
    drop(watch);
    // What was set for the first time stands in the trace.
    for (name, before, after) in walk.changes() {
        if let Some(before) = before {
            out::say(format!("  {name} was {}, is {}", out::cell(&before, 60), out::cell(&after, 60)));
        }
    }
    page(walk);
    if let Some(trouble) = &walk.trouble {
        out::say(format!("  FAILED ({}): {}", trouble.cause, out::cell(&trouble.sentence, 2_000)));
    }
}

/// Where the robot stands.
pub fn page(walk: &Walk<'_>) {
    let (Some(page), Some(tree)) = (walk.stepper.page(), walk.stepper.tree()) else {
        return out::say("  no page yet");
    };
    let meta = &page.meta;
    out::say(format!("  page    {}", out::cell(meta.url.as_str(), LINE)));
    out::say(format!("  answer  {}, {} bytes, {} ms", meta.status, page.body.len(), meta.elapsed_ms));
    for (name, value) in telling(&page) {
        out::say(format!("          {name}: {}", out::cell(value, 120)));
    }
    out::say(format!("  title   {}", out::cell(&walk.stepper.blank(&title(tree)), LINE)));
    out::say(format!("  text    {}", out::cell(&walk.excerpt(tree), EXCERPT)));
    out::say(format!("  rows    {}", rows_here(walk, tree)));
}

/// The page's text, broken into lines.
pub fn text(walk: &Walk<'_>) {
    let Some(tree) = walk.stepper.tree() else { return out::say("no page yet") };
    let mut line = String::new();
    for word in walk.stepper.blank(&tree.text(tree.root())).split(' ') {
        if line.chars().count() + word.chars().count() > 110 {
            out::say(out::cell(&line, LINE));
            line.clear();
        }
        line = format!("{line}{word} ");
    }
    out::say(out::cell(&line, LINE));
}

pub fn links(walk: &Walk<'_>) {
    let (Some(page), Some(tree)) = (walk.stepper.page(), walk.stepper.tree()) else { return out::say("no page yet") };
    let base = link::base(tree, &page.meta.url);
    let all: Vec<_> = tree.elements("a").filter(|&node| link::is_link(tree, node)).collect();
    for &node in all.iter().take(LISTED) {
        let href = tree.attribute(node, "href").unwrap_or_default();
        let target = link::resolve(&base, href).map_or_else(|| href.to_owned(), Url::into);
        let (text, target) = (walk.stepper.blank(&collapse(&tree.text(node))), walk.stepper.blank(&target));
        out::say(format!("  {}  {}", out::cell(&text, 60), out::cell(&target, LINE)));
    }
    out::say(format!(
        "{} links{}",
        all.len(),
        if all.len() > LISTED { format!(", the first {LISTED} shown") } else { String::new() }
    ));
}

pub fn forms(walk: &Walk<'_>) {
    let Some(tree) = walk.stepper.tree() else { return out::say("no page yet") };
    let all = form::all(tree);
    for it in &all {
        let method = if it.post { "post" } else { "get" };
        let action = walk.stepper.blank(it.action.as_deref().unwrap_or(""));
        let (name, purpose) = (walk.stepper.blank(&it.describe()), it.purpose().word());
        out::say(format!("  “{}” ({purpose}): {method} {}", out::cell(&name, 60), out::cell(&action, 120)));
        for field in it.fields.iter().take(LISTED) {
            let value = walk.stepper.blank(&field.value);
            let kind = format!("{:?}", field.kind).to_lowercase();
            out::say(format!(
                "    {} ({kind}) {} = {}",
                out::cell(&field.name, 60),
                out::cell(&field.label, 40),
                out::cell(&value, 40)
            ));
        }
        for button in &it.buttons {
            out::say(format!("    [{}]", out::cell(&button.text, 60)));
        }
    }
    out::say(format!("{} forms", all.len()));
}

pub fn variables(walk: &Walk<'_>) {
    let all = walk.stepper.variables();
    if all.is_empty() {
        out::say("no variable is set");
    }
    for (name, value) in all {
        out::say(format!("  {name} = {}", out::cell(&value, LINE)));
    }
}

fn rows_here(walk: &Walk<'_>, tree: &Tree) -> String {
    let watch = walk.seen.borrow();
    match watch.on(tree) {
        Some((rows, similarity)) => {
            format!("{rows} on this page by the template (similarity {similarity:.2}); {}", rows_so_far(walk))
        }
        None if watch.has_template() => "none".to_owned(),
        None => "there is no template yet; one is learned where the first rows are taken".to_owned(),
    }
}

fn rows_so_far(walk: &Walk<'_>) -> String {
    let watch = walk.seen.borrow();
    let details = if watch.details > 0 { format!(", {} detail pages", watch.details) } else { String::new() };
    format!("{} rows taken from {} pages so far{details}", watch.rows, watch.pages)
}
