//! A server in numbers: clients, a load, a mechanism that stalls it, and what the recorder would
//! have sampled of it. No I/O, no clock; the same seed gives the same run.

pub mod judge;
pub mod mechanism;
mod samples;

use detect::{Config, Detector, Event, Pace, Requests, Sessions};
use mechanism::{LOGIN, Mechanism};
use model::Millis;

/// How fine the simulated time is, milliseconds.
pub const TICK_MS: Millis = 20;

/// xorshift64*.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self((seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// 0 to 1.
    pub fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn below(&mut self, end: usize) -> usize {
        ((self.next() >> 33) as usize) % end.max(1)
    }
}

/// A stall as it was. Where the load is low nobody feels its begin and its end at once: both are
/// stretches, from the mechanism to the first statement that it holds, and from the last one.
#[derive(Debug, Clone, Copy)]
pub struct Truth {
    pub onset: (Millis, Millis),
    pub end: (Millis, Millis),
}

/// What clients ask for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Load {
    /// So many statements a second, at even intervals with some jitter.
    Rate(f64),
    /// Each client sends the next statement as soon as it has an answer.
    Saturated,
}

/// Statements a second that the server can do.
const CAPACITY: f64 = 2000.0;

/// How long a statement takes when nothing is wrong, seconds.
const SERVICE_SECONDS: f64 = 0.000_5;

pub const READS: [&str; 3] = [
    "SELECT c FROM shop.item WHERE id = 17",
    "SELECT k FROM shop.stock WHERE id = 3",
    "SELECT COUNT(*) FROM shop.cart WHERE user_id = 5",
];
pub const WRITES: [&str; 2] = [
    "UPDATE shop.stock SET k = k + 1 WHERE id = 77",
    "INSERT INTO shop.sale (item, n) VALUES (4, 2)",
];

/// A session of a client.
#[derive(Debug, Clone)]
pub struct Client {
    pub id: u64,
    /// Since when it is idle or in its statement.
    pub since: Millis,
    /// When it last had an answer.
    pub answered: Millis,
    /// What it is in, and when that is over.
    pub statement: Option<Running>,
}

#[derive(Debug, Clone)]
pub struct Running {
    pub text: &'static str,
    pub state: &'static str,
    pub until: Millis,
}

/// A session beside the clients: a report, a backup.
#[derive(Debug, Clone)]
pub struct Beside {
    pub id: u64,
    pub from: Millis,
    pub to: Millis,
    pub text: &'static str,
    pub state: &'static str,
    /// Rows a second that it reads.
    pub rows: f64,
}

/// The host beside the server.
#[derive(Debug, Clone, Copy)]
pub struct Host {
    pub busy: f64,
    /// Of all processors, what the server spends in the kernel.
    pub own_system: f64,
    pub probe_us: f64,
    /// Threads of the server on a processor, and ready and waiting for one.
    pub on_cpu: f64,
    pub queued: f64,
}

impl Default for Host {
    fn default() -> Self {
        Self {
            busy: 0.1,
            own_system: 0.02,
            probe_us: 250.0,
            on_cpu: 0.1,
            queued: 0.02,
        }
    }
}

pub struct Server {
    pub now: Millis,
    pub random: Random,
    pub clients: Vec<Client>,
    pub load: Load,
    pub beside: Vec<Beside>,
    pub host: Host,
    /// Share of the statements that write.
    pub writes: f64,
    /// The mechanism at work.
    pub stall: Option<Mechanism>,
    /// When the first statement hung in it.
    pub first_hang: Option<Millis>,
    /// Until when statements hang that began so far.
    pub last_hang: Millis,
    /// Statements that wait for a free connection of the pool.
    waiting: usize,
    due: f64,
    next: usize,
    pub questions: f64,
    pub rows: f64,
    pub written: f64,
    pub row_waits: f64,
    pub refused: f64,
    pub leaked: f64,
    pub uptime_from: Millis,
    pub system_ticks: f64,
    pub frozen_probe_from: Option<Millis>,
    pub probe_turn: u64,
    /// Nobody listens: it is being restarted.
    pub down: bool,
    /// Factor on the time of a statement.
    pub slowness: f64,
    pub detector: Detector,
    pub sessions: Sessions,
    pub pace: Pace,
    pub requests: Requests,
    /// The recorder may log in.
    pub login: bool,
    /// When the sessions are looked at between two regular looks.
    pub look_at: Option<Millis>,
    pub events: Vec<Event>,
}

impl Server {
    pub fn new(clients: usize, load: Load, seed: u64) -> Self {
        Self::with(clients, load, seed, Config::default())
    }

    pub fn with(clients: usize, load: Load, seed: u64, config: Config) -> Self {
        let mut random = Random::new(seed);
        let now = 10_000 + random.next() % 1000;
        Self {
            now,
            clients: (0..clients as u64)
                .map(|id| Client {
                    id: 100 + id,
                    since: now,
                    answered: now,
                    statement: None,
                })
                .collect(),
            load,
            random,
            beside: Vec::new(),
            host: Host::default(),
            writes: 0.4,
            stall: None,
            first_hang: None,
            last_hang: 0,
            waiting: 0,
            due: 0.0,
            next: 0,
            questions: 1000.0,
            rows: 0.0,
            written: 0.0,
            row_waits: 0.0,
            refused: 0.0,
            leaked: 0.0,
            uptime_from: 0,
            system_ticks: 0.0,
            frozen_probe_from: None,
            probe_turn: 0,
            down: false,
            slowness: 1.0,
            detector: Detector::new(config),
            sessions: Sessions::default(),
            pace: Pace::default(),
            requests: Requests::default(),
            login: true,
            look_at: None,
            events: Vec::new(),
        }
    }

    /// Lets time go by.
    pub fn run(&mut self, ms: Millis) {
        let end = self.now + ms;
        while self.now < end {
            self.tick();
        }
    }

    /// A stall of this length, from its first statement that hangs on; nothing when no statement
    /// came that could hang.
    pub fn stall(&mut self, mechanism: Mechanism, ms: Millis) -> Option<Truth> {
        let from = self.now;
        self.last_hang = 0;
        self.stall = Some(mechanism);
        self.first_hang = None;
        let give_up = self.now + 60_000;
        while self.first_hang.is_none_or(|first| self.now < first + ms) {
            if self.first_hang.is_none() && self.now > give_up {
                break;
            }
            self.tick();
        }
        self.release();
        self.first_hang.map(|first| Truth {
            onset: (from, first),
            end: (self.last_hang.clamp(first, self.now), self.now),
        })
    }

    fn release(&mut self) {
        self.stall = None;
        self.leaked = 0.0;
        self.host = Host::default();
        let now = self.now;
        for client in &mut self.clients {
            if let Some(running) = &mut client.statement {
                // They come back one after another within a tenth of a second.
                running.until = now + 20 + self.random.next() % 80;
            }
        }
    }

    fn tick(&mut self) {
        self.now += TICK_MS;
        let frozen = self.stall.is_some_and(Mechanism::freezes);
        if let Some(stall) = self.stall {
            self.host = stall.host(self.host);
            stall.act(self);
        }
        self.system_ticks += self.host.own_system * 2.0 * TICK_MS as f64 / 10.0;
        if !frozen && !self.down {
            self.finish();
        }
        self.arrive();
        self.sample(frozen);
    }

    /// Statements that are done.
    fn finish(&mut self) {
        let now = self.now;
        let mut done = 0;
        for client in &mut self.clients {
            if client
                .statement
                .as_ref()
                .is_some_and(|running| running.until <= now)
            {
                client.statement = None;
                client.since = now;
                client.answered = now;
                done += 1;
            }
        }
        self.rows += 10.0 * f64::from(done);
        let now = self.now;
        for beside in &self.beside {
            if beside.from <= now && now < beside.to {
                self.rows += beside.rows * TICK_MS as f64 / 1000.0;
            }
        }
    }

    fn arrive(&mut self) {
        let seconds = TICK_MS as f64 / 1000.0;
        match self.load {
            Load::Rate(rate) => {
                let jitter = 0.5 + self.random.share();
                self.due += rate * seconds * jitter;
                while self.due >= 1.0 {
                    self.due -= 1.0;
                    // An application gives up rather than queue for ever.
                    self.waiting = (self.waiting + 1).min(20 * self.clients.len());
                }
            }
            Load::Saturated => {
                let free = self
                    .clients
                    .iter()
                    .filter(|client| client.statement.is_none())
                    .count();
                let can =
                    CAPACITY / self.slowness * seconds * free as f64 / self.clients.len() as f64;
                self.due += can;
                self.waiting += self.due as usize;
                self.due = self.due.fract();
            }
        }
        // At its speed and no faster.
        let mut can = (CAPACITY * seconds) as usize + 1;
        while self.waiting > 0 && can > 0 {
            let Some(index) = self.free_client() else {
                break;
            };
            self.waiting -= 1;
            can -= 1;
            self.begin(index);
        }
        if self.load == Load::Saturated {
            self.waiting = 0;
        }
    }

    /// The next idle session, in turn.
    fn free_client(&mut self) -> Option<usize> {
        let count = self.clients.len();
        for _ in 0..count {
            self.next = (self.next + 1) % count;
            if self.clients[self.next].statement.is_none() {
                return Some(self.next);
            }
        }
        None
    }

    fn begin(&mut self, index: usize) {
        let is_write = self.random.share() < self.writes;
        let text = if is_write {
            WRITES[self.random.below(WRITES.len())]
        } else {
            READS[self.random.below(READS.len())]
        };
        let now = self.now;
        let held = self
            .stall
            .and_then(|stall| stall.holds(is_write, &mut self.random));
        let held = if self.down { None } else { held };
        // As servers do, when the statement begins.
        if !self.down && held.is_none_or(|(_, state)| state != LOGIN) {
            self.questions += 1.0;
        }
        let Some((ms, state)) = held else {
            if self.down {
                return;
            }
            let slow = SERVICE_SECONDS * self.slowness * 1000.0;
            if slow >= TICK_MS as f64 {
                self.clients[index].since = now;
                self.clients[index].statement = Some(Running {
                    text,
                    state: "",
                    until: now + slow as Millis,
                });
                return;
            }
            // Done within the tick.
            self.clients[index].since = now;
            self.clients[index].answered = now;
            self.rows += 10.0;
            self.written += f64::from(u8::from(is_write));
            return;
        };
        self.first_hang.get_or_insert(now);
        self.last_hang = self.last_hang.max(now.saturating_add(ms));
        if self.stall.is_some_and(Mechanism::waits_for_rows) && is_write {
            self.row_waits += 1.0;
        }
        self.clients[index].since = now;
        self.clients[index].statement = Some(Running {
            text,
            state,
            until: now.saturating_add(ms),
        });
    }

    /// The server is gone and comes back.
    pub fn restart(&mut self, ms: Millis) {
        self.down = true;
        self.run(ms);
        self.down = false;
        self.questions = 0.0;
        self.rows = 0.0;
        self.row_waits = 0.0;
        self.refused = 0.0;
        self.uptime_from = self.now;
        for client in &mut self.clients {
            client.id += 1000;
            client.since = self.now;
            client.answered = self.now;
            client.statement = None;
        }
    }
}
