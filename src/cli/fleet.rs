//! The options of `zmtop fleet`.

use std::path::PathBuf;

use clap::Args;

use super::MonitorArgs;
use super::shared::UsageError;
use crate::columns::layout;
use crate::config::{Config, Env};
use crate::group::GroupBy;

/// The options of `zmtop fleet`.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(
    mut_arg("interval", |arg| arg.help("Query interval, in seconds or as 15s, 1m (1s to 1h; default 15s)")),
    mut_arg("by", |arg| arg.help("Sum by command or host; process lists each host's groups individually")),
    mut_arg("filter", |arg| arg.help("Show only rows that match the filter, such as host:web footprint>1G")),
    mut_arg("of_user", |arg| arg.hide(true)),
    mut_arg("of_pid", |arg| arg.hide(true)),
    mut_arg("tree", |arg| arg.hide(true)),
    mut_arg("pick", |arg| arg.hide(true)),
    mut_arg("view", |arg| arg.hide(true)),
    mut_arg("readonly", |arg| arg.hide(true)),
    mut_arg("proc_root", |arg| arg.hide(true)),
    mut_arg("cgroup", |arg| arg.hide(true))
)]
pub struct FleetArgs {
    #[arg(
        long,
        value_name = "URL",
        help = "Query this Prometheus, or a server with its HTTP API: Thanos, Mimir, VictoriaMetrics"
    )]
    pub prometheus: String,
    #[arg(
        long = "match",
        value_name = "MATCHERS",
        default_value = "",
        hide_default_value = true,
        help = "Use only series with these labels, as in PromQL: cluster=\"eu\",job=\"zmtop\""
    )]
    pub matchers: String,
    /// Identify and name hosts by this label (default: instance, but the host's own name is shown)
    #[arg(long, value_name = "LABEL")]
    pub host_label: Option<String>,
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "user",
        help = "Read the token from FILE; without this option, from the variable ZMTOP_PROMETHEUS_TOKEN"
    )]
    pub token_file: Option<PathBuf>,
    #[arg(
        long,
        value_name = "NAME",
        help = "Authenticate as this user, with the password in --password-file or in the variable ZMTOP_PROMETHEUS_PASSWORD"
    )]
    pub user: Option<String>,
    /// Read the password of --user from FILE
    #[arg(long, value_name = "FILE", requires = "user")]
    pub password_file: Option<PathBuf>,
    /// For https, trust the certificates in FILE instead of the system's
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
    #[command(flatten)]
    pub monitor: MonitorArgs,
}

impl FleetArgs {
    /// The default query interval, which is the usual scrape interval.
    const INTERVAL: &str = "15s";

    /// Reads the configuration and applies the options to it.
    ///
    /// # Errors
    /// Every fault of the configuration, or the first wrong option.
    pub fn configure(&self, env: &Env) -> Result<Config, UsageError> {
        let own = &self.monitor;
        let of_one_machine = [
            ("--tree", own.tree),
            ("--pick", own.pick),
            ("--view", own.view.is_some()),
            ("--proc-root", own.paths.proc_root.is_some()),
            ("--cgroup", own.scope.cgroup.is_some()),
        ];
        if let Some((option, _)) = of_one_machine.into_iter().find(|(_, is_given)| *is_given) {
            return Err(UsageError::option(
                option,
                "applies only to the processes of one machine",
            ));
        }
        let by = match own.by.as_deref() {
            None | Some("process") => None,
            Some(by) => {
                let by = super::shared::one_of(&GroupBy::OF_FLEET, by);
                Some(by.map_err(|what| UsageError::option("--by", what))?)
            }
        };
        let args = MonitorArgs {
            interval: Some(own.interval.clone().unwrap_or_else(|| Self::INTERVAL.into())),
            by: Some("process".into()),
            // Ignore the configured filter, which is for the processes of this machine.
            filter: Some(own.filter.clone().unwrap_or_default()),
            ..own.clone()
        };
        let mut config = args.configure(env)?;
        let ui = &mut config.settings.ui;
        let chosen = own.table.columns.as_ref().map(|_| ui.columns.clone());
        let [rows, sums] = [layout::FLEET, layout::FLEET_SUMS].map(<[_]>::to_vec);
        (ui.columns, ui.group_columns) = match (chosen, by) {
            (None, _) => (rows, sums),
            (Some(chosen), None) => (chosen, sums),
            (Some(chosen), Some(_)) => (rows, chosen),
        };
        ui.by = by;
        ui.tree = false;
        Ok(config)
    }
}
