//! The live view: screens of a recording in the terminal, whatever it was read from.
//!
//! One [`Model`] is what was recorded; a [`State`] is what its reader chose; [`page`] makes of both the lines of a
//! terminal, and [`press`] of a key the next state. Neither knows a terminal or a clock, so both are tested without. A
//! [`Source`] reads the model again; [`run`] is the loop around. Nothing here asks a server anything.

mod control;
mod draw;
mod filter;
mod goto;
mod history;
mod ink;
pub mod keys;
mod listing;
mod model;
mod plain;
mod press;
mod run;
mod screens;
mod source;
mod state;
mod stats;
mod table;

pub use control::{Effect, press};
pub use draw::draw;
pub use history::{Diagnose, History, HistoryOptions};
pub use ink::{Ink, Line, Palette};
pub use listing::list;
pub use model::{Kind, Listed, Model, Noted, StallAt, Told};
pub use plain::plain;
pub use run::{Options, run};
pub use screens::page;
pub use source::{Opener, Recording, Source};
pub use state::State;
