//! What a client sends.

use std::sync::Arc;

use super::{Connection, Each, Phase};
use crate::wire::command::{Command, prepared_id, query_text_at, used_database};
use crate::wire::handshake::{self, Login, name};
use crate::wire::limits::PIPELINE_MAX;
use crate::wire::pending::{After, Pending, Text};
use crate::wire::reply::{Outcome, ReplyPosition, Shape};
use crate::wire::shared::Shared;
use crate::wire::statement::StatementKind;

impl Connection {
    pub(super) fn client_packet(&mut self, at_us: i64, shared: &mut Shared, each: &mut Each<'_>) {
        let packets = &self.to_server.packets;
        match self.phase {
            Phase::Answer => self.login(at_us, shared, each),
            // Of an authentication, or of a file.
            Phase::Commands if packets.first != 0 => self.file_packet(),
            Phase::Commands if packets.length > 0 && !self.sends_file => {
                self.request(at_us, shared, each);
            }
            _ => {}
        }
    }

    /// A file ends with an empty packet.
    fn file_packet(&mut self) {
        let packets = &self.to_server.packets;
        if self.sends_file && packets.length == 0 {
            let sequence = packets.last.wrapping_add(1);
            self.sends_file = false;
            if let Some(front) = self.queue.front_mut() {
                front.sequence = sequence;
            }
        }
    }

    fn login(&mut self, at_us: i64, shared: &mut Shared, each: &mut Each<'_>) {
        let packets = &self.to_server.packets;
        let sequence = packets.last.wrapping_add(1);
        let login = match handshake::answer(packets.head(), packets.length) {
            Some(handshake::Answer::Login(login)) => login,
            Some(handshake::Answer::Tls) => {
                self.phase = Phase::PassedOver;
                shared.connections.tls += 1;
                return;
            }
            None => Login::default(),
        };
        self.phase = Phase::Commands;
        self.capabilities = Some(login.capabilities);
        self.query_attributes = Some(login.has_query_attributes(self.server_capabilities));
        self.user.clone_from(&login.user);
        self.database.clone_from(&login.database);
        self.program.clone_from(&login.program);
        let pending = Pending {
            shape: Shape::Login,
            after: After::User(login),
            ..self.pending(StatementKind::Connect, at_us, sequence)
        };
        self.push(pending, shared, each);
    }

    /// A request with nothing known of it yet.
    pub(super) fn pending(&mut self, kind: StatementKind, at_us: i64, sequence: u8) -> Pending {
        Pending {
            kind,
            text: Text::none(),
            cut: false,
            at_us,
            shape: Shape::Results,
            at: ReplyPosition::default(),
            outcome: Outcome::default(),
            after: After::Nothing,
            sequence,
            first_us: None,
            last_us: None,
            blurred: false,
            bytes_in: std::mem::take(&mut self.bytes_in),
            bytes_out: 0,
        }
    }

    fn request(&mut self, at_us: i64, shared: &mut Shared, each: &mut Each<'_>) {
        let cut = self.to_server.packets.is_cut();
        let sequence = self.to_server.packets.last.wrapping_add(1);
        let mut payload = self.to_server.packets.take_head();
        let Some(command) = payload.first().and_then(|byte| Command::from_byte(*byte)) else {
            self.to_server.lose();
            return;
        };
        let mut pending = self.pending(kind_of(command), at_us, sequence);
        match command {
            Command::Query => {
                let from = query_text_at(&payload, self.query_attributes);
                let text = payload.get(from..).unwrap_or_default();
                if let Some(database) = used_database(text) {
                    pending.after = After::Database(name(database));
                }
                pending.text = Text::Own(std::mem::take(&mut payload), from);
                pending.cut = cut;
            }
            Command::Prepare => {
                pending.shape = Shape::Prepared;
                pending.text = Text::Own(std::mem::take(&mut payload), 1);
                pending.cut = cut;
                self.last_prepared = None;
            }
            Command::Execute | Command::BulkExecute => match self.executed(&payload) {
                Some(text) => pending.text = Text::Prepared(text),
                None => pending.cut = true,
            },
            Command::InitDb => {
                pending.after = After::Database(name(payload.get(1..).unwrap_or_default()));
                pending.text = Text::Own(std::mem::take(&mut payload), 1);
            }
            Command::ChangeUser => {
                let capabilities = self.capabilities.unwrap_or(u32::MAX);
                let login =
                    handshake::change_user(payload.get(1..).unwrap_or_default(), capabilities);
                pending.shape = Shape::Login;
                pending.after = After::User(login);
            }
            Command::FieldList | Command::Fetch => pending.shape = Shape::Rows,
            Command::Statistics => pending.shape = Shape::Single,
            Command::Close => {
                let closed = prepared_id(&payload).and_then(|id| self.prepared.remove(&id));
                shared.release(closed.map_or(0, |text| text.len()));
            }
            Command::Replication(_) => {
                self.phase = Phase::PassedOver;
                shared.connections.replication += 1;
            }
            Command::Quit | Command::SendLongData | Command::Plain(_) => {}
        }
        // What was not kept is room for the next request.
        self.to_server.packets.give_room(payload);
        if command.has_no_answer() || self.phase == Phase::PassedOver {
            self.hand_over(pending, shared, each);
        } else {
            self.push(pending, shared, each);
        }
    }

    /// The statement that is executed. MariaDB's clients say -1 for the one that they have just sent to be prepared.
    fn executed(&self, payload: &[u8]) -> Option<Arc<[u8]>> {
        match prepared_id(payload)? {
            u32::MAX => match self
                .queue
                .iter()
                .rev()
                .find(|pending| pending.kind == StatementKind::Prepare)
            {
                Some(pending) => Some(pending.text.bytes().into()),
                None => self.last_prepared.clone(),
            },
            id => self.prepared.get(&id).cloned(),
        }
    }

    pub(super) fn push(&mut self, pending: Pending, shared: &mut Shared, each: &mut Each<'_>) {
        // Answers whose end was not found ended before the client asked again.
        while self.queue.len() >= PIPELINE_MAX || self.queue.front().is_some_and(|one| one.blurred)
        {
            let Some(before) = self.queue.pop_front() else {
                break;
            };
            self.hand_over(before, shared, each);
        }
        if self.queue.is_empty() && pending.kind != StatementKind::Connect {
            // Whatever was before, the next byte from the server begins the answer.
            self.to_client.resume();
            self.definitions_follow = false;
        }
        // A request that waited for an earlier segment may have been answered in what is missing: then its answer must not
        // be looked for in what comes.
        let missing = self
            .missing_us
            .is_some_and(|missing| pending.at_us < missing);
        shared.hold(pending.text.held());
        self.queue.push_back(Pending {
            blurred: missing,
            ..pending
        });
    }
}

fn kind_of(command: Command) -> StatementKind {
    match command {
        Command::Query => StatementKind::Query,
        Command::Prepare => StatementKind::Prepare,
        Command::Execute | Command::BulkExecute => StatementKind::Execute,
        Command::Quit => StatementKind::Administrator("Quit"),
        Command::InitDb => StatementKind::Administrator("Init DB"),
        Command::FieldList => StatementKind::Administrator("Field List"),
        Command::Statistics => StatementKind::Administrator("Statistics"),
        Command::ChangeUser => StatementKind::Administrator("Change user"),
        Command::SendLongData => StatementKind::Administrator("Long Data"),
        Command::Close => StatementKind::Administrator("Close stmt"),
        Command::Fetch => StatementKind::Administrator("Fetch"),
        Command::Replication(name) | Command::Plain(name) => StatementKind::Administrator(name),
    }
}
