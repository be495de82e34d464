//! Rows whose heads were cut off, as `ps aux | grep mysqld` does.

use super::sysstat::{is_process_state, number};

/// The columns of `ps aux`.
pub(crate) const PS_AUX: [&str; 11] = [
    "USER", "PID", "%CPU", "%MEM", "VSZ", "RSS", "TTY", "STAT", "START", "TIME", "COMMAND",
];

/// The columns of top as it comes.
pub(crate) const TOP: [&str; 12] = [
    "PID", "USER", "PR", "NI", "VIRT", "RES", "SHR", "S", "%CPU", "%MEM", "TIME+", "COMMAND",
];

/// `mysql 2211 903 55.3 21983732 18212312 ? Sl Jul12 5312:11 /usr/sbin/mysqld`.
pub(crate) fn is_ps_aux_row(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let Some(
        [
            user,
            pid,
            cpu,
            memory,
            virtual_size,
            resident,
            tty,
            state,
            _,
            time,
            _,
        ],
    ) = taken(&mut words)
    else {
        return false;
    };
    !is_whole(user)
        && is_whole(pid)
        && is_share(cpu)
        && is_share(memory)
        && [cpu, memory].iter().any(|share| share.contains(['.', ',']))
        && is_whole(virtual_size)
        && is_whole(resident)
        && is_terminal(tty)
        && is_process_state(state)
        && is_time(time)
}

/// `2211 mysql 20 0 21.0g 17.4g 12312 S 903.0 55.3 5312:11 mysqld`.
pub(crate) fn is_top_row(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let Some(
        [
            pid,
            user,
            priority,
            nice,
            virtual_size,
            resident,
            shared,
            state,
            cpu,
            memory,
            time,
            _,
        ],
    ) = taken(&mut words)
    else {
        return false;
    };
    is_whole(pid)
        && !is_whole(user)
        && (priority == "rt" || priority.parse::<i32>().is_ok())
        && nice.parse::<i32>().is_ok()
        && [virtual_size, resident, shared].into_iter().all(is_size)
        && state.len() == 1
        && is_process_state(state)
        && is_share(cpu)
        && is_share(memory)
        && is_time(time)
}

fn taken<'a, const N: usize>(words: &mut impl Iterator<Item = &'a str>) -> Option<[&'a str; N]> {
    let mut row = [""; N];
    for cell in &mut row {
        *cell = words.next()?;
    }
    Some(row)
}

/// Linux: `?`, `pts/0`, `tty1`. macOS: `??`, `s001`. FreeBSD: `-`, `v0`.
fn is_terminal(word: &str) -> bool {
    let short = word.trim_start_matches(['s', 'v']);
    matches!(word, "?" | "??" | "-")
        || word.starts_with("pts/")
        || word.starts_with("tty")
        || (short.len() < word.len() && is_whole(short))
}

fn is_whole(word: &str) -> bool {
    word.parse::<u64>().is_ok()
}

fn is_share(word: &str) -> bool {
    number(word).is_some_and(|share| share >= 0.0)
}

/// `12312`, `21.0g`.
fn is_size(word: &str) -> bool {
    let digits = word.trim_end_matches(['k', 'm', 'g', 't', 'p']);
    word.len() <= digits.len() + 1 && is_share(digits)
}

/// `5312:11`, `0:00.13`, `1-02:03:04`.
fn is_time(word: &str) -> bool {
    word.contains(':')
        && word
            .bytes()
            .all(|byte| byte.is_ascii_digit() || b":.,-".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_known_by_the_shape_of_their_cells() {
        for row in [
            "mysql 2211 903 55.3 21983732 18212312 ? Sl Jul12 5312:11 /usr/sbin/mysqld --x=y",
            "root 101 99,0 0,0 0 0 ? R 09:14 12:11 [khugepaged]",
            "_mysql 517 88.1 2.4 34925412 402312 ?? S 9:14AM 3:11.02 /usr/local/mysql/bin/mysqld",
            "ann 9310 0.0 0.0 34121212 812 s001 S+ 9:20AM 0:00.01 /usr/local/mysql/bin/mysqld",
            "mysql 781 12.0 20.1 1812312 812312 - I 8Jul26 91:02.11 /usr/local/libexec/mysqld",
        ] {
            assert!(is_ps_aux_row(row), "{row}");
            assert!(!is_top_row(row), "{row}");
        }
        for row in [
            "2211 mysql 20 0 21.0g 17.4g 12312 S 903.0 55.3 5312:11 mysqld",
            "12 root rt 0 0 0 0 S 0.0 0.0 0:00.13 migration/0",
        ] {
            assert!(is_top_row(row), "{row}");
            assert!(!is_ps_aux_row(row), "{row}");
        }
        for row in [
            "8 app web:1 shop Query 1807 query end INSERT INTO t SELECT 1, 2, 3",
            "mysql 2211 903 55 21983732 18212312 ? Sl Jul12 5312:11 /usr/sbin/mysqld",
            "253 0 dm-0 1 2 3 4 5 6 7 8 9 10 11",
            "",
        ] {
            assert!(!is_ps_aux_row(row) && !is_top_row(row), "{row}");
        }
    }
}
