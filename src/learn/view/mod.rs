//! The page as the learner sees it: tokens, leaves with their paths, and what is computed once for all lists.

mod leaf;
mod limit;
mod page_view;
mod paths;
mod sample;
mod shape;
mod signals;
mod structured_data;
mod text;
mod value_type;
mod words;

pub use leaf::{ATTRIBUTES, LIST_SEPARATOR, Leaf, LeafKind, OpenPath, elements_in, first_leaves, is_too_wide, leaves};
pub use limit::{Limit, MAX_COLUMNS, MAX_LEAVES, MAX_MATCHES, MAX_NEIGHBOURS};
pub use page_view::PageView;
pub use paths::{PathId, PathInterner, class_step};
pub use sample::sample;
pub use signals::{RowSignals, SignalMap};
pub use text::{fingerprint, is_inline, text, text_borrowed};
pub use value_type::value_type;
pub use words::{camel_words, clean, clean_key};
