//! The tests of the diagnosis, one program: each would be linked, and would read the catalogue, alone. A file beside this
//! one has its line here.

mod actors;
mod audit;
mod catalogue;
mod causes;
mod common;
mod compare;
mod compare_kinds;
mod deep_causes;
mod functions;
mod kinds;
mod latches;
mod lint;
mod stacks_alone;
mod text_kinds;
mod things;
mod undo;
mod verdict;
mod wire;
mod words;
