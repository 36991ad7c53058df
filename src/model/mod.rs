//! The nouns of pieme. No input or output happens here, and nothing here knows another module.

pub mod stepwise_state;
mod minhash;
pub mod reachability;
pub mod number_statistics;
pub mod repair;
pub mod http_cache;
pub mod statistics;
pub mod host_limiter;
pub mod change;
pub mod column;
pub mod page;
pub mod record;
pub mod run;
pub mod script;
pub mod shortage;
pub mod store_address;
pub mod task;
pub mod unit;
pub mod value;

pub use self::host_limiter::HostLimiter;
pub use self::http_cache::{CachedPage, RobotsTxt};
pub use self::minhash::MinHash;
pub use self::number_statistics::NumberStatistics;
pub use self::reachability::{ConnectError, Refusal};
pub use self::repair::{RepairProposal, RepairProposals, StoredProposals};
pub use self::statistics::{
    ColumnStatistics, RunStatistics, SIMILARITY_THRESHOLD, Signs, SimilarityPart, SimilarityParts,
};
pub use self::stepwise_state::StepwiseState;
pub use change::ChangeCounts;
pub use column::{Column, ColumnType, Split, SplitInto};
pub use page::{Page, PageMeta};
pub use record::{Row, Table};
pub use run::{Emptiness, Failure, Outcome, PastRun, Publication, Quarantine, RunId, State, TraceLine, Verdict};
pub use script::{Script, ScriptStep};
pub use store_address::{AddressError, PostgresAddress, PostgresTimeouts, StoreAddress};
pub use task::{Task, TaskName};
pub use unit::{ByteSize, TimeSpan};
pub use value::{Facet, Value, ValueColumn};
