//! Every screen at three sizes of the terminal, as text files beside this one. `FREEZEFRAME_SCREENS=1` writes them anew.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failing step fails the test"
)]

mod fixture;
mod history;
#[allow(dead_code, reason = "shared with the tests of the reports")]
#[path = "../../../report/tests/common/mod.rs"]
mod made;
mod recorded;
mod told_locks;

use std::path::Path;
use std::sync::Arc;

use live::keys::{Press, SCREENS};
use live::{Effect, Model, Palette, RecordingKind, State, draw, page, press};
use proptest::prelude::*;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier};

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (60, 15)];

/// The terminal's cells.
fn cells(model: &Model, state: &State, (columns, lines): (u16, u16), palette: Palette) -> Buffer {
    let area = Rect::new(0, 0, columns, lines);
    let mut buffer = Buffer::empty(area);
    let page = page(model, state, columns.into(), lines.into());
    assert_eq!(page.len(), usize::from(lines));
    draw(&page, area, &mut buffer, palette, state.is_ascii);
    buffer
}

/// As one reads it.
fn text(buffer: &Buffer) -> String {
    let width = usize::from(buffer.area().width);
    let rows = buffer.content().chunks(width);
    let lines = rows.map(|row| {
        let line: String = row.iter().map(ratatui_core::buffer::Cell::symbol).collect();
        format!("{}\n", line.trim_end())
    });
    lines.collect()
}

fn keys(model: &Model, state: &mut State, presses: &[Press], size: (u16, u16)) -> Effect {
    let mut last = Effect::Nothing;
    for one in presses {
        last = press(model, state, *one, (size.0.into(), size.1.into()));
    }
    last
}

fn typed(word: &str) -> Vec<Press> {
    word.chars().map(Press::Char).collect()
}

fn check(name: &str, size: (u16, u16), text: &str) -> Option<String> {
    let file = format!("tests/screens/snapshots/{name}-{}x{}.txt", size.0, size.1);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(&file);
    if std::env::var_os("FREEZEFRAME_SCREENS").is_some() {
        std::fs::write(&path, text).unwrap();
        return None;
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    (wanted != text).then(|| format!("{file} is not what is shown:\n{text}"))
}

#[test]
fn every_screen_at_three_sizes() {
    let model = fixture::model();
    let mut wrong = Vec::new();
    for size in SIZES {
        for screen in &SCREENS {
            let mut state = State::new(&model, false);
            state.outcomes = Arc::new(fixture::outcomes());
            keys(&model, &mut state, &[Press::Char(screen.digit)], size);
            let text = text(&cells(&model, &state, size, Palette::Many));
            wrong.extend(check(&screen.name.to_lowercase(), size, &text));
        }
        for (name, presses) in [
            ("why", vec![Press::Char('w')]),
            ("remedy", vec![Press::Char('r')]),
            ("help", vec![Press::Char('?')]),
            ("flame-table", typed("4t")),
            ("waiting", typed("o")),
            ("waiting-table", typed("ot")),
            (
                "flame-zoom",
                [typed("4jj"), vec![Press::Enter], typed("jj")].concat(),
            ),
            ("map", typed("m")),
            ("detail", vec![Press::Char('3'), Press::Enter]),
            (
                "filter",
                [typed("2/time > 8 and user != reports"), vec![Press::Enter]].concat(),
            ),
            (
                "wrong-filter",
                [typed("2/cpu > 3"), vec![Press::Enter]].concat(),
            ),
            (
                "before",
                vec![
                    Press::Home,
                    Press::Char('g'),
                    Press::Char('-'),
                    Press::Char('9'),
                    Press::Char('0'),
                    Press::Enter,
                ],
            ),
        ] {
            let mut state = State::new(&model, false);
            keys(&model, &mut state, &presses, size);
            let text = text(&cells(&model, &state, size, Palette::Many));
            wrong.extend(check(name, size, &text));
        }
        for (name, presses) in [
            ("now-ascii", ""),
            ("flame-ascii", "4jjj"),
            ("map-ascii", "m"),
        ] {
            let mut state = State::new(&model, true);
            keys(&model, &mut state, &typed(presses), size);
            let ascii = text(&cells(&model, &state, size, Palette::Off));
            assert!(ascii.is_ascii(), "{ascii}");
            wrong.extend(check(name, size, &ascii));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whose head is cut has no room for what stands below it.
#[test]
fn no_column_of_a_table_is_cut_on_a_narrow_terminal() {
    let model = fixture::model();
    let is_head = |line: &&str| {
        let mut chars = line.chars();
        !line.trim().is_empty() && chars.all(|c| c.is_ascii_uppercase() || " ()~".contains(c))
    };
    let mut heads = 0;
    for columns in (60..=120).step_by(6) {
        for presses in ["2", "3", "4t", "5", "6", "7", "8", "9"] {
            let (mut state, size) = (State::new(&model, false), (columns, 24));
            keys(&model, &mut state, &typed(presses), size);
            let shown = text(&cells(&model, &state, size, Palette::Off));
            for head in shown.lines().filter(is_head) {
                heads += 1;
                assert!(!head.contains('~'), "{columns} columns: {shown}");
            }
        }
    }
    assert!(heads > 60, "{heads}");
}

#[test]
fn without_colours_there_are_none_and_with_them_two() {
    let model = fixture::model();
    for (palette, allowed) in [
        (Palette::Off, &[][..]),
        (Palette::Eight, &[3, 6]),
        (Palette::Sixteen, &[3, 12]),
        (Palette::Many, &[130, 63]),
    ] {
        for screen in &SCREENS {
            let mut state = State::new(&model, false);
            keys(&model, &mut state, &[Press::Char(screen.digit)], (80, 24));
            let buffer = cells(&model, &state, (80, 24), palette);
            for cell in buffer.content() {
                assert_eq!(cell.bg, Color::Reset);
                match cell.fg {
                    Color::Reset => {}
                    Color::Indexed(colour) => assert!(allowed.contains(&colour), "{colour}"),
                    other => panic!("{other:?}"),
                }
            }
        }
    }
}

#[test]
fn no_name_drives_the_terminal() {
    let model = fixture::hostile();
    for presses in [
        "1", "2", "3", "4", "4jj", "4t", "o", "ojj", "ot", "5", "6", "7", "8", "9", "w", "r", "m",
        "?",
    ] {
        for then in [&[][..], &[Press::Enter], &[Press::Char('y')]] {
            let mut state = State::new(&model, false);
            keys(&model, &mut state, &typed(presses), (120, 40));
            keys(&model, &mut state, then, (120, 40));
            let buffer = cells(&model, &state, (120, 40), Palette::Many);
            let raw = buffer
                .content()
                .iter()
                .find(|cell| cell.symbol().chars().any(model::is_deceptive));
            assert!(raw.is_none(), "{presses}: {raw:?}");
        }
    }
}

#[test]
fn a_short_stall_is_opened_while_it_lasts() {
    let opened = |length: u64| {
        let mut incident = fixture::incident();
        let onset = incident.stall.onset;
        incident.stall.end = Some(onset + length);
        let model = Model::from_incident(
            incident,
            made::verdict(),
            RecordingKind::File,
            String::new(),
        );
        model.opening() - onset
    };
    assert_eq!([20_000, 90_000].map(opened), [15_000, 40_000]);
}

#[test]
fn keys_move_the_moment_and_come_back() {
    let model = fixture::model();
    let mut state = State::new(&model, false);
    let opening = state.at(&model);
    assert_eq!(opening, 280_000);
    keys(
        &model,
        &mut state,
        &[Press::ShiftRight, Press::Left, Press::Char('l')],
        (80, 24),
    );
    assert_eq!(state.at(&model), 290_000);
    keys(&model, &mut state, &[Press::Char('[')], (80, 24));
    assert_eq!(state.at(&model), 255_000);
    keys(&model, &mut state, &[Press::Char('[')], (80, 24));
    assert_eq!(
        state.message.as_deref(),
        Some("no stall before this moment")
    );
    keys(&model, &mut state, &[Press::End], (80, 24));
    assert_eq!(state.at(&model), model.last());
    keys(&model, &mut state, &typed("g03:16:45"), (80, 24));
    keys(&model, &mut state, &[Press::Enter], (80, 24));
    assert_eq!(state.at(&model), 279_880);
    // From screen to screen, and back by the way that one came.
    let back = keys(
        &model,
        &mut state,
        &[Press::Char('2'), Press::Char('7'), Press::Backspace],
        (80, 24),
    );
    assert_eq!((back, state.name()), (Effect::Draw, "Threads"));
    let file = keys(
        &model,
        &mut state,
        &[Press::Char('8'), Press::Down, Press::Enter],
        (80, 24),
    );
    assert!(matches!(file, Effect::Open(path) if path.ends_with("3306-20240510T031605Z.frame")));
    assert_eq!(
        keys(&model, &mut state, &[Press::Char('q')], (80, 24)),
        Effect::Quit
    );
    // A letter that is typed is no key.
    keys(&model, &mut state, &typed("/q"), (80, 24));
    assert_eq!(
        state.input.as_ref().map(|input| input.text.as_str()),
        Some("q")
    );
    assert_eq!(
        keys(&model, &mut state, &[Press::Interrupt], (80, 24)),
        Effect::Quit
    );
}

#[test]
fn the_flame_graph_is_zoomed_and_is_a_table() {
    let model = fixture::model();
    let size = (80, 24);
    let shown = |state: &State| text(&cells(&model, state, size, Palette::Off));
    let mut state = State::new(&model, false);
    keys(&model, &mut state, &typed("4jj"), size);
    // The root, its thread, the heaviest function.
    let copied = keys(&model, &mut state, &typed("y"), size);
    let Effect::Copy(copied) = copied else {
        panic!("{copied:?}");
    };
    assert!(
        copied.starts_with("mysqld_show_warnings (mysqld): 80.5%, itself 0%; before 30%, +50.5"),
        "{copied}"
    );
    assert!(shown(&state).contains("│mysql_execut~"));
    keys(&model, &mut state, &[Press::Enter], size);
    let zoomed = shown(&state);
    assert!(zoomed.contains("all > connection > mysqld_show_warnings"));
    assert!(!zoomed.contains("mysql_exec"), "{zoomed}");
    // Of what fills the picture its samples are shown.
    keys(&model, &mut state, &[Press::Enter], size);
    assert!(shown(&state).contains("only a caller here"));
    keys(&model, &mut state, &[Press::Backspace], size);
    keys(&model, &mut state, &[Press::Backspace], size);
    assert_eq!(state.flame.zoom, ["connection"]);
    keys(&model, &mut state, &[Press::Esc], size);
    assert!(state.flame.zoom.is_empty());
    assert_eq!(state.name(), "Flame");
    // What is about rows shows them.
    keys(&model, &mut state, &typed("/tcp"), size);
    keys(&model, &mut state, &[Press::Enter], size);
    let table = shown(&state);
    assert!(table.contains("FUNCTION") && !table.contains("futex_wait_queue"));
    keys(&model, &mut state, &typed("t"), size);
    assert!(shown(&state).contains("│all"));
    // From elsewhere too.
    keys(&model, &mut state, &typed("2t"), size);
    assert!(shown(&state).contains("FUNCTION"));
}

#[test]
fn threads_that_wait_have_a_flame_graph_too() {
    let model = fixture::model();
    let size = (120, 40);
    let shown = |state: &State| text(&cells(&model, state, size, Palette::Off));
    let mut state = State::new(&model, false);
    keys(&model, &mut state, &typed("4jj"), size);
    keys(&model, &mut state, &[Press::Enter], size);
    keys(&model, &mut state, &typed("o"), size);
    assert!(state.flame.zoom.is_empty(), "another tree");
    let waiting = shown(&state);
    // 300 wait for the mutex, its holder for the allocator, 60 for their clients; those that run are not there.
    assert!(
        waiting.contains("threads waiting: 361, before: 60"),
        "{waiting}"
    );
    assert!(waiting.contains("futex_wait_queue") && !waiting.contains("tcp_sendmsg"));
    keys(&model, &mut state, &typed("t"), size);
    assert!(shown(&state).contains("83.1%"), "{}", shown(&state));
    keys(&model, &mut state, &typed("o"), size);
    assert!(shown(&state).contains("tcp_sendmsg"));
    // From elsewhere it is gone to.
    keys(&model, &mut state, &typed("2o"), size);
    assert_eq!(state.name(), "Flame");
    assert!(!shown(&state).contains("tcp_sendmsg"));
}

#[test]
fn captures_are_not_told_of_what_a_recorder_needs() {
    let model = fixture::captures();
    for size in SIZES {
        for presses in ["1", "2", "3", "4", "o", "5", "6", "7", "8", "9", "m"] {
            let mut state = State::new(&model, false);
            keys(&model, &mut state, &typed(presses), size);
            let shown = text(&cells(&model, &state, size, Palette::Off));
            for word in ["history", "CAP_PERFMON", "1970", "log in", "login"] {
                assert!(!shown.contains(word), "{presses}, {word}: {shown}");
            }
        }
    }
    let mut state = State::new(&model, false);
    let mut shown = |presses: &str| {
        keys(&model, &mut state, &typed(presses), (120, 40));
        text(&cells(&model, &state, (120, 40), Palette::Off))
    };
    // What has nothing to be compared with is there all the same.
    assert!(shown("7").contains("processlist.longest_s"));
    let files = shown("9");
    let wanted = "SHOW PROCESSLIST; 344 sessions; left out: 2 lines are not understood";
    assert!(files.contains(wanted), "{files}");
    assert!(shown("8").contains("SHOW WARNINGS flood"));
}

#[test]
fn a_history_says_where_the_stacks_of_a_stall_are() {
    let mut model = fixture::model();
    model.kind = live::RecordingKind::History;
    Arc::make_mut(&mut model.incident).stacks = model::StackEvidence::default();
    let shown = |model: &Model, presses: &str| {
        let model = &model.clone();
        let mut state = State::new(model, false);
        state.at_wall_ms = Some(model.clock().wall_ms(280_000));
        keys(model, &mut state, &typed(presses), (120, 40));
        let shown = text(&cells(model, &state, (120, 40), Palette::Off));
        let words: Vec<&str> = shown.split_whitespace().collect();
        words.join(" ")
    };
    for presses in ["2", "3", "4", "o"] {
        let told = shown(&model, presses);
        let wanted = "the incident of this stall has them: 8, Enter";
        assert!(told.contains(wanted), "{presses}: {told}");
    }
    // It is not written yet, or this is another stall.
    model.incidents.remove(0);
    assert!(shown(&model, "3").contains("they will be in the incident of this stall"));
}

#[test]
fn other_programs_are_told_beside_the_servers_flame_graph() {
    let alone = fixture::model();
    let mut beside = alone.clone();
    for profile in &mut Arc::make_mut(&mut beside.incident).stacks.profiles {
        let others: Vec<_> = profile
            .counts
            .iter()
            .map(|row| model::ProfileCount {
                server: false,
                ..row.clone()
            })
            .collect();
        profile.counts.extend(others);
    }
    let shown = |model: &Model| -> Vec<String> {
        let mut state = State::new(model, false);
        keys(model, &mut state, &typed("4"), (120, 40));
        let shown = text(&cells(model, &state, (120, 40), Palette::Off));
        shown.lines().map(str::to_owned).collect()
    };
    let (alone, beside) = (shown(&alone), shown(&beside));
    let differ: Vec<&String> = beside.iter().filter(|line| !alone.contains(line)).collect();
    assert_eq!(differ.len(), 1, "{differ:?}");
    assert!(differ[0].contains("other programs 50"), "{differ:?}");
}

#[test]
fn boxes_have_two_colours() {
    let model = fixture::model();
    let mut state = State::new(&model, false);
    keys(&model, &mut state, &typed("4"), (120, 40));
    for (palette, colours) in [(Palette::Many, &[130, 63][..]), (Palette::Off, &[])] {
        let buffer = cells(&model, &state, (120, 40), palette);
        for colour in colours {
            let is_box = |cell: &&ratatui_core::buffer::Cell| {
                cell.fg == Color::Indexed(*colour) && cell.modifier.contains(Modifier::REVERSED)
            };
            assert!(
                buffer.content().iter().any(|cell| is_box(&cell)),
                "{colour}"
            );
        }
    }
}

#[test]
fn lines_tell_what_the_pictures_show() {
    let mut lines = Vec::new();
    let mut source = live::Recording::new(fixture::model());
    let print = |line: &str| {
        lines.push(line.to_owned());
        Ok(())
    };
    live::plain(&mut source, print, || true).unwrap();
    let lines = lines.join("\n");
    for wanted in [
        "CPUs, percentage points of the samples against the time before: more tcp_sendmsg +50.5",
        "; less do_sys_poll -57.7",
        "threads that wait, percentage points against the time before: more futex_wait_queue +83.1",
        "SELECT 1: slow, ",
        "SELECT 1: answered in time again",
    ] {
        assert!(lines.contains(wanted), "{wanted}: {lines}");
    }
}

/// What a profile of a few seconds shows is another thing with each reading: it is told once, when it is whole.
#[test]
fn the_pictures_of_a_young_stall_are_not_told_yet() {
    let mut model = fixture::model();
    model.kind = RecordingKind::Recorder;
    let last = model.last();
    for stall in &mut model.stalls {
        (stall.trigger, stall.end) = (last - 3_000, None);
    }
    let mut lines = String::new();
    let print = |line: &str| {
        lines += &format!("{line}\n");
        Ok(())
    };
    live::plain(&mut live::Recording::new(model), print, || true).unwrap();
    assert!(!lines.contains("percentage points"), "{lines}");
}

#[test]
fn a_filter_that_cannot_be_read_leaves_the_last_one() {
    let model = fixture::model();
    let mut state = State::new(&model, false);
    let in_force = |state: &State| state.filters.get(&state.shown).cloned();
    keys(&model, &mut state, &typed("2/time > 8"), (80, 24));
    keys(
        &model,
        &mut state,
        &[Press::Enter, Press::Char('/')],
        (80, 24),
    );
    keys(&model, &mut state, &typed(" and user !="), (80, 24));
    keys(&model, &mut state, &[Press::Enter], (80, 24));
    let wrong = state.input.as_ref().and_then(|input| input.wrong.clone());
    assert_eq!(
        wrong.as_deref(),
        Some("user: the value to compare with is missing")
    );
    assert_eq!(in_force(&state).as_deref(), Some("time > 8"));
    keys(&model, &mut state, &[Press::Esc], (80, 24));
    assert_eq!(in_force(&state).as_deref(), Some("time > 8"));
    keys(&model, &mut state, &[Press::Esc], (80, 24));
    assert_eq!(in_force(&state), None);
}

#[test]
fn what_nobody_read_is_not_called_healthy() {
    let mut model = fixture::model();
    model.stalls.clear();
    let shown = |model: &Model| {
        let model = &model.clone();
        let mut state = State::new(model, false);
        // Half a minute before the end.
        state.at_wall_ms = Some(model.clock().wall_ms(330_000));
        text(&cells(model, &state, (80, 24), Palette::Off))
    };
    assert!(shown(&model).contains("\nHEALTHY  clients refused: no  answered: 2"));
    Arc::make_mut(&mut model.incident).timeline = model::Timeline::default();
    for second in 0..360u64 {
        let reading = model::Reading::gauge("cpu.system_share", model::Unit::Share, 0.1);
        let timeline = &mut Arc::make_mut(&mut model.incident).timeline;
        timeline.push_readings("stat", second * 1000, &[reading]);
    }
    let nothing = shown(&model);
    assert!(
        nothing.contains("\nNOT KNOWN  clients refused: not known  answered: not known"),
        "{nothing}"
    );
    for second in 0..360u64 {
        let reading = model::Reading::gauge("probe.connect_outcome", model::Unit::Code, 1.0);
        let timeline = &mut Arc::make_mut(&mut model.incident).timeline;
        timeline.push_readings("connect-probe", second * 1000, &[reading]);
    }
    assert!(shown(&model).contains("\nNO ANSWER  clients refused: yes"));
}

#[test]
fn what_is_drawn_again_is_not_made_again() {
    let size = (120, 40);
    let model = fixture::model();
    let mut state = State::new(&model, false);
    let made_by = |state: &mut State, presses: &str| {
        let before = model.derived();
        keys(&model, state, &typed(presses), size);
        drop(cells(&model, state, size, Palette::Many));
        model.derived() - before
    };
    for screen in "123456789".chars() {
        let screen = screen.to_string();
        made_by(&mut state, &screen);
        assert_eq!(made_by(&mut state, &screen), 0, "{screen}");
    }
    // Rows are chosen, sorted and left out among those that are there.
    for screen in ["2", "3", "5", "6", "9"] {
        made_by(&mut state, screen);
        let wanted = [typed("jjksS/a"), vec![Press::Enter]].concat();
        let before = model.derived();
        for one in wanted {
            keys(&model, &mut state, &[one], size);
            drop(cells(&model, &state, size, Palette::Many));
        }
        assert_eq!(model.derived(), before, "{screen}");
    }
    // Of a flame graph the chosen box is drawn, and the ranking of signals is that of another row.
    for screen in ["4", "7"] {
        made_by(&mut state, screen);
        assert_eq!(made_by(&mut state, "j"), 1, "{screen}");
    }
    // Another moment, another half of the threads, a copy that may be changed.
    assert!(made_by(&mut state, "h") > 1);
    made_by(&mut state, "4");
    assert!(made_by(&mut state, "o") > 1);
    assert_eq!(model.clone().derived(), 0);
}

fn any_press() -> impl Strategy<Value = Press> {
    let letters = "123456789[]g/sSwrxymot?h lHLkj-+:0.5('=!~<>amu ";
    prop_oneof![
        6 => proptest::sample::select(letters.chars().collect::<Vec<char>>()).prop_map(Press::Char),
        1 => any::<char>().prop_map(Press::Char),
        4 => proptest::sample::select(vec![
            Press::Enter, Press::Backspace, Press::Esc, Press::Left, Press::Right, Press::Up,
            Press::Down, Press::ShiftLeft, Press::ShiftRight, Press::PageUp, Press::PageDown,
            Press::Home, Press::End, Press::Redraw,
        ]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]

    #[test]
    fn no_keys_break_it(
        presses in proptest::collection::vec(any_press(), 0..60),
        columns in 1u16..140,
        lines in 1u16..50,
        which in 0usize..4,
    ) {
        let mut model = match which {
            0 => fixture::model(),
            1 => fixture::hostile(),
            _ => {
                let mut bare = fixture::model();
                bare.verdict = None;
                let incident = Arc::make_mut(&mut bare.incident);
                incident.stacks = model::StackEvidence::default();
                incident.texts.clear();
                bare
            }
        };
        if which == 3 {
            Arc::make_mut(&mut model.incident).timeline = model::Timeline::default();
            model.stalls.clear();
            model.incidents.clear();
            Arc::make_mut(&mut model.incident).clock.wall_at_zero_ms = 0;
        }
        let mut state = State::new(&model, false);
        for one in presses {
            press(&model, &mut state, one, (columns.into(), lines.into()));
            let buffer = cells(&model, &state, (columns, lines), Palette::Many);
            // Nothing that was kept is shown where it is another thing now.
            let anew = cells(&model.clone(), &state, (columns, lines), Palette::Many);
            prop_assert_eq!(&buffer, &anew);
            prop_assert!(!buffer.content().iter().any(|cell| cell.symbol().chars().any(model::is_deceptive)));
        }
    }
}
