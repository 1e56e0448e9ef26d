//! The options of `zmtop serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::shared::{PathArgs, UsageError, set};
use crate::config::Settings;
use crate::group::GroupBy;

/// The options of `zmtop serve`.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "a doc comment on a flattened field replaces the command's own description"
)]
pub struct ServeArgs {
    /// Answer at this address.
    #[arg(
        long,
        value_name = "ADDRESS",
        help = "Answer at this address, which without --web-config must be of this machine's loopback (127.0.0.1:9464)"
    )]
    pub listen: Option<SocketAddr>,
    /// Ask for TLS, users and passwords as FILE says.
    #[arg(
        long,
        value_name = "FILE",
        help = "Ask for TLS, users and passwords as FILE says, in the format of the web.config.file of Prometheus's exporters; \
                it is read again when it changes"
    )]
    pub web_config: Option<PathBuf>,
    /// Write the metrics to a file.
    #[arg(
        long,
        value_name = "FILE",
        help = "Write the metrics to FILE every 15 s instead, for node_exporter's textfile collector; with --listen do both"
    )]
    pub textfile: Option<PathBuf>,
    /// Push the metrics to a collector of OpenTelemetry.
    #[arg(
        long,
        value_name = "URL",
        help = "Push the metrics every minute to a collector of OpenTelemetry instead, as http://localhost:4318; with --listen do \
                both. Tokens, times and certificates come from the OTEL_EXPORTER_OTLP_ variables"
    )]
    pub otlp: Option<String>,
    /// Tell of groups by command, user, unit, container, cgroup or family (command)
    #[arg(long, value_name = "WHAT", value_parser = super::by)]
    pub by: Option<GroupBy>,
    /// Give the N largest groups, and those that grow, series of their own, and sum the others
    #[arg(long, value_name = "N", default_value = "100", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub top: u32,
    /// Time between two looks, in seconds or as 250ms, 2s, 1m (100ms to 1h)
    #[arg(long, value_name = "TIME")]
    pub interval: Option<String>,
    #[command(flatten)]
    pub paths: PathArgs,
}

impl ServeArgs {
    /// The address that is answered at where none is named.
    const DEFAULT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 9464);

    /// Applies the options to the settings.
    ///
    /// # Errors
    /// The first option whose value is wrong; the settings are then of no use.
    pub fn apply(&self, settings: &mut Settings) -> Result<(), UsageError> {
        set(settings, "--interval", "sampler.interval", self.interval.as_deref())
    }

    /// Returns the address to answer at; `None` where the metrics only go elsewhere.
    pub fn address(&self) -> Option<SocketAddr> {
        let goes_elsewhere = self.textfile.is_some() || self.otlp.is_some();
        self.listen.or_else(|| (!goes_elsewhere).then_some(Self::DEFAULT))
    }
}
