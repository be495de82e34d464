//! What a server was asked: a digest of statements, and what two of them differ in.

use model::{QueryClass, QueryDigest};

use super::document::parts;
use super::{head, none, section};
use crate::content::{absences, queries};
use crate::document::Part;
use crate::evidence::queries_diff::{queries_diff, side_words};
use crate::markup::{Markup, markup};

/// A digest: how much of what, then each class. `None` when there was nothing.
fn digest_body(digest: &QueryDigest, overall: Option<&QueryClass>) -> Option<Markup> {
    if digest.count == 0 && digest.classes.is_empty() {
        return None;
    }
    let heading = |title: &str| Part::Heading(title.to_owned());
    let mut all: Vec<Part> = queries::head(digest)
        .into_iter()
        .map(Part::paragraph)
        .collect();
    if let Some(overall) = overall {
        all.push(heading("All statements"));
        all.extend(queries::measures(&overall.measures, None));
    }
    all.extend([heading("By class"), queries::profile(digest, false)]);
    all.push(heading("Each class"));
    all.extend(queries::details(digest, overall));
    all.extend(on_paper(digest.classes.len()));
    for (title, absents) in [("Not seen", &digest.blind), ("Tried before", &digest.tried)] {
        let absents = absences::list(absents);
        if !absents.is_empty() {
            all.push(heading(title));
            all.extend(absents);
        }
    }
    Some(parts(&all))
}

/// What paper says in the place of the classes that are closed: nobody can open them there, and the table above names
/// each of them.
fn on_paper(classes: usize) -> Option<Part> {
    let others = match classes.saturating_sub(1) {
        0 => return None,
        1 => "The other class has".to_owned(),
        others => format!("The {others} other classes have"),
    };
    Some(Part::PageOnly(markup!(
        "<p class=\"paper-only\">{} numbers like these. What is opened on the screen is printed.</p>",
        others
    )))
}

/// A digest as one self-contained page. The title is text. Its size is bounded.
pub fn queries_page(title: &str, digest: &QueryDigest, overall: Option<&QueryClass>) -> String {
    let body = digest_body(digest, overall).unwrap_or_else(|| none("There are no statements."));
    page(title, markup!("<section id=\"queries\">{}</section>", body))
}

/// What two digests differ in, and both of them, as one self-contained page.
pub fn queries_diff_page(title: &str, before: &QueryDigest, during: &QueryDigest) -> String {
    let diff = queries_diff(before, during);
    let mut body = markup!(
        "<ul><li><b>Before</b>: {}</li><li><b>During</b>: {}</li></ul>",
        side_words(&diff.before),
        side_words(&diff.during),
    );
    let changes = parts(&queries::changes(&diff, usize::MAX));
    body += section("changes", "What changed", changes);
    for (id, name, digest) in [("during", "During", during), ("before", "Before", before)] {
        if let Some(digest) = digest_body(digest, None) {
            body += section(id, name, digest);
        }
    }
    page(title, body)
}

fn page(title: &str, body: Markup) -> String {
    let mut out = head::document(title, &[]);
    out += markup!(
        "<main>\n<header class=\"top\"><p class=\"brand\">freezeframe <span>queries</span></p>\n\
         <h1>{}</h1></header>\n{}\n</main>\n",
        title,
        body
    );
    out += head::footer(Markup::literal(
        "Times are UTC. Statements have no literals, unless --no-redact was used. Quantiles have an error of at most 0.8 %.",
    ));
    out.into_string()
}
