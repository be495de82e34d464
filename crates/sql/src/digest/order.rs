//! In which order classes are told.

/// A number of a class.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Order {
    /// The time of all its statements where the log tells times, else their count.
    #[default]
    Usual,
    /// How many.
    Count,
    /// Something of one of the log's numbers.
    Measure(String, Statistic),
}

/// What of a number's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statistic {
    /// Their sum.
    Sum,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// Their mean.
    Average,
    /// How many.
    Count,
    /// Half of them are no larger.
    Median,
    /// 95 % of them are no larger.
    P95,
    /// 99 % of them are no larger.
    P99,
}

impl Order {
    /// Reads `time`, `count` or `NUMBER[:STATISTIC]`; the error says what is expected.
    pub fn read(text: &str) -> Result<Self, String> {
        let (name, statistic) = text.split_once(':').unwrap_or((text, "sum"));
        let statistic = match statistic {
            "sum" => Statistic::Sum,
            "min" => Statistic::Min,
            "max" => Statistic::Max,
            "avg" => Statistic::Average,
            "cnt" | "count" => Statistic::Count,
            "median" => Statistic::Median,
            "p95" => Statistic::P95,
            "p99" => Statistic::P99,
            _ => {
                return Err(format!(
                    "'{statistic}' is none of sum, min, max, avg, count, median, p95, p99"
                ));
            }
        };
        match (name, statistic) {
            ("", _) => Err("time, count or a number of the log expected".to_owned()),
            ("count", _) => Ok(Self::Count),
            ("time", Statistic::Sum) => Ok(Self::Usual),
            ("time", _) => Ok(Self::Measure("Query_time".to_owned(), statistic)),
            _ => Ok(Self::Measure(name.to_owned(), statistic)),
        }
    }
}
