//! Steps of a remedy: what in them is a command.
//!
//! A step is words, or a command, or words that end with ": " and a command, each with or without
//! a remark in parentheses. Where it is not clear it is words: a command shown as words is read
//! and typed, words shown as a command are pasted.

use diagnosis::{Actor, Undoable};

/// A piece of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepPart<'a> {
    /// A line to be typed as it stands.
    Command(&'a str),
    /// Words.
    Prose(&'a str),
}

/// First words of lines that are typed into a shell.
const SHELL_WORDS: [&str; 27] = [
    "apt-get",
    "awk",
    "cat",
    "chrt",
    "cp",
    "curl",
    "dnf",
    "echo",
    "freezeframe",
    "grep",
    "grubby",
    "ionice",
    "kill",
    "kubectl",
    "ldd",
    "mariadb",
    "mysql",
    "mysqladmin",
    "numactl",
    "nstat",
    "printf",
    "renice",
    "sudo",
    "swapoff",
    "sysctl",
    "systemctl",
    "tee",
];

/// How statements of a remedy begin.
const STATEMENT_STARTS: [&str; 16] = [
    "SELECT ",
    "SHOW ",
    "SET GLOBAL ",
    "SET PERSIST ",
    "SET SESSION ",
    "RESET PERSIST ",
    "ALTER USER ",
    "ALTER TABLE ",
    "KILL ",
    "FLUSH ",
    "STOP ",
    "START ",
    "PURGE ",
    "CREATE USER ",
    "GRANT ",
    "INSTALL ",
];

/// Words after which parentheses belong to a statement.
const BEFORE_PARENTHESES: [&str; 5] = ["IN", "USING", "VALUES", "AS", "ON"];

/// Actors of a finding in a line each, every one once: one may have two parts.
pub(crate) fn who(actors: &[Actor]) -> Vec<String> {
    let mut told: Vec<String> = Vec::new();
    for actor in actors {
        // Of a setting the name follows, which is told as well.
        let part = actor.who.split(' ').next().unwrap_or_default();
        let part = part.replace('-', " ");
        let line = match actor.sure {
            true => format!("{part}: {}", actor.says),
            false => format!("{part}, perhaps: {}", actor.says),
        };
        if !told.contains(&line) {
            told.push(line);
        }
    }
    told
}

/// Steps, each with its undo in the lines behind it.
pub(crate) fn with_undo(steps: &[Undoable<'_>]) -> Vec<String> {
    let whole = |one: &Undoable<'_>| {
        let undo = one.undo.iter().map(|undo| format!("\nUndo: {undo}"));
        format!("{}{}", one.step, undo.collect::<String>())
    };
    steps.iter().map(whole).collect()
}

/// The pieces of a step, line by line.
pub(crate) fn step_parts(step: &str) -> Vec<StepPart<'_>> {
    step.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .flat_map(line_parts)
        .collect()
}

fn line_parts(line: &str) -> Vec<StepPart<'_>> {
    let colons = line.match_indices(": ").map(|(at, colon)| at + colon.len());
    for at in std::iter::once(0).chain(colons) {
        let (lead, rest) = line.split_at(at);
        let (command, remark) = without_remark(rest);
        let command = unquoted(command);
        if is_command(command) {
            let prose = [lead.trim(), remark];
            let [lead, remark] =
                prose.map(|text| (!text.is_empty()).then_some(StepPart::Prose(text)));
            return [lead, Some(StepPart::Command(command)), remark]
                .into_iter()
                .flatten()
                .collect();
        }
    }
    vec![StepPart::Prose(line)]
}

/// The parts of a prose text: words, and what stands between backticks.
pub(crate) fn spans(prose: &str) -> Vec<(bool, &str)> {
    if prose.matches('`').count() % 2 == 1 {
        return vec![(false, prose)];
    }
    prose
        .split('`')
        .enumerate()
        .map(|(index, part)| (index % 2 == 1, part))
        .filter(|(_, part)| !part.is_empty())
        .collect()
}

/// Whether a command is for a shell, where a backslash continues a line.
pub(crate) fn is_shell(command: &str) -> bool {
    let first = command.split_whitespace().next().unwrap_or_default();
    SHELL_WORDS.contains(&first)
}

/// A text without its last parentheses, and these.
fn without_remark(text: &str) -> (&str, &str) {
    let text = text.trim();
    let remark = text
        .strip_suffix(')')
        .and_then(|_| text.rfind(" ("))
        .and_then(|at| {
            let (before, remark) = text.split_at(at);
            let last = before.split_whitespace().next_back().unwrap_or_default();
            let own = remark.matches(')').count() == 1 && !BEFORE_PARENTHESES.contains(&last);
            own.then(|| (before.trim(), remark.trim()))
        });
    remark.unwrap_or((text, ""))
}

fn unquoted(text: &str) -> &str {
    let inner = text
        .strip_prefix('`')
        .and_then(|text| text.strip_suffix('`'));
    inner.filter(|inner| !inner.contains('`')).unwrap_or(text)
}

fn is_command(text: &str) -> bool {
    let section = text.starts_with('[') && text.ends_with(']') && !text.contains(' ');
    let statements = text.trim_end_matches(';').split("; ").all(is_statement);
    !text.is_empty() && (section || statements || is_shell_line(text) || is_setting(text))
}

/// A shell's line has more than words in it, and no clause of a sentence.
fn is_shell_line(text: &str) -> bool {
    let has_syntax =
        text.contains(['/', '|', '>', '=']) || text.contains(" -") || text.contains(".frame");
    is_shell(text) && has_syntax && !text.contains([',', '(']) && !text.ends_with('.')
}

/// A statement without a remark, whose words outside quotes could be SQL: keywords in capitals,
/// names, numbers.
fn is_statement(text: &str) -> bool {
    if !without_remark(text).1.is_empty() {
        return false;
    }
    let Some(start) = STATEMENT_STARTS
        .iter()
        .find(|start| text.starts_with(**start))
    else {
        return false;
    };
    let bare = without_quoted(text);
    let words = || bare.split_whitespace().skip(1);
    let is_keyword = |word: &str| !word.contains(|c: char| c.is_ascii_lowercase());
    match start.trim() {
        "SELECT" => bare.contains(" FROM ") || words().count() == 1,
        "SET GLOBAL" | "SET PERSIST" | "SET SESSION" => {
            bare.split_once('=').is_some_and(|(name, value)| {
                name.split_whitespace().count() == 3 && value.split_whitespace().count() == 1
            })
        }
        "RESET PERSIST" => words().count() == 2,
        "KILL" => words()
            .last()
            .is_some_and(|word| word.parse::<u64>().is_ok()),
        "ALTER TABLE" | "GRANT" => words().count() > 2 && text.ends_with(';'),
        _ => words().all(is_keyword),
    }
}

/// A text with `?` for each quoted part.
fn without_quoted(text: &str) -> String {
    text.split('\'')
        .enumerate()
        .map(|(index, part)| if index % 2 == 1 { "?" } else { part })
        .collect()
}

/// `name = value` of an option file, in one word each.
fn is_setting(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, value)| {
        let name = name.trim();
        !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
            && value.split_whitespace().count() == 1
    })
}

#[cfg(test)]
mod tests {
    use super::{StepPart::*, *};

    #[test]
    fn commands_are_told_from_prose() {
        for command in [
            "echo never > /sys/kernel/mm/transparent_hugepage/enabled",
            "cat /sys/kernel/mm/transparent_hugepage/enabled   # note it",
            "freezeframe compare before.frame after.frame",
            "SET GLOBAL max_connections = 500",
            "SET GLOBAL innodb_flush_log_at_trx_commit = 2; SET GLOBAL sync_binlog = 1000",
            "RESET PERSIST x; SET GLOBAL x = 'zlib,zstd,uncompressed'",
            "ALTER USER 'app'@'%' WITH MAX_USER_CONNECTIONS 200",
            "SHOW ENGINE INNODB STATUS",
            "SHOW GLOBAL STATUS LIKE 'Com_show_warnings';",
            "SELECT user FROM information_schema.processlist WHERE info LIKE 'SHOW WARNINGS%'",
            "SELECT @@innodb_buffer_pool_size",
            "KILL QUERY 4711",
            "[mysqld]",
            "innodb_buffer_pool_size = 64G",
        ] {
            assert_eq!(step_parts(command), [Command(command)]);
        }
        for prose in [
            "echo the values noted before into both files; the word in brackets was the active one",
            "SELECT @@innodb_buffer_pool_size; then raise it in steps while watching free memory",
            "SHOW SESSION STATUS LIKE 'Compression' says OFF in the application's sessions",
            "SET GLOBAL thread_cache_size = the value noted before",
            "SET GLOBAL wait_timeout and max_user_connections = the values noted before",
            "KILL its connection (trx_mysql_thread_id)",
            "See: SELECT * FROM sys.innodb_lock_waits (MySQL); SELECT * FROM information_schema.INNODB_TRX (all)",
            "SHOW WARNINGS is sent after every statement.",
            "back_log = 1024 or more, and net.core.somaxconn as large (restart)",
            "For queues in tables: SELECT ... FOR UPDATE SKIP LOCKED",
            "Log in by the side door: mysql -h 127.0.0.1 -P 33062 (MySQL 8.0.14 and later), or extra_port",
            "Run `a` and `b`",
        ] {
            assert_eq!(step_parts(prose), [Prose(prose)]);
        }
    }

    #[test]
    fn words_before_and_a_remark_behind_are_words() {
        assert_eq!(
            step_parts(
                "Until then: SET GLOBAL max_error_count = 0 (new sessions keep none; so what)"
            ),
            [
                Prose("Until then:"),
                Command("SET GLOBAL max_error_count = 0"),
                Prose("(new sessions keep none; so what)"),
            ]
        );
        assert_eq!(
            step_parts("Find it: SELECT a FROM b WHERE c IN ('x', 'y')"),
            [
                Prose("Find it:"),
                Command("SELECT a FROM b WHERE c IN ('x', 'y')"),
            ]
        );
        assert_eq!(
            step_parts("Note: first\necho 1 > /x\n\nThen wait."),
            [
                Prose("Note: first"),
                Command("echo 1 > /x"),
                Prose("Then wait."),
            ]
        );
        assert_eq!(step_parts("`SHOW STATUS`"), [Command("SHOW STATUS")]);
        assert_eq!(step_parts(" \n"), []);
    }

    #[test]
    fn spans_need_pairs() {
        assert_eq!(
            spans("run `a` now"),
            [(false, "run "), (true, "a"), (false, " now")]
        );
        assert_eq!(spans("a ` b"), [(false, "a ` b")]);
    }
}
