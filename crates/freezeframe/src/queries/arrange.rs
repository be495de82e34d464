//! Order and number of the classes of a digest that is there already.

use anyhow::{Result, bail};
use model::{FoldedClasses, OrderBy, QueryClass, QueryDigest, QueryMeasure};
use sql::digest::{Order, Statistic};

/// Puts the classes into this order, and those over the limit together.
pub(super) fn arrange(digest: &mut QueryDigest, order: &Order, limit: Option<usize>) -> Result<()> {
    if let Order::Measure(name, _) = order
        && !digest.classes.is_empty()
        && !digest
            .classes
            .iter()
            .any(|class| measure(class, name).is_some())
    {
        let mut names: Vec<&str> = Vec::new();
        for measure in digest.classes.iter().flat_map(|class| &class.measures) {
            if !names.contains(&measure.name.as_str()) {
                names.push(&measure.name);
            }
        }
        bail!(
            "--order-by {name}: not available here; available: {}",
            names.join(", ")
        );
    }
    let key = |class: &QueryClass| match order {
        // As the way gave them.
        Order::Usual => 0.0,
        Order::Count => class.count as f64,
        Order::Measure(name, statistic) => measure(class, name)
            .and_then(|measure| value(measure, *statistic))
            .unwrap_or(f64::NEG_INFINITY),
    };
    digest.classes.order_by(|a, b| key(b).total_cmp(&key(a)));
    let limit = limit.unwrap_or(usize::MAX).min(digest.classes.len());
    let over = digest.classes.split_off(limit);
    if over.is_empty() {
        return Ok(());
    }
    let folded = digest.folded.get_or_insert_with(FoldedClasses::default);
    let seconds: Vec<f64> = over
        .iter()
        .filter_map(|class| class.sum("Query_time"))
        .collect();
    if !seconds.is_empty() {
        folded.seconds = Some(folded.seconds.unwrap_or(0.0) + seconds.iter().sum::<f64>());
    }
    for class in &over {
        folded.count = folded.count.saturating_add(class.count);
    }
    folded.classes_at_least = folded.classes_at_least.saturating_add(over.len() as u64);
    Ok(())
}

fn measure<'a>(class: &'a QueryClass, name: &str) -> Option<&'a QueryMeasure> {
    class
        .measures
        .iter()
        .find(|measure| measure.name.eq_ignore_ascii_case(name))
}

fn value(measure: &QueryMeasure, statistic: Statistic) -> Option<f64> {
    match statistic {
        Statistic::Sum => Some(measure.sum),
        Statistic::Min => measure.min,
        Statistic::Max => measure.max,
        Statistic::Average => (measure.count > 0).then(|| measure.sum / measure.count as f64),
        Statistic::Count => Some(measure.count as f64),
        Statistic::Median => measure.median,
        Statistic::P95 => measure.p95,
        Statistic::P99 => measure.p99,
    }
}

#[cfg(test)]
mod tests {
    use model::QueryMethod;

    use super::*;

    fn class(name: &str, count: u64, seconds: f64) -> QueryClass {
        QueryClass {
            fingerprint: name.to_owned(),
            count,
            measures: vec![QueryMeasure {
                name: "Query_time".to_owned(),
                count,
                sum: seconds,
                ..QueryMeasure::default()
            }],
            ..QueryClass::default()
        }
    }

    fn digest() -> QueryDigest {
        QueryDigest {
            tried: Vec::new(),
            method: QueryMethod::PerformanceSchema,
            from_us: None,
            to_us: None,
            count: 60,
            errors: None,
            classes: vec![
                class("slow", 10, 9.0),
                class("middle", 20, 5.0),
                class("fast", 30, 1.0),
            ],
            folded: None,
            lost: 0,
            blind: Vec::new(),
            connections: None,
        }
    }

    fn names(digest: &QueryDigest) -> Vec<&str> {
        digest
            .classes
            .iter()
            .map(|class| class.fingerprint.as_str())
            .collect()
    }

    #[test]
    fn classes_are_ordered_and_the_rest_is_put_together() {
        let mut all = digest();
        arrange(&mut all, &Order::Usual, None).unwrap();
        assert_eq!(
            (names(&all), all.folded),
            (vec!["slow", "middle", "fast"], None)
        );
        let mut two = digest();
        arrange(&mut two, &Order::Count, Some(2)).unwrap();
        assert_eq!(names(&two), ["fast", "middle"]);
        let folded = two.folded.unwrap();
        assert_eq!(
            (folded.count, folded.seconds, folded.classes_at_least),
            (10, Some(9.0), 1)
        );
        let mut average = digest();
        let order = Order::Measure("query_time".to_owned(), Statistic::Average);
        arrange(&mut average, &order, None).unwrap();
        assert_eq!(names(&average), ["slow", "middle", "fast"]);
        let order = Order::Measure("Rows_sent".to_owned(), Statistic::Sum);
        let error = arrange(&mut digest(), &order, None).unwrap_err();
        assert!(
            error.to_string().contains("available: Query_time"),
            "{error}"
        );
    }
}
