//! The sampling heap profile of V8, as `HeapProfiler.stopSampling` of the inspector protocol returns it.

use std::collections::HashMap;

use serde::Deserialize;

use super::runtimes::Site;

/// Maximum nesting of a profile. Each function of a call path takes two levels, and V8 records up to 128 functions.
const MAX_DEPTH: usize = 400;
/// Maximum number of characters of a name.
const MAX_NAME: usize = 512;
/// Maximum number of bytes of the names of all call paths: each path repeats those of its callers.
const MAX_NAMES: usize = 64 << 20;

#[derive(Deserialize)]
struct Answer {
    profile: Profile,
}

#[derive(Deserialize)]
struct Profile {
    head: Call,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Call {
    #[serde(rename = "callFrame")]
    function: Function,
    /// Bytes in use that the function itself allocated, scaled from the samples.
    self_size: f64,
    #[serde(default)]
    children: Vec<Self>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Function {
    #[serde(rename = "functionName")]
    name: String,
    #[serde(default)]
    url: String,
    /// From 0.
    #[serde(default)]
    line_number: i64,
}

impl Function {
    /// Returns `name (file:line)`, without the folders of the file.
    fn text(&self) -> String {
        let name = match self.name.as_str() {
            "" => "(anonymous)",
            name => name,
        };
        let cut = |text: &str| text.chars().take(MAX_NAME).collect::<String>();
        match self.url.rsplit('/').next() {
            Some(file) if !file.is_empty() => {
                format!("{} ({}:{})", cut(name), cut(file), self.line_number.saturating_add(1))
            }
            _ => cut(name),
        }
    }
}

/// Returns the call paths and the bytes in use that each allocated, largest first. `json` is the result of
/// `HeapProfiler.stopSampling`. `None` if it is none, nested too deeply, or its paths are too large.
pub fn sites(json: &[u8]) -> Option<Vec<Site>> {
    if depth(json) > MAX_DEPTH {
        return None;
    }
    let mut reader = serde_json::Deserializer::from_slice(json);
    reader.disable_recursion_limit();
    let head = Answer::deserialize(&mut reader).ok()?.profile.head;
    let mut paths = Paths::default();
    // The root has a name of its own.
    paths.add(&head)?;
    let sites = paths.found.into_iter().map(|(frames, bytes)| Site {
        frames,
        count: None,
        bytes,
    });
    let mut sites: Vec<_> = sites.collect();
    sites.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.frames.cmp(&b.frames)));
    Some(sites)
}

/// The call paths of a profile.
#[derive(Default)]
struct Paths {
    found: HashMap<Vec<String>, u64>,
    /// The bytes of the names in `found`.
    names: usize,
    /// The functions down to the current one.
    path: Vec<String>,
}

impl Paths {
    /// Adds a function and those that it calls. Returns `None` if the paths are too large.
    fn add(&mut self, call: &Call) -> Option<()> {
        let name = call.function.text();
        let is_root = self.path.is_empty() && name == "(root)";
        if !is_root {
            self.path.push(name);
        }
        if call.self_size >= 1.0 {
            let frames: Vec<String> = self.path.iter().rev().cloned().collect();
            if !self.found.contains_key(&frames) {
                self.names += frames
                    .iter()
                    .map(|name| name.len() + size_of::<String>())
                    .sum::<usize>();
                if self.names > MAX_NAMES {
                    return None;
                }
            }
            let bytes = self.found.entry(frames).or_default();
            *bytes = bytes.saturating_add(call.self_size as u64);
        }
        for child in &call.children {
            self.add(child)?;
        }
        if !is_root {
            self.path.pop();
        }
        Some(())
    }
}

/// Returns the deepest nesting of arrays and objects of JSON.
fn depth(json: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut bytes = json.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                while let Some(byte) = bytes.next().filter(|byte| **byte != b'"') {
                    if *byte == b'\\' {
                        bytes.next();
                    }
                }
            }
            _ => {}
        }
    }
    deepest
}
