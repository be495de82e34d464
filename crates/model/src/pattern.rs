//! Names with `*`: the one way in which signals are matched by a pattern.

/// Whether `name` matches `pattern`, in which `*` stands for any run of characters.
pub fn matches_pattern(pattern: &str, name: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut rest) = name.strip_prefix(head) else {
        return false;
    };
    let mut parts = tail.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::matches_pattern;

    #[test]
    fn star_matches_any_run() {
        for (pattern, name, expected) in [
            ("a.b", "a.b", true),
            ("a.b", "a.c", false),
            ("disk.*.reads", "disk.sda.reads", true),
            ("disk.*.reads", "disk.sda.writes", false),
            ("*", "", true),
            ("a*a", "a", false),
            ("vmstat.allocstall_*", "vmstat.allocstall_normal", true),
            ("*.x.*", "a.x.b", true),
            ("*.x.*", "a.y.b", false),
        ] {
            assert_eq!(matches_pattern(pattern, name), expected, "{pattern} {name}");
        }
    }
}
