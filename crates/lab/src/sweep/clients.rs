//! The users of a server: a pool whose statements are short, and the log of what they felt.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use testbed::{Address, Load, Login, PrivateServer, Watch};

use super::cells::{Pace, Setting};
use super::mechanisms::{Family, USER};
use crate::background::Background;

/// Longer than any stall: a client that gives up is another load than one that waits.
const PATIENCE: Duration = Duration::from_secs(120);

/// No stage lasts longer.
const LONGEST: Duration = Duration::from_secs(3600);

/// Weights and texts. Half of them write, a fifth of these the row that all want.
const STATEMENTS: [(u32, &str); 3] = [
    (5, "SELECT c FROM freezeframe_lab.t WHERE id = {row}"),
    (4, "UPDATE freezeframe_lab.t SET k = k + 1 WHERE id = {row}"),
    (1, "UPDATE freezeframe_lab.hot SET n = n + 1 WHERE id = 1"),
];

/// A pool at work.
pub(super) struct Users {
    load: Background,
    pub(super) watch: Arc<Watch>,
}

/// The account of the users, from where they come.
pub(super) fn login(server: &PrivateServer, is_elsewhere: bool) -> Login {
    let mut login = server.tcp_login();
    login.user = USER.to_owned();
    if let (true, Address::Tcp(host, port)) = (is_elsewhere, &login.address) {
        // The server looks up no name for 127.0.0.1.
        login.address = Address::TcpElsewhere(host.clone(), *port);
    }
    login
}

impl Users {
    pub(super) fn start(server: &PrivateServer, setting: Setting) -> Result<Self> {
        let is_new = setting.family == Family::Door;
        let rate = match setting.load {
            Pace::PerSecond(rate) => Some(f64::from(rate)),
            Pace::Saturated => None,
        };
        let watch = Arc::new(Watch::new(setting.pool as usize, LONGEST));
        let login = login(server, is_new);
        let load = start(login, setting.pool as usize, rate, is_new, &watch)?;
        Ok(Self { load, watch })
    }

    /// They send nothing more; [`Self::end`] waits for them.
    pub(super) fn tell_to_end(&self) {
        self.load.tell_to_end();
    }

    pub(super) fn end(self) -> Result<()> {
        self.load.end().map(drop)
    }
}

/// A pool whose log goes on in `watch`.
pub(super) fn start(
    login: Login,
    clients: usize,
    rate_per_second: Option<f64>,
    reconnect: bool,
    watch: &Arc<Watch>,
) -> Result<Background> {
    let load = Load {
        login,
        clients,
        rate_per_second,
        compression: false,
        reconnect,
        statements: STATEMENTS
            .map(|(weight, text)| (weight, text.to_owned()))
            .to_vec(),
        duration: LONGEST,
        timeout: PATIENCE,
    };
    Background::start_watched(load, watch)
}
