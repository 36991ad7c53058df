//! Applies a template to a page: template + page → records, and how similar the page is to its template.

mod detail_links;
pub(super) mod exclusions;
mod extraction;
mod fit;
pub mod merge;
mod mixed_formats;
mod moved_columns;
mod offset;
mod page_values;
mod similarity;
mod transform;

pub use detail_links::{DetailLinksError, detail_links};
pub(super) use extraction::table;
pub use extraction::{
    Extraction, TemplateMatch, TemplateReader, extract, rank_templates, records, visible, visible_text_columns,
};
pub(super) use fit::{fit, quality_floor, training_fit};
pub use page_values::page_values;
pub use similarity::THRESHOLD;
pub use transform::{ColumnTransform, ColumnTransformError};
