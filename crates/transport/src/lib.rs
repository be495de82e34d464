//! How anything leaves this process for another one: hooks, and the fleet's stores of rows and of files.
//!
//! **Everything has a deadline**, and what comes back is bounded: who is told of a stall may hang as well.
//!
//! **https goes through curl(1)** ([`curl`]): a library would bring several times our own code, for a post now and then.
//! curl brings the distribution's certificates and proxies, and is updated with it.

pub mod curl;
pub mod hmac;
pub mod http;
pub mod program;
