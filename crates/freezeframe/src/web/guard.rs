//! Who may see what: the token, and which page asks. Names in `Host` are the listener's to refuse, and so are methods.

use crate::listen::Request;

use super::token::Token;

/// Why somebody may not see it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// A page of somebody else asks, not our user.
    Foreign,
    /// There is no token, or another one.
    NoToken,
}

/// The path within the view that is asked for. It begins with a slash; what is in it is not to be trusted.
///
/// The token is in the path, `/t/TOKEN/…`, or in an `Authorization: Bearer` header. A cookie would be sent by every page
/// that a browser has open, a token in a link is sent by ours alone.
pub(super) fn admit<'r>(token: &Token, request: &'r Request) -> Result<&'r str, Refused> {
    if !is_own(request) {
        return Err(Refused::Foreign);
    }
    if let Some(rest) = request.path.strip_prefix("/t/") {
        let (given, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        return match token.is(given) && !path.is_empty() {
            true => Ok(path),
            false => Err(Refused::NoToken),
        };
    }
    let given = request.authorization.as_deref().and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    match given.is_some_and(|given| token.is(given)) {
        true => Ok(&request.path),
        false => Err(Refused::NoToken),
    }
}

/// Whether a browser says that nobody else's page asks. A program says nothing; a link that somebody follows is a
/// navigation, and its answer is shown to him alone.
fn is_own(request: &Request) -> bool {
    let is_ours = |origin: &str| {
        let host = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"));
        host.is_some_and(|host| !host.is_empty() && host.eq_ignore_ascii_case(&request.host))
    };
    let is_navigation = request.fetch_mode.as_deref() == Some("navigate");
    let is_near = match request.fetch_site.as_deref() {
        None | Some("same-origin" | "none") => true,
        Some(_) => is_navigation,
    };
    request.origin.as_deref().is_none_or(is_ours) && is_near
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(path: &str) -> Request {
        Request {
            path: path.to_owned(),
            host: "localhost:8420".to_owned(),
            ..Request::default()
        }
    }

    #[test]
    fn the_token_is_in_the_path_or_in_a_header() {
        let token = Token::random().unwrap();
        let text = token.text();
        let good = format!("/t/{text}/incident/x");
        assert_eq!(admit(&token, &request(&good)), Ok("/incident/x"));
        assert_eq!(admit(&token, &request(&format!("/t/{text}/"))), Ok("/"));
        for wrong in [
            "/".to_owned(),
            "/incident/x".to_owned(),
            "/t/".to_owned(),
            "/t//".to_owned(),
            format!("/t/{text}"),
            format!("/t/{text}0/"),
            format!("/T/{text}/"),
            format!("//t/{text}/"),
            format!("/t/{}/", text.replace(|c: char| c.is_ascii_digit(), "x")),
        ] {
            assert_eq!(
                admit(&token, &request(&wrong)),
                Err(Refused::NoToken),
                "{wrong}"
            );
        }
        for (header, is_good) in [
            (format!("Bearer {text}"), true),
            (format!("bearer  {text} "), true),
            (format!("Basic {text}"), false),
            (text.to_owned(), false),
            ("Bearer ".to_owned(), false),
            ("Bearer x".to_owned(), false),
        ] {
            let asked = Request {
                authorization: Some(header.clone()),
                ..request("/api/incidents")
            };
            assert_eq!(admit(&token, &asked).is_ok(), is_good, "{header}");
        }
        // A wrong one in the path is not made good by a header.
        let mixed = Request {
            authorization: Some(format!("Bearer {text}")),
            ..request("/t/wrong/")
        };
        assert_eq!(admit(&token, &mixed), Err(Refused::NoToken));
    }

    #[test]
    fn pages_of_others_get_nothing_even_with_the_token() {
        let token = Token::random().unwrap();
        let path = format!("/t/{}/api/incidents", token.text());
        let of = |origin: Option<&str>, site: Option<&str>, mode: Option<&str>| {
            let owned = |text: Option<&str>| text.map(str::to_owned);
            let asked = Request {
                origin: owned(origin),
                fetch_site: owned(site),
                fetch_mode: owned(mode),
                ..request(&path)
            };
            admit(&token, &asked).is_ok()
        };
        assert!(of(None, None, None));
        assert!(of(
            Some("http://localhost:8420"),
            Some("same-origin"),
            Some("cors")
        ));
        assert!(of(Some("https://LOCALHOST:8420"), None, None));
        assert!(of(None, Some("none"), Some("navigate")));
        assert!(of(None, Some("cross-site"), Some("navigate")));
        for origin in [
            "null",
            "",
            "http://",
            "http://localhost",
            "http://localhost:8421",
            "http://localhost:8420.evil.example",
            "http://evil.example",
            "file://",
        ] {
            assert!(!of(Some(origin), None, None), "{origin}");
        }
        assert!(!of(None, Some("cross-site"), Some("no-cors")));
        assert!(!of(None, Some("same-site"), Some("no-cors")));
        assert!(!of(None, Some("cross-site"), None));
    }
}
