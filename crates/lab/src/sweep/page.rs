//! A page for people: headings, lines and tables, as Markdown or for a terminal.

/// A page of Markdown, or of text.
pub(super) struct Page {
    pub(super) text: String,
    pub(super) is_markdown: bool,
}

impl Page {
    pub(super) fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    pub(super) fn head(&mut self, level: usize, text: &str) {
        if !self.text.is_empty() {
            self.line("");
        }
        match self.is_markdown {
            true => self.line(&format!("{} {text}\n", "#".repeat(level))),
            false => self.line(text),
        }
    }

    pub(super) fn table(&mut self, head: &[&str], rows: &[Vec<String>]) {
        let head: Vec<String> = head.iter().map(|&text| text.to_owned()).collect();
        if self.is_markdown {
            self.line(&format!("| {} |", head.join(" | ")));
            self.line(&format!("|{}", "---|".repeat(head.len())));
            for row in rows {
                let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
                self.line(&format!("| {} |", cells.join(" | ")));
            }
            return;
        }
        let all = || std::iter::once(&head).chain(rows);
        let width = |column: usize| {
            let cells = all().filter_map(|row| row.get(column));
            cells
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or_default()
        };
        let widths: Vec<usize> = (0..head.len()).map(width).collect();
        let lines: Vec<String> = all()
            .map(|row| {
                let cells = row
                    .iter()
                    .zip(&widths)
                    .map(|(cell, width)| format!("{cell:<width$}"));
                format!("  {}", cells.collect::<Vec<_>>().join("  "))
                    .trim_end()
                    .to_owned()
            })
            .collect();
        lines.iter().for_each(|line| self.line(line));
    }
}
