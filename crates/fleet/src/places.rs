//! How many places of an incident are told apart where `new-in-stalls` adds up.
//!
//! An incident has hundreds of places in which a thread stood once. They are two thirds of what is added up and decide
//! nothing, so the heaviest are told apart, and the others count as those without a name. What is heaviest is said by
//! both stores in the same way: the share of all time in the stall, or of all time before it, whichever is larger; of
//! those that are level the first by name.

/// Named places of an incident that are told apart, on processors and waiting each.
pub(crate) const PLACES_MAX: u8 = 128;
