//! Who waits for whom, as a picture: boxes in a line that breaks where there is no room, drawn by style alone.

use std::collections::BTreeMap;

use model::{ChainLink, Incident, LockTable, OrderBy, WaitChain};

use super::{frames, table::cell};
use crate::content::chain::{self, Kind, Link};
use crate::document::Stack;
use crate::evidence::chain::chain_sentence;
use crate::markup::{Markup, markup};

/// Chains told.
const CHAINS_MAX: usize = 5;

/// The boxes. Readers of screens have the sentence that stands beside them.
pub(super) fn picture(links: &[Link]) -> Markup {
    if links.is_empty() {
        return Markup::new();
    }
    let boxes: Markup = links
        .iter()
        .map(|link| {
            let relation = match link.relation {
                "" => Markup::new(),
                words => markup!("<i>{words} →</i>", ..words),
            };
            let more = match link.more.as_str() {
                "" => Markup::new(),
                _ => markup!(" <small>{}</small>", cell(&link.more)),
            };
            let class = match link.kind {
                Kind::Crowd => "crowd",
                Kind::Lock => "lock",
                Kind::Holder => "holder",
                Kind::Unknown => "unknown",
            };
            markup!(
                "<span>{relation}<span class=\"{class}\"><b>{}</b>{more}</span></span>",
                cell(&link.name),
                ..relation,
                ..class,
                ..more
            )
        })
        .collect();
    markup!(
        "<div class=\"chain\" aria-hidden=\"true\">{boxes}</div>",
        ..boxes
    )
}

/// The chains of the stall, each once, the largest crowd first, each with the number of lock tables that have it; and how
/// many tables there are.
fn found(incident: &Incident) -> (Vec<(&WaitChain, usize)>, usize) {
    let stall = incident.stall_window();
    let inside = |table: &&LockTable| table.to >= stall.from && table.from <= stall.to;
    let tables = || incident.stacks.locks.iter().filter(inside);
    let crowd = |chain: &WaitChain| chain.links.first().map_or(0, |link| link.waiters);
    let locks = |chain: &WaitChain| -> Vec<String> {
        chain.links.iter().map(|link| link.lock.clone()).collect()
    };
    let mut found: BTreeMap<Vec<String>, (&WaitChain, usize)> = BTreeMap::new();
    for chain in tables().flat_map(|table| &table.chains) {
        let entry = found.entry(locks(chain)).or_insert((chain, 0));
        entry.1 += 1;
        if crowd(chain) > crowd(entry.0) {
            entry.0 = chain;
        }
    }
    let mut found: Vec<(&WaitChain, usize)> = found.into_values().collect();
    found.retain(|(chain, _)| !chain.links.is_empty());
    found.order_by_key(|(chain, _)| std::cmp::Reverse(crowd(chain)));
    (found, tables().count())
}

/// The boxes of the chain with the largest crowd, for paper.
pub(super) fn largest(incident: &Incident) -> Markup {
    let (found, _) = found(incident);
    found
        .first()
        .map_or_else(Markup::new, |(chain, _)| picture(&chain::of_locks(chain)))
}

/// The chains of the stall as pictures and sentences.
pub(super) fn chains(incident: &Incident) -> Markup {
    let (found, all) = found(incident);
    if found.is_empty() {
        return Markup::new();
    }
    let items: Markup = found
        .iter()
        .take(CHAINS_MAX)
        .map(|(chain, times)| {
            let times = match (all, times) {
                (0 | 1, _) => Markup::new(),
                (_, times) => markup!(
                    " <small>in {times} of {all} lock tables</small>",
                    ..times,
                    ..all
                ),
            };
            markup!(
                "<li>{}{}.{times}{}</li>",
                picture(&chain::of_locks(chain)),
                cell(&chain_sentence(chain)),
                holders(incident, chain),
                ..times
            )
        })
        .collect();
    markup!("<ol class=\"chains\">{items}</ol>", ..items)
}

fn holders(incident: &Incident, chain: &WaitChain) -> Markup {
    let holder = |link: &ChainLink| {
        let holder = link.holder.as_ref()?;
        Some(markup!(
            "<p>Thread <b>{}</b> ({}), holder of {}:</p>{}",
            holder.tid,
            cell(&holder.name),
            cell(&link.lock),
            frames::list(&Stack::from_book(&incident.stacks.table, holder.stack))
        ))
    };
    let stacks: Markup = chain.links.iter().filter_map(holder).collect();
    match stacks.is_empty() {
        true => Markup::new(),
        false => markup!(
            "<details><summary>Their stacks</summary>{stacks}</details>",
            ..stacks
        ),
    }
}
