//! Tests.

pub(crate) mod rows;
