//! Lines of the kernel's log without the command lines in them.
//!
//! The kernel's log is kept as it is but for one thing: what the audit system tells of programs that were started, and
//! other lines with arguments. A password is often one of these. The audit writes them bare, in quotes or as
//! hexadecimal digits, so they are not searched: of a record its kind stays, and of a line what stands before its
//! arguments. What the audit says of itself, such as that its queue is full, is no record and stays whole.

use std::sync::LazyLock;

use regex::Regex;

/// Stands for what is not kept.
const LEFT_OUT: &str = " (left out)";

/// The head of a record: `audit: type=1309 audit(1700000000.1:9):` of the kernel, `type=EXECVE msg=audit(…):` of auditd,
/// `audit[1234]: EXECVE` of a journal.
const RECORD: &str =
    r"\baudit\([0-9.:]{1,40}\):?|\baudit(?:d|ispd)?\[[0-9]{1,10}\]: +[A-Z][A-Z0-9_]{2,30}\b";

/// What may be kept behind the head: that an access was denied, and to which program.
const DECISION: &str = concat!(
    r#"^ *(?:apparmor="[A-Z]{1,12}"(?: operation="[a-z_]{1,40}")?(?: class="[a-z_]{1,20}")?(?: profile="[A-Za-z0-9_./-]{1,80}")?"#,
    r#"|avc: +(?:denied|granted) +\{ [a-z_ ]{1,80}\}(?: +for +pid=[0-9]{1,10}(?: +comm="[A-Za-z0-9_.-]{1,16}")?)?"#,
    r"|(?:state=)?initialized\b)",
);

/// What stands in front of arguments. A short number behind `cmd=` is a command of a disk.
const ARGUMENTS: &str = concat!(
    r#"(?i)(?:^|[\s"'\[({,;:])(?P<key>argc=|a[0-9]{1,4}(?:\[[0-9]+\]|_len)?=|proctitle=|cmdline=|command="#,
    r#"|\bcommand line\b:?)|(?:^|[\s"'])(?P<cmd>cmd=)(?:["'/a-z]|[0-9a-f]{9})"#,
);

struct Forms {
    record: Regex,
    decision: Regex,
    arguments: Regex,
}

static FORMS: LazyLock<Option<Forms>> = LazyLock::new(|| {
    Some(Forms {
        record: Regex::new(RECORD).ok()?,
        decision: Regex::new(DECISION).ok()?,
        arguments: Regex::new(ARGUMENTS).ok()?,
    })
});

/// Whether a line has a record of the audit system, of which nothing is kept but its kind and what it decided.
pub fn is_audit_record(line: &str) -> bool {
    FORMS
        .as_ref()
        .is_some_and(|forms| forms.record.is_match(line))
}

/// `text` without command lines. To redact the result again changes nothing.
pub(crate) fn redact(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(line).collect();
    lines.join("\n")
}

fn line(text: &str) -> String {
    let Some(forms) = FORMS.as_ref() else {
        // Nothing can be promised.
        return LEFT_OUT.trim_start().to_owned();
    };
    match kept_end(forms, text) {
        Some(end) => format!("{}{LEFT_OUT}", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Where what may be kept of a line ends; `None` when all of it may.
fn kept_end(forms: &Forms, text: &str) -> Option<usize> {
    let arguments = forms.arguments.captures(text);
    let arguments =
        arguments.and_then(|found| Some(found.name("key").or(found.name("cmd"))?.end()));
    let record = forms.record.find(text).map(|head| {
        let rest = text.get(head.end()..).unwrap_or_default();
        let decision = forms.decision.find(rest).map_or(0, |found| found.end());
        head.end() + decision
    });
    let end = [arguments, record, secret(text)]
        .into_iter()
        .flatten()
        .min()?;
    (!text.get(end..)?.trim().is_empty()).then_some(end)
}

/// Behind a key whose name says that its value is a secret.
fn secret(text: &str) -> Option<usize> {
    let keys = text.match_indices('=').map(|(at, _)| at);
    let mut keys = keys.filter(|at| {
        let before = text.get(..*at).unwrap_or_default();
        let mut keys = before.rsplit(|c: char| c.is_whitespace() || "\"'({[,;&?=".contains(c));
        keys.next().is_some_and(model::names_a_secret)
    });
    keys.next().map(|at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_argument_of_a_program_is_left() {
        for (raw, kept) in [
            (
                r#"audit: type=1309 audit(1700000000.1:9): argc=3 a0="mysql_install_db" a1="-uroot" a2="-phunter2""#,
                "audit: type=1309 audit(1700000000.1:9): (left out)",
            ),
            (
                "[ 12.345678] audit: type=1327 audit(1700000000.1:9): proctitle=6D7973716C002D75726F6F74002D7068756E74657232",
                "[ 12.345678] audit: type=1327 audit(1700000000.1:9): (left out)",
            ),
            (
                "node=db1 type=EXECVE msg=audit(1700000000.1:9): argc=2 a0=\"mysql\" a1=\"-phunter2\"",
                "node=db1 type=EXECVE msg=audit(1700000000.1:9): (left out)",
            ),
            (
                "Nov 29 10:00:00 db1 audit[812]: USER_CMD pid=812 msg='cwd=\"/\" cmd=\"mysql -phunter2\"'",
                "Nov 29 10:00:00 db1 audit[812]: USER_CMD (left out)",
            ),
            (
                "Nov 29 10:00:00 db1 kernel: audit: PROCTITLE proctitle=6D7973",
                "Nov 29 10:00:00 db1 kernel: audit: PROCTITLE proctitle= (left out)",
            ),
            (
                "Nov 29 10:00:00 db1 kernel: type=EXECVE a1=\"--password\" a2=\"hunter2\"",
                "Nov 29 10:00:00 db1 kernel: type=EXECVE a1= (left out)",
            ),
            (
                "sudo: alice : TTY=pts/0 ; COMMAND=/usr/bin/mysql -phunter2",
                "sudo: alice : TTY=pts/0 ; COMMAND= (left out)",
            ),
            (
                "msg='cmd=6D7973716C202D70 terminal=pts/0'",
                "msg='cmd= (left out)",
            ),
            (
                "[    0.000000] Command line: BOOT_IMAGE=/vmlinuz luks.key=hunter2",
                "[    0.000000] Command line: (left out)",
            ),
            (
                "Unknown kernel command line parameters \"secret=x\", will be passed to user space.",
                "Unknown kernel command line (left out)",
            ),
            (
                "cifs: mount with username=a,password=hunter2",
                "cifs: mount with username=a,password= (left out)",
            ),
            (
                "cifs: mount //srv/share user=a,pass=hunter2",
                "cifs: mount //srv/share user=a,pass= (left out)",
            ),
            ("x(psk=hunter2) of \"jwt=hunter2\"", "x(psk= (left out)"),
        ] {
            assert_eq!(redact(raw), kept);
            assert_eq!(redact(kept), kept);
        }
    }

    #[test]
    fn what_the_kernel_says_of_itself_stays() {
        for text in [
            "audit: backlog limit exceeded",
            "audit: audit_backlog=321 > audit_backlog_limit=320",
            "audit: audit_lost=12 audit_rate_limit=0 audit_backlog_limit=320",
            "audit: kauditd hold queue overflow",
            "audit: type=2000 audit(1700000000.1:1): state=initialized",
            "mysqld invoked oom-killer: gfp_mask=0x6280ca, order=0, oom_score_adj=0",
            "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),task=mysqld,pid=5,uid=27",
            "INFO: task mysqld:4123 blocked for more than 120 seconds.",
            "sd 0:0:0:0: [sda] tag#0 FAILED Result: hostbyte=DID_OK cmd_age=30s",
            "mmc0: timeout waiting cmd=25 arg=0",
            "RAX: ffffffff81000000 RBX: 0000000000000000",
            "TCP: request_sock_TCP: Possible SYN flooding on port 3306. Sending cookies.",
            "a\nb\n",
        ] {
            assert_eq!(redact(text), text);
        }
    }

    #[test]
    fn a_denied_access_is_still_told() {
        assert_eq!(
            redact(
                r#"audit: type=1400 audit(1.2:3): apparmor="DENIED" operation="open" profile="/usr/sbin/mysqld" name="/data/acme" pid=9"#
            ),
            r#"audit: type=1400 audit(1.2:3): apparmor="DENIED" operation="open" profile="/usr/sbin/mysqld" (left out)"#
        );
        assert_eq!(
            redact(
                r#"audit: type=1400 audit(1.2:3): avc:  denied  { write } for  pid=9 comm="mysqld" name="acme" dev="dm-0""#
            ),
            r#"audit: type=1400 audit(1.2:3): avc:  denied  { write } for  pid=9 comm="mysqld" (left out)"#
        );
    }
}
