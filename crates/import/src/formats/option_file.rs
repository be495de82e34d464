//! `my.cnf`: what the server was told at its start.

use crate::format::{Format, Gap, Group, Recogniser, sign};
use crate::line::Line;
use crate::read::Read;

pub(crate) static FORMAT: Format = Format {
    id: "option_file",
    group: Group::Server,
    name: "option file",
    printed_by: "`my.cnf`",
    content: "settings",
    recognisers: &[Recogniser::new(210, "", 0, |at| {
        (at.has(sign::EQUAL) || at.text.starts_with('[')) && is_option_file(at.text)
    })],
    continues: |_, next| is_option(next.text),
    gap: Gap::Lines(6),
    read,
    ..Format::NONE
};

fn is_option_file(text: &str) -> bool {
    const SECTIONS: [&str; 12] = [
        "[mysqld]",
        "[client]",
        "[mysqld_safe]",
        "[server]",
        "[mariadb]",
        "[mariadbd]",
        "[galera]",
        "[mysqldump]",
        "[mysql]",
        "[mysqld-5.7]",
        "[mysqld-8.0]",
        "[client-server]",
    ];
    SECTIONS.contains(&text)
        || text.split_once('=').is_some_and(|(name, value)| {
            let name = name.trim();
            (name.starts_with("innodb_") || name.starts_with("innodb-"))
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
                && !value.trim().is_empty()
                && value.trim().len() < 200
        })
}

fn is_option(text: &str) -> bool {
    if text.is_empty() {
        return false;
    }
    if text.starts_with(['#', ';', '!']) || is_section(text) {
        return true;
    }
    let name = text.split(['=', ' ']).next().unwrap_or(text);
    text.len() < 300
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
        && (text.contains('=') || !text.contains(' '))
}

/// `[mysqld]`. Lines of logs begin with a time or a level in brackets.
fn is_section(text: &str) -> bool {
    let inner = text.strip_prefix('[');
    let Some((name, rest)) = inner.and_then(|inner| inner.split_once(']')) else {
        return false;
    };
    let rest = rest.trim_start();
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
        && (rest.is_empty() || rest.starts_with('#'))
}

/// Sections that the server reads.
const SERVER_SECTIONS: [&str; 5] = ["mysqld", "server", "mariadb", "mariadbd", "galera"];

fn read(lines: &[Line<'_>]) -> Read {
    let mut read = Read::default();
    let mut is_servers = true;
    for line in lines {
        let text = line.trimmed();
        if let Some(section) = text
            .strip_prefix('[')
            .and_then(|rest| rest.split(']').next())
        {
            is_servers = SERVER_SECTIONS
                .iter()
                .any(|name| section == *name || section.starts_with(&format!("{name}-")));
            continue;
        }
        if !is_servers || text.starts_with(['#', ';', '!']) || text.is_empty() {
            continue;
        }
        // What people wrote between options.
        if !text.contains('=') && !is_option(text.trim_start_matches("--")) {
            continue;
        }
        for setting in settings(text) {
            setting_of(setting, &mut read);
        }
    }
    read.brought = format!("{} settings", read.facts.len());
    read
}

/// The settings of a line: one, or several that somebody put into a row, `a=1 b=2`, `a=1, b=2`.
fn settings(text: &str) -> Vec<&str> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let is_setting = |word: &&str| {
        word.split_once('=')
            .is_some_and(|(name, value)| !name.is_empty() && !value.is_empty())
    };
    // What such a setting holds is SQL, with blanks and values in it.
    let name = text.trim_start_matches("--").trim_start_matches("loose-");
    let holds_sql = name.starts_with("init_") || name.starts_with("init-");
    match !holds_sql && words.len() > 1 && words.iter().all(is_setting) {
        true => words
            .iter()
            .map(|word| word.trim_end_matches([',', ';']))
            .collect(),
        false => vec![text],
    }
}

fn setting_of(text: &str, read: &mut Read) {
    let (name, value) = text.split_once('=').unwrap_or((text, "ON"));
    let name = name
        .trim()
        .trim_start_matches("--")
        .replace('-', "_")
        .to_ascii_lowercase();
    let name = name.strip_prefix("loose_").unwrap_or(&name);
    // A line of prose has no name.
    if !name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(&byte))
    {
        return;
    }
    let value = value
        .split(" #")
        .next()
        .unwrap_or(value)
        .trim()
        .trim_matches(['"', '\'']);
    let (name, value) = match name.strip_prefix("skip_") {
        Some(rest) if value == "ON" && rest != "name_resolve" && rest != "networking" => {
            (rest, "OFF")
        }
        _ => (name, value),
    };
    read.facts
        .push(crate::server_names::setting(name, &number(value)));
}

/// `16M` → `16777216`: as the server shows it.
fn number(value: &str) -> String {
    let (digits, unit) =
        value.split_at(value.len() - usize::from(value.ends_with(['k', 'K', 'm', 'M', 'g', 'G'])));
    let factor: u64 = match unit {
        "k" | "K" => 1 << 10,
        "m" | "M" => 1 << 20,
        "g" | "G" => 1 << 30,
        _ => return value.to_owned(),
    };
    match digits.parse::<u64>() {
        Ok(number) => number.saturating_mul(factor).to_string(),
        Err(_) => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;

    #[test]
    fn statements_in_a_setting_are_no_settings() {
        let text = "[mysqld]\ninit_connect=SET @token='geheim'\n--init-connect=SET @a='geheim'\nloose-init-slave=SET @b='geheim'\n";
        let read = read(&clean::lines(text));
        assert_eq!(read.facts.len(), 3);
        for fact in &read.facts {
            assert!(fact.name.starts_with("variables.init_"), "{}", fact.name);
            assert!(!fact.value.contains("geheim"), "{}", fact.value);
        }
    }

    #[test]
    fn lines_of_logs_and_sentences_are_no_options() {
        for line in [
            "[812331.550012] INFO: task mysqld:1812 blocked for more than 120 seconds.",
            "[Warning] Aborted connection 7 to db: 'shop'",
            "[Note]",
        ] {
            assert!(!is_option(line), "{line}");
        }
        for line in ["[mysqld]", "[mysqld-8.0] # of the new one", "[mysqldump]"] {
            assert!(is_option(line), "{line}");
        }
        let read = read(&clean::lines(
            "[mysqld]\nskip-name-resolve\n--skip-log-bin\n\nThe kernel says:\n\nmax_connections = 151\n",
        ));
        assert_eq!(
            read.fact_list(),
            [
                ("variables.skip_name_resolve", "ON"),
                ("variables.log_bin", "OFF"),
                ("variables.max_connections", "151"),
            ]
        );
    }

    #[test]
    fn a_line_of_prose_is_no_setting() {
        let read = read(&clean::lines(
            "[mysqld]\nport=3306\nAlice: hunter2\nher card = 4111\nskip-name-resolve\n",
        ));
        let names: Vec<&str> = read.facts.iter().map(|fact| fact.name.as_str()).collect();
        assert_eq!(names, ["variables.port", "variables.skip_name_resolve"]);
    }

    #[test]
    fn only_the_servers_settings() {
        let read = read(&clean::lines(
            "[client]\nport=3306\n[mysqld]\ninnodb-buffer-pool-size = 16G # large\nskip-name-resolve\n#x=1\nskip-log-bin\n--innodb-log-file-size=1M, innodb_log_files_in_group=2\n[mysqldump]\nquick\n",
        ));
        assert_eq!(
            read.fact_list(),
            [
                ("variables.innodb_buffer_pool_size", "17179869184"),
                ("variables.skip_name_resolve", "ON"),
                ("variables.log_bin", "OFF"),
                ("variables.innodb_log_file_size", "1048576"),
                ("variables.innodb_log_files_in_group", "2"),
            ]
        );
    }
}
