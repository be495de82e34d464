//! The tests of reading captures, one program: each would be linked, and would read the catalogue, alone. A file beside
//! this one has its line here.

mod accuracy;
mod common;
mod cuts;
mod few;
mod formats;
mod hostile;
mod languages;
mod lexicon_share;
mod listed;
mod moments;
mod own_words;
mod pages;
mod pasted;
mod pointers;
mod properties;
mod real_tools;
mod stall_spans;
mod stories;
mod verdicts;
