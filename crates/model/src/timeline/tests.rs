use super::*;

fn counter(name: &'static str, value: f64) -> Reading {
    Reading::counter(name, Unit::Count, value)
}

fn filled(values: &[(Millis, f64)]) -> Timeline {
    let mut timeline = Timeline::default();
    for (tick, value) in values {
        timeline.push_readings("s", *tick, &[counter("s.x", *value)]);
    }
    timeline
}

fn measured(timeline: &Timeline, measure: Measure, from: Millis, to: Millis) -> Option<f64> {
    timeline.measure(timeline.get("s.x")?, measure, Window { from, to })
}

#[test]
fn rate_uses_the_value_before_the_window_and_survives_a_restart() {
    let timeline = filled(&[(0, 10.0), (1000, 20.0), (2000, 40.0), (3000, 5.0)]);
    assert_eq!(measured(&timeline, Measure::Rate, 1000, 2000), Some(20.0));
    assert_eq!(measured(&timeline, Measure::Rate, 1500, 2000), Some(20.0));
    assert_eq!(measured(&timeline, Measure::Delta, 1000, 3000), Some(25.0));
    assert_eq!(measured(&timeline, Measure::Rate, 5000, 9000), None);
    assert_eq!(measured(&filled(&[(0, 1.0)]), Measure::Rate, 0, 9000), None);
}

#[test]
fn a_base_from_long_ago_is_no_base() {
    let timeline = filled(&[(0, 0.0), (300_000, 900.0), (301_000, 901.0)]);
    assert_eq!(
        measured(&timeline, Measure::Delta, 299_000, 301_000),
        Some(1.0)
    );
}

#[test]
fn series_that_come_late_or_go_have_holes() {
    let mut timeline = Timeline::default();
    timeline.push_readings("s", 1, &[counter("s.a", 1.0)]);
    timeline.push_readings("s", 2, &[counter("s.b", 2.0)]);
    timeline.push_readings("s", 3, &[counter("s.a", 3.0), counter("s.b", 4.0)]);
    let points = |name: &str| -> Vec<(Millis, f64)> {
        timeline.points(timeline.get(name).unwrap()).collect()
    };
    assert_eq!(points("s.a"), [(1, 1.0), (3, 3.0)]);
    assert_eq!(points("s.b"), [(2, 2.0), (3, 4.0)]);
}

#[test]
fn forgetting_keeps_look_ups_right() {
    let mut timeline = Timeline::default();
    timeline.push_readings("s", 1, &[counter("s.gone", 1.0)]);
    timeline.push_readings("s", 2, &[counter("s.x", 2.0)]);
    timeline.push_readings("s", 3, &[counter("s.x", 3.0)]);
    timeline.forget_before(2);
    assert!(timeline.get("s.gone").is_none());
    let series = timeline.get("s.x").unwrap();
    assert_eq!(
        timeline.points(series).collect::<Vec<_>>(),
        [(2, 2.0), (3, 3.0)]
    );
    timeline.push_readings("s", 4, &[counter("s.x", 5.0)]);
    assert_eq!(measured(&timeline, Measure::Last, 0, 9), Some(5.0));
}

#[test]
fn between_cuts_both_ends() {
    let timeline = filled(&[(1, 1.0), (2, 2.0), (3, 3.0)]);
    let part = timeline.between(Window { from: 2, to: 2 });
    assert_eq!(
        part.points(part.get("s.x").unwrap()).collect::<Vec<_>>(),
        [(2, 2.0)]
    );
}

#[test]
fn time_does_not_go_back() {
    let timeline = filled(&[(5, 1.0), (5, 2.0), (4, 3.0), (6, 4.0)]);
    assert_eq!(
        timeline
            .points(timeline.get("s.x").unwrap())
            .collect::<Vec<_>>(),
        [(5, 1.0), (6, 4.0)]
    );
}
