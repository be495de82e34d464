//! What a capture of packets adds to a verdict.

use crate::common;
use common::{finding, named, stalls};
use diagnosis::Level;
use model::Reason;

#[test]
fn the_wire_tells_a_flood_when_the_server_answers_nobody() {
    let silent = stalls::show_warnings_flood()
        .without("status.", Reason::Deadline)
        .without("processlist", Reason::Deadline);
    let verdict = silent.verdict();
    assert_eq!(named(&verdict), []);

    let silent = stalls::show_warnings_flood()
        .without("status.", Reason::Deadline)
        .without("processlist", Reason::Deadline);
    let verdict = stalls::on_the_wire(silent).verdict();
    let flood = finding(&verdict, "show-warnings-flood");
    assert!(flood.level >= Level::Likely, "{:?}", flood.level);
    let says: Vec<&str> = flood.witnesses.iter().map(|it| it.says.as_str()).collect();
    assert!(
        says.contains(&"76.9 % of the statements on the wire were SHOW WARNINGS"),
        "{says:?}"
    );
    assert!(
        says.contains(&"the statements came from orm at 10.0.0.7 with Connector/J (98 %)"),
        "{says:?}"
    );
}

#[test]
fn the_wire_tells_compression_where_performance_schema_is_off() {
    let off = || {
        stalls::compressed_show_warnings()
            .without("sessions.", Reason::Unsupported)
            .rate("status.Bytes_sent", 1_000_000.0, 12_300.0 * 400.0)
            .rate("process.minor_faults", 200.0, 300.0)
    };
    assert!(
        !named(&off().verdict())
            .iter()
            .any(|(cause, _)| *cause == "compressed-protocol")
    );
    let verdict = stalls::on_the_wire(off()).verdict();
    let compressed = finding(&verdict, "compressed-protocol");
    assert!(
        compressed.witnesses.iter().any(|it| it.says
            == "96.7 % of the connections seen on the wire used the compressed protocol"),
        "{:?}",
        compressed.witnesses
    );
}

#[test]
fn plain_connections_are_no_compression() {
    let story = stalls::on_the_wire(stalls::show_warnings_flood())
        .level("packets.compressed_connections", 0.0, 0.0)
        .rate("packets.compressed_bytes", 0.0, 0.0);
    assert!(
        !named(&story.verdict())
            .iter()
            .any(|(cause, _)| *cause == "compressed-protocol")
    );
}
