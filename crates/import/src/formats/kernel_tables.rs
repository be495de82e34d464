//! Tables of the kernel that pt-stalk takes each second: caches (`/proc/slabinfo`), interrupts
//! (`/proc/interrupts`), memory by node (`numastat`).

use std::collections::BTreeMap;

use model::{OrderBy, Reading, Unit};

use crate::format::{Format, Group, Recogniser, sign};
use crate::line::Line;
use crate::read::Read;
use crate::times;

pub(crate) static SLABINFO: Format = Format {
    id: "slabinfo",
    group: Group::Host,
    name: "/proc/slabinfo",
    printed_by: "the kernel",
    content: "`slab.*`: names and inodes of files, the eight largest caches",
    recognisers: &[Recogniser::new(390, "", 0, |at| {
        (at.text.starts_with(['s', '#']) || at.has(sign::COLON)) && is_slab_head(at.text)
    })],
    continues: |_, next| is_slab_row(next.text),
    read: slabinfo,
    is_inventory: true,
    ..Format::NONE
};

pub(crate) static INTERRUPTS_TABLE: Format = Format {
    id: "interrupts",
    group: Group::Host,
    name: "/proc/interrupts",
    printed_by: "the kernel",
    content: "`interrupts.*`",
    recognisers: &[Recogniser::new(400, "C", 0, |at| {
        is_interrupts_table(at.text, at.next)
    })],
    continues: |_, next| {
        is_interrupts_head(next.text) || (next.own.is_none() && is_interrupts_row(next.text))
    },
    read: interrupts,
    is_inventory: true,
    ..Format::NONE
};

pub(crate) static NUMASTAT: Format = Format {
    id: "numastat",
    group: Group::Host,
    name: "numastat of the nodes",
    printed_by: "numastat, `/sys/devices/system/node`",
    content: "`numa.NODE.numa_miss` and similar counters",
    recognisers: &[Recogniser::new(410, "n", 0, |at| {
        is_numa_head(at.text, at.next)
    })],
    continues: |_, next| is_numa_row(next.text),
    read: numastat,
    is_inventory: true,
    ..Format::NONE
};

/// `slabinfo - version: 2.1` and the names of its columns.
fn is_slab_head(text: &str) -> bool {
    text.starts_with("slabinfo - version")
        || text.starts_with("# name            <active_objs>")
        || is_slab_row(text)
}

/// `dentry  81312 81312 192 21 1 : tunables 0 0 0 : slabdata 3872 3872 0`.
fn is_slab_row(text: &str) -> bool {
    text.ends_with(|c: char| c.is_ascii_digit())
        && text.contains(" : tunables ")
        && text.contains(" : slabdata ")
}

/// `           CPU0       CPU1`.
fn is_interrupts_head(text: &str) -> bool {
    text.starts_with("CPU")
        && text.split_whitespace().all(|word| {
            word.strip_prefix("CPU")
                .is_some_and(|number| number.parse::<u32>().is_ok())
        })
}

/// ` TLB:   11156519   11342265   TLB shootdowns`.
fn is_interrupts_row(text: &str) -> bool {
    text.split_once(':').is_some_and(|(name, rest)| {
        (1..=8).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && rest
                .split_whitespace()
                .next()
                .is_some_and(|count| count.parse::<u64>().is_ok())
    })
}

fn is_interrupts_table(text: &str, next: &[&str]) -> bool {
    let is_row = |row: &&str| is_interrupts_row(row.trim());
    is_interrupts_head(text) && next.first().is_some_and(is_row)
}

/// `node0` with its counters behind it, as pt-stalk prints the files of `/sys/devices/system/node`.
fn is_numa_head(text: &str, next: &[&str]) -> bool {
    text.starts_with("numa_hit ")
        || (is_node(text)
            && next
                .first()
                .is_some_and(|line| line.trim().starts_with("numa_hit ")))
}

fn is_node(text: &str) -> bool {
    text.strip_prefix("node")
        .is_some_and(|number| number.parse::<u32>().is_ok())
}

/// `numa_miss 5`.
fn is_numa_row(text: &str) -> bool {
    is_node(text)
        || text.split_once(' ').is_some_and(|(name, value)| {
            (name.starts_with("numa_")
                || ["interleave_hit", "local_node", "other_node"].contains(&name))
                && value.trim().parse::<u64>().is_ok()
        })
}

/// Caches that are kept beside those of names and inodes: the largest.
const CACHES_MAX: usize = 8;

/// Kinds of interrupts that are kept.
const KINDS_MAX: usize = 40;

/// Nodes of memory that are kept.
const NODES_MAX: usize = 64;

/// Values of one print by name.
type Print = (Option<i64>, BTreeMap<String, f64>);

/// Prints of a table, one after the other.
#[derive(Default)]
struct Prints {
    done: Vec<Print>,
    now: Option<Print>,
    /// The moment in front of the next one.
    at: Option<i64>,
}

impl Prints {
    /// The next value is the first of a print.
    fn start(&mut self) {
        self.done.extend(self.now.take());
    }

    fn start_at(&mut self, at: i64) {
        self.start();
        self.at = Some(at);
    }

    /// The values of the print that goes on.
    fn values(&mut self) -> &mut BTreeMap<String, f64> {
        let at = &mut self.at;
        let (_, values) = self.now.get_or_insert_with(|| (at.take(), BTreeMap::new()));
        values
    }

    /// All of a section; `line` takes what a line that is no moment tells.
    fn of<'a>(lines: &'a [Line<'_>], mut line: impl FnMut(&mut Self, &'a str)) -> Vec<Print> {
        let mut prints = Self::default();
        for text in lines.iter().map(Line::trimmed) {
            match times::ts(text) {
                Some(timestamp) => prints.start_at(timestamp),
                None => line(&mut prints, text),
            }
        }
        prints.start();
        prints.done
    }
}

/// Counters by their names, of each print.
fn counters(source: &'static str, unit: Unit, prints: &[Print]) -> Read {
    let mut read = Read::default();
    let timestamps = prints.iter().map(|(at, values)| {
        let counter =
            |(signal, value): (&String, &f64)| Reading::counter(signal.clone(), unit, *value);
        (*at, values.iter().map(counter).collect())
    });
    read.push_each(source, timestamps);
    read
}

/// Bytes in the kernel's caches: those of names and inodes, and the largest.
fn slabinfo(lines: &[Line<'_>]) -> Read {
    let prints = Prints::of(lines, |prints, text| {
        if text.starts_with("slabinfo ") {
            prints.start();
        } else if let Some((name, bytes)) = cache(text) {
            *prints.values().entry(name.to_owned()).or_default() += bytes;
        }
    });
    let mut read = Read::default();
    let mut most: BTreeMap<&str, f64> = BTreeMap::new();
    for (name, bytes) in prints.iter().flat_map(|(_, caches)| caches) {
        let known = most.entry(name).or_default();
        *known = known.max(*bytes);
    }
    let mut largest: Vec<(&str, f64)> = most.into_iter().collect();
    largest.order_by(|(_, a), (_, b)| b.total_cmp(a));
    let kept: Vec<&str> = largest
        .iter()
        .enumerate()
        .filter(|(place, (name, _))| *place < CACHES_MAX || is_of_files(name))
        .map(|(_, (name, _))| *name)
        .collect();
    let timestamps = prints.iter().map(|(at, caches)| {
        let gauge = |name: String, bytes| Reading::gauge(name, Unit::Bytes, bytes);
        let one = |name: &&str| Some(gauge(format!("slab.{name}.bytes"), *caches.get(*name)?));
        let all = gauge("slab.bytes".to_owned(), caches.values().sum());
        (*at, kept.iter().filter_map(one).chain([all]).collect())
    });
    read.push_each("slab", timestamps);
    match largest.first() {
        Some((name, bytes)) => {
            let largest = format!("; largest cache: {name}, {:.0} MiB", bytes / 1_048_576.0);
            read.brought.push_str(&largest);
        }
        None => read.brought.clear(),
    }
    read
}

fn is_of_files(name: &str) -> bool {
    name == "dentry" || name.ends_with("inode_cache") || name == "buffer_head"
}

/// A cache and its bytes: objects, whether used or not, times their size (slabinfo(5)).
fn cache(text: &str) -> Option<(&str, f64)> {
    let (front, _) = text.split_once(" : tunables ")?;
    let mut words = front.split_whitespace();
    let name = words.next()?;
    let objects: f64 = words.nth(1)?.parse().ok()?;
    let size: f64 = words.next()?.parse().ok()?;
    let bytes = objects * size;
    let is_name = name.len() <= 64 && name.is_ascii();
    (is_name && bytes.is_finite() && bytes >= 0.0).then_some((name, bytes))
}

/// What interrupts are called by signals, by their words in the table.
const INTERRUPTS: [(&str, &str); 3] = [
    ("TLB shootdowns", "interrupts.tlb_shootdowns"),
    ("Function call interrupts", "interrupts.function_calls"),
    ("Rescheduling interrupts", "interrupts.rescheduling"),
];

/// Interrupts by kind, over all processors: those that processors send each other by name, those of
/// devices together.
fn interrupts(lines: &[Line<'_>]) -> Read {
    let prints = Prints::of(lines, |prints, text| {
        if is_interrupts_head(text) {
            prints.start();
        } else if is_interrupts_row(text)
            && let Some((name, rest)) = text.split_once(':')
        {
            let counts = rest
                .split_whitespace()
                .map_while(|word| word.parse::<u64>().ok());
            let sum: f64 = counts.map(|count| count as f64).sum();
            let is_device = name.bytes().all(|byte| byte.is_ascii_digit());
            let known = INTERRUPTS.iter().find(|(words, _)| rest.ends_with(words));
            let signal = match known {
                Some((_, signal)) => (*signal).to_owned(),
                None if is_device => "interrupts.devices".to_owned(),
                None => format!("interrupts.{name}"),
            };
            let kinds = prints.values();
            if kinds.len() < KINDS_MAX || kinds.contains_key(&signal) {
                *kinds.entry(signal).or_default() += sum;
            }
        }
    });
    let mut read = counters("interrupts", Unit::Count, &prints);
    if let Some(rate) = rate(&prints, INTERRUPTS[0].1) {
        read.brought
            .push_str(&format!("; {rate:.0} TLB shootdowns a second"));
    }
    read
}

/// Growth of a counter from the first to the last print, a second.
fn rate(prints: &[Print], signal: &str) -> Option<f64> {
    let ((from, first), (to, last)) = (prints.first()?, prints.last()?);
    let seconds = match (from, to) {
        (Some(from), Some(to)) => to.checked_sub(*from)? as f64 / 1000.0,
        _ => prints.len().checked_sub(1)? as f64,
    };
    let grown = last.get(signal)? - first.get(signal)?;
    (seconds > 0.0 && grown >= 0.0).then_some(grown / seconds)
}

/// Pages that a node could not give, and those given to threads of other nodes.
fn numastat(lines: &[Line<'_>]) -> Read {
    let mut node = "node0";
    let prints = Prints::of(lines, |prints, text| {
        if is_node(text) {
            node = text;
        } else if let Some((name, value)) = text.split_once(' ')
            && let Ok(value) = value.trim().parse::<u64>()
        {
            let signal = format!("numa.{node}.{name}");
            // Without moments a node that comes again begins the next print.
            if prints.values().contains_key(&signal) {
                prints.start();
            }
            let all = prints.values();
            if all.len() < NODES_MAX * 6 {
                all.insert(signal, value as f64);
            }
        }
    });
    counters("numa", Unit::Pages, &prints)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;

    #[test]
    fn caches_of_the_kernel() {
        let print = |objects: u32| {
            format!(
                "slabinfo - version: 2.1\n# name            <active_objs> <num_objs> <objsize>\n\
                 dentry  80 {objects} 192 21 1 : tunables 0 0 0 : slabdata 1 1 0\n\
                 kmalloc-64 5 10 64 64 1 : tunables 0 0 0 : slabdata 1 1 0\n"
            )
        };
        let text = format!(
            "TS 1700000000.5 x\n{}TS 1700000001.5 x\n{}",
            print(100),
            print(200)
        );
        let read = slabinfo(&clean::lines(&text));
        assert_eq!(read.values("slab.dentry.bytes"), [19_200.0, 38_400.0]);
        assert_eq!(read.values("slab.bytes"), [19_840.0, 39_040.0]);
        assert_eq!(read.ticks[1].at, Some(1_700_000_001_500));
        // Without moments the head parts prints.
        let read = slabinfo(&clean::lines(&[print(1), print(2)].concat()));
        assert_eq!(read.values("slab.dentry.bytes"), [192.0, 384.0]);
    }

    #[test]
    fn processors_that_interrupt_each_other() {
        let print = |count: u32| {
            format!(
                "           CPU0       CPU1       \n 24:          1          2  IO-APIC   5-edge      ACPI:Ged\n \
                 25:  5 6 IO-APIC 6-edge x\nTLB:   {count}   {count}   TLB shootdowns\nERR:          0\n"
            )
        };
        let text = format!(
            "TS 1700000000.0 x\n{}TS 1700000002.0 x\n{}",
            print(10),
            print(510)
        );
        let read = interrupts(&clean::lines(&text));
        assert_eq!(read.values("interrupts.tlb_shootdowns"), [20.0, 1020.0]);
        assert_eq!(read.values("interrupts.devices"), [14.0, 14.0]);
        assert_eq!(read.brought, "2 moments; 500 TLB shootdowns a second");
    }

    #[test]
    fn memory_by_node() {
        let text = "TS 1700000000.0 x\nnode0\nnuma_hit 5\nnuma_miss 2\nnode1\nnuma_hit 7\nTS 1700000001.0 x\nnode0\nnuma_hit 6\n";
        let read = numastat(&clean::lines(text));
        assert_eq!(read.values("numa.node0.numa_hit"), [5.0, 6.0]);
        assert_eq!(read.values("numa.node1.numa_hit"), [7.0]);
    }
}
