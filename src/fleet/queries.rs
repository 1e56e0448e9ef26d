//! The figures of a fleet: the metric of each, its query in plain `PromQL`, and when it is queried. A query is about one
//! metric, so that no answer is larger than necessary.

/// Number of rows above which their PSS is shown before the other figures are queried.
const MANY: usize = 10_000;

/// A figure of a row, of a host or of the whole fleet, which one query is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    Pss,
    Uss,
    Rss,
    /// Of the groups that have any, as for `SwapPss`.
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
    /// Of growing groups, as for `Confidence` and `GrowingFor`.
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
    /// What the first snapshot needs.
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
