//! The types of the running kernel (BTF, Documentation/bpf/btf.rst), which BPF programs are fitted to.

use std::sync::{Mutex, PoisonError};

use aya::{Btf, BtfError};

use crate::heap;

/// All types of a kernel take 30 MB: recorders of several servers read them one after the other.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Does something with the types, and gives their memory back.
pub(crate) fn with_types<T>(work: impl FnOnce(Result<&Btf, BtfError>) -> T) -> T {
    let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let done = match Btf::from_sys_fs() {
        Ok(types) => work(Ok(&types)),
        Err(error) => work(Err(error)),
    };
    heap::give_back();
    drop(turn);
    done
}
