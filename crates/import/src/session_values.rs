//! What cells and fields of a processlist tell, without what people wrote beside them.

use crate::tables::{null, without_code_marks};

/// What a cell tells.
pub(crate) fn value(cell: &str) -> &str {
    null(without_code_marks(cell))
}

/// What a field of a row tells: names have no blanks, and behind one stands what somebody noted.
pub(crate) fn field_value<'a>(name: &str, text: &'a str) -> &'a str {
    let text = value(text);
    let is_name = ["user", "host", "db"]
        .iter()
        .any(|one| name.eq_ignore_ascii_case(one));
    if !is_name || SERVERS_OWN.contains(&text) {
        return text;
    }
    text.split_whitespace().next().unwrap_or_default()
}

/// Users of the server's own sessions.
const SERVERS_OWN: [&str; 2] = ["system user", "unauthenticated user"];

/// Whether words may be the rest of a state that a mail or a terminal broke.
pub(crate) fn is_of_server(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.all(|word| word.is_empty() || server_text::is_message_word(word))
}
