//! The task that passes terminal events on to the screen.

use std::io;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::runtime::Runtime;

use super::{End, Input, terminal_gone};
use crate::run::terminal;
use crate::tui::Event;

/// Passes on what is typed.
pub(super) fn events(runtime: &Runtime, send: &SyncSender<Input>) -> io::Result<()> {
    use crossterm::event::{Event as Raw, EventStream, poll};
    // The stream would panic where the reader of keys cannot be set up, as on a terminal that is gone. This sets it up.
    poll(Duration::ZERO).map_err(|error| {
        if terminal::is_hung_up(Duration::ZERO) {
            rustix::io::Errno::IO.into()
        } else {
            error
        }
    })?;
    let send = send.clone();
    runtime.spawn(async move {
        let mut stream = EventStream::new();
        let mut failures = 0;
        while let Some(event) = stream.next().await {
            let event = match event {
                Ok(Raw::Key(key)) => Event::Key(key),
                Ok(Raw::Mouse(mouse)) => Event::Mouse(mouse),
                Ok(Raw::Paste(text)) => Event::Paste(text),
                Ok(Raw::Resize(width, height)) => Event::Resize(width, height),
                Ok(Raw::FocusGained | Raw::FocusLost) => continue,
                Err(error) => {
                    tracing::warn!(%error, "reading the terminal failed");
                    failures += 1;
                    if failures > 100 || terminal_gone(&error) {
                        break;
                    }
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    continue;
                }
            };
            failures = 0;
            let _ = send.try_send(Input::Event(event));
        }
        let _ = send.try_send(Input::End(End::Hangup));
    });
    Ok(())
}
