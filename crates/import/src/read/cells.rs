//! The values of a table in one text: a capture of a busy server has millions of them.

/// Texts one behind the other.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cells {
    text: String,
    /// Where each ends.
    ends: Vec<u32>,
}

impl Cells {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// One of them, by its place.
    pub(crate) fn get(&self, place: usize) -> Option<&str> {
        let end = |place: usize| self.ends.get(place).map(|end| *end as usize);
        let from = match place.checked_sub(1) {
            None => 0,
            Some(before) => end(before)?,
        };
        self.text.get(from..end(place)?)
    }

    /// Adds one; beyond four gigabytes an empty one.
    pub(crate) fn push(&mut self, value: &str) {
        let end = self.text.len() + value.len();
        if u32::try_from(end).is_ok() {
            self.text.push_str(value);
        }
        self.end();
    }

    /// Adds to the last one, where that is shorter than so many bytes.
    pub(crate) fn lengthen(&mut self, more: &str, bytes_max: usize) {
        let Some(last) = self.len().checked_sub(1) else {
            return;
        };
        let length = self.get(last).map_or(0, str::len);
        let end = self.text.len() + more.len() + 1;
        if length < bytes_max && u32::try_from(end).is_ok() {
            self.text.push(' ');
            self.text.push_str(more);
            self.ends.pop();
            self.end();
        }
    }

    /// Takes all away.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    fn end(&mut self) {
        self.ends
            .push(u32::try_from(self.text.len()).unwrap_or(u32::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::Cells;

    #[test]
    fn each_is_what_was_added() {
        let mut cells = Cells::default();
        cells.lengthen("nothing to add to", 100);
        for value in ["a", "", "select"] {
            cells.push(value);
        }
        cells.lengthen("1", 7);
        cells.lengthen("2", 7);
        let all = [0, 1, 2, 3].map(|place| cells.get(place));
        assert_eq!(all, [Some("a"), Some(""), Some("select 1"), None]);
        assert_eq!(cells.len(), 3);
        cells.clear();
        assert!(cells.is_empty() && cells.get(0).is_none());
    }
}
