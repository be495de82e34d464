//! What the formulas of the catalogue are called where they are compared.

/// In each line a formula as it stands in the files of causes, and as people call it. A test sees to it that each formula
/// has its name.
const NAMES: &str = include_str!("../../formulas.txt");

fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    NAMES.lines().filter_map(|line| line.split_once(" | "))
}

/// What the formula is called.
pub(super) fn name_of(formula: &str) -> Option<&'static str> {
    let mut names = names();
    names
        .find(|(text, _)| *text == formula)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::Catalogue;
    use crate::measure::Test;
    use expression::Expression;

    /// What is called by its signal: `Com_show_warnings a second`.
    fn has_words(expression: &Expression) -> bool {
        matches!(expression, Expression::Signal { function, .. } if !function.words.is_empty())
    }

    #[test]
    fn each_formula_of_the_catalogue_has_a_name_and_no_other_has() {
        let causes = Catalogue::builtin().causes().iter();
        let formulas: BTreeSet<&str> = causes
            .flat_map(|cause| &cause.witnesses)
            .filter_map(|sign| match &sign.test {
                Test::Signals(test) if !has_words(&test.expression) => Some(test.text.as_str()),
                _ => None,
            })
            .collect();
        let named: BTreeSet<&str> = names().map(|(text, _)| text).collect();
        assert_eq!(formulas, named);
    }
}
