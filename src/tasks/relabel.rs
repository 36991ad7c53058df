//! A new labelling: template, columns, labels and a sample, in an order that a watching daemon can live with.

use super::{Label, Problem, TaskFolder};
use super::{clear_samples, forget_proposals, read_labels, read_samples, save_previous};
use super::{write_columns, write_labels, write_sample, write_template};
use crate::model::{Column, Table};

/// What a labelling puts into the folder.
pub struct Relabelling<'a> {
    /// As JSON text.
    pub template: &'a str,
    /// What was said, with the names of the columns.
    pub label: Label,
    /// As task.toml will have them.
    pub columns: &'a [Column],
    /// The page that it was said of, and the rows that are expected of it.
    pub body: &'a [u8],
    pub expected: &'a Table,
    /// The template reads the old shape as well: what was expected of the old pages still is.
    pub repairs: bool,
}

/// Writes it; what it replaces can be brought back.
pub fn relabel(folder: &TaskFolder, new: Relabelling<'_>) -> Result<(), Problem> {
    let dir = &folder.dir;
    let mut labels = read_labels(dir)?;
    labels.labels.push(new.label);
    save_previous(dir, &folder.task.columns)?;
    write_labels(dir, &labels)?;
    write_columns(dir, new.columns)?;
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
