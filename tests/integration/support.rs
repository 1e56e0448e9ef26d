//! Tests.

pub(crate) mod pty;
pub(crate) mod rows;
pub(crate) mod session;
