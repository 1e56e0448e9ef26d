//! The last snapshot as text. A text is made before it is requested, as far as requests are regular, and once for all
//! concurrent requests.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use hyper::body::Bytes;

use super::text::{TextFormat, gzip};
use super::{Exporter, Family, lock};
use crate::engine::SharedState;
use crate::proc::clock;

/// Requests within this time belong to one round, such as requests from several servers.
const ROUND: Duration = Duration::from_millis(500);
/// Time in which the first and the second request are expected: few servers scrape less often.
const SECOND: Duration = Duration::from_secs(120);

pub(crate) struct Page {
    state: SharedState,
    pub(super) exporter: Arc<Mutex<Exporter>>,
    /// The time between two snapshots.
    interval: Duration,
    texts: Mutex<Texts>,
}

struct Texts {
    /// The number of the last snapshot whose texts are complete. They are used until the texts of the next one are complete.
    latest: u64,
    /// At most 4.
    all: Vec<Text>,
}

/// The format, and whether it is compressed with gzip.
type Encoding = (TextFormat, bool);

/// A text that is requested repeatedly.
struct Text {
    encoding: Encoding,
    /// The last request, or the creation.
    asked_at: Duration,
    was_asked: bool,
    /// The time between the last two rounds.
    period: Option<Duration>,
    made: Option<Made>,
}

#[derive(Clone)]
struct Made {
    /// The number of its snapshot.
    of: u64,
    at: Duration,
    bytes: Bytes,
}

impl Text {
    /// Creates a text whose first request is expected soon.
    fn new(encoding: Encoding) -> Self {
        Self {
            encoding,
            asked_at: clock::monotonic(),
            was_asked: false,
            period: None,
            made: None,
        }
    }

    fn ask(&mut self, now: Duration) {
        let since = now.saturating_sub(self.asked_at);
        if since >= ROUND && self.was_asked {
            self.period = Some(since);
        }
        (self.asked_at, self.was_asked) = (now, true);
    }

    /// Returns true if its period predicts a request before the next snapshot but one.
    fn is_expected(&self, now: Duration, interval: Duration) -> bool {
        let Some(period) = self.period else {
            return now <= self.asked_at + SECOND;
        };
        let next = self.asked_at.saturating_add(period);
        next <= now + interval * 3 / 2 && now <= next.saturating_add(period)
    }
}

impl Page {
    pub(crate) fn new(state: SharedState, exporter: Arc<Mutex<Exporter>>, interval: Duration) -> Self {
        // As Prometheus requests it.
        let all = vec![Text::new((TextFormat::OpenMetrics, true))];
        Self {
            state,
            exporter,
            interval,
            texts: Mutex::new(Texts { latest: 0, all }),
        }
    }

    /// Returns the host's name, safe to print, the families, and the time at which they are made; `None` before the first
    /// snapshot.
    pub(super) fn families(&self) -> Option<(String, Vec<Family>, SystemTime)> {
        let state = self.state.lock();
        let host = crate::text::safe(&state.snapshot.as_ref()?.host).into_owned();
        let mut exporter = lock(&self.exporter);
        let time = SystemTime::now();
        exporter.limit_starts(time);
        let families = exporter.families(&state, clock::monotonic());
        Some((host, families, time))
    }

    /// Builds the texts of a new snapshot whose requests are expected, so that no client waits for them.
    pub(crate) fn renew(&self) {
        let now = clock::monotonic();
        let expected: Vec<Encoding> = {
            let texts = lock(&self.texts);
            let expected = texts.all.iter().filter(|text| text.is_expected(now, self.interval));
            expected.map(|text| text.encoding).collect()
        };
        let made: Vec<_> = expected
            .iter()
            .map(|encoding| (encoding, self.make(*encoding)))
            .collect();
        let pushed = self.state.lock().pushed;
        let mut texts = lock(&self.texts);
        texts.latest = pushed;
        for text in &mut texts.all {
            let new = made.iter().find(|(encoding, _)| **encoding == text.encoding);
            text.made = new.and_then(|(_, made)| made.clone());
        }
    }

    /// Returns a text; `None` before the first snapshot. Takes some milliseconds if the text was not built before.
    pub(crate) fn text(&self, format: TextFormat, is_gzip: bool) -> Option<Bytes> {
        let encoding = (format, is_gzip);
        // Locked meanwhile: concurrent requests wait for the one text.
        let mut texts = lock(&self.texts);
        let now = clock::monotonic();
        let Texts { latest, all } = &mut *texts;
        let at = all.iter().position(|text| text.encoding == encoding);
        let at = at.unwrap_or_else(|| {
            all.push(Text::new(encoding));
            all.len() - 1
        });
        let text = &mut all[at];
        text.ask(now);
        // The text has its age in it. If no new snapshot follows, it is made again.
        let lasts = self.interval + Duration::from_secs(1);
        let is_last = |made: &&Made| made.of >= *latest && now.saturating_sub(made.at) < lasts;
        if let Some(made) = text.made.as_ref().filter(is_last) {
            return Some(made.bytes.clone());
        }
        let made = self.make(encoding)?;
        let bytes = made.bytes.clone();
        text.made = Some(made);
        Some(bytes)
    }

    /// Builds a text of the last snapshot; `None` before the first.
    fn make(&self, (format, is_gzip): Encoding) -> Option<Made> {
        let (of, at, families) = {
            let state = self.state.lock();
            state.snapshot.as_ref()?;
            let now = clock::monotonic();
            (state.pushed, now, lock(&self.exporter).families(&state, now))
        };
        // The engine continues while the text is written.
        let text = format.write(&families).into_bytes();
        let bytes = if is_gzip { gzip(&text) } else { text }.into();
        Some(Made { of, at, bytes })
    }
}
