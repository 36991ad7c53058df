//! The nouns of pieme. No input or output happens here, and nothing here knows another module.

pub mod calendar;
pub mod change;
pub mod column;
pub mod figures;
pub mod numbers;
mod sketch;
pub mod kept;
pub mod mended;
pub mod page;
pub mod reach;
pub mod record;
pub mod run;
pub mod script;
pub mod stepped;
pub mod store_address;
pub mod task;
pub mod unit;
pub mod value;

pub use calendar::Calendar;
pub use change::Counts;
pub use column::{Column, ColumnType, Split, SplitInto};
pub use figures::{ColumnFigures, Figures, Likeness, Part, SIMILARITY_LINE, Signs};
pub use kept::{KeptPage, RobotsTxt};
pub use mended::{KeptProposals, Mended, Proposed};
pub use numbers::NumberFigures;
pub use page::{Page, PageMeta};
pub use reach::{Missed, Refusal};
pub use record::{Row, Table};
pub use run::{Emptiness, Failure, Outcome, PastRun, Publication, Quarantine, RunId, State, TraceLine, Verdict};
pub use script::{Script, Step};
pub use sketch::Sketch;
pub use stepped::Stepped;
pub use store_address::{AddressError, PostgresAddress, StoreAddress, Timeouts};
pub use task::{Task, TaskName};
pub use unit::{ByteSize, Span};
pub use value::{Facet, Value, ValueColumn};
