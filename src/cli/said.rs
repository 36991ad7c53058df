//! What a person says about a page on the command line: the same words in `pieme learn` and `pieme label`.

use crate::induce::adjust::Adjust;
use crate::induce::enclose::Delimiter;
use crate::induce::finish::{Asked, By, Finish, SheetStep};
use crate::induce::help::{Block, Help};
use crate::induce::label::{Labelled, Meaning};
use crate::induce::rule::Rule;
use crate::page::xpath;

#[derive(clap::Args)]
#[command(next_help_heading = "If the right list is not the first")]
pub(super) struct HelpArgs {
    /// A text in the block of one record, or all of the block's text; again for a record of another format
    #[arg(long, value_name = "TEXT")]
    enclose: Vec<String>,
    /// The block of one record, by CSS: the first match
    #[arg(long, value_name = "CSS")]
    enclose_css: Vec<String>,
    /// How like an enclosed block a row must be, from 0 to 1; 0.5 unless told
    #[arg(long, value_name = "N", value_parser = theta)]
    theta: Option<f64>,
    /// A value of a record, named; a name that comes again starts the next record
    #[arg(long, value_name = "NAME=VALUE", value_parser = labelled)]
    label: Vec<Labelled>,
    /// A text that is the same in each record, and in nothing else
    #[arg(long, value_name = "TEXT")]
    constant: Vec<String>,
    /// A text of a record that is not wanted
    #[arg(long, value_name = "TEXT")]
    any: Vec<String>,
    /// A text that stands in one record of the list; two are better than one
    #[arg(long, value_name = "TEXT")]
    record: Vec<String>,
    #[command(flatten)]
    touch: TouchArgs,
    #[command(flatten)]
    told: ToldArgs,
}

#[derive(clap::Args)]
#[command(next_help_heading = "If the picked list is nearly right (may be given again; in this order)")]
struct TouchArgs {
    /// Make each row wider: to the element above, or by the sibling behind or before it
    #[arg(long, value_name = "up|next|previous", num_args = 0..=1, require_equals = true, default_missing_value = "", value_parser = widen)]
    widen: Vec<Adjust>,
    /// Make each row narrower: to the element inside, or without its first or last sibling
    #[arg(long, value_name = "down|first|last", num_args = 0..=1, require_equals = true, default_missing_value = "", value_parser = narrow)]
    narrow: Vec<Adjust>,
    /// Begin and end each row one item later, or earlier
    #[arg(long, value_name = "back", num_args = 0..=1, require_equals = true, default_missing_value = "", value_parser = rotate)]
    rotate: Vec<Adjust>,
    /// Cut a column at a delimiter, or into words
    #[arg(long, value_name = "COLUMN[=DELIMITER]", value_parser = split)]
    split: Vec<SheetStep>,
    /// Join columns into one
    #[arg(long, value_name = "A,B[=NAME]", value_parser = join)]
    join: Vec<SheetStep>,
}

#[derive(clap::Args)]
#[command(next_help_heading = "As the last resort")]
struct ToldArgs {
    /// The rows: all elements that match
    #[arg(long, value_name = "CSS", group = "rows_told")]
    row_css: Option<String>,
    /// The rows, by a simple XPath such as //li[@class='hit']
    #[arg(long, value_name = "XPATH", group = "rows_told", value_parser = row_xpath)]
    row_xpath: Option<String>,
    /// The rows of a plain text: all lines that match
    #[arg(long, value_name = "REGEX", group = "rows_told")]
    row_regex: Option<String>,
    /// A column: text or attribute of the first match in the row
    #[arg(long, value_name = "NAME=CSS[@ATTRIBUTE]", value_parser = by_css)]
    column: Vec<Asked>,
    /// A column by a simple XPath that starts at the row, such as .//a/@href
    #[arg(long, value_name = "NAME=XPATH", value_parser = by_xpath)]
    column_xpath: Vec<Asked>,
    /// A column: the first group of what matches in the row's text, or all of it
    #[arg(long, value_name = "NAME=REGEX", value_parser = by_regex)]
    column_regex: Vec<Asked>,
}

impl HelpArgs {
    /// `pick` is the candidate that is touched, counted from 1.
    pub(super) fn said(&self, pick: Option<usize>) -> Help {
        let texts = self.enclose.iter().cloned().map(Block::Text);
        let sign = |meaning: Meaning| move |text: &String| Labelled { meaning: meaning.clone(), text: text.clone() };
        let constants = self.constant.iter().map(sign(Meaning::Constant));
        let signs = constants.chain(self.any.iter().map(sign(Meaning::Wildcard)));
        let (touch, told) = (&self.touch, &self.told);
        let css = told.row_css.iter().chain(&told.row_xpath).cloned().map(Rule::Css).next();
        let finish = Finish {
            candidate: pick.unwrap_or(1).saturating_sub(1),
            adjust: [&touch.widen[..], &touch.narrow, &touch.rotate].concat(),
            columns: [&told.column[..], &told.column_xpath, &told.column_regex].concat(),
            sheet: [&touch.split[..], &touch.join].concat(),
        };
        Help {
            enclosed: texts.chain(self.enclose_css.iter().cloned().map(Block::Css)).collect(),
            labels: self.label.iter().cloned().chain(signs).collect(),
            records: self.record.clone(),
            threshold: self.theta,
            rows: css.or_else(|| told.row_regex.clone().map(Rule::Pattern)),
            // Nothing done is nothing said, whichever candidate is picked.
            finish: if finish.is_empty() { Finish::default() } else { finish },
        }
    }
}

fn labelled(text: &str) -> Result<Labelled, String> {
    let (name, value) = name_and(text, "a label is NAME=VALUE, such as price=95")?;
    Ok(Labelled::value(name, value))
}

fn name_and<'a>(text: &'a str, usage: &str) -> Result<(&'a str, &'a str), String> {
    let (name, value) = text.split_once('=').ok_or(usage)?;
    let (name, value) = (name.trim(), value.trim());
    if name.is_empty() || value.is_empty() { Err(usage.to_owned()) } else { Ok((name, value)) }
}

fn theta(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|it| (0.0..1.0).contains(it)).ok_or_else(|| "a number from 0 to 1, such as 0.5".to_owned())
}

fn widen(text: &str) -> Result<Adjust, String> {
    match text {
        "" => Ok(Adjust::Widen),
        "up" => Ok(Adjust::WidenUp),
        "next" => Ok(Adjust::WidenNext),
        "previous" => Ok(Adjust::WidenPrevious),
        _ => Err("up, next or previous".to_owned()),
    }
}

fn narrow(text: &str) -> Result<Adjust, String> {
    match text {
        "" => Ok(Adjust::Narrow),
        "down" => Ok(Adjust::NarrowDown),
        "first" => Ok(Adjust::NarrowFirst),
        "last" => Ok(Adjust::NarrowLast),
        _ => Err("down, first or last".to_owned()),
    }
}

fn rotate(text: &str) -> Result<Adjust, String> {
    match text {
        "" => Ok(Adjust::Rotate),
        "back" => Ok(Adjust::RotateBack),
        _ => Err("nothing, or back".to_owned()),
    }
}

fn split(text: &str) -> Result<SheetStep, String> {
    let (column, at) = match text.split_once('=') {
        Some((column, delimiter)) if !delimiter.is_empty() => (column, Delimiter::Text(delimiter.to_owned())),
        Some((column, _)) => (column, Delimiter::Words),
        None => (text, Delimiter::Words),
    };
    Ok(SheetStep::Split { column: column.to_owned(), at })
}

fn join(text: &str) -> Result<SheetStep, String> {
    let (columns, name) = match text.split_once('=') {
        Some((columns, name)) if !name.trim().is_empty() => (columns, Some(name.trim().to_owned())),
        Some((columns, _)) => (columns, None),
        None => (text, None),
    };
    let columns: Vec<String> = columns.split(',').map(|it| it.trim().to_owned()).collect();
    if columns.len() < 2 {
        return Err("two or more columns, parted by commas".to_owned());
    }
    Ok(SheetStep::Join { columns, name, with: " ".to_owned() })
}

fn by_css(text: &str) -> Result<Asked, String> {
    let (name, css) = name_and(text, "a column is NAME=CSS, such as price=.price or link=a@href")?;
    let is_attribute =
        |it: &str| !it.is_empty() && it.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':'));
    let (css, attribute) = match css.rsplit_once('@') {
        Some((css, attribute)) if is_attribute(attribute) => (css.trim(), Some(attribute.to_lowercase())),
        _ => (css, None),
    };
    let css = if css.is_empty() { ":scope" } else { css };
    Ok(Asked { name: name.to_owned(), by: By::Css { css: css.to_owned(), attribute } })
}

fn row_xpath(text: &str) -> Result<String, String> {
    xpath::to_css(text).map(|path| path.css).map_err(|error| error.to_string())
}

fn by_xpath(text: &str) -> Result<Asked, String> {
    let (name, path) = name_and(text, "a column is NAME=XPATH, such as link=.//a/@href")?;
    let xpath::Path { css, attribute } = xpath::to_css(path).map_err(|error| error.to_string())?;
    Ok(Asked { name: name.to_owned(), by: By::Css { css, attribute } })
}

fn by_regex(text: &str) -> Result<Asked, String> {
    let (name, pattern) = name_and(text, r"a column is NAME=REGEX, such as price=(\d+) EUR")?;
    Ok(Asked { name: name.to_owned(), by: By::Pattern { pattern: pattern.to_owned() } })
}
