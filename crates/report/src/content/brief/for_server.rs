//! For which servers a step is: many begin with a name, and some with releases.

use model::Server;

/// A step that begins with the name of a server is for that one, and for those of its releases that it says.
pub(super) fn fits(server: &Server, step: &str) -> bool {
    let lead = step.split_once(": ").map_or("", |(lead, _)| lead);
    let is_mariadb = server.version.contains("MariaDB");
    let (own, other) = match is_mariadb {
        true => ("MariaDB", "MySQL"),
        false => ("MySQL", "MariaDB"),
    };
    if server.version.is_empty() || !lead.contains(own) && !lead.contains(other) {
        return true;
    }
    let Some((_, behind)) = lead.split_once(own) else {
        return false;
    };
    let behind = behind.trim_start();
    let runs = release(&server.version);
    if let Some(last) = behind.strip_prefix("up to ") {
        // Of `10.4` is each 10.4.30.
        let last = release(last);
        return runs.iter().take(last.len()).le(last.iter());
    }
    if let Some((from, next)) = behind.split_once(" before ") {
        return runs >= release(from) && runs < release(next);
    }
    let asked = release(behind);
    asked.is_empty() || !behind.contains("and later") || runs >= asked
}

/// The numbers of a release at the begin of a text.
fn release(text: &str) -> Vec<u32> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let numbers = text.get(..end.unwrap_or(text.len())).unwrap_or_default();
    numbers
        .split('.')
        .filter_map(|number| number.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_for_another_server_is_passed_over() {
        let server = |version: &str| Server {
            version: version.to_owned(),
            ..Server::default()
        };
        let step = "MySQL 8.0.16 and later: SET GLOBAL x = 1";
        assert!(fits(&server("8.0.36 MySQL Community Server"), step));
        assert!(fits(&server(""), step));
        assert!(!fits(&server("5.5.9 (Source distribution)"), step));
        assert!(!fits(&server("10.11.19-MariaDB-0+deb12u1"), step));
        assert!(fits(
            &server("5.5.9"),
            "Older MySQL, and MariaDB: SET GLOBAL y = 1"
        ));
        assert!(fits(
            &server("10.11.19-MariaDB"),
            "Older MySQL, and MariaDB: SET GLOBAL y = 1"
        ));
        assert!(!fits(&server("8.0.36"), "MariaDB 10.6: SET GLOBAL y = 1"));
    }

    #[test]
    fn a_step_is_for_the_releases_that_it_says() {
        let fits = |version: &str, step: &str| {
            let server = Server {
                version: version.to_owned(),
                ..Server::default()
            };
            fits(&server, step)
        };
        let up_to = "MySQL, and MariaDB up to 10.4: SET GLOBAL x = 1";
        assert!(fits("10.4.30-MariaDB", up_to) && fits("8.0.36", up_to));
        assert!(!fits("10.11.19-MariaDB", up_to));
        let before = "MySQL 8.0 before 8.0.28, where only x has an effect: SET GLOBAL x = 1";
        assert!(fits("8.0.27", before));
        for version in ["5.7.44", "8.0.28", "8.4.0", "10.11.19-MariaDB"] {
            assert!(!fits(version, before), "{version}");
        }
        let later = "MySQL 8.0.28 and later: SELECT 1";
        assert!(fits("8.4.0", later) && !fits("8.0.27", later));
    }
}
