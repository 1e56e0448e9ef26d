//! Blocks signals in a thread.

use std::time::Duration;

use rustix::process::Signal;

/// Blocks signals in this thread until dropped. A child that is forked in this time inherits the signal mask.
pub struct Blocked {
    set: libc::sigset_t,
    before: libc::sigset_t,
}

impl Blocked {
    /// Blocks all signals that can be blocked.
    pub fn all() -> Self {
        Self::with(|set| {
            #[expect(unsafe_code, reason = "rustix has no signal masks")]
            // SAFETY: the set is valid for the call.
            unsafe {
                libc::sigfillset(set);
            }
        })
    }

    /// Blocks these signals and SIGCHLD.
    pub fn of(signals: &[Signal]) -> Self {
        Self::with(|set| {
            for signal in signals.iter().chain([&Signal::CHILD]) {
                #[expect(unsafe_code, reason = "rustix has no signal masks")]
                // SAFETY: the set is valid for the call.
                unsafe {
                    libc::sigaddset(set, signal.as_raw());
                }
            }
        })
    }

    fn with(fill: impl FnOnce(&mut libc::sigset_t)) -> Self {
        #[expect(unsafe_code, reason = "rustix has no signal masks")]
        // SAFETY: both sets are valid for the call, and all bytes zero are an empty set.
        unsafe {
            let (mut set, mut before) = (std::mem::zeroed(), std::mem::zeroed());
            fill(&mut set);
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, &raw mut before);
            Self { set, before }
        }
    }

    /// Waits up to `time` for one of the blocked signals. Returns its number, and true if the kernel sent it, as for Ctrl+C on a terminal.
    /// `None` after `time`, or if the wait was interrupted.
    pub fn wait(&self, time: Duration) -> Option<(i32, bool)> {
        let time = libc::timespec {
            tv_sec: time.as_secs().cast_signed(),
            tv_nsec: time.subsec_nanos().into(),
        };
        #[expect(unsafe_code, reason = "rustix cannot wait for signals")]
        // SAFETY: all pointers are valid for the call, and all bytes zero are a valid `siginfo_t`.
        let (signal, code) = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            let signal = libc::sigtimedwait(&raw const self.set, &raw mut info, &raw const time);
            (signal, info.si_code)
        };
        (signal > 0).then_some((signal, code == libc::SI_KERNEL))
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        #[expect(unsafe_code, reason = "rustix has no signal masks")]
        // SAFETY: the set is valid for the call.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut());
        }
    }
}
