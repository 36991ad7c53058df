//! Options that help the learner (pick, enclose, label, adjust, tell), shared by `pieme learn`, `label` and `add`.

use crate::learn::teach::{
    Block, CandidateEdits, ColumnSelector, Help, Meaning, RequestedColumn, SpreadsheetStep, ValueLabel,
};
use crate::learn::template::{Delimiter, RowAdjustment, RowRule};
use crate::page::xpath;

#[derive(clap::Args)]
#[command(next_help_heading = "If the right list is not the first")]
pub(super) struct HelpArgs {
    /// A text in the block of one record, or the whole text of the block; repeat for other formats
    #[arg(long, value_name = "TEXT")]
    enclose: Vec<String>,
    /// The block of one record: the first match of a CSS selector
    #[arg(long, value_name = "CSS")]
    enclose_css: Vec<String>,
    /// How similar to an enclosed block a row must be, from 0 to 1; default: 0.5
    #[arg(long, value_name = "N", value_parser = theta)]
    theta: Option<f64>,
    /// A value of a record and the name of its column; a repeated name starts the next record
    #[arg(long, value_name = "NAME=VALUE", value_parser = labelled)]
    label: Vec<ValueLabel>,
    /// A text that stands in every record and nowhere else
    #[arg(long, value_name = "TEXT")]
    constant: Vec<String>,
    /// A text of a record that needs no column
    #[arg(long, value_name = "TEXT")]
    any: Vec<String>,
    /// A text of one record of the list; two records are better than one
    #[arg(long, value_name = "TEXT")]
    record: Vec<String>,
    #[command(flatten)]
    touch: AdjustArgs,
    #[command(flatten)]
    told: RuleArgs,
}

#[derive(clap::Args)]
#[command(next_help_heading = "If the picked list is nearly right (repeatable; applied in this order)")]
struct AdjustArgs {
    /// Make each row wider: to the parent element, or by the next or previous sibling
    #[arg(long, value_name = "up|next|previous", num_args = 0..=1, require_equals = true,
          default_missing_value = "", value_parser = widen)]
    widen: Vec<RowAdjustment>,
    /// Make each row narrower: to the child element, or without its first or last sibling
    #[arg(long, value_name = "down|first|last", num_args = 0..=1, require_equals = true,
          default_missing_value = "", value_parser = narrow)]
    narrow: Vec<RowAdjustment>,
    /// Start and end each row one item later, or one earlier (back)
    #[arg(long, value_name = "back", num_args = 0..=1, require_equals = true,
          default_missing_value = "", value_parser = rotate)]
    rotate: Vec<RowAdjustment>,
    /// Split a column at a delimiter, or into words
    #[arg(long, value_name = "COLUMN[=DELIMITER]", value_parser = split)]
    split: Vec<SpreadsheetStep>,
    /// Join columns into one
    #[arg(long, value_name = "A,B[=NAME]", value_parser = join)]
    join: Vec<SpreadsheetStep>,
}

#[derive(clap::Args)]
#[command(next_help_heading = "If nothing else helps")]
struct RuleArgs {
    /// The rows: all elements that match a CSS selector
    #[arg(long, value_name = "CSS", group = "rows_told")]
    row_css: Option<String>,
    /// The rows: all elements that match a simple XPath such as //li[@class='hit']
    #[arg(long, value_name = "XPATH", group = "rows_told", value_parser = row_xpath)]
    row_xpath: Option<String>,
    /// The rows of a plain text: all lines that match a regular expression
    #[arg(long, value_name = "REGEX", group = "rows_told")]
    row_regex: Option<String>,
    /// A column: text or attribute of the first match of a CSS selector in the row
    #[arg(long, value_name = "NAME=CSS[@ATTRIBUTE]", value_parser = by_css)]
    column: Vec<RequestedColumn>,
    /// A column: a simple XPath that starts at the row, such as .//a/@href
    #[arg(long, value_name = "NAME=XPATH", value_parser = by_xpath)]
    column_xpath: Vec<RequestedColumn>,
    /// A column: the first group of a match in the row's text, or the whole match
    #[arg(long, value_name = "NAME=REGEX", value_parser = by_regex)]
    column_regex: Vec<RequestedColumn>,
}

impl HelpArgs {
    /// `pick` is the candidate that is adjusted, counted from 1.
    pub(super) fn to_help(&self, pick: Option<usize>) -> Help {
        let texts = self.enclose.iter().cloned().map(Block::Text);
        let sign = |meaning: Meaning| move |text: &String| ValueLabel { meaning: meaning.clone(), text: text.clone() };
        let constants = self.constant.iter().map(sign(Meaning::Constant));
        let signs = constants.chain(self.any.iter().map(sign(Meaning::Wildcard)));
        let (touch, told) = (&self.touch, &self.told);
        let css = told.row_css.iter().chain(&told.row_xpath).cloned().map(RowRule::Css).next();
        let finish = CandidateEdits {
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
            rows: css.or_else(|| told.row_regex.clone().map(RowRule::Pattern)),
            // Without an adjustment, the picked candidate is no help.
            finish: if finish.is_empty() { CandidateEdits::default() } else { finish },
        }
    }
}

fn labelled(text: &str) -> Result<ValueLabel, String> {
    let (name, value) = name_and(text, "a label is NAME=VALUE, such as price=95")?;
    Ok(ValueLabel::value(name, value))
}

fn name_and<'a>(text: &'a str, usage: &str) -> Result<(&'a str, &'a str), String> {
    let (name, value) = text.split_once('=').ok_or(usage)?;
    let (name, value) = (name.trim(), value.trim());
    if name.is_empty() || value.is_empty() { Err(usage.to_owned()) } else { Ok((name, value)) }
}

fn theta(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|it| (0.0..1.0).contains(it)).ok_or_else(|| "a number from 0 to 1, such as 0.5".to_owned())
}

fn widen(text: &str) -> Result<RowAdjustment, String> {
    use RowAdjustment::{Widen, WidenNext, WidenPrevious, WidenUp};
    one_of(text, &[("", Widen), ("up", WidenUp), ("next", WidenNext), ("previous", WidenPrevious)])
        .ok_or_else(|| "up, next or previous".to_owned())
}

fn narrow(text: &str) -> Result<RowAdjustment, String> {
    use RowAdjustment::{Narrow, NarrowDown, NarrowFirst, NarrowLast};
    one_of(text, &[("", Narrow), ("down", NarrowDown), ("first", NarrowFirst), ("last", NarrowLast)])
        .ok_or_else(|| "down, first or last".to_owned())
}

fn rotate(text: &str) -> Result<RowAdjustment, String> {
    one_of(text, &[("", RowAdjustment::Rotate), ("back", RowAdjustment::RotateBack)])
        .ok_or_else(|| "nothing, or back".to_owned())
}

fn one_of(text: &str, words: &[(&str, RowAdjustment)]) -> Option<RowAdjustment> {
    words.iter().find(|(word, _)| *word == text).map(|(_, step)| *step)
}

fn split(text: &str) -> Result<SpreadsheetStep, String> {
    let (column, delimiter) = text.split_once('=').unwrap_or((text, ""));
    let at = if delimiter.is_empty() { Delimiter::Words } else { Delimiter::Text(delimiter.to_owned()) };
    Ok(SpreadsheetStep::Split { column: column.to_owned(), at })
}

fn join(text: &str) -> Result<SpreadsheetStep, String> {
    let (columns, name) = text.split_once('=').unwrap_or((text, ""));
    let name = Some(name.trim()).filter(|name| !name.is_empty()).map(str::to_owned);
    let columns: Vec<String> = columns.split(',').map(|it| it.trim().to_owned()).collect();
    if columns.len() < 2 {
        return Err("two or more columns, separated by commas".to_owned());
    }
    Ok(SpreadsheetStep::Join { columns, name, with: " ".to_owned() })
}

fn by_css(text: &str) -> Result<RequestedColumn, String> {
    let (name, css) = name_and(text, "a column is NAME=CSS, such as price=.price or link=a@href")?;
    let is_attribute =
        |it: &str| !it.is_empty() && it.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':'));
    let (css, attribute) = match css.rsplit_once('@') {
        Some((css, attribute)) if is_attribute(attribute) => (css.trim(), Some(attribute.to_lowercase())),
        _ => (css, None),
    };
    let css = if css.is_empty() { ":scope" } else { css };
    Ok(RequestedColumn { name: name.to_owned(), by: ColumnSelector::Css { css: css.to_owned(), attribute } })
}

fn row_xpath(text: &str) -> Result<String, String> {
    xpath::to_css(text).map(|path| path.css).map_err(|error| error.to_string())
}

fn by_xpath(text: &str) -> Result<RequestedColumn, String> {
    let (name, path) = name_and(text, "a column is NAME=XPATH, such as link=.//a/@href")?;
    let xpath::CssPath { css, attribute } = xpath::to_css(path).map_err(|error| error.to_string())?;
    Ok(RequestedColumn { name: name.to_owned(), by: ColumnSelector::Css { css, attribute } })
}

fn by_regex(text: &str) -> Result<RequestedColumn, String> {
    let (name, pattern) = name_and(text, r"a column is NAME=REGEX, such as price=(\d+) EUR")?;
    Ok(RequestedColumn { name: name.to_owned(), by: ColumnSelector::Pattern { pattern: pattern.to_owned() } })
}
