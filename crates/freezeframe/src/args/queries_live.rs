//! Arguments of `freezeframe queries --live`.

use std::time::Duration;

use clap::Args;

use super::duration;

/// Which running server is listened to, and how.
#[derive(Debug, Args, Clone, Default)]
pub(crate) struct LiveArgs {
    /// Ask or listen to a running server for this time instead of reading logs
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) live: Option<Duration>,
}
