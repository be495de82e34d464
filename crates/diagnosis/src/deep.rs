//! Tests on stacks, profiles, locks and statements, as a cause file asks for them.

use model::{QueryWay, RunState, Side};

use crate::catalogue::{Limits, Over};
use crate::expression::Condition;
use crate::names::NamePattern;

/// What the processors ran.
#[derive(Debug, Clone)]
pub(crate) struct ProfileTest {
    pub(crate) functions: NamePattern,
    pub(crate) under: Option<NamePattern>,
    /// The function itself, not what it called.
    pub(crate) only_self: bool,
    pub(crate) side: Option<Side>,
    /// Samples of the whole machine, not of the server only.
    pub(crate) machine: bool,
    pub(crate) counting: ProfileCounting,
    pub(crate) min_samples: u64,
    pub(crate) only_if: Vec<Condition>,
    pub(crate) limits: Limits,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProfileCounting {
    /// Of the samples.
    Share,
    /// Processors kept busy, on average.
    Cpus,
}

/// Where the server's threads stood.
#[derive(Debug, Clone)]
pub(crate) struct StacksTest {
    /// In this order, innermost first; others may be between them. None for any stack.
    pub(crate) frames: Vec<NamePattern>,
    /// None may be between them: each calls the one before.
    pub(crate) direct: bool,
    pub(crate) state: Option<RunState>,
    /// The thread's name.
    pub(crate) thread: Option<NamePattern>,
    pub(crate) counting: StacksCounting,
    pub(crate) only_if: Vec<Condition>,
    pub(crate) limits: Limits,
    pub(crate) over: Over,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StacksCounting {
    /// Of the server's threads.
    Share,
    /// Threads at a time, on average.
    Threads,
}

/// What threads waited for.
#[derive(Debug, Clone)]
pub(crate) struct LockTest {
    pub(crate) lock: NamePattern,
    /// A function on the path of those that wait.
    pub(crate) caller: Option<NamePattern>,
    /// Each must be a function of the holder, its name, or a word of what it does. The holder is
    /// the lock's own or one further down the chain.
    pub(crate) holder: Vec<NamePattern>,
    pub(crate) counting: LockCounting,
    pub(crate) only_if: Vec<Condition>,
    pub(crate) limits: Limits,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LockCounting {
    /// Of the time of all threads that do not idle.
    Share,
    /// Most threads that waited at once.
    Waiters,
    /// Threads that waited, on average.
    Waiting,
    /// Waits a second.
    PerSecond,
}

/// What the server was asked.
#[derive(Debug, Clone)]
pub(crate) struct StatementsTest {
    /// The kind of statement, exactly this; case does not matter.
    pub(crate) class: Option<String>,
    /// On the statement without literals.
    pub(crate) statement: Option<regex::Regex>,
    pub(crate) way: Option<QueryWay>,
    pub(crate) counting: StatementsCounting,
    pub(crate) min_statements: u64,
    pub(crate) only_if: Vec<Condition>,
    pub(crate) limits: Limits,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StatementsCounting {
    /// Of the statements.
    Share,
    /// Of their time.
    Time,
    PerSecond,
}
