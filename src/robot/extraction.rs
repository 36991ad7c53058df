//! Extracts the rows of a walk's current page, and fails where the page shows that rows are missing.

use std::rc::Rc;

use super::error::WalkError;
use super::loaded_page::LoadedPage;
use super::walked_pages::PageFault;
use super::walker::Walker;
use super::{Arrival, PageRows};
use crate::model::Failure;
use crate::model::address::display_url;

impl Walker<'_> {
    /// Extracts from the current page, and fails if rows are missing.
    pub fn extract(&mut self, arrival: Arrival) -> Result<PageRows, WalkError> {
        let Some(stand) = self.current.clone() else { return Err(self.no_page_error()) };
        self.extracted = true;
        let blanked = self.redacted_page(&stand.page);
        let page = blanked.as_ref().unwrap_or(&stand.page);
        let rows = self.observer.page(page, &stand.tree, &self.item_columns, arrival);
        self.check_extracted(&stand, rows, arrival)?;
        Ok(rows)
    }

    /// Extracts again from a page that has grown; returns how many rows were added.
    pub fn extract_grown(&mut self) -> Result<usize, WalkError> {
        let Some(stand) = self.current.clone() else { return Err(self.no_page_error()) };
        self.extracted = true;
        let blanked = self.redacted_page(&stand.page);
        let page = blanked.as_ref().unwrap_or(&stand.page);
        let rows = self.observer.page_grown(page, &stand.tree, &self.item_columns);
        self.trace(new_rows_text(&stand, rows));
        Ok(rows)
    }

    /// Traces the rows of a page, and fails if the page shows that some are missing.
    pub fn check_extracted(
        &mut self,
        page: &Rc<LoadedPage>,
        rows: PageRows,
        arrival: Arrival,
    ) -> Result<(), WalkError> {
        self.trace(new_rows_text(page, rows.new));
        let checked = self.walked.check(page, rows, arrival);
        checked.map_err(|fault| self.page_fault(fault))
    }

    pub fn page_fault(&self, fault: PageFault) -> WalkError {
        match fault {
            PageFault::Failed(cause, sentence) => self.error(cause, sentence),
            // A stepwise run and `go_on` have no judge.
            PageFault::MissingRows(sentence) => {
                WalkError { is_incomplete: true, ..self.error(Failure::Robot, sentence) }
            }
        }
    }
}

fn new_rows_text(stand: &LoadedPage, rows: usize) -> String {
    format!("{} has {rows} new row{}", display_url(&stand.page.meta.url), if rows == 1 { "" } else { "s" })
}
