//! Both directions of a connection together: requests, each with its answer.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

use super::command::{Command, prepared_id, query_text_at, used_database};
use super::compression::{CompressedReader, Opened};
use super::decoder::Shared;
use super::guess::{self, Guess};
use super::handshake::{self, Login, name};
use super::limits::{PIPELINE_MAX, PREPARED_MAX, REPLY_BYTES_MAX};
use super::packets::{Fed, PacketReader};
use super::pending::{After, Pending, Text};
use super::reply::{At, Outcome, Shape, Step, step};
use super::statement::{Statement, StatementKind};
use super::stream::{Arrival, Piece, Stream};

/// Takes each statement.
pub(super) type Each<'a> = dyn FnMut(&Statement<'_>) + 'a;

/// What a connection is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Open before we came; nothing is known of it yet.
    Unknown,
    /// The server greets.
    Greeting,
    /// The client answers.
    Answer,
    /// Requests and answers, the end of the login included.
    Commands,
    /// Encrypted, or of a replica: not read.
    PassedOver,
}

/// One direction.
#[derive(Debug, Default)]
struct Side {
    stream: Stream,
    opened: CompressedReader,
    packets: PacketReader,
}

impl Side {
    fn resume(&mut self) {
        self.opened.resume();
        self.packets.resume();
    }

    fn lose(&mut self) {
        self.opened.lose();
        self.packets.lose();
    }

    fn is_lost(&self, compressed: bool) -> bool {
        self.packets.is_lost() || (compressed && self.opened.is_lost())
    }

    /// A packet has begun and is not complete.
    fn is_within(&self, compressed: bool) -> bool {
        self.packets.is_within()
            || (compressed && !self.opened.is_lost() && !self.opened.is_between())
    }

    fn shrink(&mut self) {
        self.opened.shrink();
        self.packets.shrink();
    }

    fn held(&self) -> usize {
        self.stream.held() + self.opened.held() + self.packets.head.capacity()
    }
}

/// Which sides will send no more.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ended {
    client: bool,
    server: bool,
}

impl Ended {
    pub(super) fn set(&mut self, to_server: bool) {
        if to_server {
            self.client = true;
        } else {
            self.server = true;
        }
    }

    pub(super) fn has(self, to_server: bool) -> bool {
        if to_server { self.client } else { self.server }
    }

    pub(super) fn both(self) -> bool {
        self.client && self.server
    }
}

#[derive(Debug)]
pub(super) struct Connection {
    number: u64,
    client: SocketAddr,
    phase: Phase,
    id: Option<u32>,
    user: Option<Arc<str>>,
    database: Option<Arc<str>>,
    program: Option<Arc<str>>,
    server_capabilities: u32,
    /// Of the client; absent when the handshake was not seen.
    capabilities: Option<u32>,
    query_attributes: Option<bool>,
    compressed: bool,
    guessed: bool,
    to_server: Side,
    to_client: Side,
    /// Statements without a complete answer, the oldest first.
    queue: VecDeque<Pending>,
    /// Texts of prepared statements by their id.
    prepared: HashMap<u32, Arc<[u8]>>,
    last_prepared: Option<Arc<[u8]>>,
    /// The client sends a file.
    sends_file: bool,
    /// The server describes a statement that it has prepared.
    definitions_follow: bool,
    /// Bytes from the client since its last request.
    bytes_in: u64,
    /// What was last told of [`Side::held`].
    counted: usize,
    pub(super) ended: Ended,
}

impl Connection {
    pub(super) fn new(number: u64, client: SocketAddr, from_beginning: bool) -> Self {
        Self {
            number,
            client,
            phase: if from_beginning {
                Phase::Greeting
            } else {
                Phase::Unknown
            },
            id: None,
            user: None,
            database: None,
            program: None,
            server_capabilities: 0,
            capabilities: None,
            query_attributes: None,
            compressed: false,
            guessed: false,
            to_server: Side::default(),
            to_client: Side::default(),
            queue: VecDeque::new(),
            prepared: HashMap::new(),
            last_prepared: None,
            sends_file: false,
            definitions_follow: false,
            bytes_in: 0,
            counted: 0,
            ended: Ended::default(),
        }
    }

    fn side(&mut self, to_server: bool) -> &mut Side {
        if to_server {
            &mut self.to_server
        } else {
            &mut self.to_client
        }
    }

    /// The first byte of a direction has the number after this one.
    pub(super) fn begin(&mut self, to_server: bool, syn: u32) {
        self.side(to_server).stream.begin(syn);
    }

    /// A segment with bytes.
    pub(super) fn segment(
        &mut self,
        to_server: bool,
        (sequence, at_us): (u32, i64),
        bytes: &[u8],
        length: u32,
        shared: &mut Shared,
        each: &mut Each<'_>,
    ) {
        let mut stream = std::mem::take(&mut self.side(to_server).stream);
        let may_wait = !shared.is_scarce();
        stream.segment((sequence, at_us), bytes, length, may_wait, &mut |arrival| {
            self.arrival(to_server, arrival, shared, each)
        });
        self.side(to_server).stream = stream;
        self.side(to_server).shrink();
        self.count(shared);
    }

    /// A segment from the other side says what this side's receiver has.
    pub(super) fn acknowledged(
        &mut self,
        to_server: bool,
        (acknowledged, at_us): (u32, i64),
        shared: &mut Shared,
        each: &mut Each<'_>,
    ) {
        let mut stream = std::mem::take(&mut self.side(to_server).stream);
        stream.acknowledged(acknowledged, at_us, &mut |arrival| {
            self.arrival(to_server, arrival, shared, each);
        });
        self.side(to_server).stream = stream;
    }

    /// The end: what waits is handed over as it is.
    pub(super) fn finish(&mut self, shared: &mut Shared, each: &mut Each<'_>) {
        for to_server in [true, false] {
            let mut stream = std::mem::take(&mut self.side(to_server).stream);
            stream.finish(&mut |arrival| self.arrival(to_server, arrival, shared, each));
        }
        while let Some(pending) = self.queue.pop_front() {
            self.hand_over(pending, shared, each);
        }
        let prepared: usize = self.prepared.values().map(|text| text.len()).sum();
        shared.release(prepared + self.counted);
        self.prepared.clear();
        self.counted = 0;
    }

    fn count(&mut self, shared: &mut Shared) {
        let now = self.to_server.held() + self.to_client.held();
        shared.release(self.counted);
        shared.hold(now);
        self.counted = now;
    }

    fn arrival(
        &mut self,
        to_server: bool,
        arrival: Arrival<'_>,
        shared: &mut Shared,
        each: &mut Each<'_>,
    ) {
        let bytes = match arrival.piece {
            Piece::Bytes(bytes) => bytes.len() as u64,
            Piece::Gap(count) => count,
        };
        if self.phase == Phase::Unknown {
            self.look(to_server, arrival, shared);
        }
        shared.connections.bytes += bytes;
        if self.compressed {
            shared.connections.bytes_compressed += bytes;
        }
        if matches!(self.phase, Phase::Unknown | Phase::PassedOver) {
            return;
        }
        if to_server {
            self.bytes_in += bytes;
            if self.to_server.is_lost(self.compressed) && !self.find_request(arrival) {
                return;
            }
        } else {
            self.answer_arrives(arrival.at_us, bytes);
        }
        if self.compressed {
            self.open(to_server, arrival, shared, each);
        } else {
            self.plain(to_server, arrival.piece, arrival.at_us, shared, each);
        }
    }

    /// What a connection is that was open before.
    fn look(&mut self, to_server: bool, arrival: Arrival<'_>, shared: &mut Shared) {
        let (Piece::Bytes(bytes), Some(segment)) = (arrival.piece, arrival.segment) else {
            return;
        };
        if !to_server {
            if guess::is_greeting(bytes) {
                self.phase = Phase::Greeting;
                self.to_client.resume();
                self.to_server.resume();
            }
            return;
        }
        match guess::guess(bytes, segment) {
            Guess::Unclear => return,
            Guess::Tls => {
                self.phase = Phase::PassedOver;
                shared.connections.tls += 1;
                return;
            }
            Guess::Plain => {}
            Guess::Compressed => {
                self.compressed = true;
                shared.connections.compressed += 1;
            }
        }
        self.phase = Phase::Commands;
        self.guessed = true;
        shared.connections.guessed += 1;
        self.to_server.resume();
        self.to_client.lose();
    }

    /// After a loss, reading goes on where a request begins with its segment.
    fn find_request(&mut self, arrival: Arrival<'_>) -> bool {
        let (Piece::Bytes(bytes), Some(segment)) = (arrival.piece, arrival.segment) else {
            return false;
        };
        let wanted = if self.compressed {
            Guess::Compressed
        } else {
            Guess::Plain
        };
        if self.phase != Phase::Commands || guess::guess(bytes, segment) != wanted {
            return false;
        }
        self.to_server.resume();
        self.sends_file = false;
        true
    }

    /// Something comes from the server.
    fn answer_arrives(&mut self, at_us: i64, bytes: u64) {
        if let Some(front) = self.queue.front_mut() {
            front.first_us.get_or_insert(at_us);
            front.last_us = Some(at_us);
            front.bytes_out += bytes;
        } else if self.phase == Phase::Commands && self.to_server.is_within(self.compressed) {
            // A server does not answer half a request: its place was wrong.
            self.to_server.lose();
        }
    }

    /// The compressed protocol.
    fn open(
        &mut self,
        to_server: bool,
        arrival: Arrival<'_>,
        shared: &mut Shared,
        each: &mut Each<'_>,
    ) {
        let mut piece = arrival.piece;
        let mut opener = shared.opener.take().unwrap_or_default();
        let mut reader = std::mem::take(&mut self.side(to_server).opened);
        loop {
            match reader.feed(&mut piece, shared.compressed_bytes_max()) {
                Opened::More => break,
                Opened::Lost => {
                    self.lost(to_server);
                    break;
                }
                Opened::Packet => {
                    let (bytes, missing) = opener.open(&reader);
                    let at_us = arrival.at_us;
                    self.plain(to_server, Piece::Bytes(bytes), at_us, shared, each);
                    self.plain(to_server, Piece::Gap(missing), at_us, shared, each);
                }
            }
        }
        // Set back meanwhile, perhaps: the place in the stream is the one of the reader that was read with.
        let meanwhile = std::mem::replace(&mut self.side(to_server).opened, reader);
        if meanwhile.is_lost() {
            self.side(to_server).opened.lose();
        }
        shared.opener = Some(opener);
    }

    fn plain(
        &mut self,
        to_server: bool,
        mut piece: Piece<'_>,
        at_us: i64,
        shared: &mut Shared,
        each: &mut Each<'_>,
    ) {
        let keep = if to_server {
            shared.statement_bytes_max()
        } else {
            REPLY_BYTES_MAX
        };
        loop {
            match self.side(to_server).packets.feed(&mut piece, keep) {
                Fed::More => return,
                Fed::Lost => return self.lost(to_server),
                Fed::Packet if to_server => self.from_client(at_us, shared, each),
                Fed::Packet => self.from_server(at_us, shared, each),
            }
        }
    }

    /// The place in a direction is not known any more.
    fn lost(&mut self, to_server: bool) {
        self.side(to_server).lose();
        if !to_server {
            for pending in &mut self.queue {
                pending.blurred = true;
            }
        }
    }

    fn from_client(&mut self, at_us: i64, shared: &mut Shared, each: &mut Each<'_>) {
        let packets = &self.to_server.packets;
        match self.phase {
            Phase::Answer => self.login(at_us, shared, each),
            // Of an authentication, or of a file.
            Phase::Commands if packets.first != 0 => {
                if self.sends_file && packets.length == 0 {
                    let sequence = packets.last.wrapping_add(1);
                    self.sends_file = false;
                    if let Some(front) = self.queue.front_mut() {
                        front.sequence = sequence;
                    }
                }
            }
            Phase::Commands if packets.length > 0 && !self.sends_file => {
                self.request(at_us, shared, each);
            }
            _ => {}
        }
    }

    fn login(&mut self, at_us: i64, shared: &mut Shared, each: &mut Each<'_>) {
        let packets = &self.to_server.packets;
        let sequence = packets.last.wrapping_add(1);
        let login = match handshake::answer(&packets.head, packets.length) {
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
    fn pending(&mut self, kind: StatementKind, at_us: i64, sequence: u8) -> Pending {
        Pending {
            kind,
            text: Text::none(),
            cut: false,
            at_us,
            shape: Shape::Results,
            at: At::default(),
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
        let payload = std::mem::take(&mut self.to_server.packets.head);
        let Some(command) = payload.first().and_then(|byte| Command::of(*byte)) else {
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
                pending.text = Text::Own(payload, from);
                pending.cut = cut;
            }
            Command::Prepare => {
                pending.shape = Shape::Prepared;
                pending.text = Text::Own(payload, 1);
                pending.cut = cut;
                self.last_prepared = None;
            }
            Command::Execute | Command::BulkExecute => match self.executed(&payload) {
                Some(text) => pending.text = Text::Prepared(text),
                None => pending.cut = true,
            },
            Command::InitDb => {
                pending.after = After::Database(name(payload.get(1..).unwrap_or_default()));
                pending.text = Text::Own(payload, 1);
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

    fn push(&mut self, pending: Pending, shared: &mut Shared, each: &mut Each<'_>) {
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
        shared.hold(pending.text.held());
        self.queue.push_back(pending);
    }

    fn from_server(&mut self, at_us: i64, shared: &mut Shared, each: &mut Each<'_>) {
        match self.phase {
            Phase::Greeting => self.greeting(at_us, shared, each),
            Phase::Commands => self.reply(at_us, shared, each),
            _ => {}
        }
    }

    fn greeting(&mut self, at_us: i64, shared: &mut Shared, each: &mut Each<'_>) {
        let head = &self.to_client.packets.head;
        if let Some(greeting) = handshake::greeting(head) {
            self.id = Some(greeting.connection_id);
            self.server_capabilities = greeting.capabilities;
            self.phase = Phase::Answer;
            return;
        }
        // The server refuses: too many connections, host blocked.
        let mut outcome = Outcome::default();
        let length = self.to_client.packets.length;
        let mut at = At::default();
        let head = &self.to_client.packets.head;
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
        let head = &self.to_client.packets.head;
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
    fn hand_over(&mut self, pending: Pending, shared: &mut Shared, each: &mut Each<'_>) {
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
