//! What a server is asked, read from the packets on its ports: the kernel's capture, the protocol's decoder and the sum
//! of both. Asks nothing of the server, so that it works while the server answers nobody.

mod blind;
mod capture;
mod class;
mod digest;
mod histogram;
mod options;

pub use capture::{Captured, PacketCapture};
pub use digest::Collector;
pub use kernel::packets::CaptureError;
pub use options::PacketOptions;

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use model::QueryDigest;
use server::wire::Statement;

/// Hands over every statement of a stretch of time as its answer is complete; at the end those that have none yet.
/// Ends early when `stop` is set.
pub fn capture(
    options: &PacketOptions,
    duration: Duration,
    stop: &AtomicBool,
    each: &mut dyn FnMut(&Statement<'_>),
) -> Result<Captured, CaptureError> {
    let mut capture = PacketCapture::open(options)?;
    capture.run(duration, stop, each)?;
    capture.finish(each)
}

/// What a server is asked in a stretch of time, by class of statement. Ends early when `stop` is set.
pub fn digest(
    options: &PacketOptions,
    duration: Duration,
    stop: &AtomicBool,
) -> Result<QueryDigest, CaptureError> {
    let mut collector = Collector::new(options.with_literals);
    let captured = capture(options, duration, stop, &mut |statement| {
        collector.take(statement);
    })?;
    Ok(collector.finish(&captured, blind::blind_spots(options, &captured)))
}
