//! Words and commands as a shell reads them back, for hints that people copy.

use std::ffi::OsStr;

use model::is_deceptive;

/// A word as a shell reads it back. It is one line, and nothing in it drives a terminal: what a name holds of that is
/// written as bash, zsh and ksh read it, `$'a\nb'`.
pub(crate) fn word(text: &str) -> String {
    if text.chars().any(is_deceptive) {
        return escaped(text);
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:,@%=~".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) && !text.starts_with('~') {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// The word in `$'…'`. Of a byte three octal digits are written, which end where they end, and no quote stands inside.
fn escaped(text: &str) -> String {
    let mut word = "$'".to_owned();
    for character in text.chars() {
        match character {
            '\n' => word.push_str("\\n"),
            '\r' => word.push_str("\\r"),
            '\t' => word.push_str("\\t"),
            '\\' => word.push_str("\\\\"),
            _ if character == '\'' || is_deceptive(character) => {
                for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                    word.push_str(&format!("\\{byte:03o}"));
                }
            }
            _ => word.push(character),
        }
    }
    word.push('\'');
    word
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
    fn what_would_drive_a_terminal_is_one_word_that_a_shell_reads_back() {
        let hostile = "/tmp/x\ny/it's \u{1b}[2J\u{202e}\t\\.frame";
        let word = word(hostile);
        assert_eq!(word, r"$'/tmp/x\ny/it\047s \033[2J\342\200\256\t\\.frame'");
        assert!(!word.chars().any(is_deceptive));
        let echoed = std::process::Command::new("bash")
            .args(["-c", &format!("printf %s {word}")])
            .output()
            .unwrap();
        assert_eq!(String::from_utf8(echoed.stdout).unwrap(), hostile);
    }

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
