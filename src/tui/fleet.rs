//! A fleet in place of this machine: the state of its queries, and the actions that do not apply to other hosts.

use crate::config::Action;
use crate::model::{Fleet, FleetStatus};
use crate::units;

impl FleetStatus {
    /// Returns the fault: `Prometheus does not answer: connection refused; figures are 42s old`.
    pub fn fault_text(&self) -> Option<String> {
        let fault = self.fault.as_ref()?;
        Some(match self.age {
            Some(age) => format!("Prometheus {fault}; figures are {} old", units::span(age)),
            None => format!("Prometheus {fault}"),
        })
    }

    /// Returns the remark for the first line of the screen: the first remark, or the missing part of the past.
    pub fn remark(&self) -> Option<&str> {
        let lacks = self.past.as_ref().and_then(|past| past.as_deref());
        self.remarks.first().map(String::as_str).or(lacks)
    }
}

/// Returns the number of hosts and groups: `300 hosts (2 gone)  5400 groups`.
pub(super) fn count(fleet: &Fleet) -> String {
    let gone = match fleet.hosts.iter().filter(|host| host.is_gone).count() {
        0 => String::new(),
        gone => format!(" ({gone} gone)"),
    };
    let hosts = units::counted(fleet.hosts.len() as u64, "host");
    format!("{hosts}{gone}  {}", units::counted(fleet.rows.len() as u64, "group"))
}

/// Returns why an action does not apply to a fleet, if it does not.
pub(super) const fn refusal(action: Action) -> Option<&'static str> {
    match action {
        Action::Signal
        | Action::OomAdjust
        | Action::Nice
        | Action::NiceUp
        | Action::NiceDown
        | Action::HotCold
        | Action::Environment
        | Action::OpenFiles
        | Action::Heap
        | Action::CallPaths
        | Action::Mappings
        | Action::CopyPid => Some(REFUSED),
        Action::MemoryPage | Action::KernelPage => Some("this page is about one machine: run zmtop there"),
        Action::Tree | Action::TagTree | Action::KernelThreads | Action::Users => {
            Some("these rows are groups: their single processes are unknown")
        }
        Action::Record => Some("a fleet cannot be recorded: record on each host"),
        Action::Save | Action::Views => Some("not saved: a fleet's columns differ from this machine's"),
        _ => None,
    }
}

pub(super) const REFUSED: &str = "these processes are on other hosts: run zmtop there";
