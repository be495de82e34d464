//! Names of the kernel's functions and its modules', from `/proc/kallsyms` (kernel/kallsyms.c). Addresses there are those
//! of the running kernel, moved by KASLR already; without CAP_SYSLOG, or with `kptr_restrict` 2, they are all zero.

use kernel::roots::ProcRoot;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};

/// A distribution's kernel has 120,000 to 250,000 lines of 45 bytes.
const BYTES_MAX: u64 = 64 << 20;
/// No function of the kernel is longer: an address farther behind a symbol belongs to something that has none.
const FUNCTION_BYTES_MAX: u64 = 256 << 10;

/// Functions by address.
#[derive(Debug, Default)]
pub(super) struct Kallsyms {
    /// Address, and where the name ends in `text`; it begins where the one before ends. In the order of the file.
    rows: Vec<(u64, u32)>,
    /// Rows in the order of addresses.
    order: Vec<u32>,
    text: String,
    hidden: bool,
}

impl Kallsyms {
    pub(super) fn read() -> Self {
        let file = File::open(ProcRoot::default().file("kallsyms"));
        // Line by line: as a whole the file takes 5 to 15 MB.
        file.map_or_else(
            |_| Self::parse(&[][..]),
            |file| Self::parse(BufReader::new(file).take(BYTES_MAX)),
        )
    }

    fn parse(mut lines: impl BufRead) -> Self {
        let mut symbols = Self {
            hidden: true,
            ..Self::default()
        };
        let mut line = Vec::new();
        loop {
            line.clear();
            if lines
                .read_until(b'\n', &mut line)
                .is_ok_and(|read| read > 0)
            {
                symbols.add(line.trim_ascii_end());
            } else {
                break;
            }
        }
        symbols.order = (0..symbols.rows.len() as u32).collect();
        let rows = &symbols.rows;
        symbols
            .order
            .sort_by_key(|index| rows.get(*index as usize).map(|row| row.0));
        symbols.text.shrink_to_fit();
        symbols.rows.shrink_to_fit();
        symbols
    }

    fn add(&mut self, line: &[u8]) {
        if let Some((address, name)) = function(line)
            && address != 0
        {
            self.hidden = false;
            self.text.push_str(name);
            self.rows.push((address, self.text.len() as u32));
        }
    }

    /// The kernel does not tell addresses.
    pub(super) fn is_hidden(&self) -> bool {
        self.hidden
    }

    /// The function at an address, and its module as `[name]`.
    pub(super) fn find(&self, address: u64) -> Option<(&str, Option<&str>)> {
        let start = |index: u32| self.rows.get(index as usize).map_or(0, |row| row.0);
        let after = self.order.partition_point(|index| start(*index) <= address);
        let mut index = *self.order.get(after.checked_sub(1)?)?;
        if address - start(index) >= FUNCTION_BYTES_MAX {
            return None;
        }
        // Of aliases the first in the file: the order is stable, and the kernel prints its own before its modules'.
        let first = self
            .order
            .partition_point(|other| start(*other) < start(index));
        index = *self.order.get(first)?;
        let from = index
            .checked_sub(1)
            .and_then(|before| self.rows.get(before as usize))
            .map_or(0, |row| row.1);
        let to = self.rows.get(index as usize)?.1;
        let entry = self.text.get(from as usize..to as usize)?;
        Some(match entry.split_once('\t') {
            Some((name, module)) => (name, Some(module)),
            None => (entry, None),
        })
    }
}

/// Address and name, with `\t[module]` behind it, of a line `address type name[\t[module]]` when it is code.
fn function(line: &[u8]) -> Option<(u64, &str)> {
    let line = str::from_utf8(line).ok()?;
    let (address, rest) = line.split_once(' ')?;
    let (kind, name) = rest.split_once(' ')?;
    if !matches!(kind, "t" | "T" | "w" | "W") {
        return None;
    }
    Some((u64::from_str_radix(address, 16).ok()?, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn kernel_and_module() {
        let symbols = Kallsyms::parse(
            b"ffffffffc0000000 t xfs_read\t[xfs]\n\
              ffffffff81000000 T _stext\n\
              ffffffff81000000 T _text\n\
              ffffffff81000100 D some_data\n\
              ffffffff81000200 t do_sys_poll\n"
                .as_slice(),
        );
        assert!(!symbols.is_hidden());
        assert_eq!(symbols.find(0xffff_ffff_8100_0010), Some(("_stext", None)));
        assert_eq!(
            symbols.find(0xffff_ffff_8100_0200),
            Some(("do_sys_poll", None))
        );
        assert_eq!(
            symbols.find(0xffff_ffff_c000_0040),
            Some(("xfs_read", Some("[xfs]")))
        );
        assert_eq!(symbols.find(0xffff_ffff_c100_0000), None);
        assert_eq!(symbols.find(0x1000), None);
    }

    #[test]
    fn hidden_addresses() {
        let symbols =
            Kallsyms::parse(b"0000000000000000 T _stext\n0000000000000000 t x\t[m]\n".as_slice());
        assert!(symbols.is_hidden());
        assert_eq!(symbols.find(0xffff_ffff_8100_0000), None);
    }

    proptest! {
        #[test]
        fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200), address in any::<u64>()) {
            let _ = Kallsyms::parse(bytes.as_slice()).find(address);
        }
    }
}
