//! What a server may say that none should: without end, in errors, in logins, in answers.

use super::Act;
use super::table::{DRIP, Table, greeted};
use super::talk::{
    CACHING_SHA2, NATIVE, USUAL, column, end, error, frame, greeting, key, ok, packet, rows, switch,
};

/// A text that would drive a terminal.
const ESCAPES: &[u8] = b"\x1b]0;owned\x07\x1b[2J\x9b31m\r\ncut\x00here";

impl Table {
    /// What has no end.
    pub(super) fn endless(&mut self) {
        for (what, bytes) in [
            ("zeros", vec![0; 8192]),
            ("ones", vec![0xff; 8192]),
            ("letters", vec![b'A'; 8192]),
            ("oks", ok(0)),
            ("ends", end(0)),
            ("errors", error(0, 1, b"no")),
        ] {
            let flood = vec![Act::Flood(bytes)];
            self.first(format!("endless {what}"), true, flood.clone());
            self.login(
                format!("endless {what} behind our answer"),
                true,
                flood.clone(),
            );
            let failing = what != "oks";
            self.answer(format!("endless {what} for an answer"), failing, flood);
        }
        let numbered = |packet: &dyn Fn(u8) -> Vec<u8>, from: u8| -> Vec<u8> {
            let order = (from..=255).chain(0..from);
            order.flat_map(packet).collect()
        };
        let head = [packet(1, &[1]), column(2, b"a"), end(3)].concat();
        for (what, value) in [
            ("small", vec![0]),
            ("large", [vec![0xfc, 0, 0x80], vec![b'x'; 0x8000]].concat()),
        ] {
            let acts = vec![
                Act::Send(head.clone()),
                Act::Flood(numbered(&|number| packet(number, &value), 4)),
            ];
            self.answer(format!("endless {what} rows"), true, acts);
        }
        let acts = vec![
            Act::Send(packet(1, b"\xfc\xe8\x03")),
            Act::Flood(numbered(&|number| column(number, b""), 2)),
        ];
        self.answer("a thousand columns without a name, without end", true, acts);
        let asks = |number: u8| switch(number, NATIVE.as_bytes(), b"abcdefghijklmnopqrst\0");
        let round = (0..127).flat_map(|round| {
            let number: u8 = 2 + 2 * round;
            [Act::Send(asks(number)), Act::Hear]
        });
        self.login("asks for another plugin without end", true, round.collect());
        let full = vec![
            Act::Send(packet(2, &[1, 3])),
            Act::Flood(numbered(&|number| packet(number, &[1, 3]), 3)),
        ];
        let login = [greeted(CACHING_SHA2), full].concat();
        self.first("lets us in by its cache without end", true, login);
        let rows = vec![
            Act::Send(head),
            Act::Drip(numbered(&|number| packet(number, &[0]), 4), DRIP),
        ];
        self.answer("drips rows", true, rows);
    }

    /// Errors of every kind, at every step.
    pub(super) fn errors(&mut self) {
        let escapes = ESCAPES.repeat(2000);
        let texts: [(&str, &[u8]); 4] = [
            ("empty", b""),
            ("escapes", ESCAPES),
            ("many escapes", &escapes),
            ("no text", &[0xff, 0xfe, 0x80, 0xc0]),
        ];
        for (what, text) in texts {
            for code in [0, 1040, 1045, 2013, 3159, 65535] {
                let name = |step: &str| format!("error {code}, {what}, {step}");
                self.first(name("first"), true, vec![Act::Send(error(0, code, text))]);
                self.login(
                    name("in the login"),
                    true,
                    vec![Act::Send(error(2, code, text))],
                );
                self.answer(
                    name("for an answer"),
                    true,
                    vec![Act::Send(error(1, code, text))],
                );
            }
        }
        let huge = |sequence: u8| {
            let head = [frame(0xff_0000, sequence), b"\xff\x15\x04#28000".to_vec()].concat();
            vec![Act::Send(head), Act::Fill(b'x', 0xff_0000 - 9)]
        };
        self.first("an error of 16 MB first", true, huge(0));
        self.login("an error of 16 MB in the login", true, huge(2));
        self.answer("an error of 16 MB for an answer", true, huge(1));
        for length in 1..9 {
            let whole = [&[0xff, 0x15, 0x04][..], b"#28000"].concat();
            let cut = packet(0, &whole[..length]);
            self.first(
                format!("an error of {length} bytes"),
                true,
                vec![Act::Send(cut)],
            );
        }
    }

    /// Ways to log in that no honest server has.
    pub(super) fn plugins(&mut self) {
        let nonce = b"abcdefghijklmnopqrst\0";
        let long = vec![b'p'; 30_000];
        let asked: [(&str, &[u8], &[u8]); 12] = [
            ("clear text", b"mysql_clear_password", b""),
            ("PAM", b"dialog", b"Password: "),
            ("an old password", b"mysql_old_password", b"abcdefgh\0"),
            ("sha256", b"sha256_password", nonce),
            ("a plugin without a name", b"", nonce),
            ("a plugin of escapes", ESCAPES, nonce),
            ("a plugin with a long name", &long, nonce),
            ("native without a nonce", b"mysql_native_password", b""),
            (
                "native with a short nonce",
                b"mysql_native_password",
                b"abc\0",
            ),
            ("ed25519 without a nonce", b"client_ed25519", b""),
            (
                "ed25519 with a short nonce",
                b"client_ed25519",
                b"abcdefghijklmnopqrst",
            ),
            ("sha2 with a short nonce", b"caching_sha2_password", b"a"),
        ];
        for (what, plugin, nonce) in asked {
            let acts = vec![Act::Send(switch(2, plugin, nonce)), Act::Silence];
            self.login(format!("asks for {what}"), true, acts);
        }
        for (what, payload) in [
            ("nothing", &b""[..]),
            ("one byte", b"\xfe"),
            ("no end of a name", b"\xfemysql_native_password"),
            ("a step of another plugin", b"\x01\x04"),
            ("a key of another plugin", b"\x01-----BEGIN PUBLIC KEY-----"),
            ("a file", b"\xfb/etc/passwd"),
            ("a step that is none", b"\x77"),
        ] {
            let acts = vec![Act::Send(packet(2, payload)), Act::Silence];
            self.login(format!("asks in the login for {what}"), true, acts);
        }
    }

    /// Keys that are none.
    pub(super) fn keys(&mut self) {
        let good = [vec![0], vec![0xb5; 256]].concat();
        let odd: [(&str, &[u8], &[u8]); 9] = [
            ("a modulus of nothing", b"", b"\x01\0\x01"),
            ("a modulus of 0", b"\0", b"\x01\0\x01"),
            ("a modulus of 1", b"\x01", b"\x01\0\x01"),
            ("an even modulus", &[0x7e; 256], b"\x01\0\x01"),
            ("a modulus of 12,000 bits", &[0x7f; 1500], b"\x01\0\x01"),
            ("a negative modulus", &[0xff; 256], b"\x01\0\x01"),
            ("an exponent of 0", &good, b"\0"),
            ("an exponent of 1", &good, b"\x01"),
            ("an exponent of 2,000 bits", &good, &[0x7f; 250]),
        ];
        for (what, modulus, exponent) in odd {
            let said = [&b"\x01"[..], &key(modulus, exponent)].concat();
            self.full_login(
                format!("a key with {what}"),
                vec![Act::Send(packet(4, &said)), Act::Silence],
            );
        }
        let whole = key(&good, b"\x01\0\x01");
        for length in [0, 1, 20, 31, 40, 200, whole.len() - 30, whole.len() - 3] {
            let said = [&b"\x01"[..], &whole[..length]].concat();
            self.full_login(
                format!("a key of {length} bytes"),
                vec![Act::Send(packet(4, &said)), Act::Silence],
            );
        }
        let long = [&b"\x01-----BEGIN PUBLIC KEY-----"[..], &[b'A'; 60_000]].concat();
        self.full_login(
            "a key of 60,000 letters",
            vec![Act::Send(packet(4, &long)), Act::Silence],
        );
        let garbage =
            b"\x01-----BEGIN PUBLIC KEY-----\n\xff\xfe\x1b[2J!!!\n-----END PUBLIC KEY-----";
        self.full_login(
            "a key of garbage",
            vec![Act::Send(packet(4, garbage)), Act::Silence],
        );
        let said = [&b"\x01"[..], &whole].concat();
        self.full_login(
            "a key and then silence",
            vec![Act::Send(packet(4, &said)), Act::Hear, Act::Silence],
        );
        let again = (0..126).flat_map(|round| {
            let number: u8 = 4 + 2 * round;
            [Act::Send(packet(number, &said)), Act::Hear]
        });
        self.full_login("keys without end", again.take(200).collect());
    }

    /// Answers that do not fit.
    pub(super) fn answers(&mut self) {
        let head = |names: &[&[u8]]| {
            let mut bytes = packet(1, &[u8::try_from(names.len()).unwrap_or(0)]);
            let mut number = 1;
            for name in names {
                number += 1;
                bytes.extend(column(number, name));
            }
            bytes.extend(end(number + 1));
            (bytes, number + 2)
        };
        for (what, must_fail, row) in [
            ("too few values", true, &b"\x01a"[..]),
            ("too many values", true, b"\x01a\x01b\x01c"),
            ("bytes behind its values", true, b"\x01a\x01b\xff\xff"),
            ("only NULL", false, b"\xfb\xfb"),
            ("no text", false, b"\x02\xff\xfe\x02\x1b["),
            ("nothing in it", true, b""),
        ] {
            let (said, number) = head(&[b"a", b""]);
            let acts = vec![
                Act::Send(said),
                Act::Send(packet(number, row)),
                Act::Send(end(number + 1)),
                Act::Silence,
            ];
            self.answer(format!("a row with {what}"), must_fail, acts);
        }
        for (what, payload) in [
            ("a file", &b"\xfb/etc/passwd"[..]),
            ("a file without a name", b"\xfb"),
            ("no bytes", b""),
            ("an end at once", b"\xfe\0\0\x02\0"),
            ("an ok without its fields", b"\0"),
            ("an ok that announces more", b"\0\0\0\x0a\0\0\0"),
            ("columns with bytes behind", b"\x01\x01"),
            ("an error without a number", b"\xff"),
            ("progress", b"\xff\xff\xff\x01\x02\x03\0\0\0\x04work"),
        ] {
            let acts = vec![Act::Send(packet(1, payload)), Act::Silence];
            self.answer(format!("an answer of {what}"), true, acts);
        }
        let (said, number) = head(&[b"a"]);
        let more = packet(number, &[0xfe, 0, 0, 0x0a, 0]);
        self.answer(
            "rows that announce more",
            true,
            vec![Act::Send(said.clone()), Act::Send(more), Act::Silence],
        );
        let failed = error(number, 1317, b"interrupted");
        self.answer(
            "an error among the rows",
            true,
            vec![Act::Send(said), Act::Send(failed), Act::Silence],
        );
        let doubled = [rows(&["a"], &[b"1"]), rows(&["a"], &[b"1"])].concat();
        self.answer("two answers", false, vec![Act::Send(doubled), Act::Silence]);
        let compressed = [frame(20, 0), vec![60, 0, 0, 0x78, 0x9c], vec![7; 40]].concat();
        self.answer(
            "compressed bytes that nobody asked for",
            true,
            vec![Act::Send(compressed), Act::Close],
        );
    }

    /// Other protocols, other versions.
    pub(super) fn others(&mut self) {
        for (what, bytes) in [
            (
                "HTTP",
                &b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"[..],
            ),
            ("SSH", b"SSH-2.0-OpenSSH_9.2\r\n"),
            ("SMTP", b"220 mail ESMTP\r\n"),
            ("the X protocol", b"\x05\0\0\0\x0b\x08\x05\x1a\0"),
            ("TLS", b"\x15\x03\x01\0\x02\x02\x46"),
        ] {
            for (end, act) in [("an end", Act::Close), ("silence", Act::Silence)] {
                let acts = vec![Act::Send(bytes.to_vec()), act];
                self.first(format!("speaks {what}, then {end}"), true, acts);
            }
        }
        for version in [0, 9, 11, 255] {
            let mut hello = greeting(NATIVE, USUAL);
            hello[4] = version;
            self.first(
                format!("protocol {version}"),
                true,
                vec![Act::Send(hello), Act::Silence],
            );
        }
        for capabilities in [0, 0x8000, 0x200, USUAL | 0x20, 0xffff_ffff] {
            let honest = vec![
                Act::Send(greeting(NATIVE, capabilities)),
                Act::Hear,
                Act::Send(ok(2)),
            ];
            let must_fail = capabilities & 0x8200 != 0x8200;
            self.first(format!("capabilities {capabilities:#x}"), must_fail, honest);
        }
        let mut all = vec![Act::Send(greeting(NATIVE, 0xffff_ffff)), Act::Hear];
        all.push(Act::Send([frame(11, 0), vec![0, 0, 0], ok(2)].concat()));
        self.first(
            "compresses though nobody asked",
            true,
            [all, vec![Act::Silence]].concat(),
        );
        let tls = b"Connections using insecure transport are prohibited while --require_secure_transport=ON.";
        self.login("demands TLS", true, vec![Act::Send(error(2, 3159, tls))]);
        self.first("two greetings", true, {
            let hello = greeting(NATIVE, USUAL);
            vec![Act::Send([hello.clone(), hello].concat()), Act::Silence]
        });
        let round = vec![Act::Hear, Act::Send(ok(0))];
        self.first("hears and never greets", true, vec![Act::Again(round)]);
    }
}
