//! Columns of numbers, as tools of the host print them.

use std::collections::HashMap;

use model::{Reading, Unit};

/// A number with a decimal point or comma.
pub(crate) fn number(word: &str) -> Option<f64> {
    if !word.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.') {
        return None;
    }
    let value: f64 = match word.contains(',') {
        true => word.replace(',', ".").parse().ok()?,
        false => word.parse().ok()?,
    };
    value.is_finite().then_some(value)
}

pub(crate) fn is_numbers(text: &str) -> bool {
    let mut words = text.split_whitespace().peekable();
    words.peek().is_some() && words.all(|word| word.parse::<f64>().is_ok())
}

/// Counters made of what they grew by.
#[derive(Default)]
pub(crate) struct Sums(HashMap<&'static str, f64>);

impl Sums {
    pub(crate) fn add(
        &mut self,
        readings: &mut Vec<Reading>,
        name: &'static str,
        grown: Option<f64>,
    ) {
        if let Some(grown) = grown {
            let sum = self.0.entry(name).or_insert(0.0);
            *sum += grown;
            readings.push(Reading::counter(name, Unit::Count, *sum));
        }
    }
}

/// What the processors did, of percents.
pub(crate) fn shares(
    user: Option<f64>,
    system: Option<f64>,
    iowait: Option<f64>,
    steal: Option<f64>,
) -> Vec<Reading> {
    let busy = user.zip(system).map(|(user, system)| user + system);
    [
        ("cpu.user_share", user),
        ("cpu.system_share", system),
        ("cpu.busy_share", busy),
        ("cpu.iowait_share", iowait),
        ("cpu.steal_share", steal),
    ]
    .into_iter()
    .filter_map(|(name, share)| Some(Reading::gauge(name, Unit::Share, share? / 100.0)))
    .collect()
}

/// `Ssl`, `D`, `R+`: the state of a process as ps has it.
pub(crate) fn is_process_state(word: &str) -> bool {
    let mut letters = word.bytes();
    letters
        .next()
        .is_some_and(|state| b"DRSTtZIWX".contains(&state))
        && letters.all(|more| b"<NLsl+".contains(&more))
}

pub(crate) fn first_words<'a, const N: usize>(
    words: &mut impl Iterator<Item = &'a str>,
) -> Option<[&'a str; N]> {
    let mut row = [""; N];
    for cell in &mut row {
        *cell = words.next()?;
    }
    Some(row)
}

pub(crate) fn is_whole(word: &str) -> bool {
    word.parse::<u64>().is_ok()
}

pub(crate) fn is_share(word: &str) -> bool {
    number(word).is_some_and(|share| share >= 0.0)
}

/// `5312:11`, `0:00.13`, `1-02:03:04`.
pub(crate) fn is_process_time(word: &str) -> bool {
    word.contains(':')
        && word
            .bytes()
            .all(|byte| byte.is_ascii_digit() || b":.,-".contains(&byte))
}
