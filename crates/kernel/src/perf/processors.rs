use crate::read::{self, ReadError};
use crate::roots::SysRoot;

/// `cpumap_print_to_pagebuf` writes at most a page.
const ONLINE_BYTES_MAX: usize = 4096;
/// CONFIG_NR_CPUS of the largest distribution kernels.
const PROCESSORS_MAX: usize = 8192;

/// The processors that are online, ascending.
pub(super) fn online(sys: &SysRoot) -> Result<Vec<u32>, ReadError> {
    let path = sys.file("devices/system/cpu/online");
    let bytes = read::whole(&path, ONLINE_BYTES_MAX)?;
    parse_list(&bytes).ok_or(ReadError::Format { path })
}

/// A list of processors as the kernel writes it, `0-3,8,10-11` (`%*pbl`, lib/vsprintf.c); `None` when it is empty, not
/// such a list, or longer than any machine's.
pub fn parse_list(bytes: &[u8]) -> Option<Vec<u32>> {
    let text = std::str::from_utf8(bytes).ok()?.trim();
    let mut list = Vec::new();
    for part in text.split(',') {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let (low, high): (u32, u32) = (low.parse().ok()?, high.parse().ok()?);
        let count = usize::try_from(high.checked_sub(low)?).ok()?;
        if count + list.len() >= PROCESSORS_MAX {
            return None;
        }
        list.extend(low..=high);
    }
    Some(list)
}
