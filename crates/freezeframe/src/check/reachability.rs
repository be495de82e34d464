//! Whether the server let us in: a check is a test of a deployment, and without an answer it has failed.

use model::{Absent, SOURCES, SourceSpec};
use recorder::SourceCheck;
use serde_json::{Value, json};

use crate::refused::{self, RefusedLogin};

/// A server that did not let us in, or did not answer.
#[derive(Debug)]
pub(super) struct Unreached {
    who: RefusedLogin,
    /// What kept us out.
    absent: Absent,
    /// The sources that this leaves without an answer, or with a part of it.
    pub(super) sources: Vec<&'static str>,
    /// Those of them that still see whether the server answers, but not how fast.
    without_times: Vec<&'static str>,
}

/// What kept us out; `None` when the server answered. `SHOW GLOBAL STATUS` needs a login and nothing else.
pub(super) fn unreached(who: &RefusedLogin, checked: &[SourceCheck]) -> Option<Unreached> {
    let status = checked.iter().find(|source| source.source == "status")?;
    if status.taken {
        return None;
    }
    let without: Vec<&SourceCheck> = checked
        .iter()
        .filter(|source| asks_server(source.source) && !source.absent.is_empty())
        .collect();
    let halved = without.iter().filter(|source| source.taken);
    let without_times = halved.map(|source| source.source).collect();
    Some(Unreached {
        who: who.clone(),
        absent: status.absent.first()?.clone(),
        sources: without.iter().map(|source| source.source).collect(),
        without_times,
    })
}

fn asks_server(name: &str) -> bool {
    let source = SOURCES.iter().find(|source| source.name == name);
    source.is_some_and(SourceSpec::asks_server)
}

impl Unreached {
    /// The one line that says it all.
    pub(super) fn line(&self, name: &str) -> String {
        format!("{name}: {}", refused::line(&self.who, &self.absent))
    }

    /// What is absent for it.
    pub(super) fn to_text(&self) -> String {
        let reason = self.absent.reason.to_text();
        let whole = self.sources.iter().copied();
        let whole = whole.filter(|source| !self.without_times.contains(source));
        let whole: Vec<&str> = whole.collect();
        let mut text = format!("{reason}, so these are missing: {}", whole.join(", "));
        if !self.without_times.is_empty() {
            text += &format!(
                "; {} see only whether the server answers, not how fast",
                self.without_times.join(" and ")
            );
        }
        text
    }

    pub(super) fn as_json(&self) -> Value {
        json!({
            "ok": false,
            "user": self.who.user,
            "reason": self.absent.reason,
            "detail": self.absent.detail,
            "to_do": refused::to_do(&self.who, &self.absent),
        })
    }
}

#[cfg(test)]
mod tests {
    use model::Reason;

    use super::*;

    #[test]
    fn a_refused_probe_is_not_called_missing() {
        let absent = |source| Absent::new(source, Reason::NoLogin, "Access denied");
        let checked =
            ["status", "variables", "query-probe", "connect-probe"].map(|source| SourceCheck {
                source,
                taken: source.ends_with("-probe"),
                signals: 0,
                took_ms: 1.0,
                absent: vec![absent(source)],
            });
        let who = refused::tests::who("root", false, false);
        let unreached = unreached(&who, &checked).unwrap();
        assert_eq!(
            unreached.to_text(),
            "no login, so these are missing: status, variables; \
             query-probe and connect-probe see only whether the server answers, not how fast"
        );
        assert_eq!(unreached.sources.len(), 4);
    }
}
