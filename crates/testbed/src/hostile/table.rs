//! The table of variants: each step, each byte, each length of an honest conversation, changed.

use std::time::Duration;

use super::talk::{
    CACHING_SHA2, NATIVE, USUAL, column, end, frame, greeting, ok, packet, rows, switch,
};
use super::{Act, Variant};

/// Between two bytes of who drips: slow enough for any deadline, fast enough to keep every single wait short.
pub(super) const DRIP: Duration = Duration::from_millis(100);

/// A honest server; then all that are not.
pub fn variants() -> Vec<Variant> {
    let mut table = Table::default();
    table.login(
        "honest",
        false,
        vec![ok(2)].into_iter().map(Act::Send).collect(),
    );
    table.steps();
    table.cut();
    table.changed_bytes();
    table.lengths();
    table.order();
    table.endless();
    table.errors();
    table.plugins();
    table.keys();
    table.answers();
    table.others();
    table.all
}

#[derive(Default)]
pub(super) struct Table {
    all: Vec<Variant>,
}

impl Table {
    pub(super) fn add(
        &mut self,
        name: String,
        must_fail: bool,
        login: Vec<Act>,
        honest: usize,
        instead: Vec<Act>,
    ) {
        self.all.push(Variant {
            name,
            must_fail,
            tcp_only: false,
            login,
            honest,
            instead,
        });
    }

    /// Instead of anything else, from the first byte.
    pub(super) fn first(&mut self, name: impl Into<String>, must_fail: bool, acts: Vec<Act>) {
        self.add(name.into(), must_fail, acts, 0, Vec::new());
    }

    /// After a greeting and our answer to it.
    pub(super) fn login(&mut self, name: impl Into<String>, must_fail: bool, acts: Vec<Act>) {
        let login = [greeted(NATIVE), acts].concat();
        self.add(name.into(), must_fail, login, 0, Vec::new());
    }

    /// After a login by TCP for which the server wants the password under its key.
    pub(super) fn full_login(&mut self, name: impl Into<String>, acts: Vec<Act>) {
        let asked = vec![Act::Send(packet(2, &[1, 4])), Act::Hear];
        let login = [greeted(CACHING_SHA2), asked, acts].concat();
        self.add(name.into(), true, login, 0, Vec::new());
        if let Some(last) = self.all.last_mut() {
            last.tcp_only = true;
        }
    }

    /// In place of the answer to the first question, and once to the third.
    pub(super) fn answer(&mut self, name: impl Into<String>, must_fail: bool, acts: Vec<Act>) {
        let name = name.into();
        let login = [greeted(NATIVE), vec![Act::Send(ok(2))]].concat();
        let later = !name.contains(" at ");
        if later {
            let name = format!("{name}, later");
            self.add(name, false, login.clone(), 2, acts.clone());
        }
        self.add(name, must_fail, login, 0, acts);
    }

    /// Silence, dripping and ends at each step.
    fn steps(&mut self) {
        let hello = greeting(NATIVE, USUAL);
        let answer = rows(&["a", "b"], &[b"1", b"2"]);
        let ends = |rest: &[u8]| {
            [
                ("is silent", vec![Act::Silence]),
                ("drips", vec![Act::Drip(rest.to_vec(), DRIP), Act::Silence]),
                ("closes", vec![Act::Close]),
                ("resets", vec![Act::Reset]),
            ]
        };
        for (end, acts) in ends(&hello) {
            self.first(format!("{end} before the greeting"), true, acts);
        }
        for (end, acts) in ends(&hello[4..]) {
            let acts = [vec![Act::Send(hello[..4].to_vec())], acts].concat();
            self.first(format!("{end} behind the greeting's head"), true, acts);
        }
        for (end, acts) in ends(&ok(2)) {
            self.login(format!("{end} instead of a login"), true, acts);
        }
        for (end, acts) in ends(&ok(4)) {
            let asks = vec![
                Act::Send(switch(2, NATIVE.as_bytes(), b"abcdefghijklmnopqrst\0")),
                Act::Hear,
            ];
            self.login(
                format!("{end} behind another plugin"),
                true,
                [asks, acts].concat(),
            );
        }
        for (end, acts) in ends(&packet(4, b"\x01-----BEGIN")) {
            self.full_login(format!("{end} instead of a key"), acts);
        }
        // Behind the head, the number of columns, a column, all columns, the row.
        for part in [0, 4, 5, 20, 66, 75, answer.len() - 5] {
            let (said, rest) = answer.split_at(part.min(answer.len()));
            for (end, acts) in ends(rest) {
                let acts = [vec![Act::Send(said.to_vec())], acts].concat();
                self.answer(format!("{end} at byte {part} of an answer"), true, acts);
            }
        }
        let login = [greeted(NATIVE), vec![Act::Send(ok(2))]].concat();
        for (end, acts) in ends(&answer) {
            self.add(
                format!("{end} at the second question"),
                false,
                login.clone(),
                1,
                acts.clone(),
            );
            self.add(
                format!("{end} at the ninth question"),
                false,
                login.clone(),
                8,
                acts,
            );
        }
    }

    /// Every conversation ends at each of its bytes.
    fn cut(&mut self) {
        let hello = greeting(NATIVE, USUAL);
        for length in 0..hello.len() {
            let acts = vec![Act::Send(hello[..length].to_vec()), Act::Close];
            self.first(format!("greeting cut at {length}"), true, acts);
        }
        for length in 0..ok(2).len() {
            let acts = vec![Act::Send(ok(2)[..length].to_vec()), Act::Close];
            self.login(format!("login cut at {length}"), true, acts);
        }
        let answer = rows(&["a", "b"], &[b"1", b"2"]);
        for length in 0..answer.len() {
            let acts = vec![Act::Send(answer[..length].to_vec()), Act::Close];
            self.answer(format!("answer cut at {length}"), true, acts);
        }
    }

    /// Each byte is another one.
    fn changed_bytes(&mut self) {
        let change = |bytes: &[u8], index: usize, to: u8| {
            let mut bytes = bytes.to_vec();
            bytes[index] = to;
            bytes
        };
        let hello = greeting(NATIVE, USUAL);
        let answer = rows(&["a", "b"], &[b"1", b"2"]);
        for to in [0, 0xfb, 0xff] {
            for index in 0..hello.len() {
                let acts = vec![
                    Act::Send(change(&hello, index, to)),
                    Act::Hear,
                    Act::Send(ok(2)),
                ];
                self.first(format!("greeting's byte {index} is {to}"), false, acts);
            }
            for index in 0..answer.len() {
                let acts = vec![Act::Send(change(&answer, index, to)), Act::Silence];
                self.answer(format!("{to} at byte {index} of an answer"), false, acts);
            }
        }
    }

    /// Lengths and counts of what never comes, or comes.
    fn lengths(&mut self) {
        for length in [0, 1, 0xffff, 0xff_fffe, 0xff_ffff] {
            let head = frame(length, 0);
            for (end, act) in [("silence", Act::Silence), ("an end", Act::Close)] {
                let acts = vec![Act::Send(head.clone()), act.clone()];
                self.first(
                    format!("{length} bytes of greeting, then {end}"),
                    true,
                    acts,
                );
                let acts = vec![Act::Send(frame(length, 2)), act.clone()];
                self.login(format!("{length} bytes of login, then {end}"), true, acts);
                let acts = vec![Act::Send(frame(length, 1)), act];
                self.answer(format!("{length} bytes of answer, then {end}"), true, acts);
            }
        }
        let counts: [&[u8]; 8] = [
            b"\xfe\0\0\0\0\0\0\0\x80",
            b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff",
            b"\xfe\0\0\0\0\x01\0\0\0",
            b"\xfd\xff\xff\xff",
            b"\xfc\xff\xff",
            b"\xfc\xe9\x03",
            b"\xfe\0\0",
            b"\xfc",
        ];
        for (index, count) in counts.into_iter().enumerate() {
            let acts = vec![Act::Send(packet(1, count)), Act::Silence];
            self.answer(
                format!("a count of columns like no other, {index}"),
                true,
                acts,
            );
            let name = [b"\x03def\0\0\0", count, b"abc"].concat();
            let acts = vec![
                Act::Send(packet(1, &[1])),
                Act::Send(packet(2, &name)),
                Act::Silence,
            ];
            self.answer(
                format!("the length of a name like no other, {index}"),
                true,
                acts,
            );
            let value = [count, b"abc"].concat();
            let acts = vec![
                Act::Send([packet(1, &[1]), column(2, b"a"), end(3)].concat()),
                Act::Send(packet(4, &value)),
                Act::Silence,
            ];
            self.answer(
                format!("the length of a value like no other, {index}"),
                true,
                acts,
            );
        }
        for parts in [1, 2, 9] {
            let part = |number| {
                [
                    Act::Send(frame(0xff_ffff, number)),
                    Act::Fill(b'x', 0xff_ffff),
                ]
            };
            let mut acts: Vec<Act> = (1..=parts).flat_map(part).collect();
            acts.push(Act::Silence);
            self.answer(format!("{parts} parts of 16 MiB"), true, acts);
        }
        let acts = vec![Act::Send(frame(0xff_ffff, 0)), Act::Fill(10, 0xff_ffff)];
        self.first("a greeting of 16 MiB", true, acts);
    }

    /// Packets with a wrong number.
    fn order(&mut self) {
        for wrong in [1, 2, 7, 255] {
            let mut hello = greeting(NATIVE, USUAL);
            hello[3] = wrong;
            let acts = vec![Act::Send(hello), Act::Hear, Act::Send(ok(2))];
            self.first(format!("greeting numbered {wrong}"), true, acts);
        }
        for wrong in [0, 1, 3, 255] {
            let acts = vec![Act::Send(ok(wrong))];
            self.login(format!("login numbered {wrong}"), true, acts);
        }
        for wrong in [0, 2, 255] {
            self.answer(
                format!("answer numbered {wrong}"),
                true,
                vec![Act::Send(ok(wrong))],
            );
            let acts = vec![Act::Send(packet(1, &[1])), Act::Send(column(wrong, b"a"))];
            self.answer(format!("column behind number {wrong}"), wrong != 2, acts);
        }
    }
}

pub(super) fn greeted(plugin: &str) -> Vec<Act> {
    vec![Act::Send(greeting(plugin, USUAL)), Act::Hear]
}
