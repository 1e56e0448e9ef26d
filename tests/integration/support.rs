//! What the tests share.

pub(crate) mod pty;
pub(crate) mod rows;
pub(crate) mod session;
pub(crate) mod tree;

/// Runs a future on a runtime of its own.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
        .block_on(future)
}
