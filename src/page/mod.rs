//! A page as pieme sees it: bytes → charset → tree → tokens. Pure: no clock, no network, no files.

mod html_tokenizer;
mod character_references;
pub mod sanitise;
pub mod charset;
pub mod tree;
mod build;
mod json;
pub mod tokens;
pub mod encode;
pub mod select;
pub mod signs;
pub mod xpath;

pub use select::Selector;
pub use tokens::Tokens;
pub use tree::{Name, NodeId, Tree};
