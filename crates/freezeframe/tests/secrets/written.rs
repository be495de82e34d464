//! Everything that the program writes of an incident or a capture, into two directories: what has names of the
//! server in it, and what must not have them either.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::harness::freezeframe;

/// Commands at a time.
const AT_ONCE: usize = 2;

/// In how many forms a capture of others is told. Any that is understood becomes an incident's file, of which each cell is
/// searched, with a line on standard output for each of its parts, and what may be shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forms {
    /// Those alone.
    Files,
    /// And all that is told of it: the few lines without `--full` are the first ones of those with it.
    Full,
    /// And every other form.
    All,
}

/// Where outputs go.
pub(crate) struct Written {
    /// No values.
    pub(crate) values: PathBuf,
    /// Neither values nor names.
    pub(crate) names: PathBuf,
    /// What went wrong, for the test to judge.
    pub(crate) failed: Mutex<Vec<String>>,
    commands: AtomicUsize,
}

impl Written {
    pub(crate) fn new(dir: &Path) -> Self {
        let (values, names) = (dir.join("values"), dir.join("names"));
        for directory in [&values, &names] {
            std::fs::create_dir_all(directory).unwrap();
        }
        Self {
            values,
            names,
            failed: Mutex::new(Vec::new()),
            commands: AtomicUsize::new(0),
        }
    }

    pub(crate) fn commands(&self) -> usize {
        self.commands.load(Ordering::Relaxed)
    }

    /// Runs a command and keeps both its outputs in `directory`, which is searched.
    fn run(&self, directory: &Path, name: &str, arguments: &[&str]) -> bool {
        let Output {
            status,
            stdout,
            stderr,
        } = freezeframe().args(arguments).output().unwrap();
        self.commands.fetch_add(1, Ordering::Relaxed);
        std::fs::write(directory.join(format!("{name}.stdout")), &stdout).unwrap();
        std::fs::write(directory.join(format!("{name}.stderr")), &stderr).unwrap();
        let said = String::from_utf8_lossy(&stderr);
        // A capture of which nothing is understood is refused, and nothing of it is written.
        // An incident that was made of the history has no samples.
        let is_refused = [
            "no evidence of a stall was recognised",
            "has no CPU samples",
        ]
        .iter()
        .any(|why| said.contains(why));
        if !status.success() && !is_refused {
            let said: String = said.chars().take(600).collect();
            let line = format!("{}: {status}: {said}", arguments.join(" "));
            self.failed.lock().unwrap().push(line);
        }
        status.success()
    }

    /// What is written of what the program has made itself; `all` in every form, else what is told of it, and what may be
    /// shared. Each cell of the incident's own file is searched whatever is told of it.
    pub(crate) fn of_frame(&self, frame: &Path, name: &str, all: bool) {
        let path = frame.to_str().unwrap();
        let to = |ending: &str| {
            self.values
                .join(format!("{name}-{ending}"))
                .display()
                .to_string()
        };
        let run = |kind: &str, arguments: &[&str]| {
            self.run(&self.values, &format!("{name}-{kind}"), arguments)
        };
        run("full", &["explain", path, "--full"]);
        if !all {
            return self.redacted(path, name, false, false);
        }
        run("explain", &["explain", path]);
        run("json", &["explain", path, "--json"]);
        run("html", &["explain", path, "--html", &to("page.html")]);
        let (stalk, folded, pprof, scope) = (
            to("stalk"),
            to("folded"),
            to("pprof.gz"),
            to("speedscope.json"),
        );
        let directory = ["export", path, "--pt-stalk", &stalk];
        let samples = [
            "--folded",
            &folded,
            "--pprof",
            &pprof,
            "--speedscope",
            &scope,
            "--when",
            "all",
        ];
        // One that has no samples is refused as a whole.
        let has_samples = run("samples", &[&directory[..], &samples].concat());
        if !has_samples {
            run("export", &directory);
        }
        self.redacted(path, name, has_samples, true);
    }

    /// What a fleet's store keeps of incidents, and what it answers: neither values nor names.
    pub(crate) fn of_fleet(&self, frames: &[PathBuf]) {
        let store = self.names.join("fleet.db");
        let url = format!("sqlite://{}", store.display());
        let run = |kind: &str, arguments: &[&str]| {
            self.run(&self.names, &format!("fleet-{kind}"), arguments)
        };
        run("init", &["fleet", "init", &url]);
        let paths = frames.iter().map(|frame| frame.to_str().unwrap());
        let add = ["fleet", "add", &url].into_iter().chain(paths);
        run("add", &add.collect::<Vec<_>>());
        for question in ["unnamed", "costs", "new-in-stalls", "new-statements"] {
            run(
                question,
                &["fleet", "ask", question, "--url", &url, "--json"],
            );
        }
    }

    /// What is written of a capture of others.
    pub(crate) fn of_capture(&self, capture: &Path, name: &str, forms: Forms) {
        let path = capture.to_str().unwrap();
        let frame = self.values.join(format!("{name}.frame"));
        let to = frame.to_str().unwrap();
        let run = |kind: &str, arguments: &[&str]| {
            self.run(&self.values, &format!("{name}-{kind}"), arguments)
        };
        if !run("import", &["import", path, "-o", to]) {
            return;
        }
        if forms != Forms::Files {
            run("full", &["explain", path, "--full"]);
        }
        if forms == Forms::All {
            let page = self.values.join(format!("{name}.html"));
            run("explain", &["explain", path]);
            run("json", &["explain", path, "--json"]);
            run("html", &["explain", path, "--html", page.to_str().unwrap()]);
            let stalk = self.values.join(format!("{name}-stalk"));
            run(
                "export",
                &["export", path, "--pt-stalk", stalk.to_str().unwrap()],
            );
        }
        self.redacted(path, name, false, forms == Forms::All);
    }

    /// `export --redact`. What it prints itself may name what it could not replace, so only values are searched
    /// for in that; in the files nothing may be left. What is told of such a file comes out of it alone, and each of its
    /// cells is searched: `all` tells it all the same, but for the few lines without `--full`, the first ones of those with
    /// it.
    fn redacted(&self, path: &str, name: &str, has_samples: bool, all: bool) {
        let frame = self.names.join(format!("{name}.frame"));
        let frame = frame.to_str().unwrap();
        let to = |ending: &str| {
            self.names
                .join(format!("{name}-{ending}"))
                .display()
                .to_string()
        };
        let (stalk, folded, pprof) = (to("stalk"), to("folded"), to("pprof.gz"));
        let scope = to("speedscope.json");
        let mut arguments = vec![
            "export",
            path,
            "--redact",
            "-o",
            frame,
            "--pt-stalk",
            &stalk,
        ];
        if has_samples {
            arguments.extend(["--folded", &folded, "--pprof", &pprof]);
            arguments.extend(["--speedscope", &scope]);
        }
        if !self.run(&self.values, &format!("{name}-redact"), &arguments) {
            return;
        }
        if !all {
            return;
        }
        let run = |kind: &str, arguments: &[&str]| {
            self.run(&self.names, &format!("{name}-{kind}"), arguments)
        };
        run("full", &["explain", frame, "--full"]);
        run("json", &["explain", frame, "--json"]);
        run("html", &["explain", frame, "--html", &to("page.html")]);
    }

    /// What is told of several incidents.
    pub(crate) fn of_directory(&self, dir: &Path, frames: &[PathBuf]) {
        let path = dir.to_str().unwrap();
        let run = |kind: &str, arguments: &[&str]| self.run(&self.values, kind, arguments);
        run("incidents", &["incidents", "--dir", path]);
        run("incidents-json", &["incidents", "--dir", path, "--json"]);
        if let [first, .., last] = frames {
            let (first, last) = (first.to_str().unwrap(), last.to_str().unwrap());
            let page = self.values.join("compare.html");
            run("compare", &["compare", first, last, "--stalls"]);
            run(
                "compare-json",
                &["compare", first, last, "--stalls", "--json"],
            );
            run(
                "compare-html",
                &[
                    "compare",
                    first,
                    last,
                    "--stalls",
                    "--html",
                    page.to_str().unwrap(),
                ],
            );
        }
    }
}

/// Whether something is the first or the last of so many.
pub(crate) fn is_an_end(place: usize, count: usize) -> bool {
    place == 0 || place + 1 == count
}

/// Does `work` for each of a list, some at a time.
pub(crate) fn each<T: Sync>(list: &[T], work: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(item) = list.get(next.fetch_add(1, Ordering::Relaxed)) {
                    work(item);
                }
            });
        }
    });
}
