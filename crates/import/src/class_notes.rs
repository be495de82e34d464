//! Classes of statements that somebody showed to others, without what he wrote behind a statement in its line.

use model::QueryDigest;

/// Leaves it out. Of a class nothing else is known where its statement was none as it stood.
pub(crate) fn leave_out(digest: &mut QueryDigest) {
    for class in &mut digest.classes {
        let kept = sql::without_remark(&class.fingerprint).len();
        if kept < class.fingerprint.len() {
            class.fingerprint.truncate(kept);
            class.id = sql::fingerprint_id(&class.fingerprint);
            class.compat_id = None;
            class.sample = None;
        }
    }
}
