//! What is known as a whole: phrases of the servers that are kept wherever they stand, and words behind which
//! a user's text follows.
//!
//! A phrase may be kept even within a value: it tells nothing but that this phrase stands there. So each is
//! made of constant words and short numbers only.

use std::sync::LazyLock;

use regex::{Regex, RegexBuilder};

/// Phrases with the numbers that matter, by what they are about.
const PHRASES: &[&str] = &[
    // Codes of errors: of the system, the handler, the server.
    r#"\(?(?:[Ee]rrno|[Ee]rrcode): ?\d{1,4} "?(?:Too many open files|No space left on device|Resource temporarily unavailable|Cannot allocate memory|Permission denied|No such file or directory|Input/output error|Read-only file system|Disk quota exceeded|File too large|Broken pipe|Connection refused|Connection timed out)"?\)?"#,
    r"\(?\b(?:OS )?(?:[Ee]rrno|[Ee]rrcode|error number|[Ee]rror code)[:=]? ?\d{1,5}\b\)?",
    r"\breturned OS error \d{1,4}\b",
    r"\bError_code: (?:MY-)?\d{1,6}\b",
    r"\bInternal MariaDB error code: \d{1,5}\b",
    r"\bERROR \d{4} \([0-9A-Z]{5}\)",
    r"\b(?:HA_ERR|ER)_[A-Z_]{3,60}\b",
    r"\bend_log_pos \d{1,20}\b",
    r"\bGtid \d{1,10}-\d{1,10}-\d{1,20}\b",
    // The system's own words.
    r"\bToo many open files\b",
    r"(?i)\bno space left on device\b",
    r"\bResource temporarily unavailable\b",
    r"\bCannot allocate memory\b",
    r"\bPermission denied\b",
    r"\bNo such file or directory\b",
    r"(?i)\b(?:input/output error|read-only file system|disk quota exceeded)\b",
    // Ends of connections, and why they were not let in.
    r"\(Got (?:an error|timeout|a packet bigger than [a-z_'() ]{1,40}bytes) (?:reading|writing) communication packets\)",
    r"\(Got (?:an error|timeout) (?:reading|writing) communication packets",
    r"\(init_connect command failed\)",
    r"\(using password: (?:YES|NO)\)",
    r"\bToo many connections\b",
    r"\bmax_connect_errors\b",
    r"\bHost (?:\? )?is (?:blocked|not allowed)\b",
    // Tables and files.
    r"\bis marked as crashed\b(?: and (?:should be repaired|last \(automatic\?\) repair failed))?",
    r"\b(?:doesn't|does not) exist\b",
    r"\bis full\b",
    r"\bDisk is full writing\b",
    r"(?i)\bwaiting for someone to free (?:some )?space\b(?:\.\.\.)?",
    r"\bRetry in \d{1,5} secs\b",
    r"\bLock wait timeout exceeded; try restarting transaction\b",
    r"\bDeadlock found when trying to get lock\b",
    r"\bMySQL server has gone away\b",
    r"\bLost connection to (?:MySQL|MariaDB|server)(?: server)?(?: (?:during query|at ?'[a-z ]{1,60}',))?",
    r"\bCan't create (?:a new |)thread(?: to (?:handle (?:a )?new connection|kill server))?\b",
    r"\bquery execution was interrupted\b|\bQuery execution was interrupted\b",
    // InnoDB: latches, locks, its log and its pages.
    r"^(?:--Thread \d{1,20} has waited at [\w./+-]+\.(?:cc?|cpp|hp?p?|ic?|inl) line \d{1,6} for \d{1,8}(?:\.\d{1,3})? seconds the semaphore:?)",
    r"\bin file [\w./+-]+\.(?:cc|ic|c|h|cpp|hpp|i|inl) line \d{1,6}\b",
    r"\b[Ii]n file ?'[\w./+-]+\.(?:cc|ic|c|h|cpp|hpp)'",
    r"\bat [a-z0-9]{2,8}0[a-z0-9]{2,8}\.(?:cc|ic|c|h) line \d{1,6}\b",
    r"\b[a-z0-9]{2,8}0[a-z0-9]{2,8}\.(?:cc|ic|c|h)(?::\d{1,6}|(?: line \d{1,6}))",
    r"^Mutex at (?:0x)?[0-9a-f]{1,16}[,:]? '?(?:&[\w.>-]+'?|[A-Z_]{2,40})?(?:,? lock var \d{1,3})?",
    r"\b(?:X|S|SX)-lock(?: \(wait_ex\))? on RW-latch at (?:0x)?[0-9a-f]{1,16}(?: '[&a-z_>.\[\]0-9-]+')?",
    r"\ba writer \(thread id \d{1,20}\) has reserved it in mode +(?:exclusive|SX|wait exclusive)\b",
    r"\bHolder thread \d{1,20}\b|\bholder thread (?:\d{1,20}|0x[0-9a-f]{1,16}|[0-9a-f]{8,16})\b",
    r"\bthread (?:id )?\d{1,20}\b",
    r"\bOS thread handle (?:0x)?[0-9a-f]{1,20}\b",
    r"\btrx id [0-9A-Fa-f ]{1,20} lock[_ ]mode (?:AUTO-INC|IX|IS|X|S)(?: locks (?:rec but not gap|gap before rec))?(?: insert intention)?(?: waiting)?",
    r"\btrx id [0-9A-Fa-f]{1,20}\b",
    r"\block[_ ]mode (?:AUTO-INC|IX|IS|X|S)\b",
    r"\b(?:log sequence number|LSN|lsn)[:=]? ?\d{1,20}\b",
    r"\bpage_cleaner: \d{1,6}ms intended loop took \d{1,9}ms\b",
    r"\bSemaphore wait has lasted > \d{1,6} seconds\b",
    r"\bLong wait \(\d{1,8} seconds\)",
    // The cluster and the group: peers have names, what happened to them has words.
    r"\bWSREP: ",
    r"\bPlugin group_replication reported: '",
    r"\bnot able to reach a majority of members in the group\b",
    r"\bhas become (?:un)?reachable\b",
    r"\bGoing to wait for view modification\b",
    r"\bconnection to peer\b",
    r"\btimed out, no messages seen in PT\d{1,5}(?:\.\d{1,3})?S\b",
    r"\btimed out\b",
    r"\bnonlive peers:",
    r"\breturned -\d{1,4}\b",
    r"\bsuspecting node\b",
    r"\bview\(view_id\((?:NON_PRIM|PRIM|REG|TRANS)\b",
    r"\b(?:NON_PRIM|PRIM)\b",
    r"\bprimary = (?:yes|no)\b",
    r"\bReceived (?:NON-PRIMARY|self-leave message)\b",
    r"\bgcomm: closing backend\b",
    // Replication.
    r"\bTimeout waiting for reply of binlog\b",
    r"(?i)\bsemi-sync replication switched (?:OFF|ON)\b",
    r"\bretry-time: \d{1,6}\b|\bretries: \d{1,8}\b",
    // The allocation of memory, the buffer pool, limits.
    r"\bibuf_merge\b",
    r"\binnodb_[a-z_]{3,50}=\d{1,20}\b",
    r"\bbuffer pool \d{1,3} : begin to withdraw\b",
    // How a crash is printed.
    r"\bgot signal \d{1,2}\b",
    r"\bgot exception 0x[0-9a-f]{1,8}\b",
    r"\bAssertion failure\b",
    r"^(?:/[\w.+-]+)+\((?:[\w.$@]*\+0x[0-9a-f]{1,8})?\)\s?\[0x[0-9a-f]{1,16}\]$",
    r"^(?:Connection ID \(thread ID\): \d{1,20}|Status: [A-Z_]{2,40})$",
    r"^Version: '[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{1,3}[\w.+~-]*'",
    r"\bmax_open_files: \d{1,10} \(requested \d{1,10}\)",
];

/// Behind these whatever follows is a user's: the text of an error, a statement, an address. The words
/// themselves stay.
const VALUES: &[&str] = &[
    r"^Event Scheduler: ",
    r"\bExecution of event\b",
    r"\bError '",
    r"\bon query\b",
    r"\bevent on table\b",
    r"\bevent of type '",
    r"\bDuplicate entry\b",
    r"\bfailed executing transaction\b",
    r"\bAccess denied for user\b",
    r"(?i)\bpassword is generated for\b",
    r"\bAborted connection \d{1,20} to db:",
    r"\bconnecting to (?:master|source)\b",
    r"\b(?:Previous|New) state\b",
    r"(?i)\bCHANGE (?:MASTER|REPLICATION (?:SOURCE|FILTER))\b",
    r"(?i)\b(?:got fatal error|fatal error:) ?\d{0,5}",
    r"\b[Ii]nit_connect\b",
    r"(?i)\bhostname\b",
];

/// A statement follows, which may have several lines.
const STATEMENTS: &[&str] = &[
    r"(?i)\b(?:statement|query)\b ?(?:\((?:0x)?[0-9a-f]{1,16}\))?:|^SQL:",
    r"(?i)\b(?:insert (?:ignore |low_priority |high_priority |delayed )?into|replace into|delete from|update [!-~]+ set|load (?:data|xml)|create (?:or replace )?(?:definer|user|event|procedure|function|trigger|view|server)|identified (?:by|with)|set password|execute immediate)\b",
];

/// A place in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
}

struct Compiled {
    phrases: Regex,
    values: Regex,
    statements: Regex,
}

static COMPILED: LazyLock<Option<Compiled>> = LazyLock::new(|| {
    let any = |forms: &[&str]| {
        let forms: Vec<String> = forms.iter().map(|form| format!("(?:{form})")).collect();
        // ASCII only, or each class is a table of Unicode's.
        RegexBuilder::new(&forms.join("|"))
            .unicode(false)
            .build()
            .ok()
    };
    Some(Compiled {
        phrases: any(PHRASES)?,
        values: any(VALUES)?,
        statements: any(STATEMENTS)?,
    })
});

/// What a message tells by its phrases.
pub(super) struct Marks {
    /// Phrases, in order; none overlaps another.
    pub(super) phrases: Vec<Span>,
    /// From here on it is a user's text.
    pub(super) value_from: usize,
    /// It ends in a statement.
    pub(super) has_statement: bool,
}

/// Looks for what is known as a whole. Nothing is known when the forms cannot be used.
pub(super) fn marks(message: &str) -> Marks {
    let Some(compiled) = COMPILED.as_ref() else {
        return Marks {
            phrases: Vec::new(),
            value_from: 0,
            has_statement: true,
        };
    };
    let found = compiled.phrases.find_iter(message);
    let phrases = found
        .filter(|found| !found.is_empty())
        .map(|found| Span {
            start: found.start(),
            end: found.end(),
        })
        .collect();
    let value = compiled.values.find(message).map(|found| found.end());
    let statement = compiled.statements.find(message);
    let statement = statement.map(|found| match message.get(..found.end()) {
        // `Query:` stays, the first words of a statement go with it.
        Some(head) if head.ends_with(':') => found.end(),
        _ => found.start(),
    });
    Marks {
        phrases,
        value_from: value
            .into_iter()
            .chain(statement)
            .min()
            .unwrap_or(usize::MAX),
        has_statement: statement.is_some(),
    }
}

/// The forms that are no regular expressions.
#[cfg(test)]
pub(super) fn problems() -> Vec<String> {
    let all = PHRASES.iter().chain(VALUES).chain(STATEMENTS);
    all.filter_map(|form| RegexBuilder::new(form).unicode(false).build().err())
        .map(|error| error.to_string())
        .collect()
}
