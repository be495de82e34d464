//! Others' captures, as an incident.
//!
//! People have a backtrace from a ticket, an InnoDB status in a mail, a `perf report`, last night's
//! pt-stalk directory. Whatever it is: it is recognised by its content, never by its name; several
//! things in one text are told apart; damage is passed over, and said with its line. The same
//! diagnosis looks at the result that looks at what the recorder took.
//!
//! Pure: bytes in, an [`model::Incident`] out. Opening files and archives is the caller's.
//!
//! **Tables of the host** share `columns.rs`: `Head` finds the cell below a name, `Column` says what signal it
//! becomes, `Sums` makes counters of rates. `Read::push_each` adds moments a second apart.
//!
//! **Where the stall is** (`stall_span.rs`). Other tools begin late and go on when it is over. The number of running
//! sessions falls into a busy and a calm group; the stall is from the first to the last busy reading, unless each
//! session gets more done in it. What tells no time belongs to it. `model::Incident::calm_after` is what it is
//! compared with where nothing was taken before.
//!
//! **Names that are always there** (`Format::is_inventory`). `/proc/slabinfo`, `sysctl -a` and the like have the same
//! names whatever happens. That a whole print has one tells nothing; of a few lines somebody chose these.
//!
//! **Words in sentences** (`lexicon/src/mention.rs`, `import/src/formats/sentences.rs`). Text that is no listing is
//! searched for strong words of the lexicon. A word is a `model::Mention`, never a thread or a session. A quoted
//! message is a line of its log, but other lines may have been there: it refutes nothing and is never *likely* by
//! itself. Where no word is evidence and most words are of a language (`import/src/prose.rs`), the incident is empty
//! and the answer is what to capture. An unknown configuration or listing stays an error.
//!
//! **Listings without stacks.** Own shares of `perf report` become samples of one frame; what a function had with its
//! callees is apart (`model::Callers`). A sign looks for the largest counts and never claims that one function called
//! another. Trees below the rows (`-g`) are stacks (`read/call_graph.rs`).
//!
//! **Rows of the server's tables** are kept until all captures are read (`server_tables/`), because several together show who
//! waits for whom. They become the signals of an InnoDB status, and a lock table of depth `told`, of the same source:
//! two views of the same rows are not two witnesses.
//!
//! **Whole files.** Packets and logs are read as bytes. A log comes last, because the other captures show which of
//! its days matters. A single print of digests has shares and no rates.
//!
//! **Stacks as printed.** `stacks --from --pt-pmp` needs parameters and places that our frames lost:
//! `import::printed_threads` returns the lines as printed, and `report` does what pt-pmp's awk does. A test compares
//! both.
//!
//! **Formats that are no text.** pprof is recognised by its wire format. Tables of MySQL Shell and documents of
//! dolphie are written again as `mysql` prints them (`shell.rs`, `freezeframe/src/captures/dolphie_replay.rs`): one reader of
//! each thing. dolphie packs by zstd with earlier documents as the dictionary, without zstd's tables at its start;
//! the decoder gets some that nothing refers to.
//!
//! `TS` lines of pt-stalk and `Uptime` place samples; what has no time is placed at the start. Where nothing has one,
//! the clock's zero is 0 and reports say so.
//!
//! **One signal from one format** (`origins.rs`). vmstat, iostat and sar print rates, which become counters from
//! zero; `/proc` and the server print counters. Mixed, each step would look like a restart. What has moments wins,
//! then what counts from a common zero, then what has more.
//!
//! The import writes facts `capture.stacks`, `capture.processlist`, `capture.innodb`, `capture.status`,
//! `capture.variables` with the value `part`. In a part one thread is enough where a sign needs many, such a sign is
//! never conclusive, and a setting that is not there is not known. Waits that only an error log reported count as the
//! error log (`capture.semaphores`). A processlist that was taken once needs no crowd either: one session that has
//! waited for half a minute is what hung, or for seconds where half of all active sessions wait
//! (`functions/sessions.rs`).

mod absent;
mod assemble;
mod broken_lines;
mod characters;
mod class_notes;
mod clean;
mod client_lists;
mod columns;
mod crash;
mod decoration;
mod exports;
mod flattened_backtraces;
mod flattened_tables;
mod format;
mod formats;
mod grouped_numbers;
mod json_log;
mod json_rows;
mod json_text;
mod kernel_line;
mod layers;
mod line;
mod listed_waits;
mod markdown_lists;
mod memory_budget;
mod moments;
mod one_input;
mod origins;
mod own_sessions;
mod paragraph_row;
mod parallel;
mod part;
mod prefixes;
mod printed_rows;
mod printed_threads;
mod program_rows;
mod prose;
mod quoted_printable;
mod rds_monitoring;
mod read;
mod recognise;
mod recordings;
mod server_names;
mod server_tables;
mod server_version;
mod session_values;
mod shell;
mod spacing;
mod split;
mod stack_lines;
mod stall_span;
mod symbol;
mod table_headers;
mod table_rows;
mod tables;
mod terminal;
mod ticks;
mod times;
mod timestamps;
mod value_notes;
mod vocabulary;
mod web_page;
mod whole_text;
mod wrapped_rows;

pub use assemble::{Imported, import};
pub use format::{Format, Group};
pub use formats::FORMATS;
pub use printed_threads::printed_threads;

/// A capture as it was given.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// Its path, or `-`: for people, and for the place of what was found in it.
    pub path: &'a str,
    /// Its content.
    pub bytes: &'a [u8],
}

/// What a part of an input was recognised as, or why it was not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The input's path.
    pub path: String,
    /// What it is (`gdb backtrace`).
    pub kind: String,
    /// First and last line, from 1; absent for what has no lines.
    pub lines: Option<(usize, usize)>,
    /// What came of it in a few words (`42 threads`), empty where nothing can be said.
    pub brought: String,
    /// Why it, or some of it, was left out.
    pub skipped: Option<String>,
}

/// Bytes of one input that are read; the rest is left out and said.
pub const INPUT_BYTES_MAX: usize = 512 << 20;
