//! `df`: how full filesystems are.

use model::{Reading, Unit};

use crate::format::{Format, Group, Recogniser, sign};
use crate::line::Line;
use crate::read::{Read, prints};

pub(crate) static FORMAT: Format = Format {
    id: "df",
    group: Group::Host,
    name: "df output",
    printed_by: "df, in any language",
    content: "how full each filesystem is",
    recognisers: &[Recogniser::new(380, "", sign::PERCENT, |at| {
        is_df_header(at.text, at.next)
    })],
    continues: |_, next| is_df_row(next.text),
    read,
    ..Format::NONE
};

/// `Filesystem 1K-blocks Used Available Use% Mounted on`, or a row.
fn is_df_header(text: &str, next: &[&str]) -> bool {
    let is_above_row = || next.first().is_some_and(|row| is_df_row(row.trim()));
    (text.contains('%') && (text.starts_with("Filesystem ") || is_above_row())) || is_df_row(text)
}

/// `/dev/sda1  51474912  12345  48000000  1% /var`.
fn is_df_row(text: &str) -> bool {
    // A share and a path: few lines have both.
    if !text.contains("% /") {
        return false;
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    // Sizes that are not known are a dash.
    let is_size = |word: &&str| *word == "-" || word.starts_with(|c: char| c.is_ascii_digit());
    matches!(words.as_slice(), [_, size, used, free, share, mount, ..]
        if [size, used, free].into_iter().all(is_size) && share.ends_with('%') && mount.starts_with('/'))
}

/// Filesystems that are kept.
const FILESYSTEMS_MAX: usize = 100;

/// `df`: how full filesystems are.
fn read(lines: &[Line<'_>]) -> Read {
    let mut read = Read::default();
    let mut fullest: Option<(f64, String)> = None;
    for (after, (at, print)) in (0..).step_by(1000).zip(prints(lines)) {
        let mut readings = Vec::new();
        for line in print {
            let text = line.trimmed();
            if !is_df_row(text) || readings.len() >= FILESYSTEMS_MAX {
                continue;
            }
            let words: Vec<&str> = text.split_whitespace().collect();
            let [device, size, used, free, share, mount, ..] = words.as_slice() else {
                continue;
            };
            // An image fills its device to the last block, and nobody can write to it.
            let is_image = (device.contains("/loop") || device.contains("/sr"))
                && size == used
                && *free == "0";
            if is_image || is_no_place(mount) {
                continue;
            }
            let Ok(percent) = share.trim_end_matches('%').parse::<f64>() else {
                continue;
            };
            if fullest.as_ref().is_none_or(|(most, _)| percent > *most) {
                fullest = Some((percent, (*mount).to_owned()));
            }
            readings.push(Reading::gauge(
                format!("filesystem.{mount}.used_share"),
                Unit::Share,
                percent / 100.0,
            ));
        }
        read.push("filesystem", at, after, readings);
    }
    read.brought = fullest.map_or_else(String::new, |(percent, mount)| {
        format!("fullest: {mount}, {percent:.0} %")
    });
    read
}

/// Where nobody's data are: the system's own, and the layers of containers, which stand again for
/// the filesystem that they are on. What a place is on does not matter: `/tmp` may be memory or an
/// image, and a server stalls when it is full.
fn is_no_place(mount: &str) -> bool {
    const ROOTS: [&str; 8] = [
        "/dev",
        "/proc",
        "/run",
        "/snap",
        "/sys",
        "/var/lib/containers/storage/overlay",
        "/var/lib/docker/overlay2",
        "/var/snap",
    ];
    ROOTS.iter().any(|root| {
        mount
            .strip_prefix(root)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;

    #[test]
    fn what_a_place_is_on_does_not_hide_that_it_is_full() {
        let read = read(&clean::lines(
            "Filesystem Size Used Avail Use% Mounted on\nudev 15G 15G 0 100% /dev\n/dev/sda3 194G 21G 164G 11% /\n\
             tmpfs 5.0M 5.0M 0 100% /run/lock\n/dev/loop0 1.5G 1.4G 0 100% /tmp\n/dev/loop1 56M 56M 0 100% /mnt/image\n\
             /dev/loop2 64M 63M 0 100% /snap/core/1\ntmpfs 8G 6G 2G 75% /var/lib/mysql\n",
        ));
        assert_eq!(read.brought, "fullest: /tmp, 100 %");
        let shares = |mount: &str| read.values(&format!("filesystem.{mount}.used_share"));
        assert_eq!(shares("/var/lib/mysql"), [0.75]);
        assert_eq!(read.ticks[0].readings.len(), 3);
    }

    #[test]
    fn how_full_filesystems_are() {
        let read = read(&clean::lines(
            "Filesystem     1K-blocks     Used Available Use% Mounted on\n/dev/vda1 100 99 1 99% /var/lib/mysql\ntmpfs 5 5 0 100% /run\n",
        ));
        assert_eq!(
            read.values("filesystem./var/lib/mysql.used_share")
                .last()
                .copied(),
            Some(0.99)
        );
        assert_eq!(
            read.values("filesystem./run.used_share").last().copied(),
            None
        );
        assert_eq!(read.brought, "fullest: /var/lib/mysql, 99 %");
    }
}
