//! Reads the config again when one of its files changes.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use super::Input;
use crate::cli::UsageError;
use crate::config::Config;
use crate::config::fault::shown_path;
use crate::tui::Event;

/// Reads the config with the options of the command line.
pub(in crate::run) type Reload = Box<dyn Fn() -> Result<Config, UsageError> + Send>;

/// Time between checks of the files. A changed file is read once it has not changed for this time, because an editor writes in
/// pieces.
const INTERVAL: Duration = Duration::from_secs(1);

/// The identity of a file and when it changed; `None` if it does not exist.
type Stamp = Option<(u64, u64, u64, i64, i64)>;

fn stamps(files: &[PathBuf]) -> Vec<Stamp> {
    let stamp = |file: &PathBuf| {
        let meta = std::fs::metadata(file).ok()?;
        Some((meta.dev(), meta.ino(), meta.size(), meta.ctime(), meta.ctime_nsec()))
    };
    files.iter().map(stamp).collect()
}

/// Watches the files of a config on a thread of its own, since a file may be on a disk that does not answer. Sends the new
/// config, or what is wrong with it, after each change.
pub(super) fn watch(
    config: &Config,
    reload: Reload,
    send: SyncSender<Input>,
    ended: Arc<AtomicBool>,
) -> std::io::Result<()> {
    let mut files = config.files();
    let mut read = stamps(&files);
    let folder = config
        .file
        .as_ref()
        .map(|file| format!("{}/", shown_path(file.parent().unwrap_or(file))));
    std::thread::Builder::new().name("zmtop-config".into()).spawn(move || {
        let mut seen = read.clone();
        while !ended.load(Ordering::SeqCst) {
            std::thread::sleep(INTERVAL);
            let now = stamps(&files);
            if now != read && now == seen {
                let config = reload();
                if let Ok(config) = &config {
                    files = config.files();
                }
                // A line has little room: the place of the files is known.
                let folder = folder.as_deref().unwrap_or_default();
                let config = config.map(Box::new);
                let config = config.map_err(|error| first_fault(&error.to_string().replace(folder, "")));
                if send.send(Input::Event(Event::Config(config))).is_err() {
                    return;
                }
                read = stamps(&files);
            }
            seen = stamps(&files);
        }
    })?;
    Ok(())
}

/// Returns the first of these lines, with the number of the others.
fn first_fault(faults: &str) -> String {
    let mut lines = faults.lines();
    let first = lines.next().unwrap_or_default();
    match lines.count() {
        0 => first.to_owned(),
        more => format!("{first}; zmtop config check has {more} more"),
    }
}
