//! The functions of a measure: what is wrong with a call is told where it stands, and the form of before means the same.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "clippy does not see that helpers of tests are test code"
)]

use diagnosis::Catalogue;

fn load(sign: &str) -> Result<String, String> {
    let text = format!(
        "id = \"x\"\ntitle = \"A cause\"\nwhat = \"It is this. It does that.\"\nrefuted_by = [\"This.\"]\nsources = [\"A page.\"]\n\
         [[witness]]\nid = \"w\"\nsays = \"a\"\nabove = 1\n{sign}\n\
         [remedy]\nnow = [\"a\"]\ndurable = [\"b\"]\nundo = [\"c\"]\nrisk = \"d\"\nverify = [\"e\"]\n"
    );
    match Catalogue::from_files(&[("x.toml", text)]) {
        Ok(catalogue) => Ok(format!("{:?}", catalogue.causes())),
        Err(error) => Err(format!(
            "{}:{}: {}: {}",
            error.line,
            error.column,
            error.key.unwrap_or_default(),
            error.problem
        )),
    }
}

/// One sign of each kind, as it was written before and as it is now.
const FORMS: [(&str, &str); 17] = [
    (
        "kind = \"measure\"\nmeasure = \"rate(a.b)\"\nunit = \"count\"",
        "measure = \"rate(a.b)\"\nunit = \"count\"",
    ),
    (
        "kind = \"processlist\"\nstate = '^it''s \\w+$'\ncounting = \"sessions\"\nwindow = \"every\"",
        r#"measure = "sessions(state = '^it''s \\w+$')"
           window = "every""#,
    ),
    (
        "kind = \"processlist\"\nclass = \"select\"\ncounting = \"share\"\nmin_sessions = 3",
        "measure = \"sessions_share(class = 'select', min_sessions = 3)\"",
    ),
    (
        "kind = \"stacks\"\nframes = [\"a\", \"b\"]\ndirect = true\nthread = \"t\"\ncounting = \"threads\"",
        "measure = \"threads(stack = ['a', 'b'], direct, thread = 't')\"",
    ),
    (
        "kind = \"stacks\"\nstate = \"uninterruptible\"\ncounting = \"share\"",
        "measure = \"threads_share(state = uninterruptible)\"",
    ),
    (
        "kind = \"profile\"\nfunctions = \"f\"\nunder = \"u\"\nwhere = \"self\"\nside = \"kernel\"\nof = \"machine\"\ncounting = \"share\"",
        "measure = \"profile_share(function = 'f', under = 'u', self, side = kernel, machine)\"",
    ),
    (
        "kind = \"profile\"\nfunctions = \"f\"\nwhere = \"anywhere\"\nside = \"any\"\nof = \"server\"\nmin_samples = 9\ncounting = \"cpus\"",
        "measure = \"profile_cpus(function = 'f', min_samples = 9)\"",
    ),
    (
        "kind = \"lock\"\nlock = \"l\"\ncaller = \"c\"\nholder = [\"h\"]\ncounting = \"waiters\"",
        "measure = \"lock_waiters(lock = 'l', caller = 'c', holder = 'h')\"",
    ),
    (
        "kind = \"lock\"\nlock = \"l\"\ncounting = \"per_second\"",
        "measure = \"lock_rate(lock = 'l')\"",
    ),
    (
        "kind = \"statements\"\nclass = \"SHOW WARNINGS\"\nway = \"packets\"\ncounting = \"share\"",
        "measure = \"statements_share(class = 'SHOW WARNINGS', way = packets)\"",
    ),
    (
        "kind = \"statements\"\nstatement = \"s\"\nmin_statements = 5\ncounting = \"time\"",
        "measure = \"statements_time(statement = 's', min_statements = 5)\"",
    ),
    (
        "kind = \"semaphores\"\nasked_at = \"a\"\nlock_kind = \"X\"\nmin_seconds = 2.5\ncounting = \"waits\"",
        "measure = \"latch_waits(lock_kind = 'X', asked_at = 'a', min_seconds = 2.5)\"",
    ),
    (
        "kind = \"semaphores\"\nlock = \"l\"\nmin_waits = 4\ncounting = \"share\"",
        "measure = \"latch_waits_share(lock = 'l', min_waits = 4)\"",
    ),
    (
        "kind = \"log\"\nlog = \"kernel\"\nline = \"l\"\ncounting = \"lines\"",
        "measure = \"log_lines(log = kernel, line = 'l')\"",
    ),
    (
        "kind = \"log\"\nlog = \"error\"\nline = \"(?P<number>\\\\d+)ms\"\nunit = \"milliseconds\"\ncounting = \"largest\"",
        "measure = '''log_largest(log = error, line = '(?P<number>\\d+)ms')'''\nunit = \"milliseconds\"",
    ),
    (
        "kind = \"innodb\"\nsection = \"FILE I/O\"\nline = \"l\"\ncounting = \"lines\"",
        "measure = \"innodb_lines(section = 'FILE I/O', line = 'l')\"",
    ),
    (
        "kind = \"fact\"\nfact = \"thp.enabled\"",
        "fact = \"thp.enabled\"",
    ),
];

#[test]
fn the_form_of_before_means_the_same() {
    for (old, new) in FORMS {
        // Which says `'…'` as TOML does, where a quote cannot be written.
        let old = old.replace("'^it''s \\w+$'", "\"^it's \\\\w+$\"");
        let old = load(&old).unwrap_or_else(|error| panic!("{old}\n{error}"));
        let new = load(new).unwrap_or_else(|error| panic!("{new}\n{error}"));
        assert_eq!(old, new);
    }
}

#[test]
fn what_is_wrong_with_a_call_is_told_where_it_stands() {
    let mut wrong = Vec::new();
    for (sign, expected) in [
        (
            "measure = \"sessions(state = '(')\"",
            "10:29: measure: column 18: state: not a regular expression",
        ),
        (
            "measure = '''\nsessions(\n  state = '('\n)'''",
            "12:11: measure: column 21: state: not a regular expression",
        ),
        (
            "measure = \"sessions(stat = 'a', state = 'b')\"",
            "10:28: measure: column 17: stat: is no argument of sessions; there are class, state,",
        ),
        (
            "measure = \"sessions()\"",
            "10:20: measure: column 9: needs exactly one of class, state",
        ),
        ("measure = \"session_seconds(user = 'a')\"", "needs a state"),
        (
            "measure = \"sessions(state = 'a', state = 'b')\"",
            "state: is there twice",
        ),
        (
            "measure = \"sessions(state = 'a' user)\"",
            "column 22: ')' expected or ',' after state",
        ),
        (
            "measure = \"sessions(state = 'a)\"",
            "column 18: the quote is not closed",
        ),
        (
            "measure = \"sessions(state = )\"",
            "column 18: a text in single quotes, a word, a number or a list expected",
        ),
        (
            "measure = \"sessions(state = 5)\"",
            "column 18: state: must be a text",
        ),
        (
            "measure = \"sessions(class = 'a', min_sessions = 1.5)\"",
            "min_sessions: must be a whole number",
        ),
        (
            "measure = \"sessions(class = 'a', min_sessions = -1)\"",
            "min_sessions: must be 0 or more",
        ),
        (
            "measure = \"sessions(class = 'a') / 2\"",
            "column 23: sessions stands alone: the end expected",
        ),
        (
            "measure = \"2 * sessions(class = 'a')\"\nunit = \"count\"",
            "column 5: sessions stands alone: it is all of a measure",
        ),
        (
            "measure = \"rate(a.b)\"\nunit = \"count\"\nonly_if = [\"threads(stack = 'a') > 1\"]",
            "12:13: only_if: column 1: threads stands alone",
        ),
        (
            "measure = \"session(class = 'a')\"",
            "column 1: 'session' is not a function; there are rate, delta,",
        ),
        (
            "measure = \"threads(stack = [])\"",
            "column 17: stack: must have 1 to 16 regular expressions",
        ),
        (
            "measure = \"threads(stack = ['a' 'b'])\"",
            "column 22: ']' expected or ',' in the list",
        ),
        (
            "measure = \"threads(stack = ['a'], direct = 'yes')\"",
            "direct: stands alone, without a value",
        ),
        (
            "measure = \"profile_share(function = 'a', side = kernle)\"",
            "side: must be one of kernel, user",
        ),
        (
            "measure = \"log_lines(line = 'a')\"",
            "needs log = error or log = kernel",
        ),
        (
            "measure = \"log_largest(log = error, line = 'a')\"",
            "line: needs a group (?P<number>…)",
        ),
        (
            "measure = \"lock_waiters(lock = 'a')\"\nwindow = \"worst\"",
            "11:10: window: belongs to signals, sessions and threads",
        ),
        (
            "measure = \"lock_waiters(lock = 'a')\"\nunit = \"count\"",
            "11:8: unit: is that of the function",
        ),
        (
            "measure = \"lock_waiters(lock = 'a')\"\neach = true",
            "each: belongs to a measure of signals",
        ),
        (
            "measure = \"lock_waiters(lock = 'a')\"\nequals = \"b\"",
            "equals: belongs to a fact",
        ),
        (
            "measure = \"lock_waiters(lock = 'a')\"\nfact = \"b\"",
            "fact: cannot stand beside measure",
        ),
        ("", "6:1: measure: is missing for this witness"),
        (
            "fact = \"a\"\ntimes_baseline = 2",
            "times_baseline: belongs to a measure",
        ),
    ] {
        let error = load(sign).err().unwrap_or_default();
        if !error.contains(expected) {
            wrong.push(format!("{sign}\n  got {error}\n  not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
