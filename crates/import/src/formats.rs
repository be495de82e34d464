//! The formats: one file each, or one for several that share a reader. `build.rs` lists the files.

use crate::format::Format;

include!(concat!(env!("OUT_DIR"), "/formats.rs"));

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::clean;
    use crate::split::split;
    use crate::{Input, import, whole_text};

    #[test]
    fn every_format_has_an_id_and_a_name_of_its_own() {
        let ids: BTreeSet<&str> = FORMATS.iter().map(|format| format.id).collect();
        let names: BTreeSet<&str> = FORMATS.iter().map(|format| format.name).collect();
        assert_eq!((ids.len(), names.len()), (FORMATS.len(), FORMATS.len()));
    }

    /// The sample is what the format says, and nothing of it is left over.
    #[test]
    fn every_format_has_a_sample_that_is_read_as_it() {
        let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
        let mut wrong = Vec::new();
        for format in FORMATS {
            let Ok(bytes) = std::fs::read(samples.join(format.id)) else {
                wrong.push(format!("{}: no sample", format.id));
                continue;
            };
            let text = String::from_utf8_lossy(&bytes);
            let sections = split(&clean::lines(&whole_text::as_printed(&text)));
            let bytes = &bytes;
            let parts = import(&[Input { path: "x", bytes }]).parts;
            // What is read as a whole, and sentences, are no sections.
            let is_read = sections.iter().any(|section| section.format == *format)
                || parts.iter().any(|part| part.kind == format.name);
            if !is_read || parts.iter().any(|part| part.kind == "text around it") {
                wrong.push(format!("{}: {parts:?}", format.id));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
