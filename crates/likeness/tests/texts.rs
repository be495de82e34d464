//! What short texts are like: those that were never learnt.
#![allow(clippy::unwrap_used, reason = "a failing step fails the test")]

use likeness::{Likeness, known, likenesses};

fn of(text: &str) -> Vec<Likeness> {
    likenesses(&known(text.lines()))
}

#[test]
fn a_stall_in_anybodys_words_is_like_its_cause() {
    let told = [
        (
            "Since the nightly dump began everybody hangs, even a simple select: the list says \
             Waiting for global read lock, and the backup tool has locked all tables for half an hour.",
            "ftwrl-backup",
        ),
        (
            "Every connect takes five seconds since the name server of the office is down. The list is full of \
             unauthenticated user, login. By the socket it is quick.",
            "dns-resolve",
        ),
        (
            "The volume of the database has not a byte left, statements hang, nothing is written: \
             errno 28 no space left on device, waiting for someone to free some space.",
            "disk-full",
        ),
    ];
    for (text, cause) in told {
        let all = of(text);
        assert_eq!(all.first().unwrap().cause, cause, "{:?}", all.get(..3));
        assert!(!all[0].words.is_empty());
        let shares: f64 = all.iter().map(|one| one.share).sum();
        assert!((shares - 1.0).abs() < 1e-6, "{shares}");
        assert!(all.iter().all(|one| one.cause != "none"));
    }
}

#[test]
fn what_is_about_something_else_is_like_nothing() {
    for text in [
        "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\nbin:x:2:2:bin:/bin:/usr/sbin/nologin\n\
         games:x:5:60:games:/usr/games:/usr/sbin/nologin\nmail:x:8:8:mail:/var/mail:/usr/sbin/nologin",
        "def main():\n    import sys\n    for line in sys.stdin:\n        print(line.strip().upper())\n    return 0\n\nif __name__ == '__main__':\n    sys.exit(main())",
        "Dear colleagues, lunch on Friday is at noon in the garden. Please tell Anna by Wednesday whether you bring a salad or a cake.",
        "",
    ] {
        assert!(of(text).is_empty(), "{text}: {:?}", of(text).first());
    }
}
