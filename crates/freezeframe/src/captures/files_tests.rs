//! The project's captures (`captures/`) as files: opened, each is the incident that results/accuracy.md counts
//! (`crates/import/tests/accuracy.rs`).

use std::path::Path;

use import::{Input, import};

use super::{incident_of, opened};

#[test]
fn a_capture_is_opened_as_the_incident_that_is_counted() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures");
    let entries = std::fs::read_dir(folder).unwrap();
    let files = entries.map(|entry| entry.unwrap().path());
    let (mut same, mut refused) = (0, 0);
    for path in files.filter(|path| path.extension().is_some_and(|end| end != "yaml")) {
        let name = path.display().to_string();
        let bytes = std::fs::read(&path).unwrap();
        let input = Input {
            path: &name,
            bytes: &bytes,
        };
        let counted = import(&[input]).incident;
        let given = [path];
        let found = opened(&given).and_then(|found| incident_of(&found, &given));
        match (counted, found) {
            (Some(mut counted), Ok((found, _))) => {
                // It has the name of its file.
                counted.id.clone_from(&found.id);
                counted.server.label.clone_from(&found.server.label);
                assert!(counted == found, "{name}: {counted:#?}\n{found:#?}");
                same += 1;
            }
            (None, Err(error)) => {
                let said = format!("{error:#}");
                assert_eq!(said.lines().count(), 1, "{name}: {said}");
                refused += 1;
            }
            (counted, found) => panic!("{name}: {}, {found:?}", counted.is_some()),
        }
    }
    println!("{same} captures are the same, {refused} are refused");
    assert!(same > 150, "only {same} captures");
}
