//! `pieme forms`: lists the forms of a saved page and what each is for.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::json;
use url::Url;

use super::{PageSandbox, VerbResult, exit, output, page_url};
use crate::page::form::{self, Form, FormPurpose};
use crate::page::links;

/// List the forms of a saved page, what each is for, and its fields
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pieme forms page.html --url https://shop.example/login
  pieme forms page.html --url https://shop.example/ --json | jq '.forms[].type'")]
pub(super) struct Args {
    /// The saved page
    page: PathBuf,
    /// Address of the page; the actions of its forms are relative to it
    #[arg(long, value_name = "URL", value_parser = page_url)]
    url: Url,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Wider cells are cut on a terminal; `--json` has them whole.
const CELL_WIDTH: usize = 48;

pub(super) fn run(args: &Args) -> VerbResult {
    let tree = PageSandbox::enter(std::slice::from_ref(&args.page))?.read_page(&args.page)?;
    let base = links::base(&tree, &args.url);
    let all = form::find_all(&tree);
    let forms: Vec<FormSummary> =
        all.iter().enumerate().map(|(index, form)| FormSummary::of(index, form, &args.url, &base)).collect();
    if args.json {
        output::json(&json!({ "forms": forms }));
    } else if forms.is_empty() {
        output::say("There is no form on this page.");
    } else {
        let header = ["FORM", "TYPE", "USERNAME", "PASSWORD", "QUERY", "METHOD", "ACTION"];
        output::say(output::table(&header, forms.iter().map(FormSummary::cells)));
    }
    Ok(exit::DONE)
}

/// A form as it is listed.
#[derive(Serialize)]
struct FormSummary {
    index: usize,
    #[serde(rename = "type")]
    purpose: &'static str,
    username: Option<String>,
    password: Option<String>,
    query: Option<String>,
    action: String,
    method: &'static str,
}

impl FormSummary {
    fn of(index: usize, form: &Form, page: &Url, base: &Url) -> FormSummary {
        let purpose = form.purpose();
        let has_account = matches!(purpose, FormPurpose::Login | FormPurpose::Registration | FormPurpose::Recovery);
        let name = |field: Option<&form::FormField>| field.map(|it| it.name.clone());
        // A form without an action is sent to the page's own address, whatever its <base>.
        let action = form.action.as_deref().map(str::trim).filter(|action| !action.is_empty());
        let target = action.map_or_else(|| Some(page.clone()), |action| links::resolve(base, action));
        FormSummary {
            index,
            purpose: purpose.name(),
            username: if has_account { name(form.username()) } else { None },
            password: name(form.password()),
            query: if purpose == FormPurpose::Search { name(form.query()) } else { None },
            // An action that is no URL to fetch (`javascript:…`) is shown as written.
            action: target.map_or_else(|| action.unwrap_or_default().to_owned(), String::from),
            method: if form.post { "post" } else { "get" },
        }
    }

    fn cells(&self) -> [String; 7] {
        let field = |name: &Option<String>| output::cell(name.as_deref().unwrap_or("-"), CELL_WIDTH);
        let (username, password, query) = (field(&self.username), field(&self.password), field(&self.query));
        let (word, method) = (self.purpose.to_owned(), self.method.to_owned());
        [self.index.to_string(), word, username, password, query, method, output::cell(&self.action, CELL_WIDTH)]
    }
}
