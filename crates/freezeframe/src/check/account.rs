//! What our account may do, what it lacks, and what that costs.

use model::Absent;
use recorder::{SourceCheck, Target};
use serde_json::{Value, json};
use server::ServerVersion;
use server::grants::{CONNECTIONS_MAX, Granted, RequiredGrant, needs};

use super::{width, wrapped};
use crate::grants::ask::ask;

/// Our account on a server.
#[derive(Debug)]
pub(super) struct Account {
    /// As the server calls it: `freezeframe@localhost`.
    name: String,
    granted: Granted,
    version: ServerVersion,
}

/// Asks the server; the error says why it does not tell.
pub(super) fn read(target: &Target) -> Result<Account, Absent> {
    let asked = ask(target, |session| {
        let version = server::version(session)?;
        let name = session.rows("SELECT CURRENT_USER()", 1)?.0;
        let name = name.first().map_or("", |row| row.column(0)).to_owned();
        Ok((version, name, Granted::ask(session)?))
    });
    let (version, name, granted) = asked?;
    let version = ServerVersion::read(&version);
    Ok(Account {
        name,
        granted,
        // What is needed today, of a server that does not say what it is.
        version: version.unwrap_or(ServerVersion {
            flavor: server::Flavor::MySql,
            number: (8, 0, 0),
        }),
    })
}

impl Account {
    /// Each need, and whether it is met: by a grant that is listed, or, as by a role, in that its source works.
    fn met(&self, checked: &[SourceCheck]) -> Vec<(RequiredGrant, bool)> {
        let works = |source: &str| {
            let mut all = checked.iter();
            all.any(|checked| checked.source == source && checked.taken)
        };
        let needs = needs(self.version).into_iter();
        needs
            .map(|need| (need, self.granted.has(&need) || works(need.source)))
            .collect()
    }

    /// The statement that grants it.
    fn cure(&self, need: &RequiredGrant) -> String {
        let (name, host) = self.name.rsplit_once('@').unwrap_or((&self.name, "%"));
        let quoted = |text: &str| format!("`{}`", text.replace('`', "``"));
        let account = format!("{}@{}", quoted(name), quoted(host));
        format!("GRANT {} ON {} TO {account};", need.privilege, need.on)
    }

    /// What is not as it should be, beside the grants.
    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        let wide = self.granted.too_much();
        if !wide.is_empty() {
            remarks.push(format!(
                "{}: more than a recorder needs. Such an account can connect even when clients are refused, and the probe \
                 does not notice that (see freezeframe grants)",
                wide.join(", ")
            ));
        }
        match self.granted.connections_max {
            Some(limit) if (1..CONNECTIONS_MAX).contains(&limit) => remarks.push(format!(
                "MAX_USER_CONNECTIONS is {limit}: with less than {CONNECTIONS_MAX} a refused probe may look like a full server"
            )),
            Some(0) if wide.is_empty() => remarks.push(format!(
                "the account may open any number of connections; set MAX_USER_CONNECTIONS {CONNECTIONS_MAX} (see freezeframe grants)"
            )),
            _ => {}
        }
        remarks
    }

    pub(super) fn as_text(&self, checked: &[SourceCheck]) -> String {
        let width = width();
        let mut text = format!("  account {}\n", cli::output::plain(&self.name));
        for (need, is_met) in self.met(checked) {
            let state = if is_met { "ok" } else { "no" };
            let head = format!(
                "    {state}  {:<36} ",
                format!("{} ON {}", need.privilege, need.on)
            );
            let without = format!("missing: {}", need.without);
            text += &wrapped(&head, if is_met { need.gives } else { &without }, width);
            if !is_met {
                text += &wrapped("        to enable: ", &self.cure(&need), width);
            }
        }
        for remark in self.remarks() {
            text += &wrapped("    note  ", &remark, width);
        }
        text
    }

    pub(super) fn as_json(&self, checked: &[SourceCheck]) -> Value {
        let grants: Vec<Value> = self
            .met(checked)
            .into_iter()
            .map(|(need, is_met)| {
                json!({
                    "privilege": need.privilege,
                    "on": need.on,
                    "ok": is_met,
                    "for": need.gives,
                    "without": (!is_met).then_some(need.without),
                    "cure": (!is_met).then(|| self.cure(&need)),
                })
            })
            .collect();
        json!({"name": self.name, "version": self.version.to_string(), "grants": grants, "remarks": self.remarks()})
    }
}
