//! pt-pmp's lines of stacks that a debugger has printed.
//!
//! What pt-pmp's awk does with each line is repeated here on the line itself, where
//! [`super::pt_pmp`] has to write such lines first. Source: `aggregate_stacktrace` in pt-pmp 3.2.1.

use std::collections::HashMap;

use super::pt_pmp::shortened;

/// Columns in which `uniq -c` of GNU coreutils prints its count.
const COUNT_COLUMNS: usize = 7;

/// Threads as the first lines of their frames (`#0  0x… in f (…) at a.cc:3`), in the order in which
/// they were printed, as pt-pmp prints them: counts and stacks, the largest first and equal ones in
/// falling order of their bytes.
///
/// The order matters: pt-pmp's awk keeps the file of a frame for later frames that have none.
pub fn pt_pmp_printed<'a>(threads: impl IntoIterator<Item = &'a [String]>) -> String {
    let mut file = String::new();
    let mut counts: HashMap<String, u64> = HashMap::new();
    for thread in threads {
        let mut stack = String::new();
        for line in thread {
            let name = frame(line, &mut file);
            if !stack.is_empty() {
                stack.push(',');
            }
            stack.push_str(&name);
        }
        *counts.entry(stack).or_default() += 1;
    }
    let mut lines: Vec<(u64, String)> = counts
        .into_iter()
        .map(|(stack, count)| (count, stack))
        .collect();
    lines.sort_unstable_by(|a, b| b.cmp(a));
    lines
        .iter()
        .map(|(count, stack)| {
            format!(
                "{count:>COUNT_COLUMNS$} {}\n",
                crate::escape::terminal(stack)
            )
        })
        .collect()
}

/// What pt-pmp prints for a line of a frame; `file` is the awk variable `tfile`.
fn frame(line: &str, file: &mut String) -> String {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let word = |number: usize| words.get(number - 1).copied().unwrap_or_default();
    let last = words.last().copied().unwrap_or_default();
    let mut target = word(2).to_owned();
    if word(2).contains("0x") {
        let name = word(4);
        target = if name.contains("void") || name.contains("const") {
            word(5).to_owned()
        } else {
            last.clone_into(file);
            name.to_owned()
        };
        if target.contains(['<', '(']) {
            let at = line.find(" in ").map_or(3, |at| at + 4);
            target = shortened(line.get(at..).unwrap_or_default());
        } else if target.contains("??") && word(2).contains(|c| ('1'..='9').contains(&c)) {
            let base = last.rsplit('/').next().unwrap_or_default();
            let stem = base.split_once('.').map_or("", |(stem, _)| stem);
            target = format!("{stem}::??");
        }
    }
    if let Some(at) = target.find("@@") {
        target.truncate(at);
    } else if let Some(path) = file.strip_prefix('/') {
        let base = path.rsplit('/').next().unwrap_or_default();
        target = format!("{target}({base})");
    }
    target
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_as_pt_pmp_prints_them() {
        let mut file = String::new();
        for (line, printed) in [
            (
                "#0  0x000000312840b150 in pthread_cond_wait@@GLIBC_2.3.2 () from /lib64/libpthread.so.0",
                "pthread_cond_wait",
            ),
            (
                "#1  0x00000000008b11df in os_event_wait_low (event=0x2ab, reset_sig_count=1) at /src/os/os0sync.c:396",
                "os_event_wait_low(os0sync.c:396)",
            ),
            // A frame without an address has the file of the one before.
            (
                "#2  sync_array_wait (x=1) at sync0arr.c:3",
                "sync_array_wait(os0sync.c:396)",
            ),
            (
                "#3  0x1f in std::vector<a<b>, c>::push (this=0x0) at x.h:2",
                "std::vector::push",
            ),
            (
                "#4  0x9f in ?? () from /lib/libaio.so.1",
                "libaio::??(libaio.so.1)",
            ),
            ("#5  0x01 in f(int, void const*) ()", "f"),
        ] {
            assert_eq!(frame(line, &mut file), printed, "{line}");
        }
    }

    #[test]
    fn equal_stacks_are_counted() {
        let one = vec!["#0  0x1 in a ()".to_owned(), "#1  0x1 in b ()".to_owned()];
        let two = ["#0  0x1 in c ()".to_owned()];
        let threads = [&two[..], &one, &one];
        assert_eq!(pt_pmp_printed(threads), "      2 a,b\n      1 c\n");
    }
}
