//! Whether the server is new enough.

use super::failure::Failure;

/// The first version that has all that the store needs: views that are refreshed and add to a table.
pub const NEEDED: (u32, u32) = (24, 10);

/// Year and month of a version such as `26.9.2.1`.
fn parse(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.trim().split('.');
    let mut number = || parts.next()?.parse().ok();
    Some((number()?, number()?))
}

/// Complains about a server that is too old, or none.
pub(super) fn check(whom: &str, version: &str) -> Result<(), Failure> {
    let version: String = version
        .trim()
        .chars()
        .filter(|c| !c.is_control())
        .take(40)
        .collect();
    let (year, month) = NEEDED;
    match parse(&version) {
        Some(found) if found >= NEEDED => Ok(()),
        Some(_) => Err(Failure::stop(
            whom,
            format!(
                "ClickHouse {version} is too old: {year}.{month} or newer is needed. \
                 Upgrade it, or name another server"
            ),
        )),
        None => Err(Failure::stop(
            whom,
            format!(
                "'{version}' is not a ClickHouse version: is this its HTTP interface (port 8123)?"
            ),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_server_is_told_what_to_do() {
        assert_eq!(check("x", "26.9.2.1\n"), Ok(()));
        assert_eq!(check("x", "24.10.1.1"), Ok(()));
        let said = check("http://db1:8123/f", "18.16.1").unwrap_err().said;
        assert_eq!(
            said,
            "http://db1:8123/f: ClickHouse 18.16.1 is too old: 24.10 or newer is needed. \
             Upgrade it, or name another server"
        );
        assert!(check("x", "24.9.3.1").is_err());
        assert!(
            check("x", "<html>")
                .unwrap_err()
                .said
                .contains("not a ClickHouse version")
        );
    }
}
