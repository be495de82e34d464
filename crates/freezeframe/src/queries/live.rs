//! `queries --live`: what a running server is asked now, by the least intrusive way that works.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use cli::{output, usage};
use model::{Absent, QueryDigest, QueryMethod, Reason};
use recorder::Target;
use recorder::packets::{
    CaptureError, Collector, PacketOptions, ask_open_connections, blind_spots, capture, complete,
};
use report::evidence::queries_json::queries_json;
use report::evidence::queries_text::{QueriesTextOptions, queries_text};
use server::digests::{DigestCoverage, DigestReader};
use server::{Address, Deadlines, Session, Waits};

use super::arrange::arrange;
use super::listening::{Listening, LiveDigest, POLL, Unavailable, answers, wait, wait_for};
use super::{file, general_log, options};
use crate::args::{CompatArg, GroupByArg, Queries, QueryMethodArg};
use crate::config::Config;
use crate::live::stop_on_signals;
use crate::targets;

/// How long it may take to answer before a way is given up.
const DEADLINES: Deadlines = Deadlines {
    connect: Duration::from_secs(3),
    answer: Duration::from_secs(12),
};

/// How long the first reading may take with all that comes before it, and the last one with all its attempts: a table
/// of 10,000 classes is read in a second, and a server that stalls longer tells its sums no more.
const READING: Duration = Duration::from_secs(12);

/// How long the server's digests are looked at before it is decided whether they see what is asked, and how large a part
/// of the whole time that is at most.
const LOOK: Duration = Duration::from_millis(1500);
const LOOK_PARTS: u32 = 4;

/// How long the last reading may take after Ctrl-C.
const AFTER_STOP: Duration = Duration::from_millis(800);

/// `queries --live TIME`.
pub(crate) fn run(args: &Queries) -> Result<ExitCode> {
    if args.since.is_some() || args.until.is_some() {
        return Err(usage(anyhow!(
            "--since and --until work only with logs; --live watches a running server from now on"
        )));
    }
    let config = Config::load(args.live.server.config.as_deref())?;
    let listening = Listening {
        args,
        target: target(args, &config)?,
        config,
        time: args.live.live.unwrap_or_default(),
        stop: stop_on_signals()?,
    };
    let mut seen = first_that_works(&listening)?;
    // The general log is digested in the order and number that are asked for.
    if seen.total.is_none() {
        arrange(
            &mut seen.digest,
            &options::order(args)?,
            options::limit(args),
        )?;
    }
    output::note(&seen.cost);
    if seen.digest.count == 0 {
        output::note(nothing_seen(&seen.digest));
    }
    let title = format!("Queries of {}", listening.target.label);
    show(args, &title, &seen)?;
    Ok(match seen.is_left {
        false => ExitCode::SUCCESS,
        true => ExitCode::FAILURE,
    })
}

fn target(args: &Queries, config: &Config) -> Result<Target> {
    let mut targets = targets::find_listening(&args.live.server, config)?;
    if targets.len() > 1 {
        let list: Vec<&str> = targets.iter().map(|target| target.label.as_str()).collect();
        bail!(
            "several servers run here: {}; name one with --port, --socket or --pid",
            list.join(", ")
        );
    }
    targets.pop().ok_or_else(|| anyhow!("no server found"))
}

type WayOf = fn(&Listening<'_>) -> Result<LiveDigest, Unavailable>;

fn first_that_works(listening: &Listening<'_>) -> Result<LiveDigest> {
    let live = &listening.args.live;
    let ways: Vec<WayOf> = match (live.way, &listening.target.other_host) {
        (QueryMethodArg::PerformanceSchema, _) | (QueryMethodArg::Auto, Some(_)) => vec![digests],
        // Packets and logs that we can read are this host's.
        (_, Some(host)) => bail!(
            "the server runs on {host}: from here only --way performance-schema can see its statements"
        ),
        (QueryMethodArg::Auto, None) => vec![digests_or_packets, packets, general_log::listen],
        (QueryMethodArg::Packets, None) => vec![packets],
        (QueryMethodArg::GeneralLog, None) => vec![general_log::listen],
    };
    let mut why = Vec::new();
    for way in ways {
        match way(listening) {
            // What was seen until then is told; who never got so far is done.
            Err(Unavailable::Possible(_)) if listening.stop.is_set() => {
                bail!("interrupted: no statement was seen yet")
            }
            Ok(mut seen) => {
                // What a gentler way would have told is no blind spot of this one.
                seen.digest.tried.splice(..0, why);
                for absent in &seen.digest.tried {
                    output::note(&format!("not by {}", absent_text(absent)));
                }
                seen.digest.blind.dedup();
                return Ok(seen);
            }
            Err(Unavailable::Possible(absent)) => why.push(absent),
            Err(Unavailable::Error(error)) => return Err(error),
        }
    }
    let why: Vec<String> = why.iter().map(absent_text).collect();
    bail!("no way to see statements: not by {}", why.join("; not by "))
}

fn absent_text(absent: &Absent) -> String {
    format!(
        "{}: {}: {}",
        absent.what,
        absent.reason.to_text(),
        absent.detail
    )
}

const SCHEMA: &str = "performance_schema";

fn not_by_schema(absent: Absent) -> Unavailable {
    Unavailable::Possible(Absent {
        what: SCHEMA.to_owned(),
        ..absent
    })
}

/// The server's own sums, with the reading before.
struct Digests {
    address: Address,
    session: Session,
    reader: DigestReader,
    begin: Instant,
    first: Duration,
}

/// The server's own sums, before and after.
fn digests(listening: &Listening<'_>) -> Result<LiveDigest, Unavailable> {
    let begun = Digests::begin(listening)?;
    wait(listening, begun.begin);
    Ok(begun.end(listening)?)
}

/// The server's own sums; packets where a first look shows that the sums miss what is asked. The sums go on beside them,
/// and are told when the packets have even less: clients of a unix socket send none.
fn digests_or_packets(listening: &Listening<'_>) -> Result<LiveDigest, Unavailable> {
    let mut begun = Digests::begin(listening)?;
    wait_for(
        listening,
        begun.begin,
        LOOK.min(listening.time / LOOK_PARTS),
    );
    // A server that does not answer meanwhile is asked once more at the end.
    let asked = match listening.stop.is_set() {
        true => None,
        false => begun.look(listening),
    };
    let Some(asked) = asked.filter(|asked| asked.is_more() && !listening.stop.is_set()) else {
        wait(listening, begun.begin);
        return Ok(begun.end(listening)?);
    };
    let left = Absent::new(
        SCHEMA,
        Reason::Unsupported,
        format!(
            "in the first {:.1} s {}",
            begun.begin.elapsed().as_secs_f64(),
            asked.to_text()
        ),
    );
    let why = match packets(listening) {
        Ok(mut seen) => {
            // Where the sums cannot be read now, packets are what there is.
            let counted = begun.look(listening);
            let counted = counted.map_or(0, |asked| asked.counted);
            if seen.digest.count >= counted {
                seen.digest.tried.push(left);
                return Ok(seen);
            }
            Absent::new(
                PACKETS,
                Reason::Unsupported,
                format!(
                    "packets had {} statements, the server's digests {counted}",
                    seen.digest.count
                ),
            )
        }
        Err(Unavailable::Possible(absent)) => absent,
        Err(error) => return Err(error),
    };
    wait(listening, begun.begin);
    let mut seen = begun.end(listening)?;
    seen.digest.tried.push(why);
    Ok(seen)
}

impl Digests {
    fn begin(listening: &Listening<'_>) -> Result<Self, Unavailable> {
        let Some(address) = listening.target.first_address() else {
            return Err(not_by_schema(Absent::new(
                SCHEMA,
                Reason::NoConnection,
                "no address of the server is known",
            )));
        };
        sums_only(listening.args, SCHEMA)?;
        answers(listening, &address).map_err(not_by_schema)?;
        let waits = waits(listening, Instant::now() + READING);
        let mut session = connect(listening, &address, waits).map_err(not_by_schema)?;
        let mut reader = DigestReader::new();
        let begin = Instant::now();
        reader
            .next(&mut session)
            .map_err(|error| not_by_schema(error.absent(SCHEMA)))?;
        Ok(Self {
            address,
            session,
            reader,
            begin,
            first: begin.elapsed(),
        })
    }

    /// A look at the sums between other things. After Ctrl-C it is a short one.
    fn look(&mut self, listening: &Listening<'_>) -> Option<DigestCoverage> {
        let now = Instant::now();
        let time = LOOK.max(listening.time / LOOK_PARTS).min(READING);
        self.session.set_waits(match listening.stop.is_set() {
            true => Waits::from(DEADLINES).no_later_than(now + AFTER_STOP / 2),
            false => waits(listening, now + time),
        });
        self.reader
            .measure_coverage(&mut self.session)
            .ok()
            .flatten()
    }

    fn end(mut self, listening: &Listening<'_>) -> Result<LiveDigest> {
        let begin = Instant::now();
        let mut until = begin + READING;
        let mut is_stopped = false;
        let digest = loop {
            // Who is stopped is told what was asked until then, if the server tells it at once.
            if listening.stop.is_set() && !is_stopped {
                is_stopped = true;
                until = Instant::now() + AFTER_STOP;
            }
            let waits = match is_stopped {
                true => Waits::from(DEADLINES).no_later_than(until),
                false => waits(listening, until),
            };
            match self.read(listening, waits) {
                Ok(Some(digest)) => break digest,
                Ok(None) => {}
                Err(absent) if Instant::now() >= until => bail!(
                    "performance_schema could not be read a second time ({}); try --way packets",
                    absent_text(&absent)
                ),
                Err(_) => std::thread::sleep(POLL),
            }
        };
        let cost = format!(
            "performance_schema was read twice, in {:.0} and {:.0} ms; nothing was changed",
            self.first.as_secs_f64() * 1000.0,
            begin.elapsed().as_secs_f64() * 1000.0
        );
        Ok(LiveDigest {
            digest,
            total: None,
            cost,
            is_left: false,
        })
    }
}

impl Digests {
    /// The next reading; on another connection where the last one was given up.
    fn read(
        &mut self,
        listening: &Listening<'_>,
        waits: Waits,
    ) -> Result<Option<QueryDigest>, Absent> {
        if self.session.is_usable() {
            self.session.set_waits(waits);
        } else {
            self.session = connect(listening, &self.address, waits)?;
        }
        self.reader
            .next(&mut self.session)
            .map_err(|error| error.absent(SCHEMA))
    }
}

/// What ends the waits for the server.
fn waits(listening: &Listening<'_>, until: Instant) -> Waits {
    DEADLINES
        .or_until(listening.stop.flag())
        .no_later_than(until)
}

fn connect(listening: &Listening<'_>, address: &Address, waits: Waits) -> Result<Session, Absent> {
    let mut session = Session::connect(address, &listening.target.login, waits)
        .map_err(|error| error.absent("performance_schema"))?;
    // As the recorder's own sessions: out of the slow log.
    for statement in [
        "SET SESSION long_query_time = 31536000",
        "SET SESSION sql_log_off = 1",
    ] {
        match session.execute(statement) {
            Err(error) if error.is_connection_lost() => {
                return Err(error.absent("performance_schema"));
            }
            _ => {}
        }
    }
    DigestReader::prepare(&mut session)?;
    Ok(session)
}

const PACKETS: &str = "packets";

/// Packets on the server's port. The server is asked once who is connected; it need not answer.
fn packets(listening: &Listening<'_>) -> Result<LiveDigest, Unavailable> {
    let not =
        |reason: Reason, detail: &str| Unavailable::Possible(Absent::new(PACKETS, reason, detail));
    let of_process = listening
        .target
        .process
        .as_ref()
        .and_then(PacketOptions::of_process);
    let port = listening
        .target
        .addresses
        .iter()
        .find_map(|address| match address {
            Address::Tcp(_, port) => Some(*port),
            Address::Socket(_) => None,
        });
    let options = of_process.or_else(|| port.map(|port| PacketOptions::of_ports(&[port])));
    let Some(options) = options else {
        return Err(not(Reason::Unsupported, "the server has no TCP port"));
    };
    let target = &listening.target;
    let ask = || {
        let address = target.first_address()?;
        ask_open_connections(
            &address,
            &target.login,
            DEADLINES,
            Arc::default(),
            &server::OwnStatements::default(),
        )
    };
    let cpu = kernel::clock::thread_cpu();
    let (time, stop) = (listening.time, listening.stop.flag());
    let refused = |error: CaptureError| not(Reason::Permission, &error.to_string());
    let mut collector = Collector::new(options::options(listening.args)?);
    let captured = capture(&options, time, stop, ask, &mut |statement| {
        collector.take(statement);
    })
    .map_err(refused)?;
    let mut told = file::finish_as(
        listening.args,
        collector.into_digester(),
        QueryMethod::Packets,
    )?;
    complete(&mut told, &captured, blind_spots(&options, &captured));
    let cpu = kernel::clock::thread_cpu().saturating_sub(cpu);
    let cost = format!(
        "reading packets took {:.2} s of one CPU; the server was asked once who is connected; nothing was changed",
        cpu.as_secs_f64()
    );
    Ok(LiveDigest {
        digest: told.digest,
        total: Some(told.total),
        cost,
        is_left: false,
    })
}

/// Arguments that choose between single statements mean nothing where only sums are seen.
fn sums_only(args: &Queries, way: &str) -> Result<(), Unavailable> {
    let single = !args.filters.is_empty()
        || args.group_by != GroupByArg::Fingerprint
        || args.compat.is_some();
    if !single {
        return Ok(());
    }
    Err(Unavailable::Possible(Absent::new(
        way,
        Reason::Unsupported,
        "--filter, --group-by and --compat need single statements: --way packets or general-log",
    )))
}

/// That no statement was seen, and how to see those that this way does not.
fn nothing_seen(digest: &QueryDigest) -> &'static str {
    match digest.method == QueryMethod::Packets && !digest.blind.is_empty() {
        true => {
            "no statements in this time among those that packets show (NOT SEEN says which they do not); to see all: \
             --way general-log --allow-general-log, for which the server writes each statement into its general log \
             for this time"
        }
        false => "no statements in this time",
    }
}

/// Prints a digest in the form that is asked for.
fn show(args: &Queries, title: &str, seen: &LiveDigest) -> Result<()> {
    let total = seen.total.as_ref();
    if let Some(path) = &args.html {
        let page = report::queries_page(title, &seen.digest, total);
        super::write_page(path, &page)?;
        if !args.json {
            return Ok(());
        }
    }
    if args.json {
        return output::print_json_text(&queries_json(&seen.digest, total));
    }
    let options = QueriesTextOptions {
        text: output::text_options(),
        compat_ids: args.compat == Some(CompatArg::Pt),
    };
    output::print_page(&queries_text(&seen.digest, total, &options))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_sees_nothing_by_packets_is_told_of_the_other_way() {
        let digest = |method: QueryMethod, blind: Vec<Absent>| QueryDigest {
            method,
            from_us: None,
            to_us: None,
            count: 0,
            errors: None,
            classes: Vec::new(),
            folded: None,
            lost: 0,
            blind,
            tried: Vec::new(),
            connections: None,
        };
        let socket = || {
            vec![Absent::new(
                "statements over the unix socket",
                Reason::Unsupported,
                "1 client uses it, and it has no packets",
            )]
        };
        let short = "no statements in this time";
        assert_eq!(
            nothing_seen(&digest(QueryMethod::Packets, Vec::new())),
            short
        );
        assert_eq!(
            nothing_seen(&digest(QueryMethod::GeneralLog, socket())),
            short
        );
        let told = nothing_seen(&digest(QueryMethod::Packets, socket()));
        assert!(told.starts_with(short), "{told}");
        assert!(told.contains("--way general-log"), "{told}");
    }
}
