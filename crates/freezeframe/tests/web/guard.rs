//! Who may see it, and how.

use crate::stage::Served;

/// One view for all: to make what it serves, and to judge it, takes longer than to ask for it.
#[test]
fn who_may_see_what_and_how() {
    let served = Served::start();
    without_the_token_there_is_nothing(&served);
    pages_of_others_and_other_methods_are_refused(&served);
    nothing_outside_the_directories_is_reached(&served);
    every_answer_says_what_a_browser_may_do(&served);
}

fn without_the_token_there_is_nothing(served: &Served) {
    let token = served.root.strip_prefix("/t/").unwrap().to_owned();
    let get = |path: &str, more: &str| {
        served.ask(&format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\n{more}\r\n"
        ))
    };
    for path in [
        "/",
        "/incident/latch",
        "/history",
        "/static/web.js",
        "/t/",
        "/t//",
        "/t/0123/",
        &format!("/t/{token}0/incident/latch"),
        &format!(
            "/t/{}/",
            token
                .to_uppercase()
                .replace(|c: char| c.is_ascii_digit(), "f")
        ),
    ] {
        let (head, body) = get(path, "");
        assert!(head.starts_with("HTTP/1.1 401 "), "{path}: {head}");
        assert!(
            body.contains("needs its token") && !body.contains("latch contention"),
            "{path}"
        );
        assert!(!head.contains(&token) && !body.contains(&token), "{path}");
    }
    let (head, body) = get("/api/incidents", "");
    assert!(head.starts_with("HTTP/1.1 401 ") && head.contains("WWW-Authenticate: Bearer"));
    assert!(body.contains("Authorization: Bearer"), "{body}");
    // By a header, for programs and proxies.
    let (head, _) = get(
        "/api/incidents",
        &format!("Authorization: Bearer {token}\r\n"),
    );
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let (head, _) = get("/api/incidents", "Authorization: Bearer x\r\n");
    assert!(head.starts_with("HTTP/1.1 401 "), "{head}");
    // Whoever was given a link without a token brings his own.
    let (head, _) = get(&format!("/open?token={token}&next=/history%3Fat%3D5"), "");
    assert!(head.starts_with("HTTP/1.1 303 "), "{head}");
    assert!(
        head.contains(&format!("\r\nLocation: t/{token}/history?at=5")),
        "{head}"
    );
    for next in [
        "//evil.example",
        "https://evil.example",
        "%0d%0aSet-Cookie:%20a",
        "/%5cevil",
    ] {
        let (head, _) = get(&format!("/open?token={token}&next={next}"), "");
        let to = format!("\r\nLocation: t/{token}/");
        assert!(head.contains(&to) && !head.contains("Set-Cookie"), "{head}");
    }
    let (head, _) = get("/open?token=wrong&next=/", "");
    assert!(head.starts_with("HTTP/1.1 401 "), "{head}");
}

fn pages_of_others_and_other_methods_are_refused(served: &Served) {
    let root = &served.root;
    let own = format!("Origin: http://{}\r\n", served.address);
    for (request, code) in [
        (
            format!(
                "GET {root}/ HTTP/1.1\r\nHost: {}\r\n{own}\r\n",
                served.address
            ),
            200,
        ),
        (
            format!("HEAD {root}/ HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            200,
        ),
        (
            format!("GET {root}/ HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
            421,
        ),
        (
            format!(
                "GET {root}/ HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n\r\n"
            ),
            403,
        ),
        (
            format!("GET {root}/ HTTP/1.1\r\nHost: localhost\r\nOrigin: null\r\n\r\n"),
            403,
        ),
        (
            format!(
                "GET {root}/ HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost:1\r\n\r\n"
            ),
            403,
        ),
        (
            format!(
                "GET {root}/ HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n\r\n"
            ),
            403,
        ),
        (
            format!(
                "GET {root}/ HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n\r\n"
            ),
            200,
        ),
        (
            format!("POST {root}/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"),
            405,
        ),
        (
            format!("DELETE {root}/incident/latch HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            405,
        ),
        (
            format!("OPTIONS {root}/ HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            405,
        ),
        (
            format!(
                "GET {root}/{} HTTP/1.1\r\nHost: localhost\r\n\r\n",
                "x".repeat(4000)
            ),
            414,
        ),
        (
            format!(
                "GET {root}/ HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n",
                "x".repeat(9000)
            ),
            431,
        ),
    ] {
        let (head, body) = served.ask(&request);
        assert!(
            head.starts_with(&format!("HTTP/1.1 {code} ")),
            "{request:.200}: {head}"
        );
        if request.starts_with("HEAD") {
            assert_eq!(body, "");
        }
    }
}

fn nothing_outside_the_directories_is_reached(served: &Served) {
    for path in [
        "/incident/link",
        "/incident/broken",
        "/incident/",
        "/incident/..%2f..%2f..%2fetc%2fpasswd",
        "/incident/../one/latch",
        "/incident/latch.frame",
        "/incident/latch/",
        "/incident/latch%00",
        "/incident//etc/passwd",
        "/static/../../etc/passwd",
        "/static/..%2fweb.js",
        "/static/",
        "/../../etc/passwd",
        "/api/",
        "//",
    ] {
        let (head, body) = served.get(path);
        assert!(head.starts_with("HTTP/1.1 404 "), "{path}: {head}");
        assert!(!body.contains("root:"), "{path}");
    }
    let (head, _) = served.get("/pair?id=latch&id=../../etc/passwd");
    assert!(head.starts_with("HTTP/1.1 404 "), "{head}");
    let (head, _) = served.get("/pair?id=latch");
    assert!(head.starts_with("HTTP/1.1 400 "), "{head}");
}

fn every_answer_says_what_a_browser_may_do(served: &Served) {
    let pages = ["/", "/history", "/incident/latch", "/pair?id=latch&id=pool"];
    let others = [
        "/api/incidents",
        "/api/history",
        "/static/web.js",
        "/nothing",
    ];
    for path in pages.iter().chain(&others) {
        let (head, body) = served.get(path);
        for line in [
            "X-Content-Type-Options: nosniff",
            "Referrer-Policy: no-referrer",
            "Cache-Control: no-store",
            "Content-Security-Policy: default-src 'none'",
        ] {
            assert!(
                head.contains(&format!("\r\n{line}")),
                "{path}: {line}: {head}"
            );
        }
        assert!(head.contains("frame-ancestors 'none'"), "{path}: {head}");
        assert!(!head.contains("Set-Cookie"), "{path}: {head}");
        // A script is a file of ours, or its hash is in the policy.
        let policy = head.split("\r\nContent-Security-Policy: ").nth(1).unwrap();
        let policy = policy.split("\r\n").next().unwrap();
        let scripts = policy.split("script-src").nth(1).unwrap_or_default();
        let scripts = scripts.split(';').next().unwrap();
        assert!(!scripts.contains("unsafe"), "{path}: {policy}");
        if head.contains("text/html") && body.contains("<script>") {
            assert!(scripts.contains("'sha256-"), "{path}: {policy}");
        }
        // No inline style in pages whose style is a file.
        if policy.contains("style-src 'self'") {
            assert!(
                !body.contains(" style=") && !body.contains("<style"),
                "{path}"
            );
        }
    }
}
