//! Parses recordings of Java's Flight Recorder: only the samples of old objects, with the code that allocated them.
//!
//! A chunk describes its own types: `src/jdk.jfr/share/classes/jdk/jfr/internal/consumer/` of the JDK, `ChunkHeader`,
//! `MetadataReader`, `ConstantMap`. The process wrote the file, so every length is checked and the work is bounded.

use std::collections::HashMap;

use super::class_name;
use crate::heap::runtimes::Kept;

const HEADER: usize = 68;
/// Maximum number of values of a recording.
const MAX_VALUES: usize = 1 << 20;
/// Maximum number of bytes of the names of classes and fields, and of those that are returned.
const MAX_NAMES: usize = 16 << 20;
/// Maximum number of characters of a name.
const MAX_NAME: usize = 512;
/// Maximum number of fields of a class. Those of the JDK have some 30.
const MAX_FIELDS: usize = 256;
const MAX_TEXTS: u64 = 1 << 16;
/// Maximum nesting depth of values.
const MAX_DEPTH: usize = 16;
const MAX_FRAMES: usize = 64;

/// Returns the samples of old objects, the most frequent first; `None` if it is no recording.
pub fn kept(bytes: &[u8]) -> Option<Vec<Kept>> {
    let mut found: HashMap<(String, Vec<String>), u64> = HashMap::new();
    let mut left = Left {
        values: MAX_VALUES,
        names: MAX_NAMES,
    };
    let mut at = 0;
    while at < bytes.len() {
        let chunk = bytes.get(at..)?;
        let size = usize::try_from(big_endian(chunk, 8)?).ok()?;
        let chunk = chunk
            .get(..size)
            .filter(|chunk| chunk.starts_with(b"FLR\0") && size > HEADER)?;
        let mut read = Chunk::read(chunk, left)?;
        let _ = read.samples(chunk, &mut found);
        left = read.left;
        at += size;
    }
    let mut kept: Vec<_> = found
        .into_iter()
        .map(|((class, frames), samples)| Kept { class, frames, samples })
        .collect();
    kept.sort_by(|a, b| {
        b.samples
            .cmp(&a.samples)
            .then_with(|| (&a.class, &a.frames).cmp(&(&b.class, &b.frames)))
    });
    Some(kept)
}

fn big_endian(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// A position in a chunk.
#[derive(Clone)]
struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Reader<'b> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// Reads a number of up to 9 bytes, of which the ninth has 8 bits.
    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for n in 0..9 {
            let byte = u64::from(self.byte()?);
            if n == 8 {
                return Some(number | byte << 56);
            }
            number |= (byte & 0x7f) << (7 * n);
            if byte & 0x80 == 0 {
                break;
            }
        }
        Some(number)
    }

    fn take(&mut self, len: u64) -> Option<&'b [u8]> {
        let end = self.at.checked_add(usize::try_from(len).ok()?)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    /// Reads a text: none, empty, a reference, UTF-8, characters, or Latin-1.
    fn text(&mut self) -> Option<Value> {
        let code = self.byte()?;
        Some(match code {
            0 | 1 => Value::Text(String::new()),
            2 => Value::Number(self.number()?),
            3 => {
                let len = self.number()?;
                Value::Text(String::from_utf8_lossy(self.take(len)?).into_owned())
            }
            4 => {
                let mut text = String::new();
                for _ in 0..self.number()? {
                    let code = u32::try_from(self.number()?).ok()?;
                    text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                Value::Text(text)
            }
            5 => {
                let len = self.number()?;
                Value::Text(self.take(len)?.iter().map(|byte| char::from(*byte)).collect())
            }
            _ => return None,
        })
    }
}

/// A value of an event or of a constant.
enum Value {
    /// A number, or the number of a constant.
    Number(u64),
    Text(String),
    /// The fields of an object, in the order of its type.
    Fields(Vec<Value>),
    List(Vec<Value>),
}

struct Field {
    name: String,
    kind: u64,
    is_constant: bool,
    is_list: bool,
}

#[derive(Default)]
struct Class {
    name: String,
    fields: Vec<Field>,
}

/// The amount of a recording that may still be read.
#[derive(Clone, Copy)]
struct Left {
    values: usize,
    /// Bytes.
    names: usize,
}

struct Chunk {
    classes: HashMap<u64, Class>,
    constants: HashMap<(u64, u64), Value>,
    /// The bytes of pools and events so far.
    taken: usize,
    left: Left,
}

impl Chunk {
    fn read(bytes: &[u8], left: Left) -> Option<Self> {
        let mut chunk = Self {
            classes: HashMap::new(),
            constants: HashMap::new(),
            taken: 0,
            left,
        };
        let at = |offset| {
            Some(Reader {
                bytes,
                at: usize::try_from(big_endian(bytes, offset)?).ok()?,
            })
        };
        chunk.read_metadata(at(24)?)?;
        let mut constants = at(16)?;
        // Each pool states the distance to the previous one.
        for _ in 0..=bytes.len() / HEADER {
            let start = constants.at;
            let delta = chunk.read_constants(&mut constants)?;
            chunk.take(start, &constants)?;
            if delta == 0 {
                break;
            }
            let previous = (start as u64).cast_signed().checked_add(delta.cast_signed())?;
            constants = Reader {
                bytes,
                at: usize::try_from(previous).ok().filter(|previous| *previous < start)?,
            };
        }
        Some(chunk)
    }

    /// Counts the bytes that were read from `start` on. Pools and events do not overlap, so that all have at most the bytes of the
    /// chunk. If they did, a few bytes would be many large texts.
    fn take(&mut self, start: usize, reader: &Reader<'_>) -> Option<()> {
        self.taken += reader.at - start;
        (self.taken <= reader.bytes.len()).then_some(())
    }

    /// Returns the beginning of the name of a class or field, and counts its bytes.
    fn take_name(&mut self, name: &str) -> Option<String> {
        let name: String = name.chars().take(MAX_NAME).collect();
        self.left.names = self.left.names.checked_sub(name.len())?;
        Some(name)
    }

    /// Counts a value.
    fn take_value(&mut self) -> Option<()> {
        self.left.values = self.left.values.checked_sub(1)?;
        Some(())
    }

    fn read_metadata(&mut self, mut reader: Reader<'_>) -> Option<()> {
        for _ in 0..5 {
            // The size, the type, the start, the duration and the identifier.
            reader.number()?;
        }
        let mut texts = Vec::new();
        let count = reader.number()?;
        if count > MAX_TEXTS {
            return None;
        }
        for _ in 0..count {
            let Value::Text(text) = reader.text()? else { return None };
            texts.push(text);
        }
        self.read_element(&mut reader, &texts, None, 0)
    }

    /// Reads an element with its attributes and its children; the fields are children of `class`.
    fn read_element(
        &mut self,
        reader: &mut Reader<'_>,
        texts: &[String],
        class: Option<u64>,
        depth: usize,
    ) -> Option<()> {
        let text = |reader: &mut Reader<'_>| texts.get(usize::try_from(reader.number()?).ok()?);
        let name = text(reader)?;
        let mut attributes: HashMap<&str, &str> = HashMap::new();
        for _ in 0..reader.number()? {
            let key = text(reader)?;
            attributes.insert(key, text(reader)?);
        }
        let number = |key: &str| attributes.get(key)?.parse::<u64>().ok();
        let mut class = class;
        if name == "class" {
            let id = number("id")?;
            let name = self.take_name(attributes.get("name")?)?;
            self.classes.insert(
                id,
                Class {
                    name,
                    fields: Vec::new(),
                },
            );
            class = Some(id);
        } else if name == "field" {
            let field = Field {
                name: self.take_name(attributes.get("name")?)?,
                kind: number("class")?,
                is_constant: attributes.get("constantPool") == Some(&"true"),
                is_list: number("dimension").is_some_and(|dimension| dimension > 0),
            };
            let fields = &mut self.classes.get_mut(&class?)?.fields;
            if fields.len() == MAX_FIELDS {
                return None;
            }
            fields.push(field);
        }
        let children = reader.number()?;
        self.take_value()?;
        if depth > MAX_DEPTH {
            return None;
        }
        for _ in 0..children {
            self.read_element(reader, texts, class, depth + 1)?;
        }
        Some(())
    }

    /// Reads the constants of one pool. Returns the distance to the previous one.
    fn read_constants(&mut self, reader: &mut Reader<'_>) -> Option<u64> {
        reader.number()?;
        (reader.number()? == 1).then_some(())?;
        reader.number()?;
        reader.number()?;
        let delta = reader.number()?;
        reader.byte()?;
        for _ in 0..reader.number()? {
            let kind = reader.number()?;
            for _ in 0..reader.number()? {
                let key = reader.number()?;
                let value = self.value(reader, kind, 0)?;
                // The newest pool is read first.
                self.constants.entry((kind, key)).or_insert(value);
            }
        }
        Some(delta)
    }

    fn value(&mut self, reader: &mut Reader<'_>, kind: u64, depth: usize) -> Option<Value> {
        self.take_value()?;
        if depth > MAX_DEPTH {
            return None;
        }
        let class = self.classes.get(&kind)?;
        Some(match class.name.as_str() {
            "boolean" | "byte" => Value::Number(u64::from(reader.byte()?)),
            "char" | "short" | "int" | "long" => Value::Number(reader.number()?),
            "float" => Value::Number(reader.take(4).map(|_| 0)?),
            "double" => Value::Number(reader.take(8).map(|_| 0)?),
            "java.lang.String" => reader.text()?,
            _ => {
                let fields: Vec<_> = class
                    .fields
                    .iter()
                    .map(|field| (field.kind, field.is_constant, field.is_list))
                    .collect();
                let mut values = Vec::new();
                for (kind, is_constant, is_list) in fields {
                    let count = if is_list { reader.number()? } else { 1 };
                    let mut list = Vec::new();
                    for _ in 0..count {
                        list.push(if is_constant {
                            self.take_value()?;
                            Value::Number(reader.number()?)
                        } else {
                            self.value(reader, kind, depth + 1)?
                        });
                    }
                    values.push(if is_list { Value::List(list) } else { list.pop()? });
                }
                Value::Fields(values)
            }
        })
    }

    /// Adds the samples among the events.
    fn samples(&mut self, bytes: &[u8], found: &mut HashMap<(String, Vec<String>), u64>) -> Option<()> {
        let kind = *self
            .classes
            .iter()
            .find(|(_, class)| class.name == "jdk.OldObjectSample")?
            .0;
        let mut at = HEADER;
        while at < bytes.len() {
            let mut reader = Reader { bytes, at };
            let size = usize::try_from(reader.number()?).ok().filter(|size| *size > 0)?;
            if reader.number()? == kind {
                let event = self.value(&mut reader, kind, 0)?;
                self.take(at, &reader)?;
                let mut values = self.left.values;
                let sample = self
                    .class_of((kind, &event))
                    .zip(self.frames((kind, &event), &mut values));
                self.left.values = values;
                if let Some(sample) = sample {
                    if !found.contains_key(&sample) {
                        let names = sample.0.len() + sample.1.iter().map(String::len).sum::<usize>();
                        self.left.names = self.left.names.checked_sub(names)?;
                    }
                    *found.entry(sample).or_default() += 1;
                }
            }
            at = at.checked_add(size)?;
        }
        Some(())
    }

    /// Returns a field of an object; the constant that it refers to.
    fn field<'v>(&'v self, (kind, object): (u64, &'v Value), name: &str) -> Option<(u64, &'v Value)> {
        let Value::Fields(values) = object else { return None };
        let fields = &self.classes.get(&kind)?.fields;
        let at = fields.iter().position(|field| field.name == name)?;
        let (field, value) = (&fields[at], values.get(at)?);
        match value {
            Value::Number(key) if field.is_constant => Some((field.kind, self.constants.get(&(field.kind, *key))?)),
            _ => Some((field.kind, value)),
        }
    }

    /// Returns the beginning of the text of a symbol.
    fn symbol(&self, symbol: (u64, &Value)) -> Option<String> {
        let (kind, mut text) = self.field(symbol, "string")?;
        if let Value::Number(key) = text {
            text = self.constants.get(&(kind, *key))?;
        }
        let Value::Text(text) = text else { return None };
        Some(text.chars().take(MAX_NAME).collect())
    }

    fn class_of(&self, event: (u64, &Value)) -> Option<String> {
        let class = self.field(self.field(event, "object")?, "type")?;
        self.symbol(self.field(class, "name")?)
            .map(|name| class_name(&name.replace('/', ".")))
    }

    /// Returns the methods of an event, innermost first. Deducts 1 from `values` for each.
    fn frames(&self, event: (u64, &Value), values: &mut usize) -> Option<Vec<String>> {
        let (kind, frames) = self.field(self.field(event, "stackTrace")?, "frames")?;
        let Value::List(frames) = frames else { return None };
        let mut name = |frame: &Value| {
            *values = values.checked_sub(1)?;
            let method = self.field((kind, frame), "method")?;
            let class = self.symbol(self.field(self.field(method, "type")?, "name")?)?;
            Some(format!(
                "{}.{}",
                class.replace('/', "."),
                self.symbol(self.field(method, "name")?)?
            ))
        };
        Some(frames.iter().take(MAX_FRAMES).filter_map(&mut name).collect())
    }
}
