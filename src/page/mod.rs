//! A page: bytes → charset → tree → tokens, with CSS and XPath selectors. PURE: no clock, no network, no files.

mod build;
mod character_references;
pub mod charset;
pub mod encode;
mod html_tokenizer;
mod json;
pub mod sanitise;
pub mod select;
pub mod signs;
pub mod tokens;
pub mod tree;
pub mod xpath;

pub use select::Selector;
pub use tokens::Tokens;
pub use tree::{Name, NodeId, Tree};
