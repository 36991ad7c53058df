//! A page: bytes → charset → tree → tokens, with CSS and XPath selectors; its forms, pager and links. PURE: no clock,
//! no network, no files.

mod build;
pub mod charset;
pub mod encode;
pub mod form;
mod json;
pub mod links;
pub mod meta_refresh;
mod nodes;
pub mod pager;
mod parse;
pub mod parse_limit;
pub mod post_back;
mod rearrange;
pub mod sanitise;
pub mod select;
pub mod signs;
pub mod text;
pub mod token_names;
pub mod tokens;
pub mod tree;
pub mod xpath;

pub use rearrange::RearrangedChild;
pub use select::Selector;
pub use tokens::Tokens;
pub use tree::{Name, NodeId, Tree};
