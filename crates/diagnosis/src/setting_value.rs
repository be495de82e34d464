//! The value of a setting as people read it, with what the system has in brackets, to compare or to copy.

use crate::human::{Show, show};

/// `276 MiB (289685504)` of `289685504` bytes; `0.1 CPUs (10000 100000)` of so many microseconds in each period.
pub(crate) fn readable(name: &str, value: &str) -> String {
    if name == "cgroup.cpu_max" {
        return processors(value).unwrap_or_else(|| value.to_owned());
    }
    let is_of_bytes = ["_size", "memory_max"]
        .iter()
        .any(|end| name.ends_with(end));
    match value.parse::<u64>() {
        Ok(bytes) if is_of_bytes && bytes >= 1 << 20 => {
            format!("{} ({bytes})", show(bytes as f64, Show::Bytes))
        }
        _ => value.to_owned(),
    }
}

/// What `cpu.max` of a control group allows (cgroups(7)); nobody divides at night.
fn processors(value: &str) -> Option<String> {
    let (quota, period) = value.split_once(' ')?;
    if quota == "max" {
        return Some(format!("no limit ({value})"));
    }
    let (quota, period) = (quota.parse::<f64>().ok()?, period.parse::<f64>().ok()?);
    let share = quota / period;
    (period > 0.0 && quota > 0.0).then(|| {
        let noun = if share == 1.0 { "CPU" } else { "CPUs" };
        format!("{} {noun} ({value})", show(share, Show::Count))
    })
}

#[cfg(test)]
mod tests {
    use super::readable;

    #[test]
    fn values_are_read_in_their_unit() {
        for (name, value, expected) in [
            ("cgroup.memory_max", "289685504", "276 MiB (289685504)"),
            ("variables.query_cache_size", "1048576", "1 MiB (1048576)"),
            ("variables.query_cache_size", "0", "0"),
            ("cgroup.pids_max", "33554432", "33554432"),
            ("cgroup.memory_max", "max", "max"),
            ("cgroup.cpu_max", "10000 100000", "0.1 CPUs (10000 100000)"),
            ("cgroup.cpu_max", "100000 100000", "1 CPU (100000 100000)"),
            (
                "cgroup.cpu_max",
                "250000 100000",
                "2.5 CPUs (250000 100000)",
            ),
            ("cgroup.cpu_max", "max 100000", "no limit (max 100000)"),
            ("cgroup.cpu_max", "10000 0", "10000 0"),
            ("cgroup.cpu_max", "10000", "10000"),
        ] {
            assert_eq!(readable(name, value), expected);
        }
    }
}
