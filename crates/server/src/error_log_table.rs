//! New lines of the error log by SQL: `performance_schema.error_log` (MySQL 8.0.22 and later), for a server whose files
//! are on another host.

use crate::{Row, ServerError, Session};

/// Lines of one reading. Of a flood the rest comes with the next ones.
const LINES_MAX: usize = 500;

/// Bytes of one line that are asked for.
const LINE_BYTES_MAX: usize = 2000;

/// Reads what is new since the last reading.
#[derive(Debug, Default)]
pub struct ErrorLogTable {
    /// Seconds since 1970 of the last line, as the server writes them.
    last: Option<String>,
}

impl ErrorLogTable {
    /// The new lines, in the form of the file; the first reading brings none.
    pub fn read(&mut self, session: &mut Session) -> Result<Vec<String>, ServerError> {
        let Some(last) = self.last.clone() else {
            let query = "SELECT UNIX_TIMESTAMP(MAX(LOGGED)) FROM performance_schema.error_log";
            let (rows, _) = session.rows(query, 1)?;
            self.last = Some(rows.first().and_then(timestamp).unwrap_or("0".to_owned()));
            return Ok(Vec::new());
        };
        // The file's times are in UTC, whatever the session's are in.
        let query = format!(
            "SELECT UNIX_TIMESTAMP(LOGGED), \
             DATE_FORMAT(CONVERT_TZ(LOGGED, @@session.time_zone, '+00:00'), '%Y-%m-%dT%H:%i:%s.%fZ'), \
             THREAD_ID, PRIO, ERROR_CODE, SUBSYSTEM, LEFT(DATA, {LINE_BYTES_MAX}) \
             FROM performance_schema.error_log WHERE LOGGED > FROM_UNIXTIME({last}) \
             ORDER BY LOGGED LIMIT {LINES_MAX}"
        );
        let (rows, _) = session.rows(&query, LINES_MAX)?;
        if let Some(last) = rows.last().and_then(timestamp) {
            self.last = Some(last);
        }
        Ok(rows.iter().map(line).collect())
    }
}

/// A number and nothing else: it becomes part of a statement.
fn timestamp(row: &Row) -> Option<String> {
    let text = row.column(0);
    let is_number = text.len() <= 20
        && !text.is_empty()
        && text.chars().all(|c| c.is_ascii_digit() || c == '.')
        && text.parse::<f64>().is_ok();
    is_number.then(|| text.to_owned())
}

/// As the server writes it into its file.
fn line(row: &Row) -> String {
    let text: String = row
        .column(6)
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    format!(
        "{} {} [{}] [{}] [{}] {text}",
        row.column(1),
        row.column(2),
        row.column(3),
        row.column(4),
        row.column(5)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: &[&str]) -> Row {
        Row::new(std::rc::Rc::from(Vec::new()), values)
    }

    #[test]
    fn a_line_is_that_of_the_file_and_a_moment_is_a_number() {
        let row = row(&[
            "1764319560.123456",
            "2026-11-28T08:46:00.123456Z",
            "7",
            "Warning",
            "MY-010055",
            "Server",
            "IP address '10.0.0.1'\ncould not be resolved",
        ]);
        assert_eq!(
            line(&row),
            "2026-11-28T08:46:00.123456Z 7 [Warning] [MY-010055] [Server] IP address '10.0.0.1' could not be resolved"
        );
        assert_eq!(timestamp(&row).as_deref(), Some("1764319560.123456"));
        for wrong in ["", "1); DROP TABLE t", "1.2.3", "NULL", "-1"] {
            assert_eq!(timestamp(&self::row(&[wrong])), None, "{wrong}");
        }
    }
}
