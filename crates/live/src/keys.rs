//! The keys: one table, of which the help, the foot of the screen and the text of the manual are made.

pub use crate::press::Press;

/// The screens, by digit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Screen {
    /// Is it stalled, why, since when.
    Now,
    /// Who waits for whom.
    Threads,
    /// Which lock, who holds it.
    Locks,
    /// Where the processors are.
    Flame,
    /// What came in.
    Statements,
    /// Is it the machine.
    Host,
    /// What else moved.
    Signals,
    /// Has it happened before.
    Incidents,
    /// Can this be trusted.
    Recorder,
}

/// A screen in the table: its digit, its name, what it answers.
#[derive(Debug, Clone, Copy)]
pub struct ScreenName {
    /// The screen.
    pub shown: Screen,
    /// Its digit.
    pub digit: char,
    /// Its name.
    pub name: &'static str,
    /// As it stands in the foot.
    pub short: &'static str,
    /// The question that it answers.
    pub question: &'static str,
}

const fn screen(
    shown: Screen,
    digit: char,
    name: &'static str,
    short: &'static str,
    question: &'static str,
) -> ScreenName {
    ScreenName {
        shown,
        digit,
        name,
        short,
        question,
    }
}

/// Every screen, in the order in which one asks.
#[rustfmt::skip]
pub static SCREENS: [ScreenName; 9] = [
    screen(Screen::Now, '1', "Now", "now", "is it stalled, why, since when"),
    screen(Screen::Threads, '2', "Threads", "thr", "who waits for whom"),
    screen(Screen::Locks, '3', "Locks", "lock", "which lock, and who holds it"),
    screen(Screen::Flame, '4', "Flame", "flame", "where CPU time goes, or (o) where threads wait"),
    screen(Screen::Statements, '5', "Statements", "stmt", "which statements ran"),
    screen(Screen::Host, '6', "Host", "host", "is it the machine"),
    screen(Screen::Signals, '7', "Signals", "sig", "what else changed most"),
    screen(Screen::Incidents, '8', "Incidents", "inc", "has it happened before"),
    screen(Screen::Recorder, '9', "Recorder", "rec", "can this be trusted: sources, ages, what is missing"),
];

/// What a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Shows a screen.
    Show(Screen),
    /// Opens the chosen row.
    Drill,
    /// Goes back.
    Back,
    /// Freezes, or goes on.
    Freeze,
    /// Moves the cursor in time, milliseconds.
    Step(i64),
    /// To the incident before or after.
    Incident(i8),
    /// Asks for a time.
    GoTo,
    /// To the newest.
    Latest,
    /// Asks for a filter.
    Filter,
    /// Takes away what is in the way: a filter, a message.
    Clear,
    /// Sorts by the next column.
    Sort,
    /// Sorts the other way round.
    Reverse,
    /// Witnesses for and against.
    Why,
    /// What to do.
    Remedy,
    /// Writes what is shown as an incident.
    Export,
    /// The flame graph as a table, or as a picture.
    Table,
    /// The flame graph of the processors, or of threads that wait.
    Waiting,
    /// How long answers took, by fifths of a second.
    Map,
    /// Gives the chosen line to the clipboard.
    Copy,
    /// The keys.
    Help,
    /// Another row.
    Move(i32),
    /// The end.
    Quit,
    /// Draws everything again.
    Redraw,
}

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// The keys that do it.
    pub presses: &'static [(Press, Action)],
    /// How they are written.
    pub shown: &'static str,
    /// The word for the foot; empty for those that are not there.
    pub foot: &'static str,
    /// What they do.
    pub does: &'static str,
}

const fn key(
    presses: &'static [(Press, Action)],
    shown: &'static str,
    foot: &'static str,
    does: &'static str,
) -> Key {
    Key {
        presses,
        shown,
        foot,
        does,
    }
}

use Press::{
    Char, Down, End, Enter, Esc, Home, Left, PageDown, PageUp, Right, ShiftLeft, ShiftRight, Up,
};

/// Rows of a page up or down.
pub const PAGE: i32 = 10;

/// Every key but the digits, which are in [`SCREENS`]. No letter means something else on another screen.
#[rustfmt::skip]
pub static KEYS: [Key; 22] = [
    key(&[(Enter, Action::Drill)], "Enter", "", "open the chosen row; zoom into the chosen frame"),
    key(&[(Press::Backspace, Action::Back)], "Backspace", "", "go back; zoom out"),
    key(&[(Char(' '), Action::Freeze)], "space", "freeze", "freeze this moment; continue"),
    key(
        &[(Left, Action::Step(-1_000)), (Right, Action::Step(1_000)), (Char('h'), Action::Step(-1_000)), (Char('l'), Action::Step(1_000))],
        "Left Right", "", "one second back or forward (also h, l)",
    ),
    key(
        &[(ShiftLeft, Action::Step(-10_000)), (ShiftRight, Action::Step(10_000)), (Char('H'), Action::Step(-10_000)), (Char('L'), Action::Step(10_000))],
        "Shift-Left Shift-Right", "", "ten seconds back or forward (also H, L)",
    ),
    key(&[(Char('['), Action::Incident(-1)), (Char(']'), Action::Incident(1))], "[ ]", "", "to the previous or next stall"),
    key(&[(Char('g'), Action::GoTo)], "g", "", "go to a time: 03:12, 03:12:07, -10s, +5m"),
    key(&[(End, Action::Latest)], "End", "", "to the latest moment"),
    key(
        &[(Up, Action::Move(-1)), (Down, Action::Move(1)), (Char('k'), Action::Move(-1)), (Char('j'), Action::Move(1))],
        "Up Down", "", "choose a row (also k, j)",
    ),
    key(
        &[(PageUp, Action::Move(-PAGE)), (PageDown, Action::Move(PAGE)), (Home, Action::Move(i32::MIN))],
        "PgUp PgDn Home", "", "ten rows up or down, to the first row",
    ),
    key(&[(Char('/'), Action::Filter)], "/", "", "filter: time > 2 and user != monitor; = != ~ > >= < <=, and or not ( )"),
    key(&[(Esc, Action::Clear)], "Esc", "", "close this; remove the filter"),
    key(&[(Char('s'), Action::Sort), (Char('S'), Action::Reverse)], "s S", "", "sort by the next column; reverse the order"),
    key(&[(Char('w'), Action::Why)], "w", "why", "why: the signs for and against, what is unknown"),
    key(&[(Char('r'), Action::Remedy)], "r", "remedy", "what to do: commands, risk, undo; nothing is run"),
    key(&[(Char('m'), Action::Map)], "m", "", "how long answers took, in steps of 0.2 s"),
    key(&[(Char('o'), Action::Waiting)], "o", "", "flame graph of waiting threads, or of CPU time"),
    key(&[(Char('t'), Action::Table)], "t", "", "flame graph as a table of functions, or as a picture"),
    key(&[(Char('x'), Action::Export)], "x", "save", "save what is shown as an incident (.frame) in this directory"),
    key(&[(Char('y'), Action::Copy)], "y", "", "copy the chosen line to the terminal's clipboard (OSC 52)"),
    key(&[(Char('?'), Action::Help)], "?", "help", "show the keys; / searches them"),
    key(
        &[(Char('q'), Action::Quit), (Press::Interrupt, Action::Quit), (Press::Redraw, Action::Redraw)],
        "q", "quit", "quit (also Ctrl-C); Ctrl-L redraws",
    ),
];

/// Signs on the screens, for the help.
static SIGNS: [(&str, &str); 4] = [
    (
        ". o x",
        "probe: answered; ten times slower than usual; not answered",
    ),
    (
        "0 to 9, or blocks",
        "strip: none to highest value here, or twice the usual; blank: not read",
    ),
    (
        "+ -",
        "flame graph: percentage points more or less than before",
    ),
    ("~ –", "cut off; does not exist"),
];

/// What a key does.
pub fn action(press: Press) -> Option<Action> {
    if let Char(letter) = press
        && let Some(screen) = SCREENS.iter().find(|screen| screen.digit == letter)
    {
        return Some(Action::Show(screen.shown));
    }
    let all = KEYS.iter().flat_map(|key| key.presses);
    all.clone()
        .find(|(known, _)| *known == press)
        .map(|(_, action)| *action)
}

/// The last line of the screen: the screens, and the keys for which there is room.
pub fn foot(columns: usize) -> String {
    let screens: Vec<String> = SCREENS
        .iter()
        .map(|screen| format!("{}{}", screen.digit, screen.short))
        .collect();
    let mut foot = screens.join(" ");
    // Help and the end are there before others.
    let mut keys: Vec<&Key> = KEYS.iter().filter(|key| !key.foot.is_empty()).collect();
    let written = |keys: &[&Key]| -> String {
        let words = keys
            .iter()
            .map(|key| format!("  {} {}", key.shown, key.foot));
        words.collect()
    };
    let last = keys.get(keys.len().saturating_sub(2)..).unwrap_or_default();
    if foot.len() + written(last).len() > columns {
        foot = "1-9 screens".to_owned();
    }
    while foot.len() + written(&keys).len() > columns && keys.len() > 2 {
        let last = keys.len() - 3;
        keys.remove(last);
    }
    if foot.len() + written(&keys).len() <= columns {
        foot += &written(&keys);
    }
    foot
}

/// The help: each screen and each key with what it does.
pub fn help() -> Vec<(String, String)> {
    let screens = SCREENS.iter().map(|screen| {
        (
            screen.digit.to_string(),
            format!("{}: {}", screen.name, screen.question),
        )
    });
    let keys = KEYS
        .iter()
        .map(|key| (key.shown.to_owned(), key.does.to_owned()));
    let signs = SIGNS.iter();
    let signs = signs.map(|(sign, means)| ((*sign).to_owned(), (*means).to_owned()));
    screens.chain(keys).chain(signs).collect()
}

/// The same as text, for `--help` and the manual.
pub fn manual() -> String {
    let rows = help();
    let left = rows.iter().map(|(keys, _)| keys.len()).max().unwrap_or(0);
    let lines = rows
        .iter()
        .map(|(keys, does)| format!("  {keys:<left$}  {does}\n"));
    lines.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_key_has_two_meanings() {
        let mut seen = HashSet::new();
        for (press, _) in KEYS.iter().flat_map(|key| key.presses) {
            assert!(seen.insert(format!("{press:?}")), "{press:?}");
        }
        for screen in &SCREENS {
            assert!(seen.insert(format!("{:?}", Char(screen.digit))));
            assert_eq!(action(Char(screen.digit)), Some(Action::Show(screen.shown)));
        }
        assert_eq!(action(Char('Z')), None);
    }

    #[test]
    fn the_foot_fits_and_keeps_help_and_the_end() {
        assert_eq!(
            foot(80),
            "1now 2thr 3lock 4flame 5stmt 6host 7sig 8inc 9rec  space freeze  ? help  q quit"
        );
        for columns in 24..200 {
            let foot = foot(columns);
            assert!(foot.len() <= columns, "{foot}");
            assert!(
                columns < 32 || foot.ends_with("q quit"),
                "{columns}: {foot}"
            );
        }
        assert!(foot(160).contains("r remedy"));
    }
}
