//! What the unit tests share.

use model::{Holder, HolderBy, Incident, StackId, Stall, Timeline, Window};

/// An incident of 100 seconds around a timeline: onset at 40 s, trigger at 45 s, end at 80 s.
pub(crate) fn incident_of(timeline: Timeline) -> Incident {
    Incident {
        id: "t".to_owned(),
        host: "h".to_owned(),
        tool_version: "0".to_owned(),
        stall: Stall {
            earlier: Vec::new(),
            onset: 40_000,
            trigger: 45_000,
            end: Some(80_000),
            triggers: Vec::new(),
        },
        window: Window {
            from: 0,
            to: 100_000,
        },
        timeline,
        ..Incident::default()
    }
}

/// Who holds a lock, of a wait chain.
pub(crate) fn holder(tid: u32, by: HolderBy, doing: &str) -> Option<Holder> {
    Some(Holder {
        tid,
        name: "mysqld".to_owned(),
        by,
        snapshots: 3,
        stack: StackId(0),
        doing: doing.to_owned(),
    })
}
