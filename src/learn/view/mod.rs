//! The page as the learner sees it: tokens, leaves with their paths, and what is computed once for all lists.

mod grouping;
mod leaf;
mod limit;
mod page_view;
mod paths;
mod shape;
mod signals;
mod structured_data;
mod text;

pub use grouping::{count_keys, grouped, sample};
pub use leaf::{
    ATTRIBUTES, LIST_SEPARATOR, Leaf, LeafKind, OpenPath, elements_in, first_leaves, is_too_wide, leaves, value_type,
};
pub use limit::{Limit, MAX_COLUMNS, MAX_LEAVES, MAX_MATCHES, MAX_NEIGHBOURS};
pub use page_view::PageView;
pub use paths::{PathId, PathInterner, class_step};
pub use signals::{RowSignals, SignalMap};
pub use text::{camel_words, clean, clean_key, fingerprint, is_inline, text, text_borrowed, word_set};
