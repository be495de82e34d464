//! What is planted: texts that occur nowhere else, and how they are told again.

use std::fmt::Write as _;

/// What a marker stands for, and so where it may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// A literal: in nothing that is written.
    Value,
    /// A user, a host, a schema, a path: in nothing that `export --redact` writes.
    Name,
}

/// One text that is planted.
#[derive(Debug)]
pub(crate) struct Marker {
    /// What it is, as the statements call it: `{email}`.
    pub(crate) name: &'static str,
    pub(crate) class: Class,
    /// What is planted.
    pub(crate) text: String,
    /// Parts of it that occur nowhere else. Each alone is a leak.
    pub(crate) needles: Vec<String>,
}

/// All markers of a run, from one number.
#[derive(Debug)]
pub(crate) struct Markers {
    pub(crate) seed: u64,
    pub(crate) list: Vec<Marker>,
}

/// Letters of a needle: no word of a language, no number, no hexadecimal.
const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz";
const LETTERS_OF_A_CORE: usize = 11;

/// Characters of GB2312's first row of ideographs, whose bytes follow each other from B0 A1 on.
const IDEOGRAPHS: &str = "啊阿埃挨哎唉哀皑癌蔼矮艾碍爱隘鞍氨安俺按暗岸胺案肮昂盎凹敖熬翱袄傲奥懊澳芭捌扒叭吧笆八疤巴拔跋靶把耙坝霸罢爸白柏百摆佰败拜稗斑班搬扳般颁板版扮拌伴瓣半办绊邦帮梆榜膀绑棒磅蚌镑傍谤苞胞包褒剥";
const IDEOGRAPHS_FROM: u16 = 0xB0A1;

/// A generator that a seed repeats (splitmix64, as published by Steele, Lea and Flood).
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From 0 to `below`, without it.
    pub(crate) fn below(&mut self, below: usize) -> usize {
        (self.next() % below as u64) as usize
    }

    pub(crate) fn of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    fn core(&mut self) -> String {
        (0..LETTERS_OF_A_CORE)
            .map(|_| char::from(*self.of(LETTERS)))
            .collect()
    }

    fn letters_of(&mut self, text: &str, count: usize) -> String {
        let all: Vec<char> = text.chars().collect();
        (0..count).map(|_| *self.of(&all)).collect()
    }
}

/// The seed of this run: of `FREEZEFRAME_SECRETS_SEED`, else another each time.
pub(crate) fn seed() -> u64 {
    if let Some(given) = std::env::var("FREEZEFRAME_SECRETS_SEED")
        .ok()
        .and_then(|text| text.parse().ok())
    {
        return given;
    }
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    now.as_nanos() as u64
}

impl Markers {
    pub(crate) fn new(seed: u64) -> Self {
        let mut markers = Self {
            seed,
            list: Vec::new(),
        };
        let mut random = Random::new(seed);
        markers.values(&mut random);
        markers.names(&mut random);
        markers
    }

    fn add(&mut self, name: &'static str, class: Class, text: String, needles: &[&str]) {
        self.list.push(Marker {
            name,
            class,
            text,
            needles: needles.iter().map(|needle| (*needle).to_owned()).collect(),
        });
    }

    fn values(&mut self, random: &mut Random) {
        let mut core = || random.core();
        let one = core();
        self.add(
            "email",
            Class::Value,
            format!("{one}@mail.example"),
            &[&one],
        );
        let (one, two) = (core(), core());
        self.add(
            "person",
            Class::Value,
            format!("Siobhan {one} O'{two}"),
            &[&one, &two],
        );
        let words = [core(), core(), core()];
        self.add(
            "phrase",
            Class::Value,
            format!("the {} of {} and {}", words[0], words[1], words[2]),
            &[&words[0], &words[1], &words[2]],
        );
        let w = [core(), core(), core(), core(), core()];
        self.add(
            "quoted",
            Class::Value,
            format!(
                "{} \"{}\" \\{} `{}` '{}' \\' \\\" it's",
                w[0], w[1], w[2], w[3], w[4]
            ),
            &[&w[0], &w[1], &w[2], &w[3], &w[4]],
        );
        let w = [core(), core(), core()];
        self.add(
            "lines",
            Class::Value,
            format!(
                "{}\n2026-01-02  3:04:05 9 [Note] {}\n\n2026-01-02T03:04:05.000001Z 9 [Note] [MY-010000] [Server] {}\n",
                w[0], w[1], w[2]
            ),
            &[&w[0], &w[1], &w[2]],
        );
        let w = [core(), core()];
        self.add(
            "query",
            Class::Value,
            format!(
                "a'. Query: 'SELECT {} FROM t', Error_code: 1062; {} \"x\" for key 'y'",
                w[0], w[1]
            ),
            &[&w[0], &w[1]],
        );
        let w = [core(), core()];
        self.add(
            "json",
            Class::Value,
            format!("{{\"card\":\"{}\",\"of\":{{\"{}\":[1,2]}}}}", w[0], w[1]),
            &[&w[0], &w[1]],
        );
        let one = core();
        self.add("password", Class::Value, format!("Pw0!{one}#"), &[&one]);
        let one = core();
        self.add("parameter", Class::Value, format!("{one}-bound"), &[&one]);
        let one = core();
        self.add("comment", Class::Value, format!("for {one}"), &[&one]);
        let one = core();
        self.add("xid", Class::Value, format!("xid{one}"), &[&one]);
        let one = core();
        // Written as 0x…, X'…': its bytes are the word.
        self.add("hex", Class::Value, one.clone(), &[&one]);
        let cyrillic = random.letters_of("абвгдежзийклмнопрстуфхцчшщыьэюя", 12);
        self.add(
            "cyrillic",
            Class::Value,
            format!("Ж{cyrillic}"),
            &[&cyrillic],
        );
        let chinese = random.letters_of(IDEOGRAPHS, 7);
        self.add("chinese", Class::Value, chinese.clone(), &[&chinese]);
        let token: String = (0..32)
            .map(|_| char::from(*random.of(b"0123456789abcdef")))
            .collect();
        self.add(
            "token",
            Class::Value,
            token.clone(),
            &[&token[..14], &token[18..]],
        );
        // Below 2^53, so that a double prints it whole.
        let card = format!(
            "4{:07}{:08}",
            random.next() % 10_000_000,
            random.next() % 100_000_000
        );
        self.add("card", Class::Value, card.clone(), &[&card]);
        // A year, a day and a time of day that nothing else in the test has.
        let date = format!(
            "{}-{:02}-{:02} {:02}:{:02}:{:02}.{:06}",
            2113 + random.below(80),
            1 + random.below(12),
            1 + random.below(28),
            random.below(24),
            random.below(60),
            random.below(60),
            random.below(1_000_000)
        );
        self.add("date", Class::Value, date.clone(), &[&date[..10]]);
    }

    fn names(&mut self, random: &mut Random) {
        for (name, before, after) in [
            ("schema", "s", ""),
            ("table", "t", ""),
            ("column", "c", ""),
            ("index", "k", ""),
            ("event", "e", ""),
            ("routine", "r", ""),
            ("trigger", "g", ""),
            ("user", "u", ""),
            ("variable", "v", ""),
            ("host", "h", ".example.net"),
            ("channel", "n", ""),
            // What somebody typed into the wrong field.
            ("typed", "P", ""),
        ] {
            let one = random.core();
            // MySQL 5.5 has user names of 16 characters.
            self.add(name, Class::Name, format!("{before}{one}{after}"), &[&one]);
        }
        let (one, two) = (random.core(), random.core());
        self.add(
            "path",
            Class::Name,
            format!("/nowhere/{one}/{two}.csv"),
            &[&one, &two],
        );
    }

    pub(crate) fn text(&self, name: &str) -> &str {
        let found = self.list.iter().find(|marker| marker.name == name);
        &found.unwrap_or_else(|| panic!("no marker {name}")).text
    }

    /// `template` with each `{name}` replaced by the marker as it stands between single quotes, `{name:raw}` by the
    /// marker itself, `{name:hex}` by its bytes in hexadecimal, `{name:twice}` with quotes doubled only (for
    /// sessions without escapes), `{name:double}` as it stands between double quotes.
    pub(crate) fn fill(&self, template: &str) -> String {
        let mut out = String::with_capacity(template.len() * 2);
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            out.push_str(before);
            let marker = after.split_once('}').and_then(|(inside, after)| {
                let (name, form) = inside.split_once(':').unwrap_or((inside, ""));
                let marker = self.list.iter().find(|marker| marker.name == name)?;
                Some((&marker.text, form, after))
            });
            let Some((text, form, after)) = marker else {
                out.push('{');
                rest = after;
                continue;
            };
            match form {
                "raw" => out.push_str(text),
                "hex" => out.push_str(&hex(text.as_bytes())),
                "twice" => out.push_str(&text.replace('\'', "''")),
                "double" => out.push_str(&text.replace('\\', "\\\\").replace('"', "\\\"")),
                "" => out.push_str(&text.replace('\\', "\\\\").replace('\'', "\\'")),
                other => panic!("no form {other}"),
            }
            rest = after;
        }
        out.push_str(rest);
        out
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02X}");
        out
    })
}

/// The bytes of a text of [`IDEOGRAPHS`] in GB2312, GBK and GB18030.
pub(crate) fn gbk(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for character in text.chars() {
        let place = IDEOGRAPHS.chars().position(|known| known == character)?;
        let code = IDEOGRAPHS_FROM + u16::try_from(place).ok()?;
        bytes.extend(code.to_be_bytes());
    }
    Some(bytes)
}
