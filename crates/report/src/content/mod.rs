//! What reports say, as parts of a document: built once, for a terminal and for a page.

pub(crate) mod absences;
pub(crate) mod brief;
pub(crate) mod chain;
pub(crate) mod compare;
pub(crate) mod compare_print;
pub(crate) mod findings;
pub(crate) mod locks;
pub(crate) mod pair;
pub(crate) mod print_sheets;
pub(crate) mod queries;
pub(crate) mod workload;
