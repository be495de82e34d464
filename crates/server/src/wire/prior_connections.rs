//! What somebody else knows of connections that were open before the decoder began.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// A connection as the server lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriorConnection {
    /// The client's address, or its name.
    pub host: String,
    /// The client's port.
    pub port: u16,
    /// The server's id of it.
    pub id: u32,
    /// Who logged in.
    pub user: Option<Arc<str>>,
    /// The current database.
    pub database: Option<Arc<str>>,
    /// Ids and texts of prepared statements.
    pub prepared: Vec<(u32, Vec<u8>)>,
}

/// Connections by the client's port.
#[derive(Default)]
pub(super) struct PriorConnections(HashMap<u16, Vec<PriorConnection>>);

impl PriorConnections {
    pub(super) fn new(open: Vec<PriorConnection>) -> Self {
        let mut known: HashMap<u16, Vec<PriorConnection>> = HashMap::new();
        for one in open {
            known.entry(one.port).or_default().push(one);
        }
        Self(known)
    }

    /// The connection of a client. A server may list names instead of addresses: then the port has to be the only one of
    /// its number.
    pub(super) fn take(&mut self, client: SocketAddr) -> Option<PriorConnection> {
        let of_port = self.0.get_mut(&client.port())?;
        let address = |one: &PriorConnection| one.host.parse::<IpAddr>().ok();
        let wanted = client.ip().to_canonical();
        let by_address = of_port
            .iter()
            .position(|one| address(one).is_some_and(|ip| ip.to_canonical() == wanted));
        let place = match by_address {
            Some(place) => place,
            None => match of_port.as_slice() {
                [one] if address(one).is_none() => 0,
                _ => return None,
            },
        };
        Some(of_port.swap_remove(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(host: &str, port: u16, id: u32) -> PriorConnection {
        PriorConnection {
            host: host.to_owned(),
            port,
            id,
            user: None,
            database: None,
            prepared: Vec::new(),
        }
    }

    #[test]
    fn clients_are_found_by_address_or_by_a_port_that_is_the_only_one() {
        let mut known = PriorConnections::new(vec![
            open("10.0.0.1", 5000, 1),
            open("10.0.0.2", 5000, 2),
            open("web1.example", 6000, 3),
            open("web1.example", 7000, 4),
            open("web2.example", 7000, 5),
            open("10.0.0.3", 8000, 6),
        ]);
        let mut take = |client: &str| known.take(client.parse().unwrap()).map(|one| one.id);
        assert_eq!(take("10.0.0.2:5000"), Some(2));
        assert_eq!(take("10.0.0.2:5000"), None, "once");
        assert_eq!(take("[::ffff:10.0.0.1]:5000"), Some(1));
        assert_eq!(take("10.0.0.9:6000"), Some(3));
        assert_eq!(take("10.0.0.9:7000"), None);
        assert_eq!(take("10.0.0.9:8000"), None, "another address has it");
    }
}
