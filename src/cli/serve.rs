//! The options of `zmtop serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::shared::{CgroupArgs, PathArgs, UsageError, set};
use crate::config::Settings;
use crate::group::GroupBy;

/// The options of `zmtop serve`.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct ServeArgs {
    #[arg(
        long,
        value_name = "ADDRESS",
        help = "Listen on this address, which must be a loopback address unless --web-config sets TLS or users (default 127.0.0.1:9464)"
    )]
    pub listen: Option<SocketAddr>,
    #[arg(
        long,
        value_name = "FILE",
        help = "Require TLS, users and passwords as set in FILE, in the web.config.file format of Prometheus's exporters; it is \
                reloaded when it changes"
    )]
    pub web_config: Option<PathBuf>,
    #[arg(
        long,
        value_name = "FILE",
        help = "Write the metrics to FILE every 15 s for node_exporter's textfile collector, instead of listening; \
                with --listen, it does both"
    )]
    pub textfile: Option<PathBuf>,
    #[arg(
        long,
        value_name = "URL",
        help = "Push the metrics every minute to this OpenTelemetry collector, such as http://localhost:4318, instead \
                of listening; with --listen, it does both. Tokens, timeout and certificates come from the \
                OTEL_EXPORTER_OTLP_ variables"
    )]
    pub otlp: Option<String>,
    /// Export groups by command, user, unit, container, pod, cgroup or family (default command)
    #[arg(long, value_name = "WHAT", value_parser = super::by)]
    pub by: Option<GroupBy>,
    /// Export N groups individually: up to N/2 growing ones, then the largest. Combine the rest
    #[arg(long, value_name = "N", default_value = "100", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub top: u32,
    /// Sampling interval, in seconds or as 250ms, 2s, 1m (100ms to 1h)
    #[arg(long, value_name = "TIME")]
    pub interval: Option<String>,
    /// As root: once the port is open, switch to this user, and keep the capabilities to read all processes
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    #[command(flatten)]
    pub scope: CgroupArgs,
    #[command(flatten)]
    pub paths: PathArgs,
}

impl ServeArgs {
    /// The default address to listen on.
    const DEFAULT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 9464);

    /// Applies the options to the settings.
    ///
    /// # Errors
    /// The first option with an invalid value. The settings must not be used then.
    pub fn apply(&self, settings: &mut Settings) -> Result<(), UsageError> {
        set(settings, "--interval", "sampler.interval", self.interval.as_deref())
    }

    /// Returns the address to listen on; `None` if the metrics only go elsewhere.
    pub fn address(&self) -> Option<SocketAddr> {
        let goes_elsewhere = self.textfile.is_some() || self.otlp.is_some();
        self.listen.or_else(|| (!goes_elsewhere).then_some(Self::DEFAULT))
    }
}
