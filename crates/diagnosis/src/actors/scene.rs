//! What an incident tells of who did what, at the moment of the stall that shows most.

use memchr::memmem;
use model::{Holder, HolderBy, Incident, Millis, ProcessList, Session, TextKind};
use server_text::activity::{self, Takes};
use server_text::innodb::{self, ActiveTransaction, InnodbStatus};

use super::actor::Actor;
use crate::evidence::{Column, Evidence};

/// Statuses of InnoDB that are read, the latest of the stall.
const STATUSES_MAX: usize = 3;

/// Moments at which a session was seen to take a lock that outlives its statement.
const TAKING_MAX: usize = 50;

/// A holder that the server itself told, with the lock and how many wait for it.
pub(super) struct ReportedHolder<'a> {
    pub(super) holder: &'a Holder,
    pub(super) lock: &'a str,
    pub(super) waiters: u32,
}

/// The moment.
pub(crate) struct Scene<'a> {
    /// The incident.
    pub(crate) incident: &'a Incident,
    /// The processlist of the stall with most sessions at work, the latest of these.
    pub(super) list: Option<ProcessList>,
    /// When it was taken, milliseconds since 1970 UTC.
    pub(super) list_ms: Option<i64>,
    /// The status of InnoDB in the stall with most waits for locks.
    pub(super) innodb: Option<InnodbStatus>,
    /// When it was taken, likewise.
    pub(super) innodb_ms: Option<i64>,
    /// Sessions that were seen to take a lock that outlives their statement, as they were last seen doing that.
    pub(super) took: Vec<(Takes, Session)>,
    /// Holders that the server told of.
    pub(super) reported: Vec<ReportedHolder<'a>>,
    /// Process of the server.
    pub(super) pid: Option<u32>,
}

impl<'a> Scene<'a> {
    pub(crate) fn new(evidence: &Evidence<'a>) -> Self {
        let incident = evidence.incident;
        let stall = incident.stall_window();
        let clock = &incident.clock;
        let wall = |at: Millis| clock.is_known().then(|| clock.wall_ms(at));
        let in_stall = |at: Millis| stall.contains(at);
        let full = |at: Millis| -> Option<ProcessList> {
            let mut texts = incident.texts.iter();
            let text =
                texts.find(|one| one.at == at && one.text.kind() == TextKind::Processlist)?;
            ProcessList::from_text(text.text.body())
        };
        let lists = || evidence.processlists.iter();
        let fullest = lists()
            .filter(|(at, _)| in_stall(*at))
            .max_by_key(|(at, list)| (list.active(), *at));
        let list = fullest.and_then(|(at, _)| full(*at));
        let statements = evidence.column(Column::Statement);
        let takes = statements.counts(|text| activity::takes(text).is_some());
        let taking = lists().zip(takes);
        let taking = taking.filter(|((at, _), (taking, _))| *at <= stall.to && *taking > 0);
        let mut took: Vec<(Takes, Session)> = Vec::new();
        for ((at, _), _) in taking.rev().take(TAKING_MAX) {
            let sessions = full(*at).map(|list| list.longest).unwrap_or_default();
            for session in sessions {
                if let Some(takes) = activity::takes(&session.statement)
                    && took.iter().all(|(_, known)| known.id != session.id)
                {
                    took.push((takes, session));
                }
            }
        }
        let statuses = incident.texts.iter().rev();
        let statuses = statuses
            .filter(|timed| timed.text.kind() == TextKind::InnodbStatus && in_stall(timed.at))
            .take(STATUSES_MAX);
        let waits = |text: &str| memmem::find_iter(text.as_bytes(), innodb::LOCK_WAIT).count();
        let most_waits = statuses.max_by_key(|timed| (waits(timed.text.body()), timed.at));
        let status = most_waits.map(|timed| (timed.at, innodb::parse(timed.text.body())));
        let tables = incident.stacks.locks.iter();
        let reported = tables.flat_map(|table| &table.locks).flat_map(|row| {
            let server = row.holders.iter().filter(|one| one.by == HolderBy::Server);
            server.map(|holder| ReportedHolder {
                holder,
                lock: &row.name,
                waiters: row.waiters_max,
            })
        });
        Self {
            list_ms: list.as_ref().and(fullest).and_then(|(at, _)| wall(*at)),
            list,
            innodb_ms: status.as_ref().and_then(|(at, _)| wall(*at)),
            innodb: status.map(|(_, status)| status),
            took,
            reported: reported.collect(),
            pid: incident.server.pid,
            incident,
        }
    }

    /// Sessions that do something, the longest first.
    pub(super) fn busy(&self) -> &[Session] {
        self.list.as_ref().map_or(&[], |list| &list.longest)
    }

    /// Sessions that slept already when the wait began, and how many more there were.
    pub(super) fn asleep(&self) -> (&[Session], u64) {
        self.list.as_ref().map_or((&[], 0), |list| {
            let more = list.idle_count.saturating_sub(list.idle.len() as u64);
            (&list.idle, more)
        })
    }

    /// Whether a session beside these runs a statement and waits for nobody: its statement is younger than what it may
    /// have taken before. So it is where not all sessions are in the list.
    pub(super) fn others_work(&self, beside: &[Actor]) -> bool {
        let is_beside = |id: u64| beside.iter().any(|actor| actor.connection == Some(id));
        let mut busy = self.busy().iter();
        let is_longer = |list: &ProcessList| list.active() > list.longest.len() as u64;
        let is_cut = self.list.as_ref().is_some_and(is_longer);
        is_cut || busy.any(|session| activity::works(session) && !is_beside(session.id))
    }

    /// Active transactions, the longest first.
    pub(super) fn transactions(&self) -> &[ActiveTransaction] {
        self.innodb.as_ref().map_or(&[], |status| &status.active)
    }

    /// A connection, as the processlist has it.
    pub(super) fn session(&self, id: u64) -> Option<&Session> {
        let (asleep, _) = self.asleep();
        let mut all = self.busy().iter().chain(asleep);
        all.find(|session| session.id == id)
    }

    /// A session of a processlist as an actor.
    pub(super) fn actor_of_session(&self, session: &Session) -> Actor {
        let is_asleep = session.command == "Sleep";
        let class = sql::statement_class(&session.statement);
        Actor {
            connection: Some(session.id),
            user: Some(session.user.clone()),
            host: Some(session.host.clone()),
            statement_class: (!is_asleep && !class.is_empty()).then(|| class.to_owned()),
            idle_seconds: is_asleep.then_some(session.seconds),
            running_seconds: (!is_asleep).then_some(session.seconds),
            seen_ms: self.list_ms,
            ..Actor::default()
        }
    }

    /// A transaction as an actor: with who it is, by the processlist where that has it, and what it does.
    pub(super) fn actor_of_transaction(&self, transaction: &ActiveTransaction) -> Actor {
        let session = transaction.connection_id.and_then(|id| self.session(id));
        let mut actor =
            session.map_or_else(Actor::default, |session| self.actor_of_session(session));
        actor.connection = transaction.connection_id;
        actor.user = actor.user.or_else(|| transaction.user.clone());
        actor.host = actor.host.or_else(|| transaction.host.clone());
        // What an actor is said to do is of one moment, and the list is of another: a statement is not older than its
        // transaction.
        let moments = self.list_ms.zip(self.innodb_ms);
        let later = moments.map_or(0.0, |(list, innodb)| {
            innodb.saturating_sub(list) as f64 / 1000.0
        });
        for time in [&mut actor.idle_seconds, &mut actor.running_seconds] {
            *time = time.map(|seconds| (seconds + later).max(0.0));
        }
        if !transaction.has_query {
            // The list is of another moment.
            actor.statement_class = None;
            actor.running_seconds = None;
        }
        let is_number = transaction
            .trx_id
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit());
        actor.transaction = is_number.then(|| transaction.trx_id.clone());
        actor.transaction_seconds = Some(transaction.active_seconds);
        actor.row_locks = Some(transaction.row_locks);
        actor.changed_rows = Some(transaction.undo_entries);
        actor.seen_ms = self.innodb_ms;
        actor
    }

    /// A connection that the server named.
    pub(super) fn actor_of_reported(&self, reported: &ReportedHolder) -> Actor {
        let id = u64::from(reported.holder.tid);
        let mut transactions = self.transactions().iter();
        let transaction = transactions.find(|one| one.connection_id == Some(id));
        let mut actor = match (transaction, self.session(id)) {
            (Some(transaction), _) => self.actor_of_transaction(transaction),
            (None, Some(session)) => self.actor_of_session(session),
            (None, None) => Actor::default(),
        };
        actor.connection = Some(id);
        actor.lock = Some(reported.lock.to_owned());
        actor.waiters = Some(u64::from(reported.waiters));
        actor
    }
}
