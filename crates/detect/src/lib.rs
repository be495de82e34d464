//! Notices stalls. Pure: fed with samples in the order they came, it answers with events; no clock,
//! no I/O, so a recorded incident replays exactly.

mod baseline;
mod config;
mod detector;
mod expression;
mod rules;

pub use config::{Config, Hysteresis};
pub use detector::{Detector, Event};
pub use expression::{ExpressionError, UserTrigger};
