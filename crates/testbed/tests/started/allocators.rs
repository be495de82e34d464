//! Servers with another allocator, and the function that allocates.

#![allow(clippy::print_stderr, reason = "tests tell what they skip or measure")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::time::Duration;

use mysql::prelude::Queryable;
use testbed::{Allocator, Churn, Options, PrivateServer, at_once};

const TIMEOUT: Duration = Duration::from_secs(30);

#[test]
fn a_server_changes_its_allocator_and_keeps_the_function() {
    let dir = tempfile::tempdir().unwrap();
    let churn = Churn::build(dir.path()).unwrap();
    let arguments = vec![churn.argument()];
    let mut server = PrivateServer::start(&Options {
        arguments: arguments.clone(),
        ..Options::default()
    })
    .unwrap();
    churn.install(&server.login()).unwrap();
    let maps = |server: &PrivateServer| {
        std::fs::read_to_string(format!("/proc/{}/maps", server.pid().unwrap())).unwrap()
    };
    let sum = |server: &PrivateServer, sql: &str| -> Option<i64> {
        let mut connection = server.login().connect(false, TIMEOUT).unwrap();
        connection.query_first(sql).unwrap()
    };
    let bytes = "SELECT freezeframe_churn(7, 100)";
    let first = sum(&server, bytes).unwrap();
    // 100 blocks of 16 to 512 bytes.
    assert!((1_600..=51_200).contains(&first), "{first}");
    assert_ne!(
        sum(&server, "SELECT freezeframe_churn(8, 100)"),
        Some(first)
    );
    assert_eq!(sum(&server, "SELECT freezeframe_churn(7, NULL)"), Some(0));
    assert!(Allocator::Glibc.is_in(&maps(&server)));

    for allocator in Allocator::ALL {
        let environment = match allocator.environment() {
            Ok(environment) => environment,
            Err(error) => {
                eprintln!("skipped: {error}");
                continue;
            }
        };
        server.change(arguments.clone(), environment);
        server.restart().unwrap();
        assert!(allocator.is_in(&maps(&server)), "{}", allocator.name());
        assert_eq!(sum(&server, bytes), Some(first), "{}", allocator.name());
    }
    at_once(&server.login(), 3, bytes, 2, TIMEOUT).unwrap();
    let wrong = at_once(&server.login(), 2, "SELECT no_such_function()", 1, TIMEOUT);
    assert!(
        wrong
            .unwrap_err()
            .to_string()
            .contains("say SELECT no_such")
    );
    assert!(at_once(&server.login(), 0, bytes, 1, TIMEOUT).is_err());
}
