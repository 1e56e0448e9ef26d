//! The questions that a Prometheus is asked: plain `PromQL`, one family each, so that no answer is larger than need be.

use std::time::Duration;

/// The figure of a row, of a host or of the fleet that an answer is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// PSS of groups.
    Pss,
    /// USS of groups.
    Uss,
    /// RSS of groups.
    Rss,
    /// Swap of those groups that have some.
    Swap,
    /// `SwapPss` of those groups.
    SwapPss,
    /// Number of processes of groups.
    Processes,
    /// The anonymous part of PSS.
    Anon,
    /// The file-backed part of PSS.
    File,
    /// The shared-memory part of PSS.
    Shmem,
    /// Verdicts of groups that grow, leak or fall.
    Verdict,
    /// The same of those that are steady, which are most.
    Steady,
    /// Slopes of those that grow.
    Slope,
    /// Confidence of those that leak.
    Confidence,
    /// The time that those which grow have been growing for.
    GrowingFor,
    /// The time of the newest figures of each host.
    Seen,
    /// The names that hosts give themselves.
    Name,
    /// Sums of the hosts' own figures, and the worst pressure of any, by metric.
    System,
}

impl Field {
    /// Number of fields that a group has.
    pub(super) const OF_GROUPS: usize = Self::GrowingFor as usize + 1;
}

/// A question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The figure that the answer is about.
    pub field: Field,
    /// The query.
    pub promql: String,
}

/// Label matchers that each series must pass, as in `PromQL`: `cluster="eu"`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matchers(pub String);

/// The label that tells hosts apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostLabel(pub String);

impl Default for HostLabel {
    /// The address that is scraped, which every target has.
    fn default() -> Self {
        Self("instance".into())
    }
}

impl Matchers {
    fn of(&self, metric: &str) -> String {
        if self.0.is_empty() {
            metric.into()
        } else {
            format!("{metric}{{{}}}", self.0)
        }
    }

    fn and(&self, matcher: &str) -> String {
        match self.0.as_str() {
            "" => format!("{{{matcher}}}"),
            own => format!("{{{matcher},{own}}}"),
        }
    }
}

/// The least rank of a verdict that says that something grows.
const GROWS: &str = "zmtop_verdict >= 3";

/// Returns the first questions of a round, which tell the rows and their PSS.
pub fn questions(matchers: &Matchers, hosts: &HostLabel) -> Vec<Question> {
    let m = |metric: &str| matchers.of(metric);
    let ask = |field, promql: String| Question { field, promql };
    vec![
        ask(Field::Pss, m("zmtop_pss_bytes")),
        // The newest of a host that several scrape.
        ask(
            Field::Seen,
            format!("max by ({}) (timestamp({}))", hosts.0, m("zmtop_build_info")),
        ),
        ask(Field::Name, m("zmtop_host_info")),
    ]
}

/// Returns the other questions of a round. Where there are many rows the figures that are seldom looked at are asked for in
/// turns.
pub fn more_questions(matchers: &Matchers, round: u64, rows: usize) -> Vec<Question> {
    let m = |metric: &str| matchers.of(metric);
    let ask = |field, promql: String| Question { field, promql };
    let growing = |metric: &str| {
        format!(
            "{} and {}",
            m(metric),
            GROWS.replace("zmtop_verdict", &m("zmtop_verdict"))
        )
    };
    let mut all = vec![
        ask(Field::Uss, m("zmtop_uss_bytes")),
        ask(Field::Rss, m("zmtop_rss_bytes")),
        ask(Field::Swap, format!("{} > 0", m("zmtop_swap_bytes"))),
        ask(
            Field::SwapPss,
            format!("{} and {} > 0", m("zmtop_swap_pss_bytes"), m("zmtop_swap_bytes")),
        ),
        ask(Field::Verdict, format!("{} != 2", m("zmtop_verdict"))),
        ask(Field::Slope, growing("zmtop_slope_bytes_per_second")),
        ask(Field::Confidence, growing("zmtop_leak_confidence_ratio")),
        ask(Field::GrowingFor, m("zmtop_growing_for_seconds")),
        ask(
            Field::System,
            format!(
                "sum by (__name__) ({}) or max by (__name__) ({})",
                matchers.and("__name__=~\"zmtop_system_.*_bytes\""),
                matchers.and("__name__=~\"zmtop_system_stalled_.*_ratio\"")
            ),
        ),
    ];
    let seldom = [
        ask(Field::Processes, m("zmtop_processes")),
        ask(Field::Anon, m("zmtop_pss_anon_bytes")),
        ask(Field::File, m("zmtop_pss_file_bytes")),
        ask(Field::Shmem, m("zmtop_pss_shmem_bytes")),
        ask(Field::Steady, format!("{} == 2", m("zmtop_verdict"))),
    ];
    let in_turns = is_large(rows) || round == 0;
    let turn = round as usize % seldom.len();
    let due = seldom
        .into_iter()
        .enumerate()
        .filter(|(at, _)| !in_turns || *at == turn);
    all.extend(due.map(|(_, question)| question));
    all
}

/// Number of rows from which on a fleet is large.
const MANY: usize = 10_000;

/// Returns true if so many rows are shown by their PSS before the other figures are asked for, and some of these in turns.
pub const fn is_large(rows: usize) -> bool {
    rows > MANY
}

/// Number of values that all ranges of a fleet have at most, so that answers stay within their bound.
const MAX_POINTS: usize = 600_000;

/// Returns the spans of the past that are asked for, of so many rows, each with its steps: the last minutes closely, the last
/// hour from afar.
pub fn range_questions(matchers: &Matchers, rows: usize) -> (Vec<Question>, [(Duration, Duration); 2]) {
    let m = |metric: &str| matchers.of(metric);
    let ask = |field, promql: String| Question { field, promql };
    let points = (MAX_POINTS / rows.max(1)).clamp(6, 60) as u32;
    let spans = [3600, 300].map(Duration::from_secs);
    let steps = spans.map(|span| (span, (span / points).max(Duration::from_secs(15))));
    let questions = vec![
        ask(Field::Pss, m("zmtop_pss_bytes")),
        ask(Field::Swap, format!("{} > 0", m("zmtop_swap_bytes"))),
        ask(
            Field::SwapPss,
            format!("{} and {} > 0", m("zmtop_swap_pss_bytes"), m("zmtop_swap_bytes")),
        ),
    ];
    (questions, steps)
}
