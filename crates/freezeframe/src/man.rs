//! Man pages, made of the command line that `--help` is made of.

use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::builder::Resettable;
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use cli::output;

use crate::args::Cli;

/// Writes a page for each command that `--help` shows, and tells their names.
pub(crate) fn run(dir: &Path) -> Result<ExitCode> {
    fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
    let mut command = Cli::command().disable_help_subcommand(true);
    // Gives the commands of commands their whole names.
    command.build();
    let mut told = String::new();
    write(&command, dir, &mut told)?;
    output::print(&told)?;
    Ok(ExitCode::SUCCESS)
}

fn write(command: &Command, dir: &Path, told: &mut String) -> Result<()> {
    let (name, page) = page(command)?;
    let path = dir.join(name);
    fs::write(&path, page).with_context(|| path.display().to_string())?;
    *told += &format!("{}\n", output::plain(&path.display().to_string()));
    command
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .try_for_each(|command| write(command, dir, told))
}

/// A page and its file's name.
fn page(command: &Command) -> io::Result<(String, Vec<u8>)> {
    // What is below the options would be filled: examples have lines.
    let options = command.clone().after_help(Resettable::Reset);
    let man = Man::new(options)
        .source(concat!("freezeframe ", env!("CARGO_PKG_VERSION")))
        .manual("freezeframe");
    let mut page = Vec::new();
    man.render(&mut page)?;
    if let Some(help) = command.get_after_help() {
        below(&help.to_string()).to_writer(&mut page)?;
    }
    Ok((man.get_filename(), page))
}

/// What `--help` has below the options: a word with a colon is a heading, and what is indented keeps its lines.
fn below(help: &str) -> Roff {
    let heading = |line: &str| {
        let word = line.strip_suffix(':').filter(|word| !word.contains(' '))?;
        Some(word.to_uppercase())
    };
    let mut page = Roff::new();
    if help.lines().next().and_then(heading).is_none() {
        page.control("SH", ["NOTES"]);
    }
    let mut is_table = false;
    for line in help.lines() {
        let is_indented = line.starts_with("  ");
        if is_indented != is_table {
            is_table = is_indented;
            page.control(if is_table { "nf" } else { "fi" }, []);
        }
        match heading(line) {
            Some(heading) => page.control("SH", [heading.as_str()]),
            None if line.is_empty() => page.control("PP", []),
            None => page.text([roman(line)]),
        };
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_keep_their_lines_and_prose_is_filled() {
        let help = "Examples:\n  a --b    'one'\n    \\more\n\nSee docs:\nof it.";
        let lines = [
            ".SH EXAMPLES",
            ".nf",
            "  a \\-\\-b    \\*(Aqone\\*(Aq",
            "    \\\\more",
            ".fi",
            ".PP",
            "See docs:",
            "of it.",
            "",
        ];
        let page = below(help).render();
        assert!(page.ends_with(&lines.join("\n")), "{page}");
        let page = below("Exit code 0.").render();
        assert!(page.ends_with("\n.SH NOTES\nExit code 0.\n"), "{page}");
    }
}
