//! The heap of a Java virtual machine (`HotSpot`), queried over its attach socket: `src/hotspot/share/services/attachListener.cpp`
//! and `diagnosticCommand.cpp` of the JDK.
//!
//! The answers are text, in the format of JDK 8 to 25. The process controls the text, so its size is bounded and it is checked.

pub mod jfr;

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use super::runtimes::{Part, TypeUse};

/// Maximum number of classes that are stored, and of bytes of their names. Large servers load about 100,000.
const MAX_CLASSES: usize = 1 << 18;
const MAX_NAMES: usize = 32 << 20;
/// Maximum number of bytes of a line.
const MAX_LINE: usize = 8 << 10;

/// Returns the lines of an answer, each up to [`MAX_LINE`].
fn lines(text: &[u8]) -> impl Iterator<Item = Cow<'_, str>> {
    let lines = text.split(|byte| *byte == b'\n');
    lines.map(|line| String::from_utf8_lossy(&line[..line.len().min(MAX_LINE)]))
}

/// Parses the answer to `GC.class_histogram`. Classes of one name, by several loaders, are summed, largest first.
///
/// Returns `None` if it is another text, such as the error of an unknown command, or if it is truncated.
pub fn histogram(text: &[u8]) -> Option<Vec<TypeUse>> {
    // By name: count, bytes, and whether it is the program's own.
    let mut classes: HashMap<String, (u64, u64, bool)> = HashMap::new();
    let (mut is_whole, mut names) = (false, 0);
    for line in lines(text) {
        let mut words = line.split_ascii_whitespace();
        let Some(first) = words.next() else { continue };
        if first == "Total" {
            is_whole = true;
            break;
        }
        let number = first.strip_suffix(':').and_then(|number| number.parse::<u64>().ok());
        let (Some(_), Some(count), Some(bytes), Some(name)) = (number, words.next(), words.next(), words.next()) else {
            continue;
        };
        let (count, bytes) = (count.parse::<u64>().ok()?, bytes.parse::<u64>().ok()?);
        let name = class_name(name);
        if !classes.contains_key(&name) {
            names += name.len();
            if classes.len() >= MAX_CLASSES || names > MAX_NAMES {
                return None;
            }
        }
        // JDK 9 and later write the module of a class that has one.
        let is_platform = words.next().is_some_and(is_platform_module) || is_platform_class(&name);
        let class = classes.entry(name).or_insert((0, 0, !is_platform));
        class.0 = class.0.saturating_add(count);
        class.1 = class.1.saturating_add(bytes);
    }
    if !is_whole {
        return None;
    }
    let classes = classes.into_iter().map(|(name, (count, bytes, is_own))| TypeUse {
        name,
        count,
        bytes,
        is_own,
    });
    let mut classes: Vec<_> = classes.collect();
    classes.sort_unstable_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
    Some(classes)
}

fn is_platform_module(module: &str) -> bool {
    let module = module.trim_start_matches('(');
    module.starts_with("java.") || module.starts_with("jdk.")
}

fn is_platform_class(name: &str) -> bool {
    let element = name.trim_end_matches("[]");
    let prefixes = ["java.", "javax.", "jdk.", "sun.", "com.sun."];
    // The JVM's own metadata, as `<methodKlass>`, and arrays of primitive types.
    prefixes.iter().any(|prefix| element.starts_with(prefix))
        || element.starts_with('<')
        || (element != name && PRIMITIVES.iter().any(|(_, primitive)| *primitive == element))
}

const PRIMITIVES: [(char, &str); 8] = [
    ('B', "byte"),
    ('C', "char"),
    ('D', "double"),
    ('F', "float"),
    ('I', "int"),
    ('J', "long"),
    ('S', "short"),
    ('Z', "boolean"),
];

/// Returns a class's name as in Java's source: `[[Ljava.lang.String;` is `java.lang.String[][]`. Omits the
/// parts of a hidden class's name that differ from run to run: its address, and the number of a lambda.
fn class_name(raw: &str) -> String {
    let element = raw.trim_start_matches('[');
    let dimensions = raw.len() - element.len();
    // No array has more than 255 dimensions: JVMS 4.4.1.
    if dimensions > 255 {
        return raw.to_owned();
    }
    let mut chars = element.chars();
    let name = match (dimensions, chars.next(), chars.as_str()) {
        (0, ..) => element,
        (_, Some('L'), rest) => rest.trim_end_matches(';'),
        (_, Some(code), "") => PRIMITIVES
            .iter()
            .find(|(of, _)| *of == code)
            .map_or(element, |(_, name)| name),
        _ => element,
    };
    let name = name.split_once("/0x").map_or(name, |(name, _)| name);
    let numberless = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let name = numberless
        .strip_suffix("$$Lambda$")
        .map_or_else(|| name.to_owned(), |class| format!("{class}$$Lambda"));
    name + &"[]".repeat(dimensions)
}

/// Parses the answer to `GC.heap_info`: the parts of the heap, and the addresses of each, if they are stated.
///
/// Serial and parallel collectors write `… total 258048K, used 28448K`, G1 the same or `committed 389120K, used`, ZGC
/// `used 70M, capacity 378M`, Shenandoah `376M committed, 97872K used`, all `Metaspace used 155K, committed 384K`.
pub fn heap_info(text: &[u8]) -> Vec<(Part, Option<Range<u64>>)> {
    let mut parts: Vec<(Part, Option<Range<u64>>)> = Vec::new();
    for line in lines(text).take(200) {
        let words: Vec<_> = line
            .split([' ', ','])
            .filter(|word| !word.is_empty())
            .take(24)
            .collect();
        let range = addresses(&line);
        // A figure follows its name, except for Shenandoah, whose names follow.
        let before = |name| {
            let at = words.iter().position(|word| *word == name)?;
            at.checked_sub(1).and_then(|at| size(words[at]))
        };
        let after = |name| {
            let at = words.iter().position(|word| *word == name)?;
            words.get(at + 1).and_then(|word| size(word))
        };
        let names_follow = words
            .first()
            .is_some_and(|word| word.starts_with(|c: char| c.is_ascii_digit()));
        let figure = |name| if names_follow { before(name) } else { after(name) };
        let used = figure("used");
        let committed = ["committed", "total", "capacity"].iter().find_map(|name| figure(name));
        let (Some(used), Some(committed)) = (used, committed) else {
            // Shenandoah states its range on a line of its own.
            if let Some((Part { is_heap: true, .. }, known @ None)) = parts.last_mut() {
                *known = range;
            }
            continue;
        };
        let is_name = |word: &&&str| word.starts_with(|c: char| c.is_ascii_alphabetic()) && !FIGURES.contains(*word);
        let names: Vec<_> = words.iter().take_while(is_name).copied().collect();
        // The class space is a part of the metaspace.
        if names.first() == Some(&"class") {
            continue;
        }
        let name = if names.is_empty() {
            "heap".to_owned()
        } else {
            names.join(" ")
        };
        let part = Part {
            is_heap: name != "Metaspace",
            name,
            used,
            committed: Some(committed),
            resident: None,
        };
        parts.push((part, range));
    }
    parts
}

/// Returns the first and the last address of a line, such as `[0x00000000da800000, 0x0000000100000000)`.
fn addresses(line: &str) -> Option<Range<u64>> {
    let (_, list) = line.split_once("[0x")?;
    let list = list.trim_end().strip_suffix(')')?;
    let mut numbers = list
        .split([',', ' '])
        .map(|number| number.trim_start_matches("0x"))
        .filter(|number| !number.is_empty());
    let mut number = || u64::from_str_radix(numbers.next()?, 16).ok();
    let start = number()?;
    let end = std::iter::from_fn(number).last()?;
    (start < end).then_some(start..end)
}

const FIGURES: [&str; 4] = ["total", "used", "committed", "capacity"];

/// Parses a size as the JVM writes it, such as `258048K`.
fn size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "B" | "" => 0,
        "K" | "KB" => 10,
        "M" | "MB" => 20,
        "G" | "GB" => 30,
        "T" => 40,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << unit)
}

/// Parses the answer to `VM.native_memory summary`: the committed bytes of each category, largest first, without the Java heap.
/// Empty if native memory is not tracked.
pub fn native_memory(text: &[u8]) -> Vec<(String, u64)> {
    let mut categories = Vec::new();
    for line in lines(text).take(10_000) {
        // `-                     Class (reserved=1048652KB, committed=204KB)`.
        let Some((name, figures)) = line.strip_prefix('-').and_then(|line| line.split_once('(')) else {
            continue;
        };
        let committed = figures
            .split([',', ')'])
            .find_map(|figure| figure.trim().strip_prefix("committed="));
        if let Some(committed) = committed.and_then(size)
            && name.trim() != "Java Heap"
            && categories.len() < 100
        {
            categories.push((name.trim().to_owned(), committed));
        }
    }
    categories.sort_by_key(|(_, committed)| std::cmp::Reverse(*committed));
    categories
}
