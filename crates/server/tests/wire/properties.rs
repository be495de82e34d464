//! Whatever the segments are.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::conversation::{
    COMPRESS, Conversation, OK, QUERY_ATTRIBUTES, Sent, Told, decode, segments,
};

/// Some of everything, each statement with a number of its own.
fn conversation(capabilities: u32, lengths: &[usize]) -> Conversation {
    let mut conversation = Conversation::login(capabilities);
    let attributes: &[u8] = if capabilities & QUERY_ATTRIBUTES != 0 {
        b"\0\x01"
    } else {
        b""
    };
    for (number, length) in lengths.iter().enumerate() {
        let text = format!("SELECT {number} /* {} */", "x".repeat(*length));
        match number % 4 {
            0 => {
                let payload = [b"\x03", attributes, text.as_bytes()].concat();
                conversation.ask(&payload, &[OK]);
            }
            1 if attributes.is_empty() => conversation.select(&text, *length % 50),
            2 => conversation.ask(b"\x0e", &[OK]),
            _ => {
                let payload = [b"\x03", attributes, text.as_bytes()].concat();
                conversation.ask(&payload, &[b"\xff\x28\x04#42000You have an error"]);
            }
        }
    }
    conversation
}

fn sizes(sizes: &[usize]) -> impl FnMut() -> usize + '_ {
    let mut all = sizes.iter().copied().cycle();
    move || all.next().unwrap_or(1)
}

fn capabilities() -> impl Strategy<Value = u32> {
    prop_oneof![
        Just(0),
        Just(COMPRESS),
        Just(QUERY_ATTRIBUTES),
        Just(COMPRESS | QUERY_ATTRIBUTES)
    ]
}

fn whole(conversation: &Conversation) -> Vec<Told> {
    decode(&segments(&conversation.said, &mut || 60_000), true).0
}

/// As many as `PROPTEST_CASES` says, for a longer search.
fn cases() -> u32 {
    let said = std::env::var("PROPTEST_CASES").ok();
    said.and_then(|cases| cases.parse().ok()).unwrap_or(200)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    /// The same statements however they are cut, doubled, or out of order by a few.
    #[test]
    fn any_segmentation(
        capabilities in capabilities(),
        lengths in vec(0_usize..300, 1..12),
        cuts in vec(1_usize..200, 1..20),
        doubled in vec(any::<prop::sample::Index>(), 0..5),
        swapped in vec(any::<prop::sample::Index>(), 0..5),
    ) {
        let conversation = conversation(capabilities, &lengths);
        let expected = whole(&conversation);
        prop_assert_eq!(expected.len(), lengths.len() + 1);
        let mut sent = segments(&conversation.said, &mut sizes(&cuts));
        for index in doubled {
            let at = index.index(sent.len());
            let again = sent[at].clone();
            sent.insert(at + 1, again);
        }
        for index in swapped {
            let at = index.index(sent.len());
            // Of one direction, where neither says that it has the other.
            if at > 0 && sent[at - 1].to_server == sent[at].to_server {
                sent.swap(at - 1, at);
            }
        }
        prop_assert_eq!(decode(&sent, true).0, expected);
    }

    /// What is lost does no more harm than that its statements are missing: everything told is true, and what comes
    /// after is found again.
    #[test]
    fn any_loss(
        capabilities in capabilities(),
        lengths in vec(0_usize..300, 1..12),
        cuts in vec(20_usize..400, 1..20),
        lost in vec(any::<prop::sample::Index>(), 1..6),
        after in 1_usize..4,
    ) {
        let mut conversation = conversation(capabilities, &lengths);
        let before = conversation.said.len();
        let attributes: &[u8] = if capabilities & QUERY_ATTRIBUTES != 0 { b"\0\x01" } else { b"" };
        for number in 0..after {
            let text = format!("SELECT 'after the loss {number}, long enough to be compressed'");
            conversation.ask(&[b"\x03", attributes, text.as_bytes()].concat(), &[OK]);
        }
        let expected = whole(&conversation);
        let (first, last) = conversation.said.split_at(before);
        let mut sent = segments(first, &mut sizes(&cuts));
        let count = sent.len();
        let all = [first, last].concat();
        // The last ones come whole, a segment each.
        let mut rest = segments(&all, &mut || usize::MAX).split_off(before);
        // Not of the handshake: without it nothing but guessing is left.
        let handshake = segments(&conversation.said[..3], &mut sizes(&cuts)).len();
        for index in lost {
            let at = index.index(count);
            if at >= handshake && at < sent.len() {
                sent.remove(at);
            }
        }
        sent.append(&mut rest);
        let (told, _) = decode(&sent, true);
        let known: Vec<&str> = expected.iter().map(|one| one.text.as_str()).collect();
        for one in &told {
            let true_beginning = known.iter().any(|text| text.starts_with(one.text.as_str()));
            prop_assert!(true_beginning, "{:?}", one);
            prop_assert!(one.cut || known.contains(&one.text.as_str()), "{:?}", one);
        }
        let ends: Vec<&Told> = told.iter().rev().take(after).collect();
        for (one, expected) in ends.iter().zip(expected.iter().rev()) {
            prop_assert_eq!(&one.text, &expected.text);
            prop_assert!(one.answered);
        }
    }

    /// Bytes of no protocol, with any numbers.
    #[test]
    fn any_bytes(
        noise in vec((any::<bool>(), any::<u32>(), any::<u32>(), vec(any::<u8>(), 0..200), 0_usize..100_000), 0..40),
        from_beginning in any::<bool>(),
        near in any::<bool>(),
    ) {
        let sent: Vec<Sent> = noise
            .into_iter()
            .map(|(to_server, sequence, acknowledged, bytes, cut)| {
                let limit = if near { 2000 } else { u32::MAX };
                Sent { to_server, sequence: sequence % limit, acknowledged: acknowledged % limit, bytes, cut }
            })
            .collect();
        decode(&sent, from_beginning);
    }

    /// A good conversation with some bytes changed.
    #[test]
    fn changed_bytes(
        capabilities in capabilities(),
        lengths in vec(0_usize..300, 1..8),
        changes in vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cuts in vec(1_usize..400, 1..10),
    ) {
        let mut conversation = conversation(capabilities, &lengths);
        for (said, at, value) in changes {
            let index = said.index(conversation.said.len());
            let bytes = &mut conversation.said[index].bytes;
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        decode(&segments(&conversation.said, &mut sizes(&cuts)), true);
        decode(&segments(&conversation.said[3..], &mut sizes(&cuts)), false);
    }
}
