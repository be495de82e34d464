//! Commands of the protocol that are no statements, as logs name them.

/// What stands before a command that is no statement, as slow logs have it.
pub(super) const COMMAND_PREFIX: usize = "administrator command: ".len();

/// Commands of the protocol as servers name them (`command_name` in sql/sql_parse.cc and later sources), each as the
/// slow log would write it.
pub(super) const COMMANDS: [&str; 43] = [
    "administrator command: Query",
    "administrator command: Execute",
    "administrator command: Prepare",
    "administrator command: Close stmt",
    "administrator command: Connect",
    "administrator command: Quit",
    "administrator command: Init DB",
    "administrator command: Change user",
    "administrator command: Field List",
    "administrator command: Statistics",
    "administrator command: Ping",
    "administrator command: Reset stmt",
    "administrator command: Long Data",
    "administrator command: Fetch",
    "administrator command: Refresh",
    "administrator command: Shutdown",
    "administrator command: Processlist",
    "administrator command: Process list",
    "administrator command: Kill",
    "administrator command: Debug",
    "administrator command: Time",
    "administrator command: Delayed insert",
    "administrator command: Binlog Dump",
    "administrator command: Binlog Dump GTID",
    "administrator command: Table Dump",
    "administrator command: Connect Out",
    "administrator command: Register Slave",
    "administrator command: Register Replica",
    "administrator command: Set option",
    "administrator command: Set Option",
    "administrator command: Daemon",
    "administrator command: Sleep",
    "administrator command: Create DB",
    "administrator command: Drop DB",
    "administrator command: Reset Connection",
    "administrator command: Reset connection",
    "administrator command: Error",
    "administrator command: clone",
    "administrator command: Bulk_execute",
    "administrator command: Slave_worker",
    "administrator command: Slave_IO",
    "administrator command: Slave_SQL",
    "administrator command: Subscribe Group Replication Stream",
];

/// A command that servers do not have.
const OTHER: &str = "administrator command: other";

/// The command that a line of a slow log names, without what somebody wrote behind it.
pub(super) fn known(line: &[u8]) -> &'static str {
    let begins = |command: &&&str| {
        let head = line.get(..command.len());
        let is_end = line
            .get(command.len())
            .is_none_or(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'_'));
        head.is_some_and(|head| head.eq_ignore_ascii_case(command.as_bytes())) && is_end
    };
    let found = COMMANDS.iter().filter(begins);
    found
        .max_by_key(|command| command.len())
        .copied()
        .unwrap_or(OTHER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_a_servers() {
        for (line, command) in [
            ("administrator command: Quit", "administrator command: Quit"),
            (
                "administrator command: Binlog Dump GTID;",
                "administrator command: Binlog Dump GTID",
            ),
            (
                "administrator command: Ping;  <-- Alice, hunter2",
                "administrator command: Ping",
            ),
            (
                "administrator command: Prepare hunter2",
                "administrator command: Prepare",
            ),
            ("administrator command: hunter2", OTHER),
            ("administrator command: Quitting", OTHER),
        ] {
            assert_eq!(known(line.as_bytes()), command);
        }
    }
}
