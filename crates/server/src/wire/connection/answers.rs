//! What a server sends.

use std::sync::Arc;

use super::{Connection, Each, Phase};
use crate::wire::handshake;
use crate::wire::limits::{IDLE_BYTES_MAX, PREPARED_MAX};
use crate::wire::pending::{After, Pending, Text};
use crate::wire::reply::{Outcome, ReplyPosition, Shape, Step, step};
use crate::wire::shared::Shared;
use crate::wire::statement::{Statement, StatementKind};

impl Connection {
    pub(super) fn server_packet(&mut self, at_us: i64, shared: &mut Shared, each: &mut Each<'_>) {
        match self.phase {
            Phase::Greeting => self.greeting(at_us, shared, each),
            Phase::Commands => self.reply(at_us, shared, each),
            _ => {}
        }
    }

    fn greeting(&mut self, at_us: i64, shared: &mut Shared, each: &mut Each<'_>) {
        let head = self.to_client.packets.head();
        if let Some(greeting) = handshake::greeting(head) {
            self.id = Some(greeting.connection_id);
            self.server_capabilities = greeting.capabilities;
            self.phase = Phase::Answer;
            return;
        }
        // The server refuses: too many connections, host blocked.
        let mut outcome = Outcome::default();
        let length = self.to_client.packets.length;
        let mut at = ReplyPosition::default();
        let head = self.to_client.packets.head();
        if step(Shape::Single, &mut at, &mut outcome, head, length) == Step::Done
            && outcome.error.is_some()
        {
            let pending = Pending {
                outcome,
                first_us: Some(at_us),
                last_us: Some(at_us),
                ..self.pending(StatementKind::Connect, at_us, 0)
            };
            self.hand_over(pending, shared, each);
        }
        self.phase = Phase::PassedOver;
    }

    fn reply(&mut self, at_us: i64, shared: &mut Shared, each: &mut Each<'_>) {
        let packets = &self.to_client.packets;
        let (first, last, length) = (packets.first, packets.last, packets.length);
        if self.definitions_follow {
            // Of a statement that was just prepared; the next answer begins with its own number.
            if self
                .queue
                .front()
                .is_some_and(|front| front.sequence != first)
            {
                return;
            }
            self.definitions_follow = false;
        }
        if !self.is_expected(first, shared, each) {
            return self.lost(false);
        }
        let head = self.to_client.packets.head();
        let Some(front) = self.queue.front_mut() else {
            return;
        };
        front.first_us.get_or_insert(at_us);
        front.last_us = Some(at_us);
        front.sequence = last.wrapping_add(1);
        match step(front.shape, &mut front.at, &mut front.outcome, head, length) {
            Step::More => {}
            // Not the answer yet.
            Step::Progress => front.first_us = None,
            Step::Infile => self.sends_file = true,
            Step::Lost => self.lost(false),
            Step::Done => {
                self.sends_file = false;
                if let Some(pending) = self.queue.pop_front() {
                    self.definitions_follow = pending.outcome.prepared.is_some();
                    self.hand_over(pending, shared, each);
                }
            }
        }
    }

    /// Whether a packet of this number is the next of the oldest statement's answer. When it begins another answer
    /// instead, that one has ended unseen. Within the compressed protocol numbers jump (sql/net_serv.cc, `net_flush`),
    /// and an authentication is a dialogue: there only another answer's beginning tells.
    fn is_expected(&mut self, number: u8, shared: &mut Shared, each: &mut Each<'_>) -> bool {
        let Some(front) = self.queue.front() else {
            return true;
        };
        if front.sequence == number || self.sends_file {
            return true;
        }
        let next = self.queue.get(1).map(|next| next.sequence);
        if next != Some(number) {
            return self.compressed || front.shape == Shape::Login;
        }
        if let Some(mut ended) = self.queue.pop_front() {
            ended.blurred = true;
            self.hand_over(ended, shared, each);
        }
        true
    }

    /// A statement is complete, or as complete as it will be.
    pub(super) fn hand_over(&mut self, pending: Pending, shared: &mut Shared, each: &mut Each<'_>) {
        shared.release(pending.text.held());
        let outcome = pending.outcome;
        let good = pending.first_us.is_some() && outcome.error.is_none();
        let since = |moment: Option<i64>| {
            moment.map(|moment| u64::try_from(moment.saturating_sub(pending.at_us)).unwrap_or(0))
        };
        let followed = good && !pending.blurred;
        let is_login = pending.kind == StatementKind::Connect;
        each(&Statement {
            at_us: pending.at_us,
            connection: self.number,
            connection_id: self.id,
            client: self.client,
            user: self.user.as_deref(),
            database: self.database.as_deref(),
            program: self.program.as_deref(),
            text: pending.text.bytes(),
            cut: pending.cut,
            kind: pending.kind,
            response_us: since(pending.first_us),
            whole_us: since(pending.last_us),
            error: outcome.error,
            rows: followed.then_some(outcome.rows),
            affected: outcome.affected.filter(|_| !is_login),
            warnings: outcome.warnings.filter(|_| followed),
            compressed: self.compressed,
            guessed: self.guessed,
            bytes_in: pending.bytes_in,
            bytes_out: pending.bytes_out,
        });
        if !good {
            return;
        }
        if let Some(id) = outcome.prepared {
            self.keep_prepared(id, pending.text.bytes(), shared);
        }
        if let Text::Own(room, _) = pending.text
            && room.capacity() <= IDLE_BYTES_MAX
        {
            // For the next request.
            self.to_server.packets.give_room(room);
        }
        match pending.after {
            After::Nothing => {}
            After::Database(database) => self.database = database,
            After::User(login) => {
                // What was said to prove it is no request's.
                self.bytes_in = 0;
                if is_login && login.is_compressed(self.server_capabilities) {
                    self.compressed = true;
                    shared.connections.compressed += 1;
                }
                self.user = login.user;
                self.database = login.database;
                self.program = login.program.or(self.program.take());
            }
        }
    }

    fn keep_prepared(&mut self, id: u32, text: &[u8], shared: &mut Shared) {
        let text: Arc<[u8]> = text.into();
        self.last_prepared = Some(text.clone());
        if self.prepared.len() >= PREPARED_MAX || shared.is_scarce() {
            return;
        }
        shared.hold(text.len());
        if let Some(before) = self.prepared.insert(id, text) {
            shared.release(before.len());
        }
    }
}
