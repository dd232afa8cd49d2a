//! Queues, pools and caches that threads share. Each has one bug; the feature `fixed` corrects them.

mod budget;
mod connections;
mod histogram;
mod lru;
mod queue;
mod retry;
mod settings;
mod shared;

pub use budget::Budget;
pub use connections::{Connection, ConnectionPool};
pub use histogram::Histogram;
pub use lru::LruCache;
pub use queue::BoundedQueue;
pub use retry::Mailbox;
pub use settings::Settings;
pub use shared::Shared;

/// Whether the corrected code is compiled.
const FIXED: bool = cfg!(feature = "fixed");
