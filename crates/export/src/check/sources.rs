//! Each source of an incident, read for names and values in the plainest way.

use model::{Incident, TextKind};
use serde_json::Value;

use super::{Found, Scope};

/// Settings whose value is a name.
const NAMING_FACTS: [&str; 21] = [
    "hostname",
    "report_host",
    "report_user",
    "bind_address",
    "wsrep_node_name",
    "wsrep_node_address",
    "wsrep_node_incoming_address",
    "wsrep_cluster_name",
    "wsrep_sst_donor",
    "server_uuid",
    "init_file",
    "replicate_do_db",
    "replicate_ignore_db",
    "proxy_user",
    "clone_valid_donor_list",
    "group_replication_ip_allowlist",
    "group_replication_ip_whitelist",
    "group_replication_group_seeds",
    "group_replication_local_address",
    "admin_address",
    "proxy_protocol_networks",
];

/// Words of a statement behind which a table's or schema's name stands.
const BEFORE_TABLES: [&str; 8] = [
    "from", "join", "into", "update", "table", "use", "truncate", "describe",
];

/// Reads them all.
pub(super) fn read(incident: &Incident, raw_logs: &[String], found: &mut Found) {
    let everywhere = Scope::Everywhere;
    found.add("the server", everywhere, &incident.host);
    for word in address_words(&incident.server.address) {
        found.add("the server", everywhere, word);
    }
    for timed in &incident.texts {
        let body = timed.text.body();
        match timed.text.kind() {
            TextKind::Processlist => sessions(body, found),
            TextKind::InnodbStatus => innodb(body, found),
            TextKind::Semaphores => json_statements(body, found),
            TextKind::ErrorLog => log("the error log", body, found),
            TextKind::KernelLog => log("the kernel's log", body, found),
            TextKind::Threads => {}
        }
    }
    raw_logs
        .iter()
        .for_each(|text| log("the error log", text, found));
    for timed in &incident.facts {
        fact(&timed.fact.name, &timed.fact.value, found);
    }
    for timed in &incident.queries {
        for class in &timed.digest.classes {
            statement("digests of statements", &class.fingerprint, found);
            let names = [
                &class.users,
                &class.hosts,
                &class.databases,
                &class.programs,
            ];
            for one in names.into_iter().flatten() {
                found.add("digests of statements", everywhere, &one.name);
            }
        }
    }
    for table in &incident.stacks.locks {
        for row in &table.locks {
            quoted(&row.name, &mut |name| {
                found.add("the lock table", everywhere, name);
            });
        }
    }
    for timed in &incident.absent {
        addresses("what is absent", &timed.absent.detail, found);
    }
    for trigger in &incident.stall.triggers {
        addresses("triggers", &trigger.says, found);
    }
}

/// Users, hosts and schemas by their keys, whatever else the JSON has.
fn sessions(body: &str, found: &mut Found) {
    const SOURCE: &str = "sessions";
    let Ok(list) = serde_json::from_str::<Value>(body) else {
        return;
    };
    if let Some(users) = list.get("by_user").and_then(Value::as_object) {
        for user in users.keys() {
            found.add(SOURCE, Scope::Everywhere, user);
        }
    }
    let listed = ["longest", "idle"].map(|key| list.get(key).and_then(Value::as_array));
    for session in listed.into_iter().flatten().flatten() {
        for key in ["user", "host", "db"] {
            let name = session.get(key).and_then(Value::as_str).unwrap_or_default();
            found.add(SOURCE, Scope::Everywhere, name);
        }
        let text = session.get("statement").and_then(Value::as_str);
        statement("statements", text.unwrap_or_default(), found);
    }
}

/// Statements anywhere in a JSON text.
fn json_statements(body: &str, found: &mut Found) {
    let waits = serde_json::from_str::<Value>(body).unwrap_or_default();
    for wait in waits.as_array().into_iter().flatten() {
        let query = wait.get("holder_query").and_then(Value::as_str);
        statement("statements", query.unwrap_or_default(), found);
    }
}

/// Tables behind the words that ask for one, names in backquotes, and strings, which should be none.
fn statement(source: &'static str, text: &str, found: &mut Found) {
    quoted(text, &mut |name| found.add(source, Scope::Everywhere, name));
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let mut words = text
        .split(|c: char| c.is_whitespace() || "(),;=".contains(c))
        .filter(|word| !word.is_empty())
        .peekable();
    while let Some(word) = words.next() {
        if !BEFORE_TABLES.contains(&word.to_ascii_lowercase().as_str()) {
            continue;
        }
        let Some(next) = words.peek() else { break };
        let is_name = next
            .split('.')
            .all(|part| !part.is_empty() && part.chars().all(is_word))
            && next.starts_with(|c: char| c.is_alphabetic() || c == '_');
        let is_sql = |part: &str| crate::redact::is_sql_word(&part.to_ascii_lowercase());
        // What is in a schema of the server's own is the server's.
        let schema = next.split('.').next().unwrap_or_default();
        let is_servers = next.contains('.') && is_servers_schema(schema);
        if is_name && !is_servers && !next.split('.').any(is_sql) {
            for part in next.split('.') {
                found.add(source, Scope::Everywhere, part);
            }
        }
    }
}

/// Who a transaction belongs to stands behind `query id N`; tables and indexes stand in backquotes.
fn innodb(body: &str, found: &mut Found) {
    const SOURCE: &str = "InnoDB's status";
    for line in body.lines() {
        let Some((head, tail)) = line.split_once("query id ") else {
            quoted_by(line, '`', &mut |name| {
                found.add(SOURCE, Scope::Everywhere, name);
            });
            continue;
        };
        if !head.contains("thread id ") {
            continue;
        }
        // The number, then host, address and user as far as they are there, then the state.
        for word in tail.split(' ').skip(1).take(3) {
            let is_state = word.starts_with(|c: char| c.is_ascii_uppercase());
            if !is_state
                && ![
                    "updating",
                    "update",
                    "statistics",
                    "executing",
                    "preparing",
                    "init",
                    "end",
                    "logging",
                    "starting",
                ]
                .contains(&word)
            {
                found.add(SOURCE, Scope::Everywhere, word);
            }
        }
    }
}

/// Lines of a log: whatever stands in quotes, and what is an address by its form.
fn log(source: &'static str, body: &str, found: &mut Found) {
    for line in body.lines() {
        values(source, Scope::Logs, line, found);
    }
}

/// Values by their form: in quotes, `user@host`, addresses.
fn values(source: &'static str, scope: Scope, line: &str, found: &mut Found) {
    // Names of files and latches of the server's own sources stand in quotes, too.
    let is_source = |name: &str| {
        [".cc", ".c", ".ic", ".h"]
            .iter()
            .any(|end| name.ends_with(end))
            || name.starts_with('&')
    };
    let plain = without_apostrophes(line);
    for quote in ['\'', '"', '`'] {
        quoted_by(&plain, quote, &mut |name| {
            let name = name.replace(APOSTROPHE, "'");
            if !is_source(&name) && !is_version(&name) {
                found.add(source, scope, &name);
            }
        });
    }
    addresses(source, line, found);
}

/// Stands for an apostrophe while quotes are looked for.
const APOSTROPHE: char = '\u{1}';

/// The line with another sign for each apostrophe within a word, which is no quote: `Can't open`.
fn without_apostrophes(line: &str) -> String {
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphabetic);
    let mut plain = String::with_capacity(line.len());
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        let is_within =
            c == '\'' && is_letter(plain.chars().next_back()) && is_letter(rest.peek().copied());
        plain.push(if is_within { APOSTROPHE } else { c });
    }
    plain
}

/// `user@host` and addresses of IP, wherever they stand.
fn addresses(source: &'static str, line: &str, found: &mut Found) {
    for word in line.split(|c: char| c.is_whitespace() || "()[]{}<>,;='\"`".contains(c)) {
        let word = word.trim_matches(|c: char| ".:!?".contains(c));
        let is_mail = word.split_once('@').is_some_and(|(user, host)| {
            // What stands for both is there when a redacted file is redacted again.
            let is_known = crate::redact::is_everybodys;
            let is_nobodys = is_known(&user.to_lowercase()) && is_known(&host.to_lowercase());
            !user.is_empty() && host.starts_with(|c: char| c.is_alphanumeric()) && !is_nobodys
        });
        if is_mail {
            found.add(source, Scope::Everywhere, word);
        }
        let host = word.rsplit_once(':').map_or(word, |(host, _)| host);
        if host.parse::<std::net::IpAddr>().is_ok() && host.len() > 6 {
            found.add(source, Scope::Everywhere, host);
        }
    }
}

fn is_servers_schema(schema: &str) -> bool {
    ["mysql", "information_schema", "performance_schema", "sys"]
        .contains(&schema.to_ascii_lowercase().as_str())
}

/// `10.11.6-MariaDB-log`.
fn is_version(name: &str) -> bool {
    let mut parts = name.split('.');
    let is_number = |part: Option<&str>| {
        part.is_some_and(|part| !part.is_empty() && part.bytes().all(|c| c.is_ascii_digit()))
    };
    is_number(parts.next())
        && is_number(parts.next())
        && parts.next().is_some()
        && name.parse::<std::net::IpAddr>().is_err()
}

fn fact(name: &str, value: &str, found: &mut Found) {
    let setting = name.rsplit('.').next().unwrap_or(name);
    if NAMING_FACTS.contains(&setting) {
        for word in value.split([',', ' ', ';']) {
            for part in address_words(word) {
                found.add("settings", Scope::Everywhere, part);
            }
        }
    }
}

/// The host of `host:port`, `tcp://host:port`, `/path`; the parts of a path are not looked for.
fn address_words(address: &str) -> impl Iterator<Item = &str> {
    let bare = address.split("://").last().unwrap_or(address);
    let host = match bare.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => bare,
    };
    std::iter::once(host.trim_matches(['[', ']'])).filter(|host| !host.contains('/'))
}

/// What stands in quotes of any kind.
fn quoted(text: &str, with: &mut dyn FnMut(&str)) {
    for quote in ['\'', '"', '`'] {
        quoted_by(text, quote, with);
    }
}

/// What stands between two quotes of a kind; a value that holds one itself is met in parts. What is in a schema
/// of the server's own is the server's: `mysql`.`tables`. A monitor that writes into the error log prints the
/// locks of its dictionary.
fn quoted_by(text: &str, quote: char, with: &mut dyn FnMut(&str)) {
    let mut parts = text.split(quote);
    let mut between = parts.next().unwrap_or_default();
    let mut schema = "";
    while let (Some(inner), Some(behind)) = (parts.next(), parts.next()) {
        // InnoDB's own dictionary tables have no schema, and the redactor keeps their names.
        let word = inner.to_ascii_lowercase();
        let is_innodbs = crate::redact::well_known::INNODB_NAMES.contains(&word.as_str());
        let is_servers = is_innodbs || (between == "." && is_servers_schema(schema));
        if inner != "?" && !is_servers {
            with(inner);
        }
        (between, schema) = (behind, inner);
    }
}
