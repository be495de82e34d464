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
    /// The sources that this leaves without an answer.
    pub(super) sources: Vec<&'static str>,
}

/// What kept us out; `None` when the server answered. `SHOW GLOBAL STATUS` needs a login and nothing else.
pub(super) fn unreached(who: &RefusedLogin, checked: &[SourceCheck]) -> Option<Unreached> {
    let status = checked.iter().find(|source| source.source == "status")?;
    if status.taken {
        return None;
    }
    let without = checked
        .iter()
        .filter(|source| asks_server(source.source) && !source.absent.is_empty());
    Some(Unreached {
        who: who.clone(),
        absent: status.absent.first()?.clone(),
        sources: without.map(|source| source.source).collect(),
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
        format!(
            "{reason}, so these are missing: {}",
            self.sources.join(", ")
        )
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
