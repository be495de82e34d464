//! Single statements off the wire, where the arguments choose between them or group them otherwise: they are digested as a
//! log's are.

use std::time::Duration;

use anyhow::Result;
use model::QueryWay;
use recorder::packets::{Captured, PacketOptions, blind_spots, connection_mix};
use server::wire::{Statement, StatementKind};
use sql::digest::{Digester, LogDigest};
use sql::log::{AttributeText, Event, LogTime};

use super::{file, options};
use crate::args::{GroupByArg, Queries};

/// Whether the arguments ask for more than sums by class.
pub(super) fn are_wanted(args: &Queries) -> bool {
    !args.filters.is_empty() || args.group_by != GroupByArg::Fingerprint || args.compat.is_some()
}

/// Statements as they come.
pub(super) struct Statements {
    digester: Digester,
    attributes: AttributeText,
    host: String,
    command: String,
}

impl Statements {
    pub(super) fn new(args: &Queries) -> Result<Self> {
        Ok(Self {
            digester: Digester::new(options::options(args)?),
            attributes: AttributeText::default(),
            host: String::new(),
            command: String::new(),
        })
    }

    pub(super) fn take(&mut self, statement: &Statement<'_>) {
        use std::fmt::Write;
        let attributes = &mut self.attributes;
        attributes.clear();
        if let Some(whole) = statement.whole_us.map(Duration::from_micros) {
            let seconds = format_args!("{}.{:06}", whole.as_secs(), whole.subsec_micros());
            attributes.push("Query_time", seconds);
        }
        if let Some(rows) = statement.rows {
            attributes.push("Rows_sent", rows);
        }
        if let Some(rows) = statement.affected {
            attributes.push("Rows_affected", rows);
        }
        attributes.push("Bytes_sent", statement.bytes_out);
        attributes.push("Last_errno", statement.error.unwrap_or(0));
        self.host.clear();
        // Writing to a string does not fail.
        let _ = write!(self.host, "{}", statement.client.ip());
        let is_command = match statement.kind {
            StatementKind::Query => false,
            StatementKind::Execute => statement.text.is_empty(),
            StatementKind::Connect | StatementKind::Prepare | StatementKind::Administrator(_) => {
                true
            }
        };
        if is_command {
            self.command.clear();
            let _ = write!(
                self.command,
                "administrator command: {}",
                statement.kind.name()
            );
        }
        self.digester.add(&Event {
            statement: if is_command {
                self.command.as_bytes()
            } else {
                statement.text
            },
            is_command,
            is_cut: statement.cut,
            time: Some(LogTime::Utc(statement.at_us)),
            user: statement.user.map(str::as_bytes),
            host: Some(self.host.as_bytes()),
            database: statement.database.map(str::as_bytes),
            attributes: attributes.attributes(),
            ..Event::default()
        });
    }

    pub(super) fn finish(
        self,
        args: &Queries,
        options: &PacketOptions,
        captured: &Captured,
    ) -> Result<LogDigest> {
        let mut told = file::finish_as(args, self.digester, QueryWay::Packets)?;
        let digest = &mut told.digest;
        (digest.from_us, digest.to_us) = (Some(captured.from_us), Some(captured.to_us));
        digest.lost = captured.lost;
        digest.blind.extend(blind_spots(options, captured));
        digest.connections = Some(connection_mix(captured));
        Ok(told)
    }
}
