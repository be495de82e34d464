//! The forms of the JSON, both as documented for Amazon RDS: Enhanced Monitoring (an object a sample, as CloudWatch Logs
//! has it, alone or as the `message` of a log event), and the answer of Performance Insights' GetResourceMetrics with
//! counters `os.GROUP.NAME.STATISTIC`. Pure; what is not understood is left out.

use std::collections::BTreeMap;

use serde_json::Value;

/// Groups whose members are parts of the host, each with a name: disks, file systems.
const LISTS: [(&str, &str); 3] = [
    ("diskIO", "device"),
    ("physicalDeviceIO", "device"),
    ("fileSys", "mountPoint"),
];

/// Parts of one kind that are taken, and samples of one answer.
const PARTS_MAX: usize = 64;
const SAMPLES_MAX: usize = 1000;

/// One sample of a host's numbers, by group and name as their source has them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Metrics {
    /// Seconds since 1970.
    pub(crate) at_s: i64,
    /// (Group, part or nothing, name).
    values: BTreeMap<(String, String, String), f64>,
}

impl Metrics {
    /// A number of the whole host.
    pub(crate) fn get(&self, group: &str, name: &str) -> Option<f64> {
        self.of_part(group, "", name)
    }

    /// A number of a part.
    pub(crate) fn of_part(&self, group: &str, part: &str, name: &str) -> Option<f64> {
        let key = (group.to_owned(), part.to_owned(), name.to_owned());
        self.values.get(&key).copied()
    }

    /// The parts of a group.
    pub(crate) fn parts(&self, group: &str) -> Vec<&str> {
        let mut parts: Vec<&str> = self
            .values
            .keys()
            .filter(|(of, part, _)| of == group && !part.is_empty())
            .map(|(_, part, _)| part.as_str())
            .collect();
        parts.dedup();
        parts.truncate(PARTS_MAX);
        parts
    }

    fn set(&mut self, group: &str, part: &str, name: &str, value: Option<f64>) {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            let key = (group.to_owned(), part.to_owned(), name.to_owned());
            self.values.insert(key, value);
        }
    }
}

/// The newest sample of an answer: one object, one a line, or a list of them. `None` when there is none.
pub(crate) fn parse(bytes: &[u8]) -> Option<Metrics> {
    let stream = serde_json::Deserializer::from_slice(bytes).into_iter::<Value>();
    let values = stream.map_while(Result::ok).take(SAMPLES_MAX);
    let samples = values.flat_map(|value| samples(&value));
    samples.max_by_key(|metrics| metrics.at_s)
}

fn samples(value: &Value) -> Vec<Metrics> {
    if let Some(list) = value.as_array() {
        return list.iter().take(SAMPLES_MAX).flat_map(samples).collect();
    }
    if let Some(events) = value.get("events").or_else(|| value.get("logEvents")) {
        return samples(events);
    }
    // A log event has its sample as text.
    if let Some(message) = value.get("message").and_then(Value::as_str) {
        let inner: Option<Value> = serde_json::from_str(message).ok();
        return inner.iter().filter_map(enhanced).collect();
    }
    match value.get("MetricList") {
        Some(list) => insights(list).into_iter().collect(),
        None => enhanced(value).into_iter().collect(),
    }
}

fn enhanced(value: &Value) -> Option<Metrics> {
    let groups = value.as_object()?;
    let mut metrics = Metrics {
        at_s: moment(groups.get("timestamp")?)?,
        ..Metrics::default()
    };
    metrics.set("general", "", "numVCPUs", number(groups.get("numVCPUs")));
    for (group, members) in groups {
        if let Some(names) = members.as_object() {
            for (name, value) in names {
                metrics.set(group, "", name, number(Some(value)));
            }
        }
        let Some((_, key)) = LISTS.iter().find(|(list, _)| list == group) else {
            continue;
        };
        for part in members.as_array().into_iter().flatten().take(PARTS_MAX) {
            let Some(names) = part.as_object() else {
                continue;
            };
            let called = names.get(*key).and_then(Value::as_str).unwrap_or("all");
            for (name, value) in names {
                metrics.set(group, called, name, number(Some(value)));
            }
        }
    }
    (!metrics.values.is_empty()).then_some(metrics)
}

/// The last value of each counter that has no dimensions of its own.
fn insights(list: &Value) -> Option<Metrics> {
    let mut metrics = Metrics::default();
    for entry in list.as_array()? {
        let key = entry.get("Key");
        let name = key.and_then(|key| key.get("Metric")?.as_str());
        let has_dimensions = key.is_some_and(|key| {
            let dimensions = key.get("Dimensions").and_then(Value::as_object);
            dimensions.is_some_and(|dimensions| !dimensions.is_empty())
        });
        let (Some(name), false) = (name, has_dimensions) else {
            continue;
        };
        let points = entry.get("DataPoints").and_then(Value::as_array);
        let points = points.into_iter().flatten().rev();
        let mut present = points.filter_map(|point| {
            let value = number(point.get("Value"))?;
            Some((moment(point.get("Timestamp")?)?, value))
        });
        let Some((at, value)) = present.next() else {
            continue;
        };
        let words: Vec<&str> = name.split('.').collect();
        let (group, part, name) = match words.as_slice() {
            ["os", group, name, _] => (*group, "", *name),
            ["os", group, part, name, _] => (*group, *part, *name),
            _ => continue,
        };
        let is_of_parts = LISTS.iter().any(|(list, _)| *list == group);
        let part = match part {
            "" if is_of_parts => "all",
            part => part,
        };
        let group = if name == "numVCPUs" { "general" } else { group };
        metrics.set(group, part, name, Some(value));
        metrics.at_s = metrics.at_s.max(at);
    }
    (!metrics.values.is_empty()).then_some(metrics)
}

fn number(value: Option<&Value>) -> Option<f64> {
    value?.as_f64()
}

/// A moment as text (RFC 3339), or as seconds since 1970 with or without a fraction.
fn moment(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => {
            let moment: jiff::Timestamp = text.parse().ok()?;
            Some(moment.as_second())
        }
        Value::Number(number) => {
            let seconds = number.as_f64()?;
            // CloudWatch counts milliseconds.
            let seconds = if seconds > 1e11 {
                seconds / 1000.0
            } else {
                seconds
            };
            Some(seconds as i64)
        }
        _ => None,
    }
}
