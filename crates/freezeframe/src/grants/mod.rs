//! `freezeframe grants`: the SQL that makes the recorder's account. It is printed, never run.

pub(crate) mod ask;

use std::process::ExitCode;

use anyhow::{Result, anyhow, bail};
use cli::{output, usage};
use serde_json::{Value, json};
use server::ServerVersion;
use server::grants::{AccountSql, Authentication, account_sql, new_password};

use crate::args::Grants;
use crate::config::Config;
use crate::refused::{self, RefusedLogin};
use crate::targets;

/// A server, and what it needs.
struct Wanted {
    name: Option<String>,
    version: ServerVersion,
    sql: AccountSql,
}

pub(crate) fn run(args: &Grants) -> Result<ExitCode> {
    let (name, host) = account(&args.account)?;
    let by = match args.password {
        true => Authentication::Password(new_password().map_err(|error| anyhow!("{error}"))?),
        false => Authentication::Socket,
    };
    let of = |server: Option<String>, version: ServerVersion| Wanted {
        name: server,
        version,
        sql: account_sql(version, name, host, &by),
    };
    let all = match args.for_version {
        Some(version) => vec![of(None, version)],
        None => connected(args)?
            .into_iter()
            .map(|(server, version)| of(Some(server), version))
            .collect(),
    };
    if args.json {
        let list: Vec<Value> = all
            .iter()
            .map(|wanted| as_json(wanted, &args.account))
            .collect();
        output::print_json(&list)?;
    } else {
        for wanted in &all {
            output::print(&as_text(wanted))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Name and host of an account.
fn account(text: &str) -> Result<(&str, &str)> {
    let (name, host) = text.rsplit_once('@').unwrap_or((text, "localhost"));
    if name.is_empty() || host.is_empty() {
        let error = anyhow!("--account {text}: NAME or NAME@HOST expected");
        return Err(usage(error));
    }
    Ok((name, host))
}

/// The servers that are meant, each with its version.
fn connected(args: &Grants) -> Result<Vec<(String, ServerVersion)>> {
    let config = Config::load(args.server.config.as_deref())?;
    let mut found = Vec::new();
    for target in targets::find_listening(&args.server, &config)? {
        let name = target.name();
        let text = ask::ask(&target, server::version).map_err(|absent| {
            let why = refused::line(&RefusedLogin::of(&target), &absent);
            anyhow!("{name}: {why}; or, without asking a server, use for example --for-version mariadb-10.11")
        })?;
        let Some(version) = ServerVersion::read(&text) else {
            bail!("{name}: unknown version '{text}': use for example --for-version mysql-8.0");
        };
        found.push((name, version));
    }
    Ok(found)
}

fn as_text(wanted: &Wanted) -> String {
    let of = wanted.name.as_deref();
    let of = of.map_or_else(String::new, |name| format!("{name}, "));
    let mut text = format!(
        "-- {of}{}: an administrator of the server runs this\n",
        output::plain(&wanted.version.to_string())
    );
    for note in &wanted.sql.notes {
        text += &format!("-- {}\n", output::plain(note));
    }
    for (sql, gives) in &wanted.sql.statements {
        text += &format!("-- {gives}\n{};\n", output::plain(sql));
    }
    text
}

fn as_json(wanted: &Wanted, account: &str) -> Value {
    let statements = wanted.sql.statements.iter();
    let statements: Vec<Value> = statements
        .map(|(sql, gives)| json!({"sql": sql, "for": gives}))
        .collect();
    json!({
        "server": wanted.name,
        "version": wanted.version.to_string(),
        "account": account,
        "statements": statements,
        "notes": wanted.sql.notes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts() {
        assert_eq!(account("ff").unwrap(), ("ff", "localhost"));
        assert_eq!(account("ff@10.0.0.%").unwrap(), ("ff", "10.0.0.%"));
        assert!(account("@x").is_err() && account("x@").is_err() && account("").is_err());
    }
}
