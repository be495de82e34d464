//! The functions of a measure: what is wrong with a call is told where it stands.

use diagnosis::Catalogue;

/// What is wrong with a sign, or nothing.
fn mistake(sign: &str) -> String {
    let text = format!(
        "id = \"x\"\ntitle = \"A cause\"\nwhat = \"It is this. It does that.\"\nrefuted_by = [\"This.\"]\nsources = [\"A page.\"]\n\
         [[witness]]\nid = \"w\"\nsays = \"a\"\nabove = 1\n{sign}\n\
         [remedy]\nnow = [\"a\"]\ndurable = [\"b\"]\nundo = [\"c\"]\nrisk = \"d\"\nverify = [\"e\"]\n"
    );
    match Catalogue::from_files(&[("x.toml", text)]) {
        Ok(_) => String::new(),
        Err(error) => format!(
            "{}:{}: {}: {}",
            error.line,
            error.column,
            error.key.unwrap_or_default(),
            error.problem
        ),
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
        let error = mistake(sign);
        if !error.contains(expected) {
            wrong.push(format!("{sign}\n  got {error}\n  not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
