//! Servers that only answer: hundreds of them in one process, to record many at once. They speak the protocol as far as
//! the recorder's statements go, say what a real server said, and their counters rise. One can be told to hang.

mod answers;

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

pub use self::answers::Answers;
use crate::Error;
use crate::hostile::talk::{NATIVE, USUAL, greeting, ok};

/// For the thread of a connection: there are two or three for each server.
const STACK_BYTES: usize = 128 << 10;

/// How often those who wait look whether it is over.
const POLL: Duration = Duration::from_millis(50);

/// Longest packet of a client.
const REQUEST_BYTES_MAX: usize = 1 << 20;

/// Servers that only answer, each on a port of the loopback address. They end when this is dropped.
#[derive(Debug)]
pub struct FakeServers {
    all: Vec<Arc<Fake>>,
    stop: Arc<AtomicBool>,
}

#[derive(Debug)]
struct Fake {
    port: u16,
    answers: Arc<Answers>,
    begin: Instant,
    hangs: AtomicBool,
    statements: AtomicU64,
    connections: AtomicU32,
    stop: Arc<AtomicBool>,
}

impl FakeServers {
    /// Starts so many.
    pub fn start(count: usize, answers: Answers) -> Result<Self, Error> {
        let answers = Arc::new(answers);
        let stop = Arc::new(AtomicBool::new(false));
        let mut listeners = Vec::new();
        let mut all = Vec::new();
        for _ in 0..count {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
                .map_err(Error::io("listen as a server that only answers"))?;
            let port = listener
                .local_addr()
                .map_err(Error::io("ask for the port of a listening socket"))?
                .port();
            listeners.push(listener);
            all.push(Arc::new(Fake {
                port,
                answers: answers.clone(),
                begin: Instant::now(),
                hangs: AtomicBool::new(false),
                statements: AtomicU64::new(0),
                connections: AtomicU32::new(0),
                stop: stop.clone(),
            }));
        }
        let (fakes, until) = (all.clone(), stop.clone());
        thread::Builder::new()
            .name("lab-fakes".to_owned())
            .spawn(move || accept(&listeners, &fakes, &until))
            .map_err(Error::io("start the thread of servers that only answer"))?;
        Ok(Self { all, stop })
    }

    /// The ports, one each, in the order of their numbers.
    pub fn ports(&self) -> impl Iterator<Item = u16> {
        self.all.iter().map(|fake| fake.port)
    }

    /// From now on one of them answers nobody, or answers again. It still lets the kernel take connections.
    pub fn hang(&self, index: usize, hangs: bool) {
        if let Some(fake) = self.all.get(index) {
            fake.hangs.store(hangs, Ordering::Relaxed);
        }
    }

    /// Statements that one of them was asked.
    pub fn statements(&self, index: usize) -> u64 {
        let fake = self.all.get(index);
        fake.map_or(0, |fake| fake.statements.load(Ordering::Relaxed))
    }
}

impl Drop for FakeServers {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Takes the connections of all of them on one thread.
fn accept(listeners: &[TcpListener], fakes: &[Arc<Fake>], stop: &AtomicBool) {
    let timeout = Timespec {
        tv_sec: 0,
        tv_nsec: i64::from(POLL.subsec_nanos()),
    };
    let mut polled: Vec<PollFd<'_>> = listeners
        .iter()
        .map(|listener| PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN))
        .collect();
    while !stop.load(Ordering::Relaxed) {
        if !matches!(poll(&mut polled, Some(&timeout)), Ok(1..)) {
            continue;
        }
        for ((listener, fake), polled) in listeners.iter().zip(fakes).zip(&polled) {
            if !polled.revents().contains(PollFlags::IN) {
                continue;
            }
            let Ok((stream, _)) = listener.accept() else {
                continue;
            };
            let fake = fake.clone();
            let talking = thread::Builder::new()
                .stack_size(STACK_BYTES)
                .spawn(move || {
                    // The client goes when it has had enough.
                    let _ = fake.talk(stream);
                });
            drop(talking);
        }
    }
}

impl Fake {
    fn talk(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        let id = self.connections.fetch_add(1, Ordering::Relaxed) + 1;
        self.wait()?;
        stream.write_all(&numbered(greeting(NATIVE, USUAL), id))?;
        let login = self.hear(&mut stream)?;
        drop(login);
        self.wait()?;
        stream.write_all(&ok(2))?;
        loop {
            let request = self.hear(&mut stream)?;
            let Some((3, statement)) = request.split_first() else {
                return Ok(());
            };
            self.wait()?;
            let count = self.statements.fetch_add(1, Ordering::Relaxed);
            let statement = String::from_utf8_lossy(statement);
            let seconds = self.begin.elapsed().as_secs_f64();
            stream.write_all(&self.answers.to(&statement, seconds, count, id))?;
        }
    }

    /// Until it does not hang.
    fn wait(&self) -> io::Result<()> {
        while self.hangs.load(Ordering::Relaxed) {
            self.goes_on()?;
            thread::sleep(POLL);
        }
        self.goes_on()
    }

    fn goes_on(&self) -> io::Result<()> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(io::ErrorKind::ConnectionAborted.into()),
            false => Ok(()),
        }
    }

    /// A packet of the client, without its head.
    fn hear(&self, stream: &mut TcpStream) -> io::Result<Vec<u8>> {
        let mut head = [0; 4];
        self.fill(stream, &mut head)?;
        let [a, b, c, _] = head;
        let length = usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16;
        if length > REQUEST_BYTES_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut payload = vec![0; length];
        self.fill(stream, &mut payload)?;
        Ok(payload)
    }

    /// As `read_exact`, but looks now and then whether it should end.
    fn fill(&self, stream: &mut TcpStream, mut into: &mut [u8]) -> io::Result<()> {
        while !into.is_empty() {
            match stream.read(into) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => into = into.get_mut(count..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.goes_on()?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// The number of the connection stands behind the version.
fn numbered(mut greeting: Vec<u8>, id: u32) -> Vec<u8> {
    let version = greeting.iter().skip(5).position(|byte| *byte == 0);
    let at = version.map_or(0, |length| 5 + length + 1);
    if let Some(place) = greeting.get_mut(at..at + 4) {
        place.copy_from_slice(&id.to_le_bytes());
    }
    greeting
}
