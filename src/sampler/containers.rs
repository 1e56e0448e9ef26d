//! The containers that processes are in: a pure cache of their names, which are looked up at first, again soon while they
//! are unknown, and every few seconds, since a container may be renamed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::model::unit::name_of_owner;
use crate::model::{Container, ContainerNames, Missing, Reading};
use crate::proc::containers::{Finder, Found, Source, Unnamed};

/// Time between two checks of known names, which cost a system call or two each.
pub const RECHECK: Duration = Duration::from_secs(5);
/// Shortest and longest time between two lookups of unknown names. An engine may write a name after the container's start.
const RETRY: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60));

/// Minimum number of containers at which unused ones are searched for.
const LEAST: usize = 64;

/// A container as its cgroup path identifies it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerPlace {
    pub id: Box<[u8]>,
    /// The name; `None` if it must be looked up.
    pub name: Option<Box<[u8]>>,
    /// The user whose engine runs it; 0 for the system's.
    pub owner: u32,
    /// The unique id of its pod.
    pub pod_uid: Option<Box<[u8]>>,
}

/// Returns a name of a container below its owner, unless that is the system.
fn of_owner(owner: u32, name: &[u8]) -> Box<[u8]> {
    match owner {
        0 => name.into(),
        _ => name_of_owner(format!("user@{owner}").as_bytes(), name).into(),
    }
}

#[derive(Debug, Default)]
pub struct Containers {
    /// By the id below the owner: a user may make a cgroup by the name of another's container.
    known: HashMap<Box<[u8]>, Known>,
    /// The number of containers at which those without processes are dropped.
    limit: usize,
    /// By user. `None` while a lookup is in progress.
    finders: HashMap<u32, Option<Finder>>,
}

#[derive(Debug)]
struct Known {
    container: Arc<Container>,
    place: ContainerPlace,
    source: Option<Source>,
    seen_at: Duration,
    /// When its names must be looked up again.
    due_at: Duration,
}

/// A lookup for the containers of one user.
pub struct Lookup {
    pub owner: u32,
    pub finder: Finder,
    pub wanted: Vec<Unnamed>,
}

impl Containers {
    /// Returns the container at a place. Its names are pending until the first lookup.
    pub fn at(&mut self, place: ContainerPlace, now: Duration) -> Arc<Container> {
        if self.known.len() >= self.limit {
            self.known.retain(|_, known| known.is_used());
            self.limit = self.known.len() * 2 + LEAST;
        }
        let id = of_owner(place.owner, &place.id);
        let known = self.known.entry(id.clone()).or_insert_with(|| {
            let container = match &place.name {
                Some(name) => {
                    let named = Container::named(of_owner(place.owner, name));
                    Arc::new(Container {
                        id,
                        ..Arc::unwrap_or_clone(named)
                    })
                }
                None => Arc::new(Container {
                    id,
                    names: Err(Missing::Pending),
                }),
            };
            Known {
                due_at: if place.name.is_some() { Duration::MAX } else { now },
                container,
                place,
                source: None,
                seen_at: now,
            }
        });
        Arc::clone(&known.container)
    }

    /// Returns the lookups that are due, at most one for each user at a time.
    pub fn lookups(&mut self, now: Duration) -> Vec<Lookup> {
        let is_due = |known: &Known| known.due_at <= now && known.is_used();
        if !self.known.values().any(is_due) {
            return Vec::new();
        }
        let mut wanted: HashMap<u32, Vec<Unnamed>> = HashMap::new();
        // With those that are due soon, so that the reads of one pass serve all.
        let is_soon = |known: &&Known| known.due_at <= now + RECHECK / 2 && known.is_used();
        for known in self.known.values().filter(is_soon) {
            wanted.entry(known.place.owner).or_default().push(Unnamed {
                id: known.place.id.clone(),
                pod_uid: known.place.pod_uid.clone(),
                source: known.source.clone(),
            });
        }
        let mut lookups = Vec::new();
        for (owner, wanted) in wanted {
            let idle = self.finders.entry(owner).or_insert_with(|| Some(Finder::default()));
            lookups.extend(idle.take().map(|finder| Lookup { owner, finder, wanted }));
        }
        lookups
    }

    /// Stores the results of a lookup. Returns the containers whose names have changed.
    pub fn found(&mut self, lookup: Lookup, found: Reading<Vec<(usize, Found)>>, now: Duration) -> Vec<Arc<Container>> {
        self.finders.insert(lookup.owner, Some(lookup.finder));
        let nothing = |why| Found {
            names: Err(why),
            source: None,
        };
        let mut news: Vec<_> = lookup
            .wanted
            .iter()
            .map(|_| found.as_ref().err().map(|why| nothing(*why)))
            .collect();
        for (at, found) in found.unwrap_or_default() {
            news[at] = Some(found);
        }
        let mut changed = Vec::new();
        for (wanted, news) in lookup.wanted.iter().zip(news) {
            let Some(known) = self.known.get_mut(&of_owner(lookup.owner, &wanted.id)) else {
                continue;
            };
            if let Some(found) = news {
                known.source = found.source;
                changed.extend(known.set(found.names));
            }
            known.due_at = now + known.pause(now);
        }
        changed
    }

    pub fn len(&self) -> usize {
        self.known.len()
    }

    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Marks the containers whose first lookup `is_late` as timed out, and returns them.
    pub fn time_out(&mut self, is_late: impl Fn(u32) -> bool) -> Vec<Arc<Container>> {
        let waits = |known: &&mut Known| known.container.is_pending() && is_late(known.place.owner);
        let late = self.known.values_mut().filter(waits);
        late.filter_map(|known| known.set(Err(Missing::TimedOut))).collect()
    }
}

impl Known {
    /// Stores names; returns the container if they changed. Names remain known while the engine removes its files.
    fn set(&mut self, mut names: Reading<ContainerNames>) -> Option<Arc<Container>> {
        if let Ok(names) = &mut names {
            names.name = of_owner(self.place.owner, &names.name);
            names.pod = names.pod.as_deref().map(|pod| of_owner(self.place.owner, pod));
        }
        if self.container.names == names || (self.container.names.is_ok() && names.is_err()) {
            return None;
        }
        let id = self.container.id.clone();
        self.container = Arc::new(Container { id, names });
        Some(Arc::clone(&self.container))
    }

    /// Returns true if a process may be in it: its facts have the container too.
    fn is_used(&self) -> bool {
        Arc::strong_count(&self.container) > 1
    }

    fn pause(&self, now: Duration) -> Duration {
        match self.container.names {
            Ok(_) => RECHECK,
            Err(_) => (now.saturating_sub(self.seen_at) / 2).clamp(RETRY.0, RETRY.1),
        }
    }
}
