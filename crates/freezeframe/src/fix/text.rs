//! `freezeframe fix` for the terminal.

use cli::output;
use diagnosis::Remedy;
use remedy::fix::{Change, ObservedServer, Plan, Step, StepState, System, Undone, When};

use super::selection::SelectedCause;
use super::{Done, chosen, clients, is_chosen};
use crate::args::Fix;
use crate::shell;

/// Columns where standard output is no terminal, and the most that are used.
const WIDTH: usize = 100;

struct Page {
    text: String,
    width: usize,
    color: bool,
}

#[derive(Clone, Copy)]
enum Style {
    Plain,
    Bold,
    Dim,
    Red,
    Green,
    Yellow,
}

impl Page {
    fn new() -> Self {
        let options = output::text_options();
        Self {
            text: String::new(),
            width: match options.width {
                0 => WIDTH,
                width => width.clamp(40, WIDTH),
            },
            color: options.color,
        }
    }

    fn styled(&self, style: Style, text: &str) -> String {
        let code = match style {
            Style::Plain => return text.to_owned(),
            Style::Bold => 1,
            Style::Dim => 2,
            Style::Red => 31,
            Style::Green => 32,
            Style::Yellow => 33,
        };
        if self.color {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    fn heading(&mut self, text: &str) {
        self.text += &format!("\n{}\n", self.styled(Style::Bold, text));
    }

    /// Text behind a head, its further lines below its first.
    fn item(&mut self, head: &str, text: &str, style: Style) {
        let indent = head.chars().count();
        let room = self.width.saturating_sub(indent).max(20);
        let mut lines: Vec<String> = vec![String::new()];
        for word in output::plain(text)
            .split(' ')
            .filter(|word| !word.is_empty())
        {
            match lines.last_mut() {
                Some(line) if line.is_empty() => line.push_str(word),
                Some(line) if line.chars().count() + 1 + word.chars().count() <= room => {
                    line.push(' ');
                    line.push_str(word);
                }
                _ => lines.push(word.to_owned()),
            }
        }
        for (at, line) in lines.iter().enumerate() {
            let before = if at == 0 {
                head.to_owned()
            } else {
                " ".repeat(indent)
            };
            self.text += &format!("{before}{}\n", self.styled(style, line));
        }
    }

    /// A line that must not be broken: it is a file's, or is typed.
    fn exact(&mut self, head: &str, text: &str, style: Style) {
        let line = format!("{head}{}", output::plain(text));
        self.text += &format!("{}\n", self.styled(style, &line));
    }
}

/// What helps here; what was done, if anything, is another text.
pub(super) fn plan(what: &SelectedCause, system: &System, plan: &Plan, args: &Fix) -> String {
    let mut page = Page::new();
    head(&mut page, what, system);
    let mut told = Repeated::default();
    for (when, heading) in [(When::Now, "NOW"), (When::Durable, "PERMANENT")] {
        let of = (1..).zip(&plan.steps).filter(|(_, step)| step.when == when);
        let of: Vec<(usize, &Step)> = of.collect();
        if of.is_empty() {
            continue;
        }
        page.heading(heading);
        for (number, step) in of {
            self::step(&mut page, number, step, &mut told);
        }
    }
    if let Some(incident) = &what.incident {
        let clients = clients::clients(incident, what.cause);
        if !clients.is_empty() {
            page.heading("CLIENTS IN THE INCIDENT");
            for client in &clients {
                page.item("  - ", client, Style::Plain);
            }
        }
    }
    if !args.apply || chosen(args, plan).is_empty() {
        by_hand(&mut page, what, plan);
    }
    closing(&mut page, what, plan, args);
    page.text
}

fn head(page: &mut Page, what: &SelectedCause, system: &System) {
    let title = format!("{} ({})", what.cause.title, what.cause.id);
    page.item("", &title, Style::Bold);
    if let Some(path) = &what.incident_path {
        let level = match &what.finding {
            Some(finding) => finding.level.word(),
            None => "this cause was not found",
        };
        page.item("  incident  ", &format!("{path}: {level}"), Style::Plain);
        if let (Some(incident), Some(here)) = (&what.incident, system.server.as_ref())
            && here.process.map(|process| process.pid) != incident.server.pid
        {
            let label = &incident.server.label;
            let text = format!(
                "recorded on server {label}, another process than the one below; the steps are for the one below"
            );
            page.item("            ", &text, Style::Yellow);
        }
    }
    let mut host = system.distribution.name.clone();
    if host.is_empty() {
        host = "unknown Linux distribution".to_owned();
    }
    host += if system.systemd {
        ", systemd"
    } else {
        ", no systemd"
    };
    if let Some(container) = &system.container {
        host += &format!(", in a container ({})", container.name());
    }
    if !system.root.is_real() {
        host += &format!(", in {}", system.root.dir().display());
    }
    page.item("  host      ", &host, Style::Plain);
    page.item(
        "  server    ",
        &system
            .server
            .as_ref()
            .map_or_else(|| "none was looked at".to_owned(), server),
        Style::Plain,
    );
}

fn server(server: &ObservedServer) -> String {
    let mut parts = vec![server.name()];
    if let Some(process) = server.process {
        parts.push(format!("process {}", process.pid));
    }
    match (&server.container, &server.unit) {
        (Some(container), _) => parts.push(format!("container {}", container.name())),
        (None, Some(unit)) => parts.push(format!("unit {unit}")),
        (None, None) if server.process.is_none() => {
            parts.push("process not found".to_owned());
        }
        (None, None) => parts.push("no systemd unit".to_owned()),
    }
    if let Some(safe) = server.safe {
        parts.push(format!("started by mysqld_safe (process {safe})"));
    }
    if server.no_defaults {
        parts.push("reads no option file".to_owned());
    } else if let Some(directory) = server.include_directories.last() {
        parts.push(format!("reads {}", directory.display()));
    }
    if let Some(why) = &server.no_login {
        parts.push(format!("no login: {why}"));
    }
    parts.join(", ")
}

/// What was said already, and with which step, so that it is not said for each.
#[derive(Default)]
struct Repeated(Vec<(String, usize)>);

impl Repeated {
    fn again(&mut self, text: &str, number: usize) -> String {
        match self.0.iter().find(|(known, _)| known == text) {
            Some((_, number)) => format!("the same as for {number}"),
            None => {
                self.0.push((text.to_owned(), number));
                text.to_owned()
            }
        }
    }
}

fn step(page: &mut Page, number: usize, step: &Step, known: &mut Repeated) {
    if let StepState::NotHere(why) = &step.state {
        let text = format!("does not apply: {}: {why}", step.place);
        page.item(&format!("{number:>3}  "), &text, Style::Dim);
        return;
    }
    let (mark, style) = match &step.state {
        StepState::ToDo(_) => ("", Style::Plain),
        StepState::Already(_) => ("already done: ", Style::Dim),
        StepState::NotHere(_) => ("does not apply: ", Style::Dim),
        StepState::ByHand { .. } => ("by hand: ", Style::Yellow),
    };
    page.item(
        &format!("{number:>3}  "),
        &format!("{mark}{}", step.says),
        style,
    );
    const INDENT: &str = "     ";
    match &step.state {
        StepState::ToDo(change) => {
            let kind = match change {
                Change::OwnFile(_) => " (a new file)",
                _ => "",
            };
            page.item(INDENT, &format!("{}{kind}", step.place), Style::Plain);
            for line in step.before.iter().flat_map(|text| text.lines()) {
                page.exact("     - ", line, Style::Red);
            }
            for line in step.after.iter().flat_map(|text| text.lines()) {
                page.exact("     + ", line, Style::Green);
            }
            page.exact("     undo     ", &step.undo, Style::Plain);
        }
        StepState::Already(why) | StepState::NotHere(why) => page.item(INDENT, why, Style::Dim),
        StepState::ByHand { why, commands } => {
            page.item(INDENT, &format!("{why}:"), Style::Plain);
            for command in commands {
                page.exact("       ", command, Style::Plain);
            }
        }
    }
    let told = !matches!(step.state, StepState::Already(_) | StepState::NotHere(_));
    if told && let Some(consent) = &step.consent {
        page.item(
            "     CONSENT  ",
            &known.again(consent, number),
            Style::Yellow,
        );
    }
    if told && let Some(risk) = &step.risk {
        page.item("     risk     ", &known.again(risk, number), Style::Plain);
    }
    if told && let Some(restart) = &step.restart {
        let text = format!("takes effect after a restart, when you choose: {restart}");
        page.item("     RESTART  ", &text, Style::Yellow);
    }
    if told {
        for note in &step.notes {
            page.item("     note     ", note, Style::Dim);
        }
    }
}

fn by_hand(page: &mut Page, what: &SelectedCause, plan: &Plan) {
    let remedy = what.remedy();
    page.heading(match (plan.steps.is_empty(), &what.incident) {
        (true, _) => "STEPS TO DO BY HAND (freezeframe can make none of them)",
        (false, Some(_)) => "ALL STEPS FOR THIS INCIDENT",
        (false, None) => "ALL STEPS IN GENERAL",
    });
    for (name, list) in [
        ("  now       ", &remedy.now),
        ("  permanent ", &remedy.durable),
        ("  undo      ", &remedy.undo),
    ] {
        for (at, text) in list.iter().enumerate() {
            let head = if at == 0 { name } else { "            " };
            page.item(&format!("{head}- "), text, Style::Plain);
        }
    }
    page.item("  risk        ", &remedy.risk, Style::Plain);
    for (at, text) in remedy.verify.iter().enumerate() {
        let head = if at == 0 {
            "  verify    - "
        } else {
            "            - "
        };
        page.item(head, text, Style::Plain);
    }
}

fn closing(page: &mut Page, what: &SelectedCause, plan: &Plan, args: &Fix) {
    let can: Vec<usize> = chosen(args, plan)
        .iter()
        .map(|(number, ..)| *number)
        .collect();
    let (mut text, mut command) = (String::new(), String::new());
    let consents = (1..)
        .zip(&plan.steps)
        .filter(|(_, step)| {
            step.change().is_some() && step.consent.is_some() && !is_chosen(args, step)
        })
        .map(|(number, _)| number);
    let consents: Vec<usize> = consents.collect();
    let mut again = shell::this_command();
    if args.what.is_none() {
        // The newest incident may be another one by then.
        again += &format!(" {}", what.cause.id);
    }
    match (can.is_empty(), consents.is_empty()) {
        (true, true) => {
            text += if plan.steps.iter().any(|step| step.change().is_some()) {
                "freezeframe can make none of the chosen changes here."
            } else {
                "freezeframe can change nothing here."
            };
        }
        (true, false) => {
            text += &format!(
                "Nothing was changed. To make {}, if those responsible agree:",
                changes(&consents)
            );
            command = format!("{} --consent", applying(&again, args.apply));
        }
        (false, _) if !args.apply => {
            let more = match consents.is_empty() {
                true => String::new(),
                false => format!("; --consent adds {}", changes(&consents)),
            };
            text += &format!(
                "Nothing was changed. To make {} (it asks first{more}):",
                changes(&can)
            );
            command = applying(&again, args.apply);
        }
        (false, _) => {}
    }
    if !text.is_empty() {
        page.text.push('\n');
        page.item("", text.trim(), Style::Bold);
    }
    if !command.is_empty() {
        page.exact("  ", &command, Style::Bold);
    }
}

/// The command that makes the changes: an option that was said is refused when it is said again.
fn applying(again: &str, is_said: bool) -> String {
    match is_said {
        true => again.to_owned(),
        false => format!("{again} --apply"),
    }
}

/// `change 1`, `changes 1, 2 and 4`.
pub(super) fn changes(numbers: &[usize]) -> String {
    let mut texts: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    match texts.pop() {
        None => "nothing".to_owned(),
        Some(last) if texts.is_empty() => format!("change {last}"),
        Some(last) => format!("changes {} and {last}", texts.join(", ")),
    }
}

/// What was done.
pub(super) fn applied(done: &Done, chosen: &[(usize, &Step, &Change)], remedy: &Remedy) -> String {
    let mut page = Page::new();
    let entry = &done.entry;
    page.text.push('\n');
    for ((number, step, _), made) in chosen.iter().zip(&entry.steps) {
        let rounded = match (&made.change, &step.state) {
            (Change::GlobalVariable(made), StepState::ToDo(Change::GlobalVariable(asked)))
                if made.after != asked.after =>
            {
                format!(" (the server changed it to {})", made.after)
            }
            _ => String::new(),
        };
        let text = format!("{}{rounded}", made.says);
        page.item(&format!("{number:>3}  done  "), &text, Style::Green);
    }
    let until = match entry.deadline_us {
        _ if !entry.is_open() => "This cannot be undone.".to_owned(),
        Some(deadline) => format!(
            "It is undone at {}. To undo it now: freezeframe fix --undo {}",
            output::date(deadline / 1000),
            entry.id
        ),
        None => format!("To undo it: freezeframe fix --undo {}", entry.id),
    };
    page.item("", &until, Style::Bold);
    let restarts: Vec<&String> = chosen
        .iter()
        .filter_map(|(_, step, _)| step.restart.as_ref())
        .collect();
    if let Some(restart) = restarts.first() {
        let text = format!("Takes effect after a restart, which you do yourself: {restart}");
        page.item("", &text, Style::Yellow);
    }
    for (at, text) in remedy.verify.iter().enumerate() {
        let head = if at == 0 { "Verify: " } else { "        " };
        page.item(head, text, Style::Plain);
    }
    page.text
}

/// How an undo ended: one word, and what is to be said beside it.
pub(super) fn undone_words(outcome: &Result<Undone, String>) -> (&'static str, String) {
    match outcome {
        Ok(Undone::Back) => ("back", String::new()),
        Ok(Undone::NothingToDo) => ("back", "it already had the old value".to_owned()),
        Ok(Undone::ServerEnded) => (
            "back",
            "its server has ended, so the value is gone".to_owned(),
        ),
        Ok(Undone::HostRestarted) => (
            "back",
            "the host was restarted, so the value is gone".to_owned(),
        ),
        Ok(Undone::NoWayBack) => ("done", "it cannot be undone".to_owned()),
        Ok(Undone::Changed { now }) => ("LEFT", format!("somebody else has set it to {now} since")),
        Err(why) => ("LEFT", why.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::applying;

    #[test]
    fn a_command_to_copy_says_nothing_twice() {
        let asked = "freezeframe fix slow-fsync --apply --yes";
        assert_eq!(applying(asked, true), asked);
        assert_eq!(
            applying("freezeframe fix slow-fsync", false),
            "freezeframe fix slow-fsync --apply"
        );
    }
}
