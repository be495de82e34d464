//! Stacks and profiles, as debuggers and profilers print them.

/// A thread's head, a frame, or what a debugger says around them.
pub(super) fn is_backtrace(text: &str, next: &[&str]) -> bool {
    is_thread_head(text)
        || frame_number(text).is_some_and(|(number, rest)| {
            looks_like_frame(rest) || (number == 0 && is_bare(rest) && is_first(next))
        })
        || [
            "[New LWP ",
            "[New Thread ",
            "[Switching to ",
            "[Thread debugging using ",
        ]
        .iter()
        .any(|start| text.starts_with(start))
}

/// `Thread 3 (Thread 0x7f… (LWP 9)):`, `Thread 3 (LWP 9):`, `TID 9:`; systemd-coredump's
/// `Stack trace of thread 9:`.
pub(crate) fn is_thread_head(text: &str) -> bool {
    let number = |rest: &str, end: &str| {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        digits > 0 && rest.get(digits..).is_some_and(|rest| rest.starts_with(end))
    };
    text.strip_prefix("Thread ")
        .is_some_and(|rest| number(rest, " (") || number(rest, ":"))
        || text
            .strip_prefix("TID ")
            .or_else(|| text.strip_prefix("Stack trace of thread "))
            .is_some_and(|rest| number(rest, ":"))
}

/// A row of gdb's `info threads`, `* 20   Thread 0x7f00 (LWP 913) "mysqld" 0x7f52 in poll () from /lib64/libc.so.6`: what
/// tells of the thread, and the frame that it is in.
pub(crate) fn listed_thread(text: &str) -> Option<(&str, &str)> {
    let row = text.strip_prefix('*').unwrap_or(text).trim_start();
    let digits = row
        .bytes()
        .take_while(|byte| byte.is_ascii_digit() || *byte == b'.')
        .count();
    let thread = row.get(digits..)?;
    let target = thread.trim_start();
    if digits == 0 || target.len() == thread.len() {
        return None;
    }
    let end = if target.starts_with("Thread 0x") {
        target.find(')')? + 1
    } else {
        target.strip_prefix("LWP ")?.find(' ')? + "LWP ".len()
    };
    let mut frame = target.get(end..)?.trim_start();
    if let Some(name) = frame.strip_prefix('"') {
        frame = name.split_once('"')?.1.trim_start();
    }
    let head = text.get(..text.len() - frame.len())?;
    (head.contains("LWP ") && looks_like_frame(frame)).then_some((head, frame))
}

/// `#12 rest`, also where the blanks in front of the address were lost (`#120x00007f…`), or the address itself was
/// left out (`#12 in rest`).
pub(crate) fn frame_number(text: &str) -> Option<(usize, &str)> {
    let rest = text.strip_prefix('#')?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let is_glued = digits > 1 && rest.get(digits - 1..)?.starts_with("0x");
    let digits = digits - usize::from(is_glued);
    let number = rest.get(..digits)?.parse().ok()?;
    let rest = rest.get(digits..)?;
    let is_frame = is_glued || rest.starts_with([' ', '\t']);
    let rest = rest.trim_start();
    is_frame.then(|| (number, rest.strip_prefix("in ").unwrap_or(rest)))
}

/// `0x00 in f (…)`, `f (a=1) at x.c:3`, `0x00 f - /lib/x.so`; no sentence.
fn looks_like_frame(rest: &str) -> bool {
    rest.starts_with("0x")
        || rest.starts_with("<signal handler")
        || rest.split_once(" (").is_some_and(|(name, _)| {
            !name.trim_end_matches(" const").contains(". ") && is_function(name)
        })
        || rest.ends_with("()")
}

/// A frame, also one of which nothing but the name was published.
pub(crate) fn is_frame(rest: &str) -> bool {
    looks_like_frame(rest) || is_bare(rest)
}

/// `trx_allocate_for_mysql`, `ha_innobase::info`, `nanosleep from /lib64/libc.so.6`: what no prose has.
fn is_bare(rest: &str) -> bool {
    let (name, library) = match rest.split_once(" from /") {
        Some((name, library)) => (name, Some(library)),
        None => (rest, None),
    };
    !name.contains(' ')
        && is_function(name)
        && (library.is_some() || name.contains('_') || name.contains("::"))
}

/// The first of the lines is frame 1: a name behind `#0` alone is none.
fn is_first(lines: &[&str]) -> bool {
    lines
        .first()
        .and_then(|line| frame_number(line.trim()))
        .is_some_and(|(number, rest)| number == 1 && is_frame(rest))
}

/// A name of C or C++, as debuggers write it.
pub(crate) fn is_function(name: &str) -> bool {
    let name = name.trim();
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || "_~?(<{.$[:".contains(c));
    begins
        && name.len() <= 2000
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || "_:~<>,&* ()[]{}?.$@+-=!/|^%'#".contains(c))
        && !name.contains(": ")
}

/// A function's name without blanks but those of C++.
fn is_symbol(name: &str) -> bool {
    let one_word = !name.contains(' ')
        || name.starts_with("operator ")
        || name.contains('<')
        || name.contains("(anonymous namespace)")
        || name.ends_with(" const");
    one_word && is_function(name) && name.contains(|c: char| c.is_alphabetic() || c == '?')
}

/// `187 f,g(libc.so.6),h(a.cc:3)`, also with blanks behind commas.
pub(super) fn is_pmp(text: &str) -> bool {
    let Some((count, frames)) = text.split_once([' ', '\t']) else {
        return false;
    };
    let is_count =
        (1..=9).contains(&count.len()) && count.bytes().all(|byte| byte.is_ascii_digit());
    let frames = frames.trim();
    is_count
        && (frames.trim_end_matches(',').contains(',') || frames.ends_with(')'))
        && !frames.contains("  ")
        && match frames.contains(", ") {
            false => pmp_frames(frames).take(3).all(is_pmp_frame),
            true => is_sure_pmp(frames),
        }
}

/// The rest of a row that ends with a comma, on the next line.
pub(crate) fn is_pmp_rest(text: &str) -> bool {
    !text.contains(' ') && pmp_frames(text).all(is_pmp_frame) && is_sure_pmp_frame(text)
}

/// The frames; commas within parentheses do not part them. pt-pmp cuts names inside of template
/// arguments, so brackets need not be closed: a place in parentheses closes them. Other scripts cut at the first blank,
/// inside of parameters (`f(THD*,,g(char,h`): where parentheses stay open each comma parts.
pub(crate) fn pmp_frames(stack: &str) -> impl Iterator<Item = &str> {
    let is_closed = stack.matches('(').count() == stack.matches(')').count();
    let mut depth = 0_usize;
    let parts = stack.trim_end_matches(',').split(move |letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 || !is_closed => return true,
            _ => {}
        }
        false
    });
    parts
        .map(str::trim)
        .filter(move |frame| is_closed || !frame.is_empty())
}

fn is_pmp_frame(frame: &str) -> bool {
    let name = frame.split('(').next().unwrap_or(frame);
    frame == "..." || (is_symbol(name) && !name.contains('='))
}

/// A word of prose is none.
fn is_sure_pmp_frame(frame: &str) -> bool {
    frame.contains('_') || frame.contains("::") || frame.contains('(') || frame.contains(',')
}

/// Words behind commas and blanks may be prose: most of them must be what prose has not.
fn is_sure_pmp(frames: &str) -> bool {
    const FRAMES_MIN: usize = 4;
    let all = pmp_frames(frames).count();
    let sure = pmp_frames(frames).filter(|frame| is_sure_pmp_frame(frame));
    all >= FRAMES_MIN && sure.count() * 2 > all && pmp_frames(frames).all(is_pmp_frame)
}

/// `a;b;c 12`.
pub(super) fn is_folded(text: &str) -> bool {
    let Some((stack, count)) = text.rsplit_once(' ') else {
        return false;
    };
    (1..=12).contains(&count.len())
        && count.bytes().all(|byte| byte.is_ascii_digit())
        && stack.matches(';').count() >= 2
        && !stack.contains("; ")
        && stack
            .split(';')
            .all(|frame| !frame.is_empty() && frame.len() < 2000)
}

/// A head of perf, or a row.
pub(super) fn is_perf_report(text: &str) -> bool {
    let heads = [
        "# Samples:",
        "# Event count (approx",
        "# Overhead",
        "# Children",
        "PerfTop:",
        "# To display the perf.data",
        "# Total Lost Samples",
    ];
    heads.iter().any(|head| text.starts_with(head))
        || (text.starts_with("Samples: ") && text.contains(" of event"))
        || (text.starts_with("Children ") && text.contains("Self"))
        || (text.starts_with("Overhead ") && text.contains("Symbol"))
        || is_perf_row(text)
}

/// `+ 95.39%  0.32%  mysqld  libc.so  [.] f`, `47.53%  [kernel]  [k] f`, `5.41%  f`.
pub(crate) fn is_perf_row(text: &str) -> bool {
    let text = text
        .strip_prefix(['+', '-', '|'])
        .map_or(text, str::trim_start);
    let Some((share, rest)) = text.split_once('%') else {
        return false;
    };
    let is_share = share.contains('.')
        && share.len() <= 7
        && share
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.');
    if !is_share || !rest.starts_with([' ', '\t']) {
        return false;
    }
    let rest = rest.trim();
    if ["[k] ", "[.] ", "[u] ", "[H] ", "[g] "]
        .iter()
        .any(|mark| rest.contains(mark))
    {
        return true;
    }
    // Without marks: a function's name and perhaps a remark in parentheses.
    let name = rest.split("  ").next().unwrap_or(rest).trim();
    let name = name.split(" (").next().unwrap_or(name);
    is_symbol(name) && name.contains('_') && !name.contains(' ')
}

pub(super) fn is_opreport_header(text: &str) -> bool {
    let mut words = text.split_whitespace();
    words.next() == Some("samples") && words.any(|word| word == "%") && text.contains("symbol name")
        || (text.starts_with("CPU: ") && text.contains("speed"))
        || (text.starts_with("Counted ") && text.contains(" events"))
}

/// The head of one of plockstat's tables.
pub(crate) fn is_plockstat_header(text: &str) -> bool {
    [
        "Mutex block",
        "Mutex hold",
        "Mutex spin",
        "Mutex unsuccessful spin",
        "R/W reader block",
        "R/W reader hold",
        "R/W writer block",
        "R/W writer hold",
    ]
    .contains(&text)
}

/// The line above the rows of plockstat.
pub(crate) fn is_plockstat_columns(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    matches!(
        words.as_slice(),
        ["Count", "nsec", "Lock"] | ["Count", "nsec", "Lock", "Caller"]
    )
}

/// `mysqld 123 [000] 12.345: 1 cycles:` with an indented frame behind it.
pub(super) fn is_perf_script(line: &str, text: &str, next: &[&str]) -> bool {
    let is_frame = |line: &&str| {
        line.starts_with([' ', '\t'])
            && line.trim().split_once(' ').is_some_and(|(address, _)| {
                address.len() >= 4 && address.bytes().all(|byte| byte.is_ascii_hexdigit())
            })
    };
    !line.starts_with([' ', '\t'])
        && text.ends_with(':')
        && text.contains(": ")
        && next.first().is_some_and(is_frame)
}
