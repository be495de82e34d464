//! Servers that begin after the recorder, in containers that come and go: found without a restart, and none taken for
//! another that is like it. The recorder and all servers are in a process namespace of the test, so that it sees no others.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::process::geteuid;
use serde_json::Value;
use testbed::PrivateServer;

use crate::harness::server;

/// Debug builds on busy machines; the look comes each ten seconds.
const PATIENCE: Duration = Duration::from_secs(90);

/// The recorder, and servers on demand: `start NAME`, `kill NAME`. A server has mounts and a network of its own, and what
/// it listens on is nowhere else. The first argument is the recorder's program, then its directory, the server's program
/// and the directory with all data.
const NODE: &str = r#"
recorder=$1 state=$2 program=$3 data=$4
mount --make-rprivate /
"$recorder" record --json --user root --defaults-file /dev/null --dir "$state" --after 2s &
while read -r verb name; do
    case $verb in
    start)
        unshare --mount --net sh -c '
            mount -t tmpfs own /run
            mkdir /run/mysqld
            exec "$1" --no-defaults -uroot --skip-name-resolve --socket=/run/mysqld/mysqld.sock \
                --pid-file=/run/mysqld/pid --port=3306 --datadir="$2/data" --tmpdir="$2/tmp" \
                --log-error="$2/error.log" --innodb-buffer-pool-size=32M' \
            sh "$program" "$data/$name" >/dev/null 2>&1 &
        eval "pid_$name=$!"
        ;;
    kill)
        eval "kill -9 \$pid_$name"
        ;;
    esac
done
kill %1
wait %1
"#;

struct Node {
    child: Child,
    say: Option<ChildStdin>,
    events: Receiver<Value>,
}

impl Node {
    fn start(state: &Path, program: &Path, data: &Path) -> Self {
        let mut child = Command::new("setpriv")
            .args(["--pdeathsig=KILL", "unshare", "--mount", "--pid", "--fork"])
            .args(["--mount-proc", "--kill-child", "sh", "-c", NODE, "sh"])
            .arg(env!("CARGO_BIN_EXE_freezeframe"))
            .args([state, program, data])
            .env("HOME", "/dev/null")
            .env_remove("MYSQL_PWD")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = child.stdout.take().unwrap();
        let (sender, events) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let event = serde_json::from_str(&line).unwrap_or_default();
                if sender.send(event).is_err() {
                    break;
                }
            }
        });
        Self {
            say: child.stdin.take(),
            child,
            events,
        }
    }

    fn say(&mut self, what: &str) {
        writeln!(self.say.as_mut().unwrap(), "{what}").unwrap();
    }

    /// The next event of this name and server; of any server, where none is named.
    fn event(&self, name: &str, of: Option<&str>) -> Value {
        let end = Instant::now() + PATIENCE;
        let mut seen = Vec::new();
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            let Ok(event) = self.events.recv_timeout(left) else {
                break;
            };
            let is_of = of.is_none_or(|of| event["server"] == of);
            if event["event"] == name && is_of {
                return event;
            }
            seen.push(event.to_string().chars().take(160).collect::<String>());
        }
        panic!("no event {name} of {of:?}; there were: {seen:#?}");
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        drop(self.say.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server's data without the server, as `name` in a directory.
fn data(all: &Path, name: &str) -> PrivateServer {
    let mut made = server(&[]);
    made.stop().unwrap();
    std::os::unix::fs::symlink(made.directory(), all.join(name)).unwrap();
    made
}

#[test]
fn servers_that_begin_later_are_found_and_told_apart() {
    let can = Command::new("unshare")
        .args([
            "--mount",
            "--pid",
            "--net",
            "--fork",
            "--mount-proc",
            "true",
        ])
        .output();
    if !geteuid().is_root() || !can.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: only root can make namespaces, by unshare");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let all = dir.path().join("data");
    std::fs::create_dir(&all).unwrap();
    let kept = [data(&all, "one"), data(&all, "two")];
    let state = dir.path().join("state");
    let mut node = Node::start(&state, &kept[0].installed().program, &all);

    // There is none yet, and the recorder waits.
    std::thread::sleep(Duration::from_secs(2));
    assert!(node.child.try_wait().unwrap().is_none());
    node.say("start one");
    let one = node.event("started", None);
    let label = one["server"].as_str().unwrap().to_owned();
    let address = one["to"]["address"].as_str().unwrap();
    assert!(address.contains("/proc/"), "{one:#}");
    node.event("version", Some(&label));

    // Another one that is like it in everything is another one.
    node.say("start two");
    let two = node.event("started", None);
    let other = two["server"].as_str().unwrap().to_owned();
    assert_ne!(label, other);
    node.event("version", Some(&other));

    // One ends, and the other is not taken for it; it comes back, and is recorded on.
    node.say("kill one");
    node.event("triggered", Some(&label));
    node.say("start one");
    node.event("ended", Some(&label));
    let rest: Vec<Value> = node.events.try_iter().collect();
    let again = rest.iter().filter(|event| event["event"] == "started");
    assert_eq!(again.count(), 0, "{rest:#?}");
}
