//! The sessions of a server with other names.

use std::collections::BTreeMap;

use model::ProcessList;

use super::pseudonyms::Pseudonyms;
use super::{names, schema, statement_, states};

pub(super) fn rename(pseudonyms: &mut Pseudonyms<'_>, body: &str) -> String {
    let Some(mut list) = ProcessList::from_text(body) else {
        // Nobody can say what is in it.
        return "{}".to_owned();
    };
    list.by_user = renamed(&list.by_user, |name| names::user_(pseudonyms, name));
    list.by_state = renamed(&list.by_state, |name| states::state(pseudonyms, name));
    list.by_class = renamed(&list.by_class, |name| states::class(pseudonyms, name));
    list.by_command = renamed(&list.by_command, |name| states::command(pseudonyms, name));
    let replicas = &mut list.replicas;
    for session in list
        .longest
        .iter_mut()
        .chain(&mut list.idle)
        .chain(replicas)
    {
        session.user = names::user_(pseudonyms, &session.user);
        session.host = names::host_(pseudonyms, &session.host);
        session.db = schema(pseudonyms, &session.db);
        session.command = states::command(pseudonyms, &session.command);
        session.state = states::state(pseudonyms, &session.state);
        session.statement = statement_(pseudonyms, &session.statement);
    }
    serde_json::to_string(&list).unwrap_or_else(|_| "{}".to_owned())
}

/// The counts by their new names; what gets the same one is counted together.
fn renamed(
    counts: &BTreeMap<String, u64>,
    mut rename: impl FnMut(&str) -> String,
) -> BTreeMap<String, u64> {
    let mut out: BTreeMap<String, u64> = BTreeMap::new();
    for (name, count) in counts {
        let sum = out.entry(rename(name)).or_default();
        *sum = sum.saturating_add(*count);
    }
    out
}
