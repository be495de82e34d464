//! A digest of a slow log: how fast and in how much memory, beside pt-query-digest and mysqldumpslow; and how fast the
//! class of a statement is told.

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use sql::log::{Reader, Rest, Step, slow_border};

use super::measure::{children_cpu_seconds, freezeframe, heading, line, median, resident};
use super::peers::{run_to_end, tool};

/// Bytes of the log, and of its start that the slower tools are given.
const LOG_BYTES: u64 = 1_000_000_000;
const PREFIX_BYTES: u64 = 100_000_000;

/// How often ours runs; the median counts.
const RUNS: usize = 5;

/// How long classes are told, and of how many bytes of statements.
const CLASSES: Duration = Duration::from_secs(2);
const CLASSES_BYTES: u64 = 32 << 20;

pub(super) fn run() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let (log, prefix) = (dir.path().join("slow.log"), dir.path().join("prefix.log"));
    let statements = write_log(&log)?;
    let prefix_bytes = write_prefix(&log, &prefix)?;
    heading(&format!(
        "Digest of a slow log: {:.0} MB as MariaDB 10.11 writes it, {statements} statements",
        LOG_BYTES as f64 / 1e6
    ))?;
    let ours = measure(&log, &[])?;
    let one = measure(&log, &["taskset", "-c", "0"])?;
    let found = document(&log)?;
    ensure!(
        found["total"] == statements,
        "{} of {statements} statements were counted",
        found["total"]
    );
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    line(
        &format!("freezeframe queries, {processors} processors"),
        &ours.words(),
        ">= 1 GB/s on 2",
    )?;
    line("freezeframe queries, one processor", &one.words(), "")?;
    line(
        "peak memory",
        &format!("{:.0} MiB", ours.memory.max(one.memory)),
        "<= 128 MiB",
    )?;
    peers(&prefix, prefix_bytes, &ours)?;
    classes(&prefix)
}

/// The tools that people have, on the start of the log.
fn peers(prefix: &Path, bytes: u64, ours: &Run) -> Result<()> {
    let path = prefix.display().to_string();
    let mut digest = tool("pt-query-digest", &["--no-version-check", "--limit", "10"]);
    digest.arg(&path);
    let mut slow = tool("mysqldumpslow", &[&path]);
    slow.env("LC_ALL", "C");
    for (name, command, target) in [
        ("pt-query-digest", digest, ">= 200"),
        ("mysqldumpslow", slow, ""),
    ] {
        let name_of_prefix = format!("{name}, the first {:.0} MB", bytes as f64 / 1e6);
        match run_to_end(command)? {
            None => line(&name_of_prefix, "not installed", "")?,
            Some(run) if run.ended_by_us => line(&name_of_prefix, "did not end in a minute", "")?,
            Some(run) => {
                let (wall, cpu) = (run.wall_ms / 1000.0, run.cpu_ms / 1000.0);
                let speed = bytes as f64 / 1e6 / wall;
                line(
                    &name_of_prefix,
                    &format!("{wall:.1} s, {speed:.1} MB/s; {cpu:.1} s of CPU time"),
                    "",
                )?;
                let scale = LOG_BYTES as f64 / bytes as f64;
                line(
                    &format!("{name} takes, scaled"),
                    &format!(
                        "{:.0} times as long, {:.0} times the processor time",
                        wall * scale / ours.seconds,
                        cpu * scale / ours.cpu_seconds
                    ),
                    target,
                )?;
            }
        }
    }
    same_totals(prefix, &path)
}

/// The sums of pt-query-digest and ours, of the same bytes.
fn same_totals(prefix: &Path, path: &str) -> Result<()> {
    let output = tool(
        "pt-query-digest",
        &[
            "--no-version-check",
            "--limit",
            "1",
            "--output",
            "json",
            path,
        ],
    )
    .stdin(Stdio::null())
    .output();
    let Ok(output) = output else {
        return Ok(());
    };
    let theirs: Value = serde_json::from_slice(&output.stdout).context("pt-query-digest's JSON")?;
    let ours = document(prefix)?;
    let number = |value: &Value| match value {
        Value::String(text) => text.parse::<f64>().unwrap_or(f64::NAN),
        value => value.as_f64().unwrap_or(f64::NAN),
    };
    let sum = |name: &str| {
        let measures = ours["overall"]["measures"].as_array();
        let found = measures.and_then(|all| all.iter().find(|one| one["name"] == name));
        found.map_or(f64::NAN, |one| number(&one["sum"]))
    };
    let mut told = vec![same(
        "statements",
        number(&ours["total"]),
        number(&theirs["global"]["query_count"]),
    )];
    for name in ["Query_time", "Lock_time", "Rows_sent", "Rows_examined"] {
        let their_sum = number(&theirs["global"]["metrics"][name]["sum"]);
        told.push(same(name, sum(name), their_sum));
    }
    line(
        "totals compared with pt-query-digest's",
        &told.join(", "),
        "equal",
    )
}

fn same(name: &str, ours: f64, theirs: f64) -> String {
    // It prints microseconds.
    if (ours - theirs).abs() <= 1e-6 {
        format!("{name} equal")
    } else {
        format!("{name} {ours} and {theirs}")
    }
}

/// The class of one statement after the other, in this process, on one processor.
fn classes(log: &Path) -> Result<()> {
    let mut bytes = Vec::new();
    File::open(log)?
        .take(CLASSES_BYTES)
        .read_to_end(&mut bytes)?;
    let mut statements: Vec<Vec<u8>> = Vec::new();
    let mut reader = Reader::new(sql::log::LogKind::Slow);
    let mut from = 0;
    while let Some(rest) = bytes.get(from..).filter(|rest| !rest.is_empty()) {
        match reader.next(rest, Rest::Nothing) {
            Step::Event(event, used) => {
                statements.push(event.statement.to_vec());
                from += used;
            }
            Step::Skipped(used) => from += used,
            Step::More => break,
        }
    }
    let mut fingerprinter = sql::Fingerprinter::new(sql::SqlMode::default());
    let begin = Instant::now();
    let (mut count, mut read) = (0_u64, 0_u64);
    while begin.elapsed() < CLASSES {
        for statement in &statements {
            std::hint::black_box(fingerprinter.class_of(statement));
            read += statement.len() as u64;
        }
        count += statements.len() as u64;
    }
    let seconds = begin.elapsed().as_secs_f64();
    line(
        "class of a statement, one processor",
        &format!(
            "{:.0} MB/s, {:.2} million a second, {:.0} bytes each",
            read as f64 / 1e6 / seconds,
            count as f64 / 1e6 / seconds,
            read as f64 / count.max(1) as f64
        ),
        "",
    )
}

struct Run {
    seconds: f64,
    /// Of all processors: what other programs of the machine take does not count.
    cpu_seconds: f64,
    /// MiB.
    memory: f64,
}

impl Run {
    fn words(&self) -> String {
        let gigabytes = LOG_BYTES as f64 / 1e9;
        format!(
            "{:.2} s, {:.2} GB/s; {:.2} s of processor time",
            self.seconds,
            gigabytes / self.seconds,
            self.cpu_seconds
        )
    }
}

/// The program as a user starts it, with its text thrown away; the first run, which warms the page cache, does not
/// count.
fn measure(log: &Path, before: &[&str]) -> Result<Run> {
    let path = log.display().to_string();
    let (mut seconds, mut cpu_seconds, mut memory) = (Vec::new(), Vec::new(), 0_f64);
    for run in 0..=RUNS {
        let ours = freezeframe(["queries", &path])?;
        let mut command = match before.split_first() {
            Some((program, arguments)) => {
                let mut command = tool(program, arguments);
                command.arg(ours.get_program()).args(ours.get_args());
                command.stdin(Stdio::null());
                command
            }
            None => ours,
        };
        let (begin, cpu) = (Instant::now(), children_cpu_seconds()?);
        let mut child = command.stdout(Stdio::null()).spawn()?;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            // Gone between the two.
            if let Ok(resident) = resident(child.id()) {
                memory = memory.max(resident.most);
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        ensure!(status.success(), "freezeframe queries: {status}");
        if run > 0 {
            seconds.push(begin.elapsed().as_secs_f64());
            cpu_seconds.push(children_cpu_seconds()? - cpu);
        }
    }
    Ok(Run {
        seconds: median(&seconds),
        cpu_seconds: median(&cpu_seconds),
        memory,
    })
}

fn document(log: &Path) -> Result<Value> {
    let path = log.display().to_string();
    let output = freezeframe(["queries", &path, "--json"])?.output()?;
    ensure!(
        output.status.success(),
        "freezeframe queries: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The start of a log, up to a border.
fn write_prefix(log: &Path, prefix: &Path) -> Result<u64> {
    let mut bytes = Vec::new();
    File::open(log)?
        .take(PREFIX_BYTES)
        .read_to_end(&mut bytes)?;
    let near = bytes.len().saturating_sub(1 << 16);
    let border = slow_border(bytes.get(near..).unwrap_or_default()).context("no border")?;
    bytes.truncate(near + border);
    std::fs::write(prefix, &bytes)?;
    Ok(bytes.len() as u64)
}

/// Numbers that look as if nobody had chosen them, the same in each run (splitmix64).
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// A shop's statements: mostly small reads by key, some lists, joins and writes, a report now and then; from five users
/// on eight hosts. Gives how many.
fn write_log(path: &Path) -> Result<u64> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut noise = Noise(4);
    out.write_all(
        b"/usr/sbin/mariadbd, Version: 10.11.19-MariaDB (Debian 12). started with:\n\
          Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock\n\
          Time\t\t    Id Command\tArgument\n",
    )?;
    let (mut bytes, mut statements, mut second) = (0, 0_u64, 0);
    let mut event = Vec::new();
    let mut statement = String::new();
    while bytes < LOG_BYTES {
        let now = 1_795_240_800 + statements / 900;
        statement.clear();
        let micros = write_statement(&mut statement, &mut noise);
        event.clear();
        if now != second {
            second = now;
            let of_day = (now - 1_795_240_800) % 86_400;
            writeln!(
                event,
                "# Time: 261121 {:2}:{:02}:{:02}",
                of_day / 3600,
                of_day / 60 % 60,
                of_day % 60
            )?;
        }
        let user = ["app", "app", "app", "batch", "report"][noise.below(5) as usize % 5];
        let rows = noise.below(20);
        write!(
            event,
            "# User@Host: {user}[{user}] @ web{n}.example [10.0.0.{n}]\n\
             # Thread_id: {}  Schema: shop  QC_hit: No\n\
             # Query_time: {}.{:06}  Lock_time: 0.{:06}  Rows_sent: {rows}  Rows_examined: {}\n\
             # Rows_affected: {}  Bytes_sent: {}\n\
             SET timestamp={now};\n{statement};\n",
            noise.below(5000),
            micros / 1_000_000,
            micros % 1_000_000,
            micros / 9 % 1_000_000,
            rows * 3,
            noise.below(2),
            57 + rows * 40,
            n = noise.below(8),
        )?;
        out.write_all(&event)?;
        bytes += event.len() as u64;
        statements += 1;
    }
    out.flush()?;
    Ok(statements)
}

/// Appends a statement; gives the microseconds that it took.
fn write_statement(out: &mut String, noise: &mut Noise) -> u64 {
    use std::fmt::Write;
    let id = noise.below(10_000_000);
    // Writing to a string does not fail.
    let _ = match noise.below(20) {
        0..=7 => write!(out, "SELECT id, name, price FROM product WHERE id = {id}"),
        8..=9 => write!(
            out,
            "SELECT c.id, c.email, a.city FROM customer c JOIN address a ON a.customer_id = c.id WHERE c.email = 'user{id}@example.com' AND a.kind = 'ship' LIMIT 1"
        ),
        10..=11 => {
            let _ = write!(
                out,
                "SELECT product_id, stock FROM inventory WHERE product_id IN ("
            );
            for n in 0..noise.below(30) + 1 {
                let comma = if n == 0 { "" } else { ", " };
                let _ = write!(out, "{comma}{}", id + n);
            }
            write!(out, ") AND warehouse = {}", id % 9)
        }
        12..=13 => write!(
            out,
            "UPDATE cart SET quantity = {}, changed = '2026-11-21 06:{:02}:{:02}' WHERE session = '{:016x}' AND product_id = {id}",
            id % 9,
            id % 60,
            id % 59,
            noise.next()
        ),
        14 => write!(
            out,
            "INSERT INTO event (session, kind, payload) VALUES ('{:016x}', 'view', '{{\\\"page\\\": \\\"/p/{id}\\\", \\\"ref\\\": \\\"it''s {id}\\\"}}'), ('{:016x}', 'click', NULL)",
            noise.next(),
            noise.next()
        ),
        15 => {
            out.push_str("COMMIT");
            Ok(())
        }
        16 => {
            out.push_str("BEGIN");
            Ok(())
        }
        17 => write!(
            out,
            "SELECT COUNT(*) FROM orders_{} WHERE customer_id = {id} AND state <> 'done'",
            id % 40
        ),
        18 => write!(
            out,
            "SELECT /* report {id} */ p.category,\n       SUM(i.amount * i.price) AS turnover,\n       COUNT(DISTINCT o.customer_id) AS customers\n  FROM orders o\n  JOIN item i ON i.order_id = o.id\n  JOIN product p ON p.id = i.product_id\n WHERE o.created BETWEEN '2026-{:02}-01' AND '2026-{:02}-28'\n GROUP BY p.category\nHAVING turnover > {}.50\n ORDER BY turnover DESC",
            id % 12 + 1,
            id % 12 + 1,
            id % 1000
        ),
        _ => {
            out.push_str("SHOW WARNINGS");
            Ok(())
        }
    };
    // Most are quick, some are not.
    let shift = noise.below(16);
    20 + (noise.below(1 << 20) >> shift)
}
