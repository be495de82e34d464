//! Notices stalls. Pure: fed with samples in the order they came, it answers with events; no clock,
//! no I/O, so a recorded incident replays exactly.
//!
//! The first question is about work, relative to what is usual for this server: do statements come
//! back that usually do, and are clients let in? How many clients there are does not matter. What
//! the host does is a sign, never a stall by itself.

mod baseline;
mod burn;
mod config;
mod detector;
mod pace;
mod requests;
mod rules;
mod sessions;
mod signals;
mod trigger;
mod usual;
mod view;

pub use config::{Config, Hysteresis, Room};
pub use detector::{Announce, Detector, Event};
pub use pace::Pace;
pub use requests::{RequestRow, Requests};
pub use sessions::{LearntClasses, SessionRow, Sessions};
pub use signals::SIGNALS;
pub use trigger::{TriggerError, UserTrigger};
pub use usual::Learnt;
