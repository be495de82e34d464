use std::io;

/// Why packets cannot be captured.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// An option that makes no sense.
    #[error("{0}")]
    Options(&'static str),
    /// The system does not allow it.
    #[error(
        "packet capture is refused ({0}): it needs CAP_NET_RAW; run as root, or: setcap cap_net_raw=ep PROGRAM (setcap \
         replaces what it had), AmbientCapabilities=CAP_NET_RAW in a unit, --cap-add NET_RAW in a container"
    )]
    Refused(io::Error),
    /// The kernel was built without packet sockets, or with a mechanism of another age.
    #[error("this kernel has no packet sockets with a shared ring (CONFIG_PACKET): {0}")]
    NotInKernel(io::Error),
    /// Anything else.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the kernel answered.
        source: io::Error,
    },
}

/// Sorts what the kernel answered.
pub(super) fn system(what: &'static str) -> impl FnOnce(io::Error) -> CaptureError {
    move |source| match source.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => CaptureError::Refused(source),
        Some(libc::EAFNOSUPPORT | libc::EPROTONOSUPPORT | libc::ENOPROTOOPT) => {
            CaptureError::NotInKernel(source)
        }
        _ => CaptureError::System { what, source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_capability_and_the_command() {
        let error = system("opening")(io::Error::from_raw_os_error(libc::EPERM));
        let text = error.to_string();
        assert!(
            text.contains("CAP_NET_RAW") && text.contains("setcap cap_net_raw"),
            "{text}"
        );
        let error = system("opening")(io::Error::from_raw_os_error(libc::EAFNOSUPPORT));
        assert!(error.to_string().contains("CONFIG_PACKET"));
        let error = system("opening")(io::Error::from_raw_os_error(libc::ENOMEM));
        assert!(error.to_string().starts_with("opening: "));
    }
}
