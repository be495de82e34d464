//! Arguments of `freezeframe-lab allocators`.

use std::path::PathBuf;

use clap::Args;

use super::ServerArg;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe-lab allocators                      five rounds, about four minutes
  freezeframe-lab allocators --html allocators.html
  freezeframe-lab allocators --server mariadb --allocator glibc --allocator jemalloc --rounds 10

An allocator whose library is missing is left out, and the command that installs it is printed.
The machine should do nothing else.

Exit codes: 0 measured, 1 not measured.")]
pub(crate) struct Allocators {
    /// Run on this server [default: MySQL 5.5.9 if available, otherwise the installed MariaDB]
    #[arg(long, value_name = "SERVER")]
    pub(crate) server: Option<ServerArg>,
    /// Only these allocators: glibc, old-glibc (as before 2.26, with one arena), tcmalloc, jemalloc, mimalloc
    #[arg(long = "allocator", value_name = "NAME", value_parser = allocator)]
    pub(crate) allocators: Vec<testbed::Allocator>,
    /// Rounds for each allocator, in turn
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) rounds: u32,
    /// Also write tables and bars as an HTML page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// JSON
    #[arg(long)]
    pub(crate) json: bool,
}

fn allocator(name: &str) -> Result<testbed::Allocator, String> {
    testbed::Allocator::named(name).ok_or_else(|| {
        let names: Vec<&str> = testbed::Allocator::ALL
            .into_iter()
            .map(testbed::Allocator::name)
            .collect();
        format!("there is {}", names.join(", "))
    })
}
