//! The last snapshot as text, made once for all who ask meanwhile.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::body::Bytes;

use crate::engine::State;
use crate::export::text::{TextFormat, gzip};
use crate::export::{Exporter, Family};
use crate::proc::clock;

/// The last snapshot as text.
#[derive(Debug)]
pub(super) struct Page {
    state: Arc<Mutex<State>>,
    exporter: Arc<Mutex<Exporter>>,
    /// The last texts made.
    made: Mutex<Vec<Made>>,
}

/// A text, and what it was made of.
#[derive(Debug)]
struct Made {
    format: TextFormat,
    is_gzip: bool,
    /// The number of the snapshot, and the second of the clock: its age is in the text.
    of: (u64, u64),
    text: Bytes,
}

impl Page {
    pub(super) const fn new(state: Arc<Mutex<State>>, exporter: Arc<Mutex<Exporter>>) -> Self {
        Self {
            state,
            exporter,
            made: Mutex::new(Vec::new()),
        }
    }

    /// Counts a push to a collector.
    pub(super) fn count_push(&self, is_taken: bool) {
        lock(&self.exporter).count_push(is_taken);
    }

    /// Makes the families; returns them with the name of the host, safe to print. `None` before the first snapshot.
    pub(super) fn families(&self) -> Option<(String, Vec<Family>)> {
        let state = lock(&self.state);
        let host = crate::text::safe(&state.snapshot.as_ref()?.host).into_owned();
        let families = lock(&self.exporter).families(&state, clock::monotonic());
        Some((host, families))
    }

    /// Returns the text, compressed if asked; `None` before the first snapshot. Takes some milliseconds where it is to be
    /// made.
    pub(super) fn text(&self, format: TextFormat, is_gzip: bool) -> Option<Bytes> {
        // Held meanwhile: who asks at the same time waits for the one text.
        let mut made = lock(&self.made);
        let now = clock::monotonic();
        let (of, families) = {
            let state = lock(&self.state);
            let of = (state.pushed, now.as_secs());
            made.retain(|known| known.of == of);
            let is_it = |known: &&Made| known.format == format && known.is_gzip == is_gzip;
            if let Some(known) = made.iter().find(is_it) {
                return Some(known.text.clone());
            }
            state.snapshot.as_ref()?;
            (of, lock(&self.exporter).families(&state, now))
        };
        // The engine goes on while the text is written.
        let text = format.write(families);
        let text = if is_gzip {
            Bytes::from(gzip(text.as_bytes()))
        } else {
            Bytes::from(text)
        };
        made.push(Made {
            format,
            is_gzip,
            of,
            text: text.clone(),
        });
        Some(text)
    }
}

/// Locks; what a thread that panicked left is whole.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
