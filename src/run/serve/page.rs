//! The last snapshot as text, made once for all who ask meanwhile, and before it is asked for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::body::Bytes;

use crate::engine::SharedState;
use crate::export::text::{TextFormat, gzip};
use crate::export::{Exporter, Family};
use crate::proc::clock;

/// Two requests that come sooner one after the other are of one round.
const ROUND: Duration = Duration::from_millis(500);
/// Time in which the first and the second request are expected: few ask less often.
const SECOND: Duration = Duration::from_secs(120);

/// The last snapshot as text.
#[derive(Debug)]
pub(super) struct Page {
    state: SharedState,
    exporter: Arc<Mutex<Exporter>>,
    /// The time from one snapshot to the next.
    interval: Duration,
    texts: Mutex<Texts>,
}

/// The texts that are asked for.
#[derive(Debug)]
struct Texts {
    /// The number of the last snapshot whose texts are made: while those of the next are, these are given out.
    latest: u64,
    /// Four at most.
    all: Vec<Text>,
}

/// Format and compression of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Encoding {
    format: TextFormat,
    is_gzip: bool,
}

/// A text that is asked for again and again.
#[derive(Debug)]
struct Text {
    encoding: Encoding,
    /// When it was asked for last, or expected first.
    asked_at: Duration,
    was_asked: bool,
    /// The time between the last two rounds.
    period: Option<Duration>,
    made: Option<Made>,
}

/// A text, and what it was made of.
#[derive(Clone, Debug)]
struct Made {
    /// The number of the snapshot.
    of: u64,
    at: Duration,
    bytes: Bytes,
}

impl Text {
    /// Creates a text that is taken to be asked for soon.
    fn new(encoding: Encoding) -> Self {
        Self {
            encoding,
            asked_at: clock::monotonic(),
            was_asked: false,
            period: None,
            made: None,
        }
    }

    /// Notes a request.
    fn ask(&mut self, now: Duration) {
        let since = now.saturating_sub(self.asked_at);
        if since >= ROUND && self.was_asked {
            self.period = Some(since);
        }
        (self.asked_at, self.was_asked) = (now, true);
    }

    /// Returns true if it is going to be asked for before the next snapshot but one, as far as its period tells.
    fn is_expected(&self, now: Duration, interval: Duration) -> bool {
        let Some(period) = self.period else {
            return now <= self.asked_at + SECOND;
        };
        let next = self.asked_at.saturating_add(period);
        next <= now + interval * 3 / 2 && now <= next.saturating_add(period)
    }
}

impl Page {
    pub(super) fn new(state: SharedState, exporter: Arc<Mutex<Exporter>>, interval: Duration) -> Self {
        // As Prometheus asks, which is the one to come first.
        let first = Text::new(Encoding {
            format: TextFormat::OpenMetrics,
            is_gzip: true,
        });
        Self {
            state,
            exporter,
            interval,
            texts: Mutex::new(Texts {
                latest: 0,
                all: vec![first],
            }),
        }
    }

    /// Counts a push to a collector.
    pub(super) fn count_push(&self, is_taken: bool) {
        lock(&self.exporter).count_push(is_taken);
    }

    /// Makes the families; returns them with the name of the host, safe to print. `None` before the first snapshot.
    pub(super) fn families(&self) -> Option<(String, Vec<Family>)> {
        let state = self.state.lock();
        let host = crate::text::safe(&state.snapshot.as_ref()?.host).into_owned();
        let families = lock(&self.exporter).families(&state, clock::monotonic());
        Some((host, families))
    }

    /// Makes the texts of a new snapshot that are going to be asked for, so that nobody waits for one.
    pub(super) fn renew(&self) {
        let now = clock::monotonic();
        let expected: Vec<Encoding> = {
            let texts = lock(&self.texts);
            let expected = texts.all.iter().filter(|text| text.is_expected(now, self.interval));
            expected.map(|text| text.encoding).collect()
        };
        let made: Vec<_> = expected
            .into_iter()
            .filter_map(|encoding| Some((encoding, self.make(encoding)?)))
            .collect();
        let pushed = self.state.lock().pushed;
        let mut texts = lock(&self.texts);
        texts.latest = pushed;
        for text in &mut texts.all {
            let new = made.iter().find(|(encoding, _)| *encoding == text.encoding);
            text.made = new.map(|(_, made)| made.clone());
        }
    }

    /// Returns the text, compressed if asked; `None` before the first snapshot. Takes some milliseconds where it was not made
    /// before.
    pub(super) fn text(&self, format: TextFormat, is_gzip: bool) -> Option<Bytes> {
        let encoding = Encoding { format, is_gzip };
        // Held meanwhile: who asks at the same time waits for the one text.
        let mut texts = lock(&self.texts);
        let now = clock::monotonic();
        let latest = texts.latest;
        let at = texts.all.iter().position(|text| text.encoding == encoding);
        let at = at.unwrap_or_else(|| {
            texts.all.push(Text::new(encoding));
            texts.all.len() - 1
        });
        let text = &mut texts.all[at];
        text.ask(now);
        // Its age is in the text: one that nothing follows is made anew.
        let lasts = self.interval + Duration::from_secs(1);
        let is_last = |made: &&Made| made.of >= latest && now.saturating_sub(made.at) < lasts;
        if let Some(made) = text.made.as_ref().filter(is_last) {
            return Some(made.bytes.clone());
        }
        let made = self.make(encoding)?;
        let bytes = made.bytes.clone();
        text.made = Some(made);
        Some(bytes)
    }

    /// Makes a text of the last snapshot; `None` before the first.
    fn make(&self, Encoding { format, is_gzip }: Encoding) -> Option<Made> {
        let (of, at, families) = {
            let state = self.state.lock();
            state.snapshot.as_ref()?;
            let now = clock::monotonic();
            (state.pushed, now, lock(&self.exporter).families(&state, now))
        };
        // The engine goes on while the text is written.
        let text = format.write(families);
        let bytes = if is_gzip {
            Bytes::from(gzip(text.as_bytes()))
        } else {
            Bytes::from(text)
        };
        Some(Made { of, at, bytes })
    }
}

/// Locks; what a thread that panicked left is whole.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
