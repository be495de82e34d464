//! What to do about a server that does not let us in.

use model::{Absent, Reason};
use recorder::Target;

/// What of a login is needed to say what to do.
#[derive(Debug, Clone)]
pub(crate) struct RefusedLogin {
    /// The account.
    pub(crate) user: String,
    from: String,
    has_password: bool,
    is_root: bool,
}

impl RefusedLogin {
    pub(crate) fn of(target: &Target) -> Self {
        Self {
            user: target.login.user.clone(),
            from: target.login.from.clone(),
            has_password: target.login.password.is_some(),
            is_root: rustix::process::geteuid().is_root(),
        }
    }
}

/// The one line on an absence for want of the server: what it said, and what helps.
pub(crate) fn line(who: &RefusedLogin, absent: &Absent) -> String {
    let what = match absent.reason {
        Reason::NoLogin => format!("no login as {}", who.user),
        reason => reason.to_text().to_owned(),
    };
    match is_told(absent) {
        true => format!("{what}: {}", absent.detail),
        false => format!("{what} ({}): {}", absent.detail, to_do(who, absent)),
    }
}

/// What happened says what to do as well.
fn is_told(absent: &Absent) -> bool {
    absent.detail.contains("--ssl-")
}

/// What helps, in one sentence.
pub(crate) fn to_do(who: &RefusedLogin, absent: &Absent) -> String {
    let known = match absent.reason {
        Reason::NoLogin if is_told(absent) => "see its message",
        Reason::NoLogin if who.user == "root" && !who.is_root => {
            "root usually logs in by the socket, and only as the system user root: use sudo, or create an account \
             (`freezeframe grants` prints the SQL)"
        }
        Reason::NoLogin if who.user == "root" => {
            "root usually logs in by the socket: use --socket PATH, or --password-file FILE; an own account is better \
             (`freezeframe grants` prints the SQL)"
        }
        Reason::NoLogin if who.has_password => {
            return format!(
                "user and password are from {}: check that they are right, and that the account may connect from this host; \
                 `freezeframe grants` prints the SQL for an account",
                who.from
            );
        }
        Reason::NoLogin => {
            "no password was given (--password-file FILE, ~/.my.cnf), and the server does not accept the system user; \
             `freezeframe grants` prints the SQL for an account"
        }
        Reason::NoConnection if absent.detail.contains("ERROR 10") => {
            "all its connections are in use: it may stall now; `freezeframe capture` shows why"
        }
        // Nobody but root and its own user sees the sockets of a process.
        Reason::NoConnection if absent.detail.contains("are unknown") && !who.is_root => {
            "this user cannot see where it listens: use sudo, or --socket PATH or --port N"
        }
        Reason::NoConnection => {
            "check that it is up (systemctl status mariadb, mysql) and listens there, or use --socket PATH or --port N"
        }
        Reason::Deadline => "it may stall now; `freezeframe capture` shows why",
        _ => "nothing that needs a login can be recorded",
    };
    known.to_owned()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn who(user: &str, has_password: bool, is_root: bool) -> RefusedLogin {
        RefusedLogin {
            user: user.to_owned(),
            from: "~/.my.cnf".to_owned(),
            has_password,
            is_root,
        }
    }

    #[test]
    fn a_refused_login_is_one_line_with_what_to_do() {
        let refused = Absent::new("status", Reason::NoLogin, "ERROR 1698");
        let told = line(&who("root", false, false), &refused);
        assert!(
            told.starts_with("no login as root (ERROR 1698): root usually logs in by the socket"),
            "{told}"
        );
        assert!(!told.contains('\n') && !told.contains("  "), "{told}");
        let to_do = |who: &RefusedLogin| to_do(who, &refused);
        assert!(to_do(&who("root", false, true)).contains("--socket PATH"));
        assert!(to_do(&who("ff", true, false)).contains("from ~/.my.cnf"));
        assert!(to_do(&who("ff", false, false)).contains("no password was given"));
    }

    #[test]
    fn a_server_that_is_down_or_full_is_told_apart() {
        let to_do = |reason, detail: &str| {
            to_do(
                &who("ff", false, false),
                &Absent::new("status", reason, detail),
            )
        };
        assert!(to_do(Reason::NoConnection, "Connection refused").contains("check that it is up"));
        assert!(to_do(Reason::NoConnection, "ERROR 1040 (08004)").contains("in use"));
        assert!(to_do(Reason::Deadline, "no answer").contains("capture"));
        let unknown = "the server's socket and port are unknown";
        assert!(to_do(Reason::NoConnection, unknown).contains("use sudo"));
        let tls = Absent::new("status", Reason::NoLogin, "no TLS: --ssl-mode DISABLED");
        assert_eq!(
            line(&who("ff", true, false), &tls),
            "no login as ff: no TLS: --ssl-mode DISABLED"
        );
    }
}
