//! Writes a new label to the task folder: labels, columns, sample and, last, the template that a watching daemon acts
//! on.

use super::{Label, Problem, TaskFolder};
use super::{check_template, write_columns, write_labels, write_sample, write_template};
use super::{clear_samples, forget_proposals, read_labels, read_samples, save_previous};
use crate::model::{Column, Table};

/// What a label changes in the folder.
pub struct Relabelling<'a> {
    /// As JSON text.
    pub template: &'a str,
    /// The label itself, with the names of the columns.
    pub label: Label,
    /// The columns for task.toml.
    pub columns: &'a [Column],
    /// `data.key` for task.toml.
    pub key: &'a [String],
    /// The labelled page, and the rows expected on it.
    pub body: &'a [u8],
    pub expected: &'a Table,
    /// The template also fits the old layout, so the old samples are kept.
    pub repairs: bool,
}

/// Writes everything; [`super::restore_previous`] undoes it.
pub fn relabel(folder: &TaskFolder, new: Relabelling<'_>) -> Result<(), Problem> {
    // It may come from a sandboxed process.
    check_template(new.template)?;
    let dir = &folder.dir;
    let mut labels = read_labels(dir)?;
    labels.labels.push(new.label);
    save_previous(dir, &folder.task.columns, &folder.task.data.key)?;
    write_labels(dir, &labels)?;
    write_columns(dir, new.columns, Some(new.key))?;
    let mut sample = 1;
    if new.repairs {
        sample = read_samples(dir)?.last().map_or(1, |it| it.index + 1);
    } else {
        clear_samples(dir)?;
    }
    write_sample(dir, sample, new.body, new.expected)?;
    forget_proposals(dir)?;
    // The template goes last: it is what a watching daemon acts on.
    Ok(write_template(dir, new.template)?)
}
