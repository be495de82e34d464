//! What a terminal showed, as asciinema records it: a line of JSON for each piece of output ("asciicast", versions 2
//! and 3).
//!
//! ```text
//! {"version": 2, "width": 80, "height": 24}
//! [0.25, "o", "mysql> show processlist;\r\n"]
//! ```

use std::borrow::Cow;

/// A longer recording is not read: what it shows would be in memory twice.
const TEXT_BYTES_MAX: usize = 64 << 20;

/// What was shown; the text itself where it is no recording.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    let is_recording = text.starts_with("{\"version\"") && text.contains(", \"o\", \"");
    if !is_recording || text.len() > TEXT_BYTES_MAX {
        return Cow::Borrowed(text);
    }
    let pieces = text.lines().filter_map(|line| {
        let (_, kind, piece): (f64, String, String) = serde_json::from_str(line).ok()?;
        (kind == "o").then_some(piece)
    });
    Cow::Owned(pieces.collect())
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn output_alone_is_shown() {
        let text = "{\"version\": 2, \"width\": 80}\n[0.1, \"o\", \"a\\r\\nb\"]\n[0.2, \"i\", \"x\"]\n[0.3, \"o\", \"c\"]\n[0";
        assert_eq!(shown(text), "a\r\nbc");
        assert_eq!(shown("{\"version\": 2}\n"), "{\"version\": 2}\n");
    }
}
