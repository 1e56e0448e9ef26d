//! Acts on processes beside the screen: pins them, does what is ordered to them, and watches whether they end.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::act::{ActError, Pinned};
use crate::model::Identity;
use crate::proc::files::Roots;
use crate::tui::act::{Deed, Order, Present, Report};

/// How often it is looked whether those that are watched have ended.
const LOOK: Duration = Duration::from_millis(200);

type Tell = Arc<dyn Fn(Report) + Send + Sync>;

/// Who acts. When it is dropped, nothing more is done.
pub struct Actor {
    roots: Roots,
    patience: Duration,
    tell: Tell,
    /// To the thread, which is started with the first order.
    orders: OnceCell<Sender<Order>>,
}

impl std::fmt::Debug for Actor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Actor")
            .field("roots", &self.roots)
            .finish_non_exhaustive()
    }
}

impl Actor {
    /// Acts on the processes of the tree at `roots`. `tell` is given what comes of it, on another thread, and
    /// what became of those that a signal was sent to: once all have ended, or after `patience`.
    pub fn new(roots: Roots, patience: Duration, tell: impl Fn(Report) + Send + Sync + 'static) -> Self {
        Self {
            roots,
            patience,
            tell: Arc::new(tell),
            orders: OnceCell::new(),
        }
    }

    /// Takes an order. They are carried out one after the other.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub fn order(&self, order: Order) -> io::Result<()> {
        let orders = if let Some(orders) = self.orders.get() {
            orders
        } else {
            let (orders, inbox) = channel();
            let work = Work {
                roots: self.roots.clone(),
                patience: self.patience,
                tell: self.tell.clone(),
                held: HashMap::new(),
                followed: Vec::new(),
            };
            std::thread::Builder::new()
                .name("zmtop-act".into())
                .stack_size(256 << 10)
                .spawn(move || work.run(&inbox))?;
            self.orders.get_or_init(|| orders)
        };
        // One that cannot be sent has no thread to carry it out: it broke down, as its log says.
        orders.send(order).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

/// What was pinned for a dialog.
struct Held {
    pins: Vec<Result<Pinned, ActError>>,
    /// How many of them were told to have ended.
    told: usize,
}

/// Those that a signal was sent to.
struct Followed {
    number: u64,
    signal: Signal,
    pins: Vec<Pinned>,
    until: Instant,
}

/// The thread.
struct Work {
    roots: Roots,
    patience: Duration,
    tell: Tell,
    held: HashMap<u64, Held>,
    followed: Vec<Followed>,
}

impl Work {
    fn run(mut self, inbox: &Receiver<Order>) {
        loop {
            let order = if self.held.is_empty() && self.followed.is_empty() {
                inbox.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                inbox.recv_timeout(LOOK)
            };
            match order {
                Ok(Order::Pin(number, ids)) => self.pin(number, ids),
                Ok(Order::Do(number, deed)) => self.act(number, deed),
                Ok(Order::Drop(number)) => {
                    self.held.remove(&number);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.look();
        }
    }

    fn pin(&mut self, number: u64, ids: Vec<Identity>) {
        let pins: Vec<_> = ids.into_iter().map(|id| Pinned::new(&self.roots, id)).collect();
        let present = pins.iter().map(|pin| {
            pin.as_ref().map_err(|e| *e).map(|pin| Present {
                oom: pin.oom_score_adj(),
                nice: pin.nice(),
            })
        });
        (self.tell)(Report::Pinned(number, present.collect()));
        self.held.insert(number, Held { pins, told: 0 });
    }

    fn act(&mut self, number: u64, deed: Deed) {
        let Some(held) = self.held.get_mut(&number) else { return };
        let each = |pin: &Result<Pinned, ActError>| match pin {
            Ok(pin) => perform(pin, deed),
            Err(why) => Err(*why),
        };
        let results: Vec<_> = held.pins.iter().map(each).collect();
        if let Deed::Signal(signal) = deed {
            // It is sent once: whoever wants to send another asks anew.
            let pins = std::mem::take(&mut held.pins);
            self.held.remove(&number);
            let reached = pins.into_iter().zip(&results).filter(|(_, result)| result.is_ok());
            let pins: Vec<Pinned> = reached.filter_map(|(pin, _)| pin.ok()).collect();
            if !pins.is_empty() {
                let until = Instant::now() + self.patience;
                self.followed.push(Followed {
                    number,
                    signal,
                    pins,
                    until,
                });
            }
        }
        (self.tell)(Report::Done(number, deed, results));
    }

    /// Tells who has ended.
    fn look(&mut self) {
        for (number, held) in &mut self.held {
            let pins = held.pins.iter().flatten();
            let ended: Vec<Identity> = pins.filter(|p| p.has_ended()).map(Pinned::id).collect();
            if ended.len() != held.told {
                held.told = ended.len();
                (self.tell)(Report::Ended(*number, ended));
            }
        }
        let now = Instant::now();
        let tell = &self.tell;
        self.followed.retain(|one| {
            let ended = one.pins.iter().filter(|p| p.has_ended()).count();
            let there = one.pins.len() - ended;
            let waits = there > 0 && now < one.until;
            if !waits {
                tell(Report::Fate {
                    number: one.number,
                    signal: one.signal,
                    ended,
                    there,
                });
            }
            waits
        });
    }
}

/// Does it to one process; the value that it has then.
fn perform(pin: &Pinned, deed: Deed) -> Result<i32, ActError> {
    match deed {
        Deed::Signal(signal) => pin.signal(signal).map(|()| signal.as_raw()),
        Deed::Oom(value) => pin.set_oom_score_adj(value).map(|()| value),
        Deed::Nice(value) => pin.set_nice(value).map(|()| value),
        Deed::NiceBy(step) => {
            let (least, most) = (*Pinned::NICE.start(), *Pinned::NICE.end());
            let value = pin.nice()?.saturating_add(step).clamp(least, most);
            pin.set_nice(value).map(|()| value)
        }
    }
}
