//! Names of places on the page, for links to them.

/// The anchor of a chart.
pub(crate) fn chart(index: usize) -> String {
    format!("chart-{}", index + 1)
}

/// The anchor of the finding at this place among all.
pub(crate) fn finding(index: usize) -> String {
    format!("finding-{}", index + 1)
}
