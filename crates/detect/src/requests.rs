//! What the kernel says of a server's TCP connections: who has asked for something and has no answer,
//! and who still gets one. It is what is known of the work when there is no login.
//!
//! Fed once a second, it answers with a few numbers, which are signals like all others.

use std::collections::HashMap;

use model::{Millis, Reading, Unit};

/// A request this old hangs, unless it is the connection's way, milliseconds.
const OLD_MS: Millis = 1000;

/// A connection that was seen to be answered in so many of its last 64 samples works for clients that
/// want short answers.
const WORKS_MIN: u32 = 3;

/// A tick of a slow kernel (100 a second), milliseconds: what came and what was sent within one
/// cannot be put in order.
const TICK_MS: Millis = 10;

/// A connection as the kernel shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestRow {
    /// A number that no other connection has.
    pub id: u64,
    /// The server last sent something so long ago, milliseconds.
    pub sent_ms: Millis,
    /// The client last sent something so long ago, milliseconds.
    pub received_ms: Millis,
    /// The client last acknowledged something so long ago, milliseconds.
    pub acknowledged_ms: Millis,
    /// The server has not read all of it.
    pub is_unread: bool,
    /// Neither side has sent anything yet: the server, which speaks first, has not greeted its client.
    pub is_ungreeted: bool,
    /// Segments with data so far, and those that acknowledge without any, of the server; they wrap
    /// around.
    pub segments: Option<(u32, u32)>,
}

impl RequestRow {
    /// Whether the client waits, by the times of what went both ways.
    fn waits(&self, known: &Known) -> bool {
        if self.is_unread || self.received_ms != self.sent_ms {
            return self.is_unread || self.received_ms < self.sent_ms;
        }
        // A client that asks again at once leaves both in one tick of the clock. Two things tell what
        // came last. If it is the answer, the client acknowledges it, a moment later; if it is the
        // request, our kernel does, by a segment of its own, since the server sends nothing.
        let is_acknowledged = self.acknowledged_ms < self.sent_ms;
        self.segments
            .is_some_and(|(_, bare)| !is_acknowledged && bare != known.bare_before)
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Known {
    /// A bit for each sample: it was answered since the one before. The last is the lowest.
    answered: u64,
    seen_at: Millis,
    /// Segments with data.
    data: u32,
    /// Acknowledgements without data: now, and when something last went either way in the sample
    /// before that one.
    bare: u32,
    bare_before: u32,
}

/// The connections of one server.
#[derive(Debug, Default)]
pub struct Requests {
    known: HashMap<u64, Known>,
    before: Option<Millis>,
    last_answer: Option<Millis>,
}

#[derive(Debug, Default)]
struct Sums {
    waiting: u32,
    hung: u32,
    hung_oldest_ms: Millis,
    hung_workers: u32,
    answered: u32,
    going: u32,
    ungreeted: u32,
    ungreeted_oldest_ms: Millis,
}

impl Requests {
    /// Takes all connections of this moment.
    pub fn observe(&mut self, now: Millis, rows: &[RequestRow]) -> Vec<Reading> {
        // Time that went back: nothing known holds.
        if self.before.is_some_and(|before| now <= before) {
            *self = Self::default();
        }
        let mut sums = Sums::default();
        for row in rows {
            self.take(now, row, &mut sums);
        }
        self.known.retain(|_, known| known.seen_at == now);
        if sums.answered > 0 {
            self.last_answer = Some(now);
        }
        self.before = Some(now);
        let count =
            |name: &'static str, value: u32| Reading::gauge(name, Unit::Count, f64::from(value));
        let time =
            |name: &'static str, ms: Millis| Reading::gauge(name, Unit::Milliseconds, ms as f64);
        let mut readings = vec![
            count("connections.established", rows.len() as u32),
            count("connections.waiting", sums.waiting),
            count("connections.hung", sums.hung),
            time("connections.hung_oldest_ms", sums.hung_oldest_ms),
            count("connections.hung_workers", sums.hung_workers),
            count("connections.answered", sums.answered),
            count("connections.going", sums.going),
            count("connections.ungreeted", sums.ungreeted),
            time("connections.ungreeted_oldest_ms", sums.ungreeted_oldest_ms),
        ];
        readings.extend(
            self.last_answer
                .map(|last| time("connections.since_answer_ms", now - last)),
        );
        readings
    }

    fn take(&mut self, now: Millis, row: &RequestRow, sums: &mut Sums) {
        if row.is_ungreeted {
            sums.ungreeted += 1;
            // With nothing sent this is the time since the connection was made.
            sums.ungreeted_oldest_ms = sums.ungreeted_oldest_ms.max(row.sent_ms);
            return;
        }
        let since_before = self.before.map_or(0, |before| now - before);
        let known = self.known.entry(row.id).or_default();
        known.seen_at = now;
        if let Some((data, bare)) = row.segments {
            if data != known.data {
                (known.data, known.bare_before) = (data, known.bare);
            }
            known.bare = bare;
        }
        let waits = row.waits(known);
        let is_old = waits && row.received_ms >= OLD_MS;
        // What the server sends unasked, as to a replica, answers nobody.
        let is_answer = row.sent_ms < since_before && row.received_ms < since_before + TICK_MS;
        // Who hangs keeps the reputation of the time before.
        if !is_old {
            known.answered = known.answered << 1 | u64::from(is_answer);
        }
        let works = known.answered.count_ones() >= WORKS_MIN;
        if is_answer {
            sums.answered += 1;
            sums.going += u32::from(works && !is_old);
        }
        // One that never was answered so is no client that waits: a replica tells what it has.
        if waits && works {
            sums.waiting += 1;
            if is_old {
                sums.hung += 1;
                sums.hung_workers += 1;
                sums.hung_oldest_ms = sums.hung_oldest_ms.max(row.received_ms);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(readings: &[Reading], name: &str) -> f64 {
        let reading = readings.iter().find(|reading| reading.name == name);
        reading.unwrap_or_else(|| panic!("no {name}")).value
    }

    fn row(id: u64, sent_ms: Millis, received_ms: Millis) -> RequestRow {
        RequestRow {
            id,
            sent_ms,
            received_ms,
            acknowledged_ms: received_ms,
            is_unread: false,
            is_ungreeted: false,
            segments: None,
        }
    }

    #[test]
    fn who_is_not_greeted_is_no_request() {
        let mut requests = Requests::default();
        let silent = |id, ms| RequestRow {
            is_ungreeted: true,
            ..row(id, ms, ms)
        };
        let told = requests.observe(1000, &[row(1, 100, 101), silent(2, 1700), silent(3, 40)]);
        assert_eq!(value(&told, "connections.established"), 3.0);
        assert_eq!(value(&told, "connections.ungreeted"), 2.0);
        assert_eq!(value(&told, "connections.ungreeted_oldest_ms"), 1700.0);
        assert_eq!(value(&told, "connections.waiting"), 0.0);
    }

    #[test]
    fn of_two_in_one_tick_the_acknowledgements_tell_which_came_last() {
        let mut requests = Requests::default();
        let at = |ms: Millis, acknowledged_ms: Millis, data: u32, bare: u32| RequestRow {
            acknowledged_ms,
            segments: Some((data, bare)),
            ..row(7, ms, ms)
        };
        for second in 0..10 {
            let told = requests.observe(second * 1000, &[at(5, 5, second as u32 * 10, 3)]);
            assert_eq!(value(&told, "connections.hung"), 0.0);
        }
        // Idle: the answer came last, and our kernel had nothing to acknowledge by itself.
        let told = requests.observe(10_500, &[at(1500, 1500, 90, 3)]);
        assert_eq!(value(&told, "connections.hung"), 0.0);
        // Or it had, earlier, and the client acknowledged the answer 40 ms after it.
        let told = requests.observe(11_000, &[at(2000, 1960, 91, 4)]);
        assert_eq!(value(&told, "connections.hung"), 0.0);
        let told = requests.observe(11_500, &[at(400, 400, 190, 4)]);
        assert_eq!(value(&told, "connections.hung"), 0.0);
        let told = requests.observe(12_500, &[at(1400, 1400, 190, 5)]);
        assert_eq!(value(&told, "connections.hung_workers"), 1.0);
        let told = requests.observe(13_600, &[at(2500, 2500, 190, 5)]);
        assert_eq!(value(&told, "connections.hung_oldest_ms"), 2500.0);
    }

    #[test]
    fn who_worked_and_has_no_answer_hangs() {
        let mut requests = Requests::default();
        // Two clients that are answered each second, one that is idle, one replica that tells.
        for second in 0..20 {
            let rows = [
                row(1, 100, 101),
                row(2, 300, 300),
                row(3, 90_000, 90_001),
                row(4, 60_000, 50),
            ];
            let told = requests.observe(second * 1000, &rows);
            assert_eq!(value(&told, "connections.hung"), 0.0);
        }
        let told = requests.observe(
            21_000,
            &[row(1, 1500, 1400), row(2, 50, 60), row(4, 61_000, 1050)],
        );
        assert_eq!(value(&told, "connections.hung"), 1.0);
        assert_eq!(value(&told, "connections.hung_oldest_ms"), 1400.0);
        assert_eq!(value(&told, "connections.going"), 1.0);
        let told = requests.observe(22_000, &[row(1, 2500, 2400), row(2, 1050, 1060)]);
        assert_eq!(value(&told, "connections.answered"), 0.0);
        assert_eq!(value(&told, "connections.since_answer_ms"), 1000.0);
        // A server that stands still does not even read.
        let unread = RequestRow {
            is_unread: true,
            ..row(2, 2050, 2050)
        };
        let told = requests.observe(23_000, &[row(1, 3500, 3400), unread]);
        assert_eq!(value(&told, "connections.hung_workers"), 2.0);
        let told = requests.observe(5, &[row(1, 3500, 3400)]);
        assert_eq!(value(&told, "connections.hung"), 0.0);
    }
}
