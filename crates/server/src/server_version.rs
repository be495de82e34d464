//! Make and version of a server, from the text that it sends.

/// Who makes a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavor {
    /// MariaDB.
    MariaDb,
    /// Oracle's MySQL, or a server that says nothing else.
    MySql,
    /// Percona Server.
    Percona,
}

impl Flavor {
    /// As its maker writes it.
    pub fn to_text(self) -> &'static str {
        match self {
            Self::MariaDb => "MariaDB",
            Self::MySql => "MySQL",
            Self::Percona => "Percona Server",
        }
    }
}

/// Make and version of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerVersion {
    /// Who makes it.
    pub flavor: Flavor,
    /// Major, minor and patch number; what is not told is the last there could be.
    pub number: (u16, u16, u16),
}

/// A number that was not told: `8.0` means the newest 8.0.
const NEWEST: u16 = 999;

impl ServerVersion {
    /// Of what a server says (`10.11.19-MariaDB (Debian 12)`, `8.0.36-28 (Percona Server (GPL))`), or a user
    /// (`mariadb-10.11`, `percona 8.0`, `5.7`). `None` without a number.
    pub fn read(text: &str) -> Option<Self> {
        let lower = text.to_lowercase();
        let flavor = if lower.contains("mariadb") {
            Flavor::MariaDb
        } else if lower.contains("percona") {
            Flavor::Percona
        } else {
            Flavor::MySql
        };
        // Replicas of old MySQL were told so, and some proxies still are.
        let numbers = lower.strip_prefix("5.5.5-").unwrap_or(&lower);
        let from = numbers.find(|c: char| c.is_ascii_digit())?;
        let rest = numbers.get(from..)?;
        let end = rest
            .find(|c: char| !(c.is_ascii_digit() || c == '.'))
            .unwrap_or(rest.len());
        let mut parts = rest.get(..end)?.split('.');
        let mut next = || match parts.next() {
            None | Some("") => Some(NEWEST),
            Some(part) => part.parse().ok(),
        };
        let number = (next()?, next()?, next()?);
        (number.0 != NEWEST).then_some(Self { flavor, number })
    }

    /// Whether it is MariaDB.
    pub fn is_mariadb(self) -> bool {
        self.flavor == Flavor::MariaDb
    }

    /// Whether it is this version or a later one.
    pub fn is_from(self, major: u16, minor: u16, patch: u16) -> bool {
        self.number >= (major, minor, patch)
    }
}

impl std::fmt::Display for ServerVersion {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (major, minor, patch) = self.number;
        write!(formatter, "{} {major}", self.flavor.to_text())?;
        for number in [minor, patch]
            .into_iter()
            .take_while(|number| *number != NEWEST)
        {
            write!(formatter, ".{number}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_servers_and_of_users() {
        let told = |text: &str| ServerVersion::read(text).map(|version| version.to_string());
        for (text, version) in [
            ("10.11.19-MariaDB-0+deb12u1 (Debian 12)", "MariaDB 10.11.19"),
            ("5.5.5-10.6.4-MariaDB", "MariaDB 10.6.4"),
            (
                "8.0.36-28 (Percona Server (GPL), Release 28)",
                "Percona Server 8.0.36",
            ),
            ("5.5.9-log (MySQL Community Server (GPL))", "MySQL 5.5.9"),
            ("9.7.0 (MySQL Community Server - GPL)", "MySQL 9.7.0"),
            ("mariadb-11", "MariaDB 11"),
            ("percona 8.0", "Percona Server 8.0"),
            ("8", "MySQL 8"),
        ] {
            assert_eq!(told(text).as_deref(), Some(version), "{text}");
        }
        for none in ["", "mysql", "99999999.1"] {
            assert_eq!(told(none), None, "{none}");
        }
        let newest = ServerVersion::read("mariadb 10.5").unwrap();
        assert!(newest.is_from(10, 5, 9) && !newest.is_from(10, 6, 0));
    }
}
