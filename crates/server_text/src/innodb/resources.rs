//! The sections that follow the transactions: pending I/O, log, buffer pool, row operations.

use super::lines::{Kind, Line};
use super::numbers::{f64_before, leading_u64, lsn, sum_of_slots, u64_after, u64_before};
use super::sections::Section;
use super::status::{AdaptiveHash, BufferPool, InnodbStatus, LogStatus, PendingIo, RowOperations};

/// Reads one line; of what the text says twice, the first is kept.
pub(super) fn read(status: &mut InnodbStatus, line: &Line<'_>) {
    if line.kind != Kind::Own || matches!(line.section, Section::Deadlock | Section::ForeignKey) {
        return;
    }
    let stem = line.stem;
    pending_io(&mut status.pending_io, stem);
    log(&mut status.log, stem);
    rows(&mut status.rows, stem);
    adaptive_hash(&mut status.adaptive_hash, stem);
    if line.section != Section::IndividualPools {
        buffer_pool(&mut status.buffer_pool, &mut status.pending_io, stem);
    }
    if let Some(rest) = stem.strip_prefix("Ibuf: size ") {
        first(&mut status.change_buffer_pages, leading_u64(rest));
    }
    main_thread(&mut status.main_thread_state, stem);
}

fn pending_io(io: &mut PendingIo, stem: &str) {
    if let Some(rest) = stem.strip_prefix("Pending normal aio reads:") {
        first(&mut io.aio_reads, sum_of_slots(rest));
        let writes = rest.split_once("aio writes:").map(|(_, writes)| writes);
        first(&mut io.aio_writes, writes.and_then(sum_of_slots));
    } else if let Some(rest) = stem.strip_prefix(" ibuf aio reads:") {
        first(&mut io.ibuf_aio_reads, sum_of_slots(rest));
        first(&mut io.log_ios, u64_after(rest, "log i/o's:"));
        first(&mut io.sync_ios, u64_after(rest, "sync i/o's:"));
    } else if let Some(rest) = stem.strip_prefix("Pending flushes (fsync)") {
        let log = u64_after(rest, "log:");
        let pool = u64_after(rest, "buffer pool:");
        let all = rest.strip_prefix(':').and_then(leading_u64);
        larger(&mut io.log_flushes, log);
        first(&mut io.fsyncs, all.or_else(|| log?.checked_add(pool?)));
    } else if stem.ends_with(" pending pwrites") {
        first(&mut io.preads, u64_before(stem, " pending preads"));
        first(&mut io.pwrites, u64_before(stem, " pending pwrites"));
    } else if stem.ends_with(" pending chkp writes") {
        larger(
            &mut io.log_flushes,
            u64_before(stem, " pending log flushes"),
        );
        first(&mut io.log_writes, u64_before(stem, " pending log writes"));
        first(
            &mut io.checkpoint_writes,
            u64_before(stem, " pending chkp writes"),
        );
    } else if let Some(rest) = stem.strip_prefix("InnoDB: Pending ") {
        // In the error log, after a long semaphore wait; `preads` and `pwrites` up to 5.6.
        first(&mut io.preads, u64_after(rest, "reads "));
        first(&mut io.pwrites, u64_after(rest, "writes "));
    }
}

fn log(log: &mut LogStatus, stem: &str) {
    for (key, slot) in [
        ("Log sequence number ", &mut log.sequence_number),
        ("Log flushed up to ", &mut log.flushed),
        ("Pages flushed up to ", &mut log.pages_flushed),
        ("Last checkpoint at ", &mut log.checkpoint),
        ("Max checkpoint age ", &mut log.checkpoint_age_max_bytes),
    ] {
        if let Some(rest) = stem.strip_prefix(key) {
            first(slot, lsn(rest));
        }
    }
}

fn buffer_pool(pool: &mut BufferPool, io: &mut PendingIo, stem: &str) {
    for (key, slot) in [
        ("Buffer pool size ", &mut pool.total_pages),
        ("Free buffers ", &mut pool.free_pages),
        ("Database pages ", &mut pool.database_pages),
        ("Modified db pages ", &mut pool.dirty_pages),
        ("Buffer pool hit rate ", &mut pool.hit_rate_per_1000),
        ("Pages made young ", &mut pool.made_young_pages),
        ("Pages read ", &mut pool.read_pages),
        ("Pending reads ", &mut io.page_reads),
    ] {
        if let Some(rest) = stem.strip_prefix(key) {
            first(slot, leading_u64(rest));
        }
    }
    if stem.starts_with("Pages made young ") {
        first(&mut pool.not_young_pages, u64_after(stem, ", not young "));
    } else if stem.ends_with(" non-youngs/s") {
        first(&mut pool.youngs_per_second, f64_before(stem, " youngs/s"));
        first(
            &mut pool.non_youngs_per_second,
            f64_before(stem, " non-youngs/s"),
        );
    } else if stem.starts_with("Pages read ") {
        first(&mut pool.created_pages, u64_after(stem, ", created "));
        first(&mut pool.written_pages, u64_after(stem, ", written "));
    } else if let Some(rest) = stem.strip_prefix("Pending writes: LRU ") {
        let single = u64_after(rest, "single page ").unwrap_or(0);
        let sum = leading_u64(rest)
            .zip(u64_after(rest, "flush list "))
            .and_then(|(lru, list)| lru.checked_add(list)?.checked_add(single));
        first(&mut io.page_writes, sum);
    }
}

fn rows(rows: &mut RowOperations, stem: &str) {
    if stem.ends_with(" queries in queue") {
        first(
            &mut rows.queries_inside,
            u64_before(stem, " queries inside InnoDB"),
        );
        first(
            &mut rows.queries_in_queue,
            u64_before(stem, " queries in queue"),
        );
    } else if stem.ends_with(" read views open inside InnoDB") {
        first(&mut rows.read_views, u64_before(stem, " read views open"));
    }
}

fn adaptive_hash(hash: &mut AdaptiveHash, stem: &str) {
    if stem.ends_with(" non-hash searches/s") {
        first(
            &mut hash.hash_searches_per_second,
            f64_before(stem, " hash searches/s"),
        );
        first(
            &mut hash.non_hash_searches_per_second,
            f64_before(stem, " non-hash searches/s"),
        );
    }
}

/// `Main thread process no. 3177, id 1149061440, state: sleeping`; from 5.7 on `Process ID=5,
/// Main thread ID=6 , state=sleeping`; MariaDB from 10.5 on `state: sleeping`.
fn main_thread(state: &mut Option<String>, stem: &str) {
    let is_main = stem.starts_with("Main thread ")
        || stem.starts_with("Process ID=")
        || stem.starts_with("state: ");
    if is_main && let Some((_, words)) = stem.split_once("state") {
        let words = words.trim_start_matches([':', '=', ' ']);
        first(state, (!words.is_empty()).then(|| words.to_owned()));
    }
}

fn first<T>(slot: &mut Option<T>, value: Option<T>) {
    if slot.is_none() {
        *slot = value;
    }
}

fn larger(slot: &mut Option<u64>, value: Option<u64>) {
    *slot = (*slot).max(value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::innodb::parse;

    #[test]
    fn pending_io_of_all_generations() {
        let io = parse(
            "Pending normal aio reads: 48, aio writes: 1,\n ibuf aio reads: 2, log i/o's: 3, sync i/o's: 4\n\
             Pending flushes (fsync) log: 1; buffer pool: 5\n\
             23 pending preads, 6 pending pwrites\n\
             1 pending log writes, 2 pending chkp writes\n\
             Pending reads 14\nPending writes: LRU 21, flush list 1, single page 2\n",
        )
        .pending_io;
        assert_eq!(
            io,
            PendingIo {
                aio_reads: Some(48),
                aio_writes: Some(1),
                ibuf_aio_reads: Some(2),
                log_ios: Some(3),
                sync_ios: Some(4),
                log_flushes: Some(1),
                fsyncs: Some(6),
                preads: Some(23),
                pwrites: Some(6),
                log_writes: Some(1),
                checkpoint_writes: Some(2),
                page_reads: Some(14),
                page_writes: Some(24),
            }
        );
        let io = parse(
            "Pending normal aio reads: [5, 0, 1] , aio writes: [0, 2] ,\n ibuf aio reads:, log i/o's:, sync i/o's:\n\
             Pending flushes (fsync) log: 0; buffer pool: 0\n\
             3 pending log flushes, 0 pending chkp writes\n",
        )
        .pending_io;
        assert_eq!(
            (io.aio_reads, io.aio_writes, io.log_ios),
            (Some(6), Some(2), None)
        );
        assert_eq!((io.log_flushes, io.log_writes), (Some(3), None));
        let io =
            parse("Pending flushes (fsync): 7\nPending writes: LRU 1, flush list 2\n").pending_io;
        assert_eq!(
            (io.fsyncs, io.log_flushes, io.page_writes),
            (Some(7), None, Some(3))
        );
        let io = parse("InnoDB: Pending preads 1, pwrites 2\n").pending_io;
        assert_eq!((io.preads, io.pwrites), (Some(1), Some(2)));
        let io = parse("InnoDB: Pending reads 1, writes 2\n").pending_io;
        assert_eq!(
            (io.preads, io.pwrites, io.page_reads),
            (Some(1), Some(2), None)
        );
    }

    #[test]
    fn log_positions_of_both_generations() {
        let old = parse(
            "Log sequence number 2 100\nLog flushed up to   2 90\nLast checkpoint at  1 4294967295\n",
        )
        .log;
        assert_eq!(old.checkpoint_age_bytes(), Some(101));
        assert_eq!(old.unflushed_bytes(), Some(10));
        let new = parse(
            "Log sequence number          2100\nLog buffer assigned up to    2100\n\
             Log flushed up to            2099\nPages flushed up to          2000\n\
             Last checkpoint at           1900\nMax checkpoint age    5000\n",
        )
        .log;
        assert_eq!(new.checkpoint_age_bytes(), Some(200));
        assert_eq!(new.pages_flushed, Some(2000));
        assert_eq!(new.checkpoint_age_max_bytes, Some(5000));
        let torn = parse("Log sequence number 100\nLast checkpoint at  200\n").log;
        assert_eq!(torn.checkpoint_age_bytes(), None);
    }

    #[test]
    fn the_buffer_pool_is_the_sum_and_not_an_instance() {
        let text = "----------------------\nBUFFER POOL AND MEMORY\n----------------------\n\
                    Buffer pool size   655350\nBuffer pool size, bytes 10737254400\nFree buffers       2\n\
                    Pages made young 25, not young 13\n12.5 youngs/s, 3.75 non-youngs/s\n\
                    Pages read 7, created 8, written 9\n\
                    No buffer pool page gets since the last printout\n\
                    ----------------------\nINDIVIDUAL BUFFER POOL INFO\n----------------------\n\
                    ---BUFFER POOL 0\nBuffer pool size   65536\nDatabase pages     61004\n\
                    Buffer pool hit rate 987 / 1000, young-making rate 3 / 1000 not 1 / 1000\n";
        assert_eq!(
            parse(text).buffer_pool,
            BufferPool {
                total_pages: Some(655_350),
                free_pages: Some(2),
                made_young_pages: Some(25),
                not_young_pages: Some(13),
                youngs_per_second: Some(12.5),
                non_youngs_per_second: Some(3.75),
                read_pages: Some(7),
                created_pages: Some(8),
                written_pages: Some(9),
                ..BufferPool::default()
            }
        );
    }

    #[test]
    fn the_main_thread_of_all_generations() {
        for line in [
            "Main thread process no. 1904, id 140102217860864, state: flushing log",
            "Main thread id 3012, state: flushing log",
            "Process ID=2206, Main thread ID=140336369403456 , state=flushing log",
            "Process ID=5, Main thread ID=140, state: flushing log",
            "state: flushing log",
        ] {
            let state = parse(line).main_thread_state;
            assert_eq!(state.as_deref(), Some("flushing log"), "{line}");
        }
    }

    #[test]
    fn rows_and_the_adaptive_hash_index() {
        let status = parse(
            "Ibuf: size 2208, free list len 9011, seg size 11220,\n\
             40212.75 hash searches/s, 18833.1 non-hash searches/s\n\
             9 queries inside InnoDB, 3 queries in queue\n10 read views open inside InnoDB\n",
        );
        assert_eq!(status.change_buffer_pages, Some(2208));
        assert_eq!(
            status.adaptive_hash.hash_searches_per_second,
            Some(40212.75)
        );
        assert_eq!(
            status.adaptive_hash.non_hash_searches_per_second,
            Some(18833.1)
        );
        assert_eq!(status.rows.queries_inside, Some(9));
        assert_eq!(status.rows.queries_in_queue, Some(3));
        assert_eq!(status.rows.read_views, Some(10));
    }
}
