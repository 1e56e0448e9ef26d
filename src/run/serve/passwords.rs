//! Basic authentication.
//!
//! A bcrypt check takes a tenth of a second of CPU time or more. A password that was right is not checked again, and the
//! others are checked one after another, with pauses, so that guessing costs the machine a quarter of one core at most.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use tokio::sync::{Semaphore, oneshot};

use super::page::lock;

/// The pause after a check that failed, in times of its length.
const PAUSE: u32 = 3;

/// Checks passwords.
pub(super) struct Passwords {
    key: hmac::Key,
    /// The users that were right, each with the tag of hash and password, so that neither is kept.
    right: Mutex<HashMap<String, hmac::Tag>>,
    turn: Arc<Semaphore>,
}

impl Passwords {
    /// Creates a checker that knows nobody.
    ///
    /// # Errors
    /// The kernel gives no random numbers.
    pub(super) fn new() -> std::io::Result<Self> {
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &ring::rand::SystemRandom::new());
        Ok(Self {
            key: key.map_err(|_| std::io::Error::other("no random numbers"))?,
            right: Mutex::default(),
            turn: Arc::new(Semaphore::new(1)),
        })
    }

    /// Returns true if an `Authorization` header names one of the users, whose bcrypt hashes are given, and the password.
    pub(super) async fn are_right(&self, users: &HashMap<String, String>, header: &[u8]) -> bool {
        let Some((user, password)) = decode(header) else {
            return false;
        };
        let hash = users.get(&user);
        let said = |hash: &str| [hash.as_bytes(), b"\0", &password].concat();
        if let Some(hash) = hash {
            let known = lock(&self.right).get(&user).copied();
            if known.is_some_and(|tag| hmac::verify(&self.key, &said(hash), tag.as_ref()).is_ok()) {
                return true;
            }
        }
        // Who is no user takes as long, so that the time does not tell.
        let Some(against) = hash.or_else(|| users.values().next()).cloned() else {
            return false;
        };
        let message = said(&against);
        let Ok(turn) = Arc::clone(&self.turn).acquire_owned().await else {
            return false;
        };
        let is_user = hash.is_some();
        let (tell, told) = oneshot::channel();
        // A task of its own: the turn lasts as long as the check, even where nobody waits for the answer any more.
        tokio::spawn(async move {
            let begun = Instant::now();
            let check = tokio::task::spawn_blocking(move || bcrypt::verify(password, &against).unwrap_or(false));
            let is_right = check.await.unwrap_or(false) && is_user;
            let _ = tell.send(is_right);
            if !is_right {
                tokio::time::sleep(begun.elapsed() * PAUSE).await;
            }
            drop(turn);
        });
        let is_right = told.await.unwrap_or(false);
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
