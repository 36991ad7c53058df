//! Converts a person's help to its form in labels.toml and back.

use crate::learn::teach::{Block, CandidateEdits, Help, Meaning, ValueLabel};
use crate::tasks::{Label, LabelHelp, LabelKind};

/// The help stored in a label.
pub(in crate::labelling::task) fn to_help(label: &Label) -> Help {
    let said = &label.said;
    let texts = said.enclose.iter().cloned().map(Block::Text);
    let sign = |meaning: Meaning| move |text: &String| ValueLabel { meaning: meaning.clone(), text: text.clone() };
    let values = said.label.iter().map(|(name, value)| ValueLabel::value(name, value));
    let constants = said.constant.iter().map(sign(Meaning::Constant));
    Help {
        enclosed: texts.chain(said.enclose_css.iter().cloned().map(Block::Css)).collect(),
        labels: values.chain(constants).chain(said.any.iter().map(sign(Meaning::Wildcard))).collect(),
        records: said.record.clone(),
        threshold: said.theta,
        rows: said.rows.clone(),
        finish: CandidateEdits {
            candidate: (label.candidate as usize).saturating_sub(1),
            adjust: said.adjust.clone(),
            columns: said.column.clone(),
            sheet: said.sheet.clone(),
        },
    }
}

/// The part of the help that holds for other pages: texts and selectors. Node numbers hold for one page only.
pub(in crate::labelling::task) fn to_label_help(help: &Help) -> LabelHelp {
    let mut said = LabelHelp {
        record: help.records.clone(),
        theta: help.threshold,
        adjust: help.finish.adjust.clone(),
        rows: help.rows.clone(),
        column: help.finish.columns.clone(),
        sheet: help.finish.sheet.clone(),
        ..LabelHelp::default()
    };
    for block in &help.enclosed {
        match block {
            Block::Text(text) => said.enclose.push(text.clone()),
            Block::Css(css) => said.enclose_css.push(css.clone()),
            Block::Nodes(..) => {}
        }
    }
    for label in &help.labels {
        match &label.meaning {
            Meaning::Variable(name) => said.label.push((name.clone(), label.text.clone())),
            Meaning::Constant => said.constant.push(label.text.clone()),
            Meaning::Wildcard => said.any.push(label.text.clone()),
        }
    }
    said
}

pub(in crate::labelling::task) fn kind(help: &Help) -> LabelKind {
    match help {
        Help { rows: Some(_), .. } => LabelKind::Tell,
        Help { finish, .. } if !finish.columns.is_empty() => LabelKind::Tell,
        Help { enclosed, .. } if !enclosed.is_empty() => LabelKind::Enclose,
        Help { labels, .. } if !labels.is_empty() => LabelKind::Label,
        Help { records, .. } if !records.is_empty() => LabelKind::Record,
        Help { finish, .. } if !finish.is_empty() => LabelKind::Adjust,
        Help { .. } => LabelKind::Pick,
    }
}
