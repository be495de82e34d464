//! The recorder's side of the socket.

use std::fs::Permissions;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use recorder::{CaptureRequests, Pulse, RecentStacks};
use rustix::net::sockopt::socket_peercred;

use super::{
    Answer, Capture, Doing, PATIENCE, REQUEST_BYTES_MAX, Request, STACKS_MS_MAX, Stacks, path,
    socket_client,
};

/// A recorder looks for requests four times a second.
const BEAT_MAX: Duration = Duration::from_secs(2);

/// Questions for stacks that may wait: of more live views than people look at once.
const STACKS_WAIT_MAX: usize = 16;

/// A recorder that can be asked.
#[derive(Clone)]
pub(crate) struct ControlledRecorder {
    /// Label of its server.
    pub(crate) label: String,
    /// Where an incident is asked for.
    pub(crate) asked: Arc<CaptureRequests>,
    /// How it does.
    pub(crate) pulse: Arc<Pulse>,
    /// What its server's threads do.
    pub(crate) stacks: RecentStacks,
}

/// The recorders that can be asked; some come and go.
#[derive(Clone, Default)]
pub(crate) struct ControlledRecorders(Arc<Mutex<Vec<ControlledRecorder>>>);

impl ControlledRecorders {
    pub(crate) fn add(&self, recorded: ControlledRecorder) {
        self.lock().push(recorded);
    }

    pub(crate) fn remove(&self, label: &str) {
        self.lock().retain(|recorded| recorded.label != label);
    }

    /// Those that there are now.
    pub(crate) fn now(&self) -> Vec<ControlledRecorder> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<ControlledRecorder>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A recorder's socket; it goes when this is dropped.
pub(crate) struct ControlSocket {
    path: PathBuf,
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Answers requests until the process ends. Sockets that killed recorders left behind are taken away.
///
/// Stacks have a thread of their own: giving them names reads symbol tables at first, for seconds where processors are
/// short, and who asks how a stall goes on is not to wait for that.
pub(crate) fn serve(dir: &Path, recorders: ControlledRecorders) -> Result<ControlSocket> {
    // A first start comes here before the history's thread has made it.
    store::make_private_dir(dir)?;
    for left in socket_client::sockets(dir) {
        if !socket_client::is_there(&left) {
            let _ = std::fs::remove_file(left);
        }
    }
    let path = path(dir, std::process::id());
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).with_context(|| path.display().to_string())?;
    let served = ControlSocket { path };
    // Who gets in before that is asked who it is, as everybody is.
    std::fs::set_permissions(&served.path, Permissions::from_mode(0o600))?;
    let (slow, slow_asked) = sync_channel::<(UnixStream, Request)>(STACKS_WAIT_MAX);
    let of_stacks = recorders.clone();
    kernel::own_threads::start("ff-stacks-told", move || {
        for (stream, request) in slow_asked {
            drop(tell(&stream, carry_out(&request, &of_stacks.now())));
            kernel::heap::give_back();
        }
    })?;
    kernel::own_threads::start("ff-control", move || {
        for stream in listener.incoming() {
            match stream {
                Ok(stream) => drop(answer(stream, &recorders.now(), &slow)),
                // No more files: later again.
                Err(_) => std::thread::sleep(PATIENCE),
            }
        }
    })?;
    Ok(served)
}

/// Answers, or leaves it to the thread for what is `slow`.
fn answer(
    stream: UnixStream,
    recorders: &[ControlledRecorder],
    slow: &SyncSender<(UnixStream, Request)>,
) -> Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let uid = socket_peercred(&stream)?.uid;
    if !uid.is_root() && uid != rustix::process::geteuid() {
        let refused = anyhow!("only the recorder's own user and root may ask");
        return tell(&stream, Err(refused));
    }
    match request(&stream) {
        Ok(request @ Request::Stacks { .. }) => match slow.try_send((stream, request)) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full((stream, _)) | TrySendError::Disconnected((stream, _))) => {
                tell(&stream, Err(anyhow!("too many ask for stacks")))
            }
        },
        Ok(request) => tell(&stream, carry_out(&request, recorders)),
        Err(error) => tell(&stream, Err(error)),
    }
}

fn tell(mut stream: &UnixStream, answer: Result<Answer>) -> Result<()> {
    let answer = answer.unwrap_or_else(|error| Answer::Error(format!("{error:#}")));
    let mut line = serde_json::to_vec(&answer)?;
    drop(answer);
    line.push(b'\n');
    Ok(stream.write_all(&line)?)
}

fn request(stream: &UnixStream) -> Result<Request> {
    let mut line = Vec::new();
    // A reader that sends byte by byte is bounded by the number of bytes and by each one's time.
    BufReader::new(stream.take(REQUEST_BYTES_MAX)).read_until(b'\n', &mut line)?;
    serde_json::from_slice(&line).context("the request cannot be read")
}

fn carry_out(request: &Request, recorders: &[ControlledRecorder]) -> Result<Answer> {
    let (for_ms, server) = match request {
        Request::Capture { for_ms, server } => (for_ms, server),
        Request::Now { server } => {
            let all = recorders.iter();
            let own = all.filter(|recorder| is_wanted(server.as_deref(), &recorder.label));
            return Ok(Answer::Now(own.map(doing).collect()));
        }
        Request::Stacks { for_ms, server } => {
            let own = recorders.iter().find(|one| one.label == *server);
            let latest = own.map(|one| one.stacks.latest((*for_ms).min(STACKS_MS_MAX)));
            let told = latest.map(|(clock, stacks)| Box::new(Stacks { clock, stacks }));
            return Ok(Answer::Stacks(told));
        }
    };
    let promised: Vec<_> = recorders
        .iter()
        .filter(|recorder| is_wanted(server.as_deref(), &recorder.label))
        .map(|recorder| recorder.asked.ask(*for_ms))
        .collect();
    let mut captures = Vec::new();
    for promise in promised {
        let Ok(promise) = promise.recv_timeout(BEAT_MAX) else {
            bail!("the recorder does not answer: it may be ending, or hang");
        };
        captures.push(Capture {
            server: promise.label,
            id: promise.id,
            for_ms: promise.for_ms,
        });
    }
    Ok(Answer::Captures(captures))
}

/// Whether a request is about the server with this label.
fn is_wanted(server: Option<&str>, label: &str) -> bool {
    server.is_none_or(|server| server == label)
}

fn doing(recorder: &ControlledRecorder) -> Doing {
    let now = recorder.pulse.now();
    Doing {
        server: recorder.label.clone(),
        beat_age_ms: now.beat_age_ms,
        stalled_ms: now.stalled_ms.filter(|_| now.stalled),
        reason: now.reason,
        verdict: now
            .verdict
            .filter(|_| now.stalled)
            .map(|verdict| (*verdict).clone()),
        unanswered_ms: now.unanswered_ms,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_start_makes_its_directory() {
        let dir = tempfile::tempdir().unwrap();
        let new = dir.path().join("state/freezeframe");
        let served = serve(&new, ControlledRecorders::default()).unwrap();
        assert_eq!(socket_client::sockets(&new).len(), 1);
        drop(served);
        assert_eq!(socket_client::sockets(&new).len(), 0);
    }
}
