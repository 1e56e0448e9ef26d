//! Tests.

pub(crate) mod rows;
pub(crate) mod session;
