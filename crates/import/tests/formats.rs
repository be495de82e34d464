//! What formats say of themselves.

use import::FORMATS;

#[test]
fn every_format_says_who_prints_it() {
    for format in FORMATS {
        let cells = [format.id, format.name, format.printed_by];
        assert!(!cells.contains(&""), "{format:?}");
        assert!(!cells.concat().contains('\n'), "{format:?}");
    }
}
