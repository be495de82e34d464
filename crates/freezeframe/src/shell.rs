//! Words and commands as a shell reads them back, for hints that people copy.

use std::ffi::OsStr;

/// A word as a shell reads it back.
pub(crate) fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:,@%=~".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) && !text.starts_with('~') {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// The command that is running, with everything that was said to it: who says the same again with one word more means
/// the same server, causes and directories.
pub(crate) fn this_command() -> String {
    command(std::env::args_os().skip(1))
}

fn command(arguments: impl Iterator<Item = impl AsRef<OsStr>>) -> String {
    let words = arguments.map(|argument| word(&argument.as_ref().to_string_lossy()));
    std::iter::once("freezeframe".to_owned())
        .chain(words)
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_back_what_was_said() {
        let said = [
            "fix",
            "x.frame",
            "--port",
            "3307",
            "--causes",
            "my causes",
            "it's",
            "",
            "~a",
        ];
        assert_eq!(
            command(said.iter()),
            r"freezeframe fix x.frame --port 3307 --causes 'my causes' 'it'\''s' '' '~a'"
        );
    }
}
