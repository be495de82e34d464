//! The live view: screens of a recording in the terminal, whatever it was read from.
//!
//! One [`Model`] is what was recorded; a [`State`] is what its reader chose; [`page`] makes of both the lines of a
//! terminal, and [`press`] of a key the next state. Neither knows a terminal or a clock, so both are tested without. A
//! [`Source`] reads the model again; [`run`] is the loop around. Nothing here asks a server anything.
//!
//! **One model.** Whatever is read becomes a `Model`: an `Incident`, its verdict, the stalls in it, what lies beside
//! it. A file and captures give it as `explain` does. A history gives fifteen minutes around the moment that is
//! looked at, more where a stall lasts longer. Its stalls are those that the recorder wrote down (`stalls.jsonl`),
//! because it knows what is usual for the server; where nobody wrote any down, the detector runs over what was read,
//! as for `explain --at`. The last stall before that moment is judged, and again while it lasts: once the recorder
//! tells its own verdict, for 1 % of a processor at the most. A screen cannot tell where its model came from but by
//! the word in its head.
//!
//! **The surer verdict is shown.** A history has no threads and no stacks, so a server that is stopped has no cause in it.
//! The recorder judges the stall that lasts with all that it has, one second after the trigger and again later; its
//! socket gives that verdict, which is looked for ten times a second until it is there. It stands for this stall where it
//! is at least as sure as the history's; where it is certain the history is not judged.
//!
//! **What does not change is not made again.** Beside a recorder a second brings some rows: they are appended to a copy
//! that nobody looks at (`kept.rs`). What signals usually are holds for ten seconds (`usual.rs`), stacks are shared. So
//! a second, and a key, cost the same beside a history of a minute and of an hour. What a screen derives from rows is kept
//! until other rows, another moment or another choice make it another thing (`derived.rs`).
//!
//! **The server is asked nothing.** A running recorder writes its history each second; that file is read, and its
//! socket tells what no file can: the age of the recorder's last beat, and a stall in the quarter of a second in
//! which it was noticed. A recorder that stands still, and one that ended, are said to be *not known*, never healthy.
//!
//! **Reading has a thread of its own** (`run.rs`), because a disk may hang: keys are answered meanwhile. What is read
//! is drawn four times a second at the most, a key at once; only cells that changed are written. Stacks are asked for by one
//! more (`recent.rs`): the recorder reads symbol tables first, just when a stall is to be judged.
//!
//! **Where no processor is free** the threads that answer and read come before others, as far as that is permitted, and
//! only then (`precedence.rs`).
//!
//! **Incidents of the list are judged while it is looked at** (`judging.rs`), one after another and not more than
//! `incidents` lists: whoever never opens screen 8 pays nothing for it.
//!
//! **The terminal is given back** by dropping `Screen`, by the hook on a panic of its thread, and after SIGINT,
//! SIGTERM and SIGHUP, which end the loop. Its `write` escapes as all output does, though lines were escaped when
//! they were made: a width is only known of what will be seen.
//!
//! **Keys are one table** (`keys.rs`): help, foot and `--help` are made of it, and a test sees to it that no key has
//! two meanings.
//!
//! **Colours repeat words.** An `Ink` says what a piece of text is; `Palette` makes a colour of it, or none. Orange
//! and blue have a contrast of 4.4 and more on black and on white; a test computes it.

mod control;
mod derived;
mod draw;
mod filter;
mod goto;
mod history;
mod ink;
mod judging;
mod kept;
pub mod keys;
mod listing;
mod model;
mod plain;
mod precedence;
mod press;
mod recent;
mod run;
mod screens;
mod source;
mod state;
mod stats;
mod table;
mod usual;

pub use control::{Effect, press};
pub use draw::draw;
pub use history::{Diagnose, History, HistoryOptions};
pub use ink::{Ink, Line, Palette};
pub use judging::{IncidentOutcome, Judge, Outcomes};
pub use listing::list;
pub use model::{IncidentEntry, Model, NotedStall, RecorderState, RecordingKind, StallTimes};
pub use plain::plain;
pub use recent::RecentStacks;
pub use run::{Files, Options, run};
pub use screens::page;
pub use source::{Recording, Source};
pub use state::State;
