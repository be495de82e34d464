//! Lists whose length says nothing about a statement: `IN (…)` and the rows after `VALUES`.
//!
//! An item that is written like an earlier one of its list is taken back, so `IN (?, ?)` is `in (?+)` and two rows of
//! `(?, now())` are one; an item that differs stays, at its first place.

use std::ops::Range;

use crate::output::Output;

/// Items of one list with which each further item is compared; a further one that differs from them stays unseen.
/// Bounds the work per item; lists of real statements have one to three forms.
const KEPT_ITEMS_MAX: usize = 64;

/// A list that is being written.
pub(crate) struct List {
    /// Rows after `VALUES`, each in parentheses; otherwise what is between the parentheses of `IN (…)`.
    pub(crate) is_rows: bool,
    /// How many parentheses are open around its commas.
    pub(crate) depth: usize,
    start: usize,
    item_start: usize,
    /// Where the item before this one ends.
    previous_end: usize,
    /// The items that stay, as parts of the output.
    kept: Vec<Range<usize>>,
    /// The current row is complete: only a comma continues the list.
    row_is_closed: bool,
}

impl List {
    /// A list whose first item comes at `start`.
    pub(crate) fn new(is_rows: bool, depth: usize, start: usize) -> Self {
        Self {
            is_rows,
            depth,
            start,
            item_start: start,
            previous_end: start,
            kept: Vec::new(),
            row_is_closed: false,
        }
    }

    pub(crate) fn is_finished_rows(&self) -> bool {
        self.is_rows && self.row_is_closed
    }

    /// Nothing of the list is written yet.
    pub(crate) fn is_at_start(&self, output: &Output) -> bool {
        output.len() == self.start
    }

    /// Before a comma of this list is written.
    pub(crate) fn end_item(&mut self, output: &mut Output) {
        if !self.is_rows {
            self.drop_repeated(output);
        }
        self.previous_end = output.len();
    }

    /// After a comma of this list is written.
    pub(crate) fn start_item(&mut self, output: &Output) {
        self.item_start = output.len();
        self.row_is_closed = false;
    }

    /// After the parenthesis that closes a row is written.
    pub(crate) fn end_row(&mut self, output: &mut Output) {
        fold_literals(output, self.row_start(output), "(?+)", true);
        if !output.is_cut() {
            self.drop_repeated(output);
            self.row_is_closed = true;
        }
    }

    /// Before the parenthesis that closes an `IN` list is written.
    pub(crate) fn end(&mut self, output: &mut Output) {
        self.drop_repeated(output);
        fold_literals(output, self.start, "?+", false);
    }

    /// At the end of a statement that ends inside the list.
    pub(crate) fn end_unclosed(&mut self, output: &mut Output) {
        if !self.is_rows {
            return self.end(output);
        }
        if self.row_is_closed {
            return;
        }
        fold_literals(output, self.row_start(output), "(?+", true);
        let partial = output.from(self.item_start);
        if self
            .kept
            .iter()
            .any(|row| item(output, row).starts_with(partial))
        {
            output.truncate(self.previous_end);
            // Of `values (),,` no comma stays: one that did would go in the fingerprint's fingerprint.
            let after_rows = output.from(self.start);
            let commas = after_rows.len() - after_rows.trim_end_matches(',').len();
            output.truncate(output.len() - commas);
        }
    }

    /// Where the row's parenthesis is: `ROW` may be before it.
    fn row_start(&self, output: &Output) -> usize {
        let row = output.from(self.item_start);
        if row.starts_with("row(") {
            output.len() - row.len() + "row".len()
        } else {
            self.item_start
        }
    }

    fn drop_repeated(&mut self, output: &mut Output) {
        let text = output.from(self.item_start);
        if self.kept.iter().any(|kept| item(output, kept) == text) {
            output.truncate(self.previous_end);
        } else if self.kept.len() < KEPT_ITEMS_MAX {
            self.kept.push(output.len() - text.len()..output.len());
        }
    }
}

fn item<'a>(output: &'a Output, range: &Range<usize>) -> &'a str {
    output.as_str().get(range.clone()).unwrap_or_default()
}

/// Writes `folded` for everything from `start` on when that is nothing but literals.
fn fold_literals(output: &mut Output, start: usize, folded: &str, space_before_mark: bool) {
    let text = output.as_str().get(start..).unwrap_or_default();
    let is_part_of_list = |byte| matches!(byte, b'?' | b',' | b' ' | b'(' | b')' | b'+' | b'-');
    if text.contains('?') && text.bytes().all(is_part_of_list) {
        let space = text.starts_with(' ');
        output.truncate(start);
        output.push(space, space_before_mark, folded);
    }
}

/// Closes the lists in which a statement ends, the innermost first.
pub(crate) fn end_all_unclosed(mut lists: Vec<List>, output: &mut Output) {
    while let Some(mut list) = lists.pop() {
        list.end_unclosed(output);
        if output.is_cut() {
            return;
        }
    }
}
