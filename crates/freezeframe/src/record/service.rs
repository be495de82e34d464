//! What a service manager is told, sd_notify(3): that we record, that the recording goes on, that we stop.
//!
//! The sampling loops themselves tell it. A thread beside them would go on telling while a loop hangs.

use std::collections::BTreeMap;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use recorder::Heartbeat;

/// A datagram that does not get through in this time is given up: nothing may hold up the sampling.
const SEND_MAX: Duration = Duration::from_millis(100);

/// Tells the service manager of all recorders together.
#[derive(Debug)]
pub(super) struct Service {
    socket: UnixDatagram,
    manager: SocketAddr,
    /// How often it wants to hear of us; `None` when it does not watch.
    every: Option<Duration>,
    loops: Mutex<Loops>,
}

#[derive(Debug, Default)]
struct Loops {
    /// The recorders, by their numbers.
    recorders: BTreeMap<usize, Count>,
    told_at: Option<Instant>,
    is_ready: bool,
    stops: bool,
}

/// Samples of a recorder.
#[derive(Debug, Default)]
struct Count {
    /// As of its last beat.
    taken: u64,
    /// When the manager was told last.
    told: u64,
}

impl Service {
    /// The manager that started us, by its environment; `None` when there is none.
    pub(super) fn of_environment() -> io::Result<Option<Self>> {
        let Some(path) = std::env::var_os("NOTIFY_SOCKET").filter(|path| !path.is_empty()) else {
            return Ok(None);
        };
        let is_for_us =
            std::env::var("WATCHDOG_PID").map_or(true, |pid| pid.parse() == Ok(std::process::id()));
        let usec = std::env::var("WATCHDOG_USEC").ok();
        let usec = usec.and_then(|usec| usec.parse::<u64>().ok());
        let every = usec.filter(|usec| is_for_us && *usec > 0);
        let every = every.map(|usec| Duration::from_micros(usec / 2));
        Self::at(path.as_bytes(), every).map(Some)
    }

    fn at(address: &[u8], every: Option<Duration>) -> io::Result<Self> {
        let manager = match address {
            [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
            path => SocketAddr::from_pathname(std::ffi::OsStr::from_bytes(path))?,
        };
        let socket = UnixDatagram::unbound()?;
        socket.set_write_timeout(Some(SEND_MAX))?;
        Ok(Self {
            socket,
            manager,
            every,
            loops: Mutex::default(),
        })
    }

    /// There is a recorder of this number, whose beats are waited for from now on.
    pub(super) fn expect(&self, recorder: usize) {
        self.loops().recorders.insert(recorder, Count::default());
    }

    /// It is gone, as it should be.
    pub(super) fn forget(&self, recorder: usize) {
        self.loops().recorders.remove(&recorder);
    }

    /// There is no recorder yet, or none any more, and who waits for servers lives.
    pub(super) fn waits(&self) {
        let message = self.loops().while_none(Instant::now(), self.every);
        if let Some(message) = message {
            let _ = self.socket.send_to_addr(message.as_bytes(), &self.manager);
        }
    }

    fn loops(&self) -> MutexGuard<'_, Loops> {
        self.loops.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A recorder's loop came around. What is due is told from there.
    pub(super) fn beat(&self, recorder: usize, beating: Heartbeat) {
        let now = Instant::now();
        let mut loops = self.loops();
        let message = loops.after(recorder, beating, now, self.every);
        drop(loops);
        if let Some(message) = message {
            // A manager that does not hear us will see to it.
            let _ = self.socket.send_to_addr(message.as_bytes(), &self.manager);
        }
    }
}

impl Loops {
    /// What is to be told after a beat.
    fn after(
        &mut self,
        recorder: usize,
        beating: Heartbeat,
        now: Instant,
        every: Option<Duration>,
    ) -> Option<&'static str> {
        match beating {
            Heartbeat::Stops if self.stops || !self.recorders.contains_key(&recorder) => {
                return None;
            }
            Heartbeat::Stops => {
                self.stops = true;
                return Some("STOPPING=1\nSTATUS=Writing what was captured.\n");
            }
            Heartbeat::Goes { samples } => self.recorders.get_mut(&recorder)?.taken = samples,
        }
        if self.stops {
            return None;
        }
        // All of them, and each has taken samples since: a loop that turns and gets nothing is no recording.
        let mut counts = self.recorders.values();
        if counts.any(|count| count.taken <= count.told) {
            return None;
        }
        self.ready_or_alive(now, every, "READY=1\nSTATUS=Recording.\n")
    }

    /// What is to be told by who waits for servers to begin, while there is none.
    fn while_none(&mut self, now: Instant, every: Option<Duration>) -> Option<&'static str> {
        if !self.recorders.is_empty() || self.stops {
            return None;
        }
        self.ready_or_alive(now, every, "READY=1\nSTATUS=No server runs here yet.\n")
    }

    /// `ready` the first time, and then that it is alive, as often as the watchdog wants it.
    fn ready_or_alive(
        &mut self,
        now: Instant,
        every: Option<Duration>,
        ready: &'static str,
    ) -> Option<&'static str> {
        if !self.is_ready {
            self.is_ready = true;
            self.notify(now);
            return Some(ready);
        }
        let every = every?;
        let is_due = self
            .told_at
            .is_none_or(|told| now.duration_since(told) >= every);
        is_due.then(|| {
            self.notify(now);
            "WATCHDOG=1\n"
        })
    }

    fn notify(&mut self, now: Instant) {
        for count in self.recorders.values_mut() {
            count.told = count.taken;
        }
        self.told_at = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loops(count: usize) -> Loops {
        Loops {
            recorders: (0..count)
                .map(|number| (number, Count::default()))
                .collect(),
            ..Loops::default()
        }
    }

    #[test]
    fn ready_after_the_first_sample_of_all_and_alive_while_all_take_some() {
        let mut loops = loops(2);
        let every = Some(Duration::from_secs(10));
        let begin = Instant::now();
        let mut beat = |recorder, samples, seconds| {
            let now = begin + Duration::from_secs(seconds);
            let told = loops.after(recorder, Heartbeat::Goes { samples }, now, every);
            told.map(|told| told.split('=').next().unwrap())
        };
        assert_eq!(beat(0, 0, 0), None, "nothing was taken yet");
        assert_eq!(beat(0, 5, 1), None, "the other has nothing yet");
        assert_eq!(beat(1, 1, 1), Some("READY"));
        assert_eq!(beat(1, 9, 2), None, "the first has nothing new");
        assert_eq!(beat(0, 9, 2), None, "it is not due yet");
        assert_eq!(beat(0, 9, 11), Some("WATCHDOG"));
        // The second one hangs, or gets no samples: the manager hears nothing more, however the first one goes on.
        assert_eq!(beat(0, 99, 30), None);
        assert_eq!(beat(1, 9, 30), None);
        assert_eq!(beat(1, 10, 40), Some("WATCHDOG"));
        let stops = |loops: &mut Loops| loops.after(0, Heartbeat::Stops, begin, every);
        assert!(stops(&mut loops).unwrap().starts_with("STOPPING=1\n"));
        assert_eq!(stops(&mut loops), None, "once");
        let goes = Heartbeat::Goes { samples: 1000 };
        assert_eq!(
            loops.after(0, goes, begin + Duration::from_secs(99), every),
            None
        );
    }

    #[test]
    fn who_waits_for_servers_is_ready_and_lives() {
        let mut loops = loops(0);
        let every = Some(Duration::from_secs(10));
        let begin = Instant::now();
        let after = |seconds| begin + Duration::from_secs(seconds);
        let told = loops.while_none(begin, every).unwrap();
        assert!(told.starts_with("READY=1\n"), "{told}");
        assert_eq!(loops.while_none(after(5), every), None);
        assert_eq!(loops.while_none(after(10), every), Some("WATCHDOG=1\n"));
        loops.recorders.insert(7, Count::default());
        assert_eq!(loops.while_none(after(99), every), None, "it tells itself");
        let goes = Heartbeat::Goes { samples: 1 };
        assert_eq!(loops.after(7, goes, after(99), every), Some("WATCHDOG=1\n"));
    }

    #[test]
    fn without_a_watch_it_is_told_once() {
        let mut loops = loops(1);
        let goes = |samples| Heartbeat::Goes { samples };
        let now = Instant::now();
        assert!(loops.after(0, goes(1), now, None).is_some());
        assert_eq!(
            loops.after(0, goes(2), now + Duration::from_secs(99), None),
            None
        );
    }

    #[test]
    fn both_kinds_of_sockets_are_spoken_to() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notify");
        let by_path = UnixDatagram::bind(&path).unwrap();
        let name = format!("freezeframe-test-{}", std::process::id());
        let by_name =
            UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        for (address, manager) in [
            (path.as_os_str().as_bytes().to_vec(), by_path),
            (format!("@{name}").into_bytes(), by_name),
        ] {
            let service = Service::at(&address, None).unwrap();
            service.expect(0);
            service.beat(0, Heartbeat::Goes { samples: 1 });
            let mut text = [0; 64];
            let length = manager.recv(&mut text).unwrap();
            assert_eq!(&text[..length], b"READY=1\nSTATUS=Recording.\n");
        }
    }
}
