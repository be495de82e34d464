//! The tests of reports, one program: each would be linked alone. A file beside this one has its line here.

mod brief;
mod common;
mod evidence;
mod hostile;
mod html;
mod json;
mod markup;
mod mysqld;
mod pair;
mod pprof;
mod pt_pmp;
mod queries;
mod sha256;
mod speedscope;
mod stacks;
mod text;
