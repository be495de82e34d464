//! How a program of ours begins and ends: panics, open files, errors in one line, exit codes.

use std::io::ErrorKind;
use std::process::ExitCode;

use anyhow::Result;

use crate::output;
use crate::usage::Usage;

/// What every program of ours does first. `name` stands before its remarks and errors.
pub fn begin(name: &'static str) {
    output::name_program(name);
    // A panic is a bug; a user gets one line to report, not a trace.
    std::panic::set_hook(Box::new(|panic| {
        let place = panic
            .location()
            .map(ToString::to_string)
            .unwrap_or_default();
        // A reader's is an absence of what it reads.
        if recorder::note_panic(&place) {
            return;
        }
        output::note(&format!("internal error at {place}; please report it"));
    }));
    // Stacks take an open file for each image, and sampling without CAP_PERFMON one for each thread.
    raise_open_files();
    leave_no_core();
}

/// The exit code of a command; its error goes to standard error in one line.
#[must_use]
pub fn end(result: Result<ExitCode>) -> ExitCode {
    match result {
        Ok(code) => code,
        // A reader that has seen enough (`| head`) is no error.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::note(&one_line(&error));
            let is_usage = error.chain().any(|cause| cause.is::<Usage>());
            ExitCode::from(if is_usage { 2 } else { 1 })
        }
    }
}

/// Help and version are answers; anything else goes to standard error, whatever the arguments hold.
#[must_use]
pub fn wrong_arguments(error: &clap::Error) -> ExitCode {
    let text = error.render();
    if error.use_stderr() {
        let said = std::env::args_os().skip(1);
        let said = said.map(|argument| argument.to_string_lossy().into_owned());
        output::tell(&in_lines(text.to_string(), said));
    } else if let Err(error) = output::print_page(&match output::text_options().color {
        true => text.ansi().to_string(),
        false => text.to_string(),
    }) && !is_broken_pipe(&error)
    {
        output::note(&one_line(&error));
        return ExitCode::FAILURE;
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(1))
}

/// An address of a program that takes its login in it, without that: `mysql://root:…@db1/` is `mysql://…@db1/`, and so is one
/// without a scheme. Behind a `?` stand options, such as a password. A recorder's mistakes stand in the journal.
fn without_login(part: &str) -> Option<String> {
    let (scheme, rest) = part.split_once("://").unwrap_or(("", part));
    let login = rest.rsplit_once('@');
    let login = login.filter(|(user, _)| !scheme.is_empty() || user.contains(':'));
    let bare = login.map_or(rest, |(_, host)| host);
    let options = bare.split_once('?');
    let options = options.filter(|(_, options)| options.contains('='));
    if login.is_none() && options.is_none() {
        return None;
    }
    let parts = [
        scheme,
        if scheme.is_empty() { "" } else { "://" },
        if login.is_some() { "…@" } else { "" },
        options.map_or(bare, |(bare, _)| bare),
    ];
    Some(parts.concat())
}

/// The text about wrong arguments, which has lines of its own, with what was said on one line each time.
fn in_lines(text: String, said: impl Iterator<Item = String>) -> String {
    // The text's own lines end as what is nothing but line feeds would.
    fn is_odd(part: &&str) -> bool {
        part.contains(char::is_control) && !part.trim().is_empty()
    }
    said.fold(text, |text, argument| {
        // Of `--name=value` either may be quoted alone.
        let parts = argument.split_once('=');
        let (name, value) = parts.unwrap_or_default();
        [argument.as_str(), name, value]
            .into_iter()
            .fold(text, |text, part| match without_login(part) {
                Some(bare) => text.replace(part, &output::plain(&bare)),
                None if is_odd(&part) => text.replace(part, &output::plain(part)),
                None => text,
            })
    })
}

/// The soft limit on open files is for programs that use select(2); ours may be the hard one.
fn raise_open_files() {
    let limits = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let raised = rustix::process::Rlimit {
        current: limits.maximum,
        ..limits
    };
    // Where that is refused the usual thousand do for most servers.
    let _ = rustix::process::setrlimit(rustix::process::Resource::Nofile, raised);
}

/// A core of ours would hold what nothing else of ours keeps: a login's password, statements from packets and logs with
/// their literals. It would lie where the host collects cores, for whoever reads those.
fn leave_no_core() {
    let limits = rustix::process::getrlimit(rustix::process::Resource::Core);
    let none = rustix::process::Rlimit {
        current: Some(0),
        ..limits
    };
    // Less is never refused.
    let _ = rustix::process::setrlimit(rustix::process::Resource::Core, none);
}

/// The error with its causes in one line; a cause that the text before it holds already is left out.
#[must_use]
pub fn one_line(error: &anyhow::Error) -> String {
    let mut line = String::new();
    for cause in error.chain().map(ToString::to_string) {
        // SQLite says each thing again, with a number before it.
        let numbered = cause.strip_prefix("Error code ");
        let words = numbered.and_then(|rest| rest.split_once(": "));
        let words = words.map_or(cause.as_str(), |(_, words)| words);
        if line.is_empty() {
            line = cause;
        } else if !line.contains(words) {
            line = format!("{line}: {cause}");
        }
    }
    line
}

/// Whether nobody reads our output any more.
#[must_use]
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|io| io.kind() == ErrorKind::BrokenPipe)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_core_is_left() {
        leave_no_core();
        let limits = rustix::process::getrlimit(rustix::process::Resource::Core);
        assert_eq!(limits.current, Some(0));
    }

    #[test]
    fn what_an_error_says_twice_is_told_once() {
        let told = |causes: &[&str]| {
            let first = anyhow::anyhow!("{}", causes.last().unwrap());
            let others = causes.iter().rev().skip(1);
            one_line(&others.fold(first, |error, cause| error.context((*cause).to_owned())))
        };
        assert_eq!(
            told(&[
                "x.frame: database or disk is full",
                "Error code 13: database or disk is full"
            ]),
            "x.frame: database or disk is full"
        );
        assert_eq!(
            told(&["x", "Error code 5: locked"]),
            "x: Error code 5: locked"
        );
        assert_eq!(told(&["x.toml", "No such file"]), "x.toml: No such file");
    }

    #[test]
    fn what_was_said_stands_on_one_line() {
        let told = |text: &str, said: &[&str]| {
            in_lines(text.to_owned(), said.iter().map(|one| (*one).to_owned()))
        };
        assert_eq!(
            told(
                "error: unexpected argument '--x\nb' found\n\nUsage: x",
                &["explain", "--x\nb=1"]
            ),
            "error: unexpected argument '--x\\nb' found\n\nUsage: x"
        );
        assert_eq!(
            told("invalid value 'a\n\tb' for '--sort'", &["--sort=a\n\tb"]),
            "invalid value 'a\\n\\tb' for '--sort'"
        );
        assert_eq!(
            told(
                "error: unexpected argument 'mysql://root:hunter2@db1/x?password=hunter2' found",
                &["record", "mysql://root:hunter2@db1/x?password=hunter2"]
            ),
            "error: unexpected argument 'mysql://…@db1/x' found"
        );
        assert_eq!(
            told(
                "error: unexpected argument '--dsn' found; see https://x",
                &["--dsn=http://u:p@h"]
            ),
            "error: unexpected argument '--dsn' found; see https://x"
        );
        for (said, shown) in [
            ("--host=root:hunter2@db1", "…@db1"),
            ("root:hunter=2@db1", "…@db1"),
            ("mysql://db1/x?password=hunter2", "mysql://db1/x"),
            ("db1?password=hunter2", "db1"),
            ("alice@db1", "alice@db1"),
            ("a?b", "a?b"),
        ] {
            let value = said.strip_prefix("--host=").unwrap_or(said);
            assert_eq!(
                told(&format!("invalid value '{value}' for '--host'"), &[said]),
                format!("invalid value '{shown}' for '--host'")
            );
        }
        // The text's own lines stay.
        assert_eq!(told("one\ntwo", &["two", "x=y", "\n"]), "one\ntwo");
    }
}
