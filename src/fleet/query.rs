//! The figures of a fleet: the metric of each, its query in plain `PromQL`, and when it is queried. A query is about one
//! metric, so that no answer is larger than necessary. It is sent over HTTP/1.1, within bounds of time and size.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, LOCATION};
use hyper::{Response, StatusCode, Uri};

use super::answer::{Answer, AnswerError};
use crate::http::{Client, HttpError, Limits};
use crate::text::{safe, safe_prefix};

/// Number of rows above which their PSS is shown before the other figures are queried.
const MANY: usize = 10_000;

/// A figure of a row, of a host or of the whole fleet, which one query is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    Pss,
    Uss,
    Rss,
    /// Only groups with swap, as for `SwapPss`.
    Swap,
    SwapPss,
    Processes,
    /// The parts of PSS.
    Anon,
    File,
    Shmem,
    /// Verdicts of groups that grow, leak or shrink.
    Verdict,
    /// Verdicts of steady groups, which are most.
    Steady,
    /// Only growing groups, as for `Confidence` and `GrowingFor`.
    Slope,
    Confidence,
    GrowingFor,
    /// The time of the newest figures of each host.
    Seen,
    /// The names that hosts have for themselves.
    Name,
    /// Sums of the hosts' own figures, by metric.
    System,
    /// The highest pressure of any host, by metric.
    Pressure,
}

impl Field {
    /// Number of figures that a group has. They come first.
    pub(super) const OF_GROUPS: usize = Self::GrowingFor as usize + 1;
    /// The queries for the first snapshot.
    const FIRST: [Self; 3] = [Self::Pss, Self::Seen, Self::Name];
    const MORE: [Self; 10] = [
        Self::Uss,
        Self::Rss,
        Self::Swap,
        Self::SwapPss,
        Self::Verdict,
        Self::Slope,
        Self::Confidence,
        Self::GrowingFor,
        Self::System,
        Self::Pressure,
    ];
    /// In a large fleet, one of these is queried per round.
    const SELDOM: [Self; 5] = [Self::Processes, Self::Anon, Self::File, Self::Shmem, Self::Steady];
    /// The figures of the past.
    pub(super) const OF_PAST: [Self; 4] = [Self::Pss, Self::Seen, Self::Swap, Self::SwapPss];

    /// Returns what to query in a round with so many rows: the figures that the snapshot waits for, and the others.
    pub(super) fn of_round(round: u64, rows: usize) -> (Vec<Self>, Vec<Self>) {
        let is_large = rows > MANY;
        let turn = round as usize % Self::SELDOM.len();
        let seldom = if is_large || round == 0 {
            &Self::SELDOM[turn..=turn]
        } else {
            &Self::SELDOM
        };
        let later = [&Self::MORE, seldom].concat();
        if rows == 0 || is_large {
            (Self::FIRST.to_vec(), later)
        } else {
            ([&Self::FIRST, &*later].concat(), Vec::new())
        }
    }

    /// Returns the metric, or a regular expression of several.
    const fn metric(self) -> &'static str {
        match self {
            Self::Pss => "zmtop_pss_bytes",
            Self::Uss => "zmtop_uss_bytes",
            Self::Rss => "zmtop_rss_bytes",
            Self::Swap => "zmtop_swap_bytes",
            Self::SwapPss => "zmtop_swap_pss_bytes",
            Self::Processes => "zmtop_processes",
            Self::Anon => "zmtop_pss_anon_bytes",
            Self::File => "zmtop_pss_file_bytes",
            Self::Shmem => "zmtop_pss_shmem_bytes",
            Self::Verdict | Self::Steady => "zmtop_verdict",
            Self::Slope => "zmtop_slope_bytes_per_second",
            Self::Confidence => "zmtop_leak_confidence_ratio",
            Self::GrowingFor => "zmtop_growing_for_seconds",
            Self::Seen => "zmtop_build_info",
            Self::Name => "zmtop_host_info",
            Self::System => "zmtop_system_.*_bytes",
            Self::Pressure => "zmtop_system_stalled_.*_ratio",
        }
    }

    /// Returns the query. Each series must pass the `matchers`; the label `hosts` identifies hosts.
    pub(super) fn promql(self, matchers: &str, hosts: &str) -> String {
        let selector = |field: Self| match matchers {
            "" => field.metric().to_owned(),
            own => format!("{}{{{own}}}", field.metric()),
        };
        let series = selector(self);
        // A query for each of the two: `or` ignores `__name__`, and would drop all of its second operand.
        let by_name = |sum: &str| {
            let comma = if matchers.is_empty() { "" } else { "," };
            format!(
                "{sum} by (__name__) ({{__name__=~\"{}\"{comma}{matchers}}})",
                self.metric()
            )
        };
        match self {
            Self::Swap => format!("{series} > 0"),
            Self::SwapPss => format!("{series} and {} > 0", selector(Self::Swap)),
            // Ranks of verdicts: 2 is steady, 3 and above grow.
            Self::Verdict => format!("{series} != 2"),
            Self::Steady => format!("{series} == 2"),
            Self::Slope | Self::Confidence => format!("{series} and {} >= 3", selector(Self::Verdict)),
            // The newest of a host that several servers scrape.
            Self::Seen => format!("max by ({hosts}) (timestamp({series}))"),
            Self::System => by_name("sum"),
            Self::Pressure => by_name("max"),
            _ => series,
        }
    }
}

/// Timeout of a query. An answer has one figure of up to 200 000 groups. Prometheus gives up after 2 minutes, which is too long
/// to wait for a screen.
const LIMITS: Limits = Limits {
    connect: Duration::from_secs(5),
    total: Duration::from_secs(30),
    body: Some(MAX_ANSWER),
};
const MAX_ANSWER: u64 = 64 << 20;

/// A Prometheus, or a server with its HTTP API.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    client: Arc<Client>,
    path: String,
    authorization: Option<HeaderValue>,
}

impl Server {
    /// Parses a URL. Trusts the certificates in the file, or else the system's.
    ///
    /// # Errors
    /// The reason why it cannot be queried.
    pub(crate) fn parse(url: &str, ca_file: Option<&Path>, authorization: Option<HeaderValue>) -> Result<Self, String> {
        let uri: Uri = url.parse().map_err(|_| "is no URL such as http://127.0.0.1:9090")?;
        if uri.authority().ok_or("names no host")?.as_str().contains('@') {
            let why = "must not contain a user and password, because everyone on this machine can see them: use --user and \
                       --password-file";
            return Err(why.into());
        }
        if uri.query().is_some() {
            return Err("must end with the path".into());
        }
        Ok(Self {
            client: Arc::new(Client::new(&uri, ca_file, "--ca-file")?),
            path: uri.path().trim_end_matches('/').to_owned(),
            authorization,
        })
    }

    /// Returns true if others on the network can read the token or password that it gets.
    pub(crate) fn is_token_exposed(&self) -> bool {
        self.authorization.is_some() && self.client.is_exposed()
    }

    /// Returns its name for the screen.
    pub(crate) fn name(&self) -> &str {
        &self.client.authority
    }

    /// Sends a query with these form fields. Returns the body of the answer.
    ///
    /// # Errors
    /// The reason why there is none, safe to print. It completes a sentence that begins with the server's name.
    pub(super) async fn ask(&self, api: &str, form: &[(&str, &str)]) -> Result<Vec<u8>, String> {
        let fields = form.iter().map(|(name, value)| format!("{name}={}", encoded(value)));
        let mut request = self
            .client
            .post(&format!("{}/api/v1/{api}", self.path))
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let request = request.body(Full::from(fields.collect::<Vec<_>>().join("&")));
        let request = request.map_err(|error| format!("cannot be queried: {error}"))?;
        match self.client.send(request, &LIMITS).await {
            Ok(response) => body(response),
            Err(error) => Err(match error {
                HttpError::Unreachable => "cannot be reached: timed out".into(),
                HttpError::TimedOut => format!("does not answer within {} s", LIMITS.total.as_secs()),
                HttpError::Connection(error) => format!("does not answer: {}", reason(&error)),
                HttpError::Broken(error) => format!("broke off: {}", safe(error.to_string().as_bytes())),
                HttpError::TooLong => format!(
                    "answers with more than {} MB: --match selects fewer series",
                    MAX_ANSWER >> 20
                ),
            }),
        }
    }
}

fn body(response: Response<Vec<u8>>) -> Result<Vec<u8>, String> {
    let status = response.status();
    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        return Err(format!(
            "denies access ({}): log in with --token-file, or with --user and --password-file",
            status.as_u16()
        ));
    }
    if status.is_redirection() {
        let to = response.headers().get(LOCATION);
        let to = to.map_or(&b"elsewhere"[..], HeaderValue::as_bytes);
        return Err(format!("redirects to {}: use that address", safe_prefix(to, 80)));
    }
    let bytes = response.into_body();
    if status.is_success() {
        return Ok(bytes);
    }
    Err(match Answer::read(&bytes) {
        Err(AnswerError::Refused(why)) => format!("refuses the query: {why}"),
        _ => format!("answers {}", safe(status.to_string().as_bytes())),
    })
}

/// Encodes a form value.
fn encoded(value: &str) -> String {
    let byte = |byte: u8| match byte {
        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'.' | b'_' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    value.bytes().map(byte).collect()
}

/// Returns the text of an error without "(os error N)".
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let reason = text.split(" (os error").next().unwrap_or_default().to_lowercase();
    safe_prefix(reason.as_bytes(), 80).into_owned()
}
