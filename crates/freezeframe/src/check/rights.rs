//! The tier of our rights on this host, what each missing one costs, and the line that gives it.

use kernel::access::{Access, TIER_RIGHTS, Tier, tier};
use serde_json::{Value, json};

use super::{width, wrapped};

pub(super) fn as_text(access: &Access) -> String {
    let width = width();
    let tier = tier(access);
    let mut text = wrapped("  rights  ", &headline(&tier), width);
    for (right, has) in &tier.above {
        let state = if *has { "ok" } else { "no" };
        let head = format!(
            "    {state}  {:<36} ",
            right.capability.name().to_uppercase()
        );
        text += &wrapped(&head, &format!("missing: {}", right.without), width);
    }
    if let Some(cure) = &tier.cure {
        text += &wrapped("        to enable all: ", cure, width);
    }
    text
}

fn headline(tier: &Tier) -> String {
    let has: Vec<String> = TIER_RIGHTS
        .iter()
        .take(tier.number)
        .map(|right| right.capability.name().to_uppercase())
        .collect();
    let has = match has.is_empty() {
        true => "no capability".to_owned(),
        false => has.join(", "),
    };
    let most = TIER_RIGHTS.len();
    format!("T{} of T0 to T{most}: {has}", tier.number)
}

pub(super) fn as_json(access: &Access) -> Value {
    let tier = tier(access);
    let above: Vec<Value> = tier
        .above
        .iter()
        .map(|(right, has)| json!({"capability": right.capability.name(), "has": has, "without": right.without}))
        .collect();
    json!({"tier": tier.number, "above": above, "cure": tier.cure})
}
