//! From a fix to the fleet's answer: once, and once more when it is over.

use std::path::Path;
use std::time::{Duration, Instant};

use remedy::fix::{
    ApplyRequest, Change, DoneStep, FixJournal, KernelSetting, PUBLIC_BESIDE, PublicPlace, Root,
    apply, make_public_directory, undo,
};
use rusqlite::Connection;
use serde_json::Value;

use crate::fleet::{incident, said};
use crate::fleet_feed::Room;
use crate::harness::run;

const PATIENCE: Duration = Duration::from_secs(60);

/// Actions and proofs of the fleet's remedies, the oldest first; and how many batches it took.
fn there(store: &Path) -> (Vec<String>, i64) {
    let Ok(connection) =
        Connection::open_with_flags(store, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY)
    else {
        return (Vec::new(), 0);
    };
    let rows = || -> rusqlite::Result<(Vec<String>, i64)> {
        let sql = "SELECT action || ' ' || remedy || ' ' || cause || ' ' || proof FROM remedies ORDER BY at";
        let mut statement = connection.prepare(sql)?;
        let rows = statement
            .query_map([], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        let batches =
            connection.query_row("SELECT count(*) FROM batch_tokens", [], |row| row.get(0))?;
        Ok((rows, batches))
    };
    // It is being made.
    rows().unwrap_or_default()
}

/// Lets a recorder send until this is so, and kills it.
fn send_until(room: &Room, what: &str, is_so: impl Fn() -> bool) {
    let mut child = room.record(&[]);
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_fix_is_a_row_of_the_fleet_once_and_its_end_another() {
    let outside = tempfile::tempdir().unwrap();
    let store = outside.path().join("fleet.db");
    let url = format!("sqlite://{}", store.display());
    let room = Room::new(&format!("[fleet]\nurl = '{url}'\n"));
    // The recorder knows its server by an incident of it.
    let mut stall = incident(&recorder::host_name(), 1, "spin");
    stall.id = "3306-stall-1".to_owned();
    store::write_incident(&stall, &room.state()).unwrap();
    let public = room.state().join(PUBLIC_BESIDE);
    make_public_directory(&public).unwrap();
    std::fs::write(public.join("0123456789abcdef.remedy.json"), "garbage").unwrap();

    let root = outside.path().join("root");
    std::fs::create_dir_all(root.join("proc/sys/vm")).unwrap();
    std::fs::write(root.join("proc/sys/vm/swappiness"), "60\n").unwrap();
    let journal = FixJournal::open(&outside.path().join("fixes")).unwrap();
    let locked = journal.lock(None).unwrap();
    let order = ApplyRequest {
        cause: "numa-swap".to_owned(),
        incident: None,
        root: Root::at(&root),
        steps: vec![DoneStep {
            says: "sets vm.swappiness to 1".to_owned(),
            change: Change::KernelSetting(KernelSetting {
                path: "/proc/sys/vm/swappiness".into(),
                shown: "60\n".to_owned(),
                before: "60".to_owned(),
                after: "1".to_owned(),
                instead: None,
            }),
            remedy: "sysctl vm.swappiness".to_owned(),
        }],
        lease: None,
        asked_by: None,
        public: Some(PublicPlace {
            dir: public,
            server: None,
        }),
    };
    let mut done = apply(&locked, order, None, Path::new("/nonexistent")).unwrap();
    assert!(done.untold.is_none());

    let made = ["apply sysctl vm.swappiness numa-swap pending".to_owned()];
    send_until(&room, "a row", || there(&store).0 == made);
    // A recorder that has forgotten all makes the same batch again, and the fleet takes none twice.
    let batches = there(&store).1;
    let cursor = room.state().join("fleet/fed.json");
    std::fs::remove_file(&cursor).unwrap();
    send_until(&room, "it is sent again", || {
        let fed = std::fs::read(&cursor).unwrap_or_default();
        let fed: Value = serde_json::from_slice(&fed).unwrap_or_default();
        let is_told = fed["remedies"]
            .as_object()
            .is_some_and(|told| told.len() == 1);
        let mut files = std::fs::read_dir(room.state().join("fleet"))
            .unwrap()
            .flatten();
        is_told && !files.any(|file| file.file_name().to_string_lossy().starts_with("remedies-"))
    });
    assert_eq!(there(&store), (made.to_vec(), batches));

    undo(&locked, &mut done.entry, None, false).unwrap();
    let ended = [made[0].clone(), made[0].replace("apply", "undo")];
    send_until(&room, "its end", || there(&store).0 == ended);
    let answer = said(&run(&["fleet", "ask", "remedies", "--json", "--url", &url]));
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let row = &answer["rows"][0];
    assert_eq!(row["remedy"], "sysctl vm.swappiness");
    assert_eq!(row["cause"], "numa-swap");
    // A moment without a stall says nothing.
    let counts = ["servers", "helped", "undecided", "undone"].map(|key| row[key].as_i64());
    assert_eq!(counts, [Some(1), Some(0), Some(1), Some(1)]);
}
