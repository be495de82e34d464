//! Secrets in text: behind a word that tells, or known by being no word.

use super::super::{pieces, text};
use super::all;

/// Records of the kernel's audit and what people paste hold command lines, in digits or as they were typed.
#[test]
fn what_is_no_word_is_a_secret() {
    all(
        &[
            (
                "[ 12.345678] audit: type=1327 audit(1700000000.1:9): proctitle=6D7973716C002D75726F6F74002D7068756E74657232",
                "[ 12.345678] audit: type=1327 audit(1700000000.1:9): proctitle=?",
            ),
            (
                "the digits 6D7973716C002D75726F6F74002D7068756E74657232 and 6d7973716c002d75",
                "the digits <uuid> and <uuid>",
            ),
            (
                "audit(1.1:9): argc=3 a0=\"mysql\" a1=\"--login-path=acme_prod\" a2=\"--defaults-group-suffix=acme\" a3=\"-phunter2\"",
                "audit(1.1:9): argc=3 a0=\"mysql\" a1=\"--login-path=<name>\" a2=\"--defaults-group-suffix=<name>\" a3=\"<name>\"",
            ),
            (
                "run '--datadir=/srv/acme' '--report-password=hunter2' '--acme-mode' '--innodb-page-size=16384'",
                "run '--datadir=/srv/<dir>' '--report-password=?' '--<name>' '--innodb-page-size=16384'",
            ),
            ("Authorization: Bearer abc.def", "Authorization: Bearer ?"),
            ("Authorization: ApiKey k4zb9", "Authorization: ApiKey ?"),
            ("with Cookie: a=b; sid=k4zb9", "with Cookie: ?"),
            (
                "{\"api-key\": \"two words\", \"size\": 5}",
                "{\"<name>\": \"?\", \"size\": 5}",
            ),
            ("with x-api-key=hcaik_01 and 5", "with x-api-key=? and 5"),
            (
                "mount db_pass=hunter2,pass=hunter3 with bypass=5",
                "mount db_pass=?,pass=? with bypass=5",
            ),
            ("set otel_headers: a=b, c=d", "set otel_headers: ?"),
            // It was left out already: what stands for it is nobody's, and stands in other lines as well.
            ("Opts: password= (left out)", "Opts: password= (left out)"),
            (
                "a pass=(hidden), some_headers: (left out)",
                "a pass=(hidden), some_headers: (left out)",
            ),
            (
                "key ghp_16C7e42F292c6912E7710c838347Ae178B4a= now",
                "key ? now",
            ),
            (
                "see https://bot:T0K3N@acme.example/x",
                "see https://<user>:?@<host>/x",
            ),
            // The kernel's and the servers' own.
            (
                "RIP: 0010:native_queued_spin_lock_slowpath+0x5e/0x1d0 RBX: 6b6b6b6b6b6b6b6b R12: ffff88003b5f0000",
                "RIP: 0010:native_queued_spin_lock_slowpath+0x5e/0x1d0 RBX: 6b6b6b6b6b6b6b6b R12: ffff88003b5f0000",
            ),
            (
                "[<ffffffff8109ab20>] ? entry_SYSCALL_64_after_hwframe+0x44/0xa9 at 0x00007f5c3a1b2c4d of 18446744073709551615",
                "[<ffffffff8109ab20>] ? entry_SYSCALL_64_after_hwframe+0x44/0xa9 at 0x00007f5c3a1b2c4d of 18446744073709551615",
            ),
            (
                "BuildID[sha1]=d15f5a2e9c1b4a7e8f90d15f5a2e9c1b4a7e8f90 (_ZN3THD12enter_condEP13pthread_cond_t+0x12)",
                "BuildID[sha1]=d15f5a2e9c1b4a7e8f90d15f5a2e9c1b4a7e8f90 (_ZN3THD12enter_condEP13pthread_cond_t+0x12)",
            ),
        ],
        text::rename,
    );
}

/// A bare word has no form. In the kernel's log each that is none of a kernel's is somebody's.
#[test]
fn of_the_kernels_log_words_of_kernels_stay() {
    all(
        &[
            (
                "[1.2] nfs: mount of acme refused for k7horse, Kennwort geheim, user alice",
                "[1.2] nfs: mount of ? refused for ?, ? ?, user ?",
            ),
            (
                "[1.2] nfs: mount of shop_db refused for k4zb9, alice_miller and p4ss_w9",
                "[1.2] nfs: mount of ? refused for ?, ? and ?",
            ),
            // Letters of hexadecimal digits alone are names as well.
            (
                "[1.2] nfs: mount of abe refused for dee, PCI 8086:a12f at 0000:3b:00.0",
                "[1.2] nfs: mount of ? refused for ?, PCI 8086:a12f at 0000:3b:00.0",
            ),
            (
                "mlx5_core eth0: e1000e, i2c; nf_conntrack; quillfeather_wait+0x46/0x70 [xfs]",
                "mlx5_core eth0: e1000e, i2c; nf_conntrack; quillfeather_wait+0x46/0x70 [xfs]",
            ),
            (
                "[1.2] (quillfeather) 'correct horse': password=hunter2",
                "[1.2] (?) '?': password=?",
            ),
            (
                "[12345.678901] INFO: task mysqld:4123 blocked for more than 120 seconds.",
                "[12345.678901] INFO: task mysqld:4123 blocked for more than 120 seconds.",
            ),
            (
                "blk_update_request: I/O error, dev sda, sector 4711 op 0x1:(WRITE) flags 0x800 phys_seg 1",
                "blk_update_request: I/O error, dev sda, sector 4711 op 0x1:(WRITE) flags 0x800 phys_seg 1",
            ),
            (
                "Out of memory: Killed process 812 (mysqld) total-vm:99kB, anon-rss:9kB, file-rss:0kB, UID:27",
                "Out of memory: Killed process 812 (mysqld) total-vm:99kB, anon-rss:9kB, file-rss:0kB, UID:27",
            ),
            (
                "nvme nvme0: I/O 5 QID 3 timeout, aborting; EXT4-fs error (device nvme0n1p3): journal has aborted",
                "nvme nvme0: I/O 5 QID 3 timeout, aborting; EXT4-fs error (device nvme0n1p3): journal has aborted",
            ),
            (
                "RSP: 0018:ffffc900 EFLAGS: 00010246 RBX: ffff88003b5f0000 ? schedule+0x2e/0x60 [ext4]",
                "RSP: 0018:ffffc900 EFLAGS: 00010246 RBX: ffff88003b5f0000 ? schedule+0x2e/0x60 [ext4]",
            ),
        ],
        |pseudonyms, body| {
            let renamed = text::rename(pseudonyms, body);
            pieces::known_only(pseudonyms, &renamed, |_| false)
        },
    );
}
