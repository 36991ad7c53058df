//! Types shared by all modules. PURE: no I/O, and no dependency on another module.

pub mod address;
mod column;
mod counts;
pub mod host_limiter;
mod minhash;
mod origin;
mod page;
pub mod private_grant;
mod reachability;
mod record;
mod repair;
mod run;
pub mod script;
mod secret;
pub mod shortage;
mod statistics;
mod store_address;
pub mod task;
mod terminal_text;
mod unit;
mod value;

pub use column::{Column, ColumnType, Split, SplitInto};
pub use counts::counted;
pub use host_limiter::HostLimiter;
pub use minhash::MinHash;
pub use origin::{Origin, OriginError};
pub use page::{CachedPage, Page, PageMeta, RobotsTxt};
pub use private_grant::{AddressGrants, PrivateGrant};
pub use reachability::{ConnectError, Refusal};
pub use record::{Row, Table};
pub use repair::{RepairProposal, RepairProposals, StoredProposals};
pub use run::{
    ChangeCounts, Emptiness, Failure, Outcome, PastRun, Publication, Quarantine, RunId, State, StepwiseState,
    TraceLine, Verdict,
};
pub use script::{Script, ScriptStep};
pub use secret::GrantedSecret;
pub use statistics::{
    ColumnStatistics, KnownRecords, NumberStatistics, RunStatistics, SIMILARITY_THRESHOLD, Signs, SimilarityPart,
    SimilarityParts, TableChanges,
};
pub use store_address::{AddressError, PostgresAddress, PostgresTimeouts, StoreAddress};
pub use task::{Task, TaskName};
pub use terminal_text::{for_terminal, is_terminal_control};
pub use unit::{ByteSize, TimeSpan};
pub use value::{Facet, Value, ValueColumn};
