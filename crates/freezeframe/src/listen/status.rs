//! What the status address serves: health and metrics.

use std::sync::Arc;
use std::time::Duration;

use super::exposition::Format;
use super::metrics;
use super::site::{Limits, Reply, Site};
use super::{Answer, Board, Request};

/// Connections at a time. Each may hold a head of 8 KiB, and a file descriptor, of which the recorder
/// needs hundreds itself.
pub(super) const CONNECTIONS_MAX: usize = 256;

/// The status address of a recorder.
pub(crate) struct Status {
    board: Arc<Board>,
    /// The metrics are made once for all who ask for them in a turn, in each format.
    metrics: [Option<Arc<[u8]>>; 2],
}

impl Status {
    pub(crate) fn new(board: Arc<Board>) -> Self {
        Self {
            board,
            metrics: [None, None],
        }
    }
}

impl Site for Status {
    fn limits(&self) -> Limits {
        Limits {
            connections: CONNECTIONS_MAX,
            making: Duration::from_secs(2),
            answering: Duration::from_secs(2),
            stack_bytes: 256 << 10,
            unsent_bytes: 4 << 20,
        }
    }

    fn turn(&mut self) {
        self.metrics = [None, None];
    }

    fn answer(&mut self, request: &Request) -> Reply {
        let format = Format::wanted(&request.accept);
        let made = || answer(&self.board, &request.path, format).bytes(request.head_only);
        if request.path == "/metrics" && !request.head_only {
            let [text, open] = &mut self.metrics;
            let kept = match format {
                Format::Text => text,
                Format::OpenMetrics => open,
            };
            return Reply::Now(kept.get_or_insert_with(|| made().into()).clone());
        }
        Reply::Now(made().into())
    }
}

fn answer(board: &Board, path: &str, format: Format) -> Answer {
    match path {
        "/healthz" => board.health(None),
        "/livez" => board.lives(),
        "/metrics" => Answer::new(200, format.content_type(), metrics::text(board, format)),
        "/" => Answer::text(
            200,
            "freezeframe: /healthz, /healthz/SERVER, /livez, /metrics",
        ),
        _ => match path.strip_prefix("/healthz/") {
            Some(label) => board.health(Some(label)),
            None => Answer::text(
                404,
                "there are /healthz, /healthz/SERVER, /livez and /metrics",
            ),
        },
    }
}
