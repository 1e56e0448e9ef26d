//! Basic authentication.
//!
//! A bcrypt check takes 0.1 s of CPU time or more. A correct password is checked once. Other passwords are checked one at a
//! time, with pauses, so that guessing takes at most a quarter of one core. Client addresses take turns, so that nobody waits
//! behind all guesses from another address. Every other turn is for addresses that sent no wrong password yet.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use tokio::sync::oneshot;

use super::connections::ClientAddress;
use super::lock;

/// The pause after a failed check, as a multiple of its duration.
const PAUSE: u32 = 3;
/// Maximum number of addresses that are remembered for a wrong password. If there are more, all are forgotten.
const MAX_REMEMBERED: usize = 4096;

pub struct Passwords {
    key: hmac::Key,
    /// The users with a correct password. The tag is of hash and password, so that neither is kept.
    right: Mutex<HashMap<String, hmac::Tag>>,
    turns: Arc<Turns>,
}

impl Passwords {
    /// # Errors
    /// The kernel returns no random numbers.
    pub fn new() -> std::io::Result<Self> {
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &ring::rand::SystemRandom::new());
        Ok(Self {
            key: key.map_err(|_| std::io::Error::other("no random numbers"))?,
            right: Mutex::default(),
            turns: Arc::default(),
        })
    }

    /// Returns true if an `Authorization` header has the name and the password of one of the users. `users` has their bcrypt
    /// hashes, `from` is the client's address.
    pub async fn are_right(&self, users: &HashMap<String, String>, header: &[u8], from: ClientAddress) -> bool {
        let Some((user, password)) = decode(header) else {
            return false;
        };
        let hash = users.get(&user);
        let signed = |hash: &str| [hash.as_bytes(), b"\0", &password].concat();
        let is_known = || {
            let known = lock(&self.right).get(&user).copied().zip(hash);
            known.is_some_and(|(tag, hash)| hmac::verify(&self.key, &signed(hash), tag.as_ref()).is_ok())
        };
        if is_known() {
            return true;
        }
        // The check of an unknown user takes as long, so that the time reveals no users.
        let Some(against) = hash.or_else(|| users.values().next()).cloned() else {
            return false;
        };
        let message = signed(&against);
        let turn = self.turns.take(from).await;
        // Another request may have proved it meanwhile.
        if is_known() {
            return true;
        }
        let is_user = hash.is_some();
        let (report, reported) = oneshot::channel();
        // A task of its own: the turn lasts as long as the check, even if the client has gone away.
        tokio::spawn(async move {
            let begun = Instant::now();
            let check = tokio::task::spawn_blocking(move || bcrypt::verify(password, &against).unwrap_or(false));
            let is_right = check.await.unwrap_or(false) && is_user;
            turn.note(from, is_right);
            let _ = report.send(is_right);
            if !is_right {
                tokio::time::sleep(begun.elapsed() * PAUSE).await;
            }
            drop(turn);
        });
        let is_right = reported.await.unwrap_or(false);
        if is_right {
            lock(&self.right).insert(user, hmac::sign(&self.key, &message));
        }
        is_right
    }
}

/// Decodes `Basic` and the base64 of `user:password`.
fn decode(header: &[u8]) -> Option<(String, Vec<u8>)> {
    let (scheme, encoded) = header.split_at_checked(6)?;
    if !scheme.eq_ignore_ascii_case(b"basic ") {
        return None;
    }
    let mut user = STANDARD.decode(encoded.trim_ascii()).ok()?;
    let colon = user.iter().position(|byte| *byte == b':')?;
    let password = user.split_off(colon + 1);
    user.pop();
    Some((String::from_utf8(user).ok()?, password))
}

/// Assigns turns, one at a time: to the waiting addresses in order, and to a random waiter of the address.
///
/// A waiter that is alone at its address therefore waits for one turn of each other address, however many wait there. At an
/// address with several waiters, a late one is as likely to be next as the others.
#[derive(Default)]
struct Turns(Mutex<State>);

#[derive(Default)]
struct State {
    is_taken: bool,
    /// The waiters, by address. No list is empty.
    waiting: HashMap<ClientAddress, Vec<oneshot::Sender<Turn>>>,
    /// The waiting addresses, the next one first: those that sent no wrong password yet, and the others.
    order: [VecDeque<ClientAddress>; 2],
    /// The list in `order` that the last turn was for.
    last: usize,
    /// Addresses that sent a wrong password, and no right one since.
    wrong: HashSet<ClientAddress>,
}

/// A turn, which passes to the next waiter when dropped.
struct Turn(Arc<Turns>);

impl Turn {
    /// Notes whether the password of this turn was right.
    fn note(&self, from: ClientAddress, is_right: bool) {
        let wrong = &mut lock(&self.0.0).wrong;
        if is_right {
            wrong.remove(&from);
            return;
        }
        if wrong.len() >= MAX_REMEMBERED {
            wrong.clear();
        }
        wrong.insert(from);
    }
}

impl Turns {
    async fn take(self: &Arc<Self>, address: ClientAddress) -> Turn {
        let given = {
            let mut state = lock(&self.0);
            if !std::mem::replace(&mut state.is_taken, true) {
                return Turn(Arc::clone(self));
            }
            state.wait(address)
        };
        match given.await {
            Ok(turn) => turn,
            // Cannot happen: a sender is only dropped after it has sent.
            Err(_) => std::future::pending().await,
        }
    }
}

impl State {
    fn wait(&mut self, address: ClientAddress) -> oneshot::Receiver<Turn> {
        let (give, given) = oneshot::channel();
        match self.waiting.entry(address) {
            Entry::Vacant(entry) => {
                entry.insert(vec![give]);
                self.queue(address);
            }
            Entry::Occupied(entry) => {
                let waiting = entry.into_mut();
                // Remove the waiters that went away meanwhile.
                waiting.retain(|one| !one.is_closed());
                waiting.push(give);
            }
        }
        given
    }

    fn queue(&mut self, address: ClientAddress) {
        self.order[usize::from(self.wrong.contains(&address))].push_back(address);
    }

    /// Removes and returns the next waiter.
    fn next(&mut self) -> Option<oneshot::Sender<Turn>> {
        let lists = [1 - self.last, self.last];
        while let Some((list, address)) = lists.iter().find_map(|at| Some((*at, self.order[*at].pop_front()?))) {
            let Some(mut waiting) = self.waiting.remove(&address) else {
                continue;
            };
            waiting.retain(|one| !one.is_closed());
            if waiting.is_empty() {
                continue;
            }
            let chosen = waiting.swap_remove(random_below(waiting.len()));
            if !waiting.is_empty() {
                self.waiting.insert(address, waiting);
                self.queue(address);
            }
            self.last = list;
            return Some(chosen);
        }
        self.is_taken = false;
        None
    }
}

/// Returns a random number below `end`; 0 if the kernel returns no random numbers.
fn random_below(end: usize) -> usize {
    use ring::rand::SecureRandom as _;
    let mut bytes = [0; 4];
    let _ = ring::rand::SystemRandom::new().fill(&mut bytes);
    u32::from_ne_bytes(bytes) as usize % end.max(1)
}

impl Drop for Turn {
    fn drop(&mut self) {
        let next = lock(&self.0.0).next();
        if let Some(next) = next {
            // If the waiter has gone away, the turn comes back, is dropped here, and passes on.
            let _ = next.send(Self(Arc::clone(&self.0)));
        }
    }
}
