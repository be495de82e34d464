//! Threads that wait for a mutex or a latch of InnoDB, as the server lists them itself.

use serde::{Deserialize, Serialize};

/// One thread that waits for a mutex or a latch (`sync0arr.cc`, `sync_array_cell_print()`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SemaphoreWait {
    /// The waiting operating system thread, as the server names it (`pthread_t` on Linux). Empty
    /// for the waits of MariaDB 10.6 and later, which name no thread.
    pub thread: String,
    /// The connection it serves, where the transactions of the same text tell it.
    pub connection_id: Option<u64>,
    /// The source file that asks for the lock, with its folder before 5.5 (`btr/btr0sea.c`).
    pub file: String,
    /// The line in it.
    pub line: u32,
    /// How long it has waited, as printed; [`Self::lasts_seconds`] is what may be counted.
    pub seconds: f64,
    /// What it wants: `Mutex`, `S-lock`, `SX-lock`, `X-lock`, `X-lock (wait_ex)` (it has the lock
    /// reserved and waits for the readers to leave), or `Latch` for MariaDB 10.6 and later.
    /// Empty when the text ends before.
    pub lock_kind: String,
    /// The lock's name: `&kernel_mutex`, `DICT_SYS`, `dict_sys.latch`.
    pub lock_name: Option<String>,
    /// The lock's address: waits for one lock have the same.
    pub lock_address: Option<String>,
    /// The source file that created the lock.
    pub created_file: Option<String>,
    /// The line in it.
    pub created_line: Option<u32>,
    /// The thread that has the lock for writing, as the server names it. It may be the waiting
    /// thread itself: then it waits for readers or for the disk.
    pub holder_thread: Option<String>,
    /// The connection the holder serves, where the transactions of the same text tell it.
    pub holder_connection_id: Option<u64>,
    /// What the holder's connection runs, without literals.
    pub holder_query: Option<String>,
    /// How the holder has it: `exclusive`, `wait exclusive`, `SX`.
    pub holder_mode: Option<String>,
    /// Threads that have it for reading.
    pub readers: Option<u64>,
    /// Where the mutex was last taken (`file line N`). Debug builds only.
    pub last_reserved: Option<String>,
    /// Where the latch was last taken for reading (`file line N`).
    pub last_read_locked: Option<String>,
    /// Where the latch was last taken for writing (`file line N`).
    pub last_write_locked: Option<String>,
    /// The wait had just ended when it was printed, or not yet begun.
    pub ended: bool,
}

impl SemaphoreWait {
    /// How long the wait lasts, in seconds: zero where it has ended.
    ///
    /// InnoDB hands a cell of its array out and notes the time after it has left the array's mutex (`sync0arr.cc`,
    /// `sync_array_reserve_cell()`, 5.5 to 8.0). Between the two such a wait is printed as one that has ended, with the time
    /// since the cell's last wait, or since 1970 where it had none.
    pub fn lasts_seconds(&self) -> f64 {
        if self.ended { 0.0 } else { self.seconds }
    }
}
