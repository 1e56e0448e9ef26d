//! The types of a Python program's objects: `Include/cpython/object.h`, `unicodeobject.h`.

use std::collections::HashMap;

use super::{ADDRESSES, Version, clamp};
use crate::heap::cache::Cache;

/// Maximum number of types, and of bytes of their names. Large programs have some 10,000.
const MAX_TYPES: usize = 1 << 16;
const MAX_NAMES: usize = 16 << 20;
/// Maximum number of addresses, of types and of what is none, that are remembered.
const MAX_KNOWN: usize = 1 << 18;
const MAX_NAME: u64 = 200;

/// Bits of `tp_flags`.
const INLINE_VALUES: u64 = 1 << 2;
const MANAGED: u64 = 3 << 3;
const MANAGED_DICT: u64 = 1 << 4;
const HEAP_TYPE: u64 = 1 << 9;
const READY: u64 = 1 << 12;
const HAVE_GC: u64 = 1 << 14;
const TYPE_SUBCLASS: u64 = 1 << 31;

/// The layout of an object, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Int,
    List,
    Tuple,
    Text,
    Dict,
    Set,
    Deque,
    Bytearray,
    /// `numpy.ndarray`.
    Array,
    Other,
}

impl Kind {
    /// Returns the bytes of the fields that are known.
    pub(super) const fn fields(self) -> u64 {
        match self {
            Self::Other => 16,
            Self::Int | Self::Tuple => 24,
            Self::List => 40,
            Self::Dict => 48,
            Self::Bytearray | Self::Text => 56,
            Self::Set => 200,
            Self::Deque => 72,
            Self::Array => 96,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Type {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) basic: u64,
    pub(super) item: u64,
    pub(super) dict_offset: i64,
    /// A class of Python code, rather than a type of C code.
    pub(super) is_class: bool,
    flags: u64,
    has_managed_fields: bool,
    has_inline_values: bool,
    has_managed_dict: bool,
}

impl Type {
    /// Returns true if its objects are plain data, which count towards the object that alone refers to them.
    pub(super) fn is_value(&self) -> bool {
        !self.is_class && (self.kind != Kind::Other || !self.has_gc())
    }

    pub(super) const fn has_gc(&self) -> bool {
        self.flags & HAVE_GC != 0
    }

    pub(super) const fn has_managed_dict(&self) -> bool {
        self.has_managed_dict
    }

    pub(super) const fn has_inline_values(&self) -> bool {
        self.has_inline_values
    }

    /// Returns true if its objects have a size that varies, or buffers.
    pub(super) fn is_sized(&self) -> bool {
        self.kind != Kind::Other || self.item > 0
    }

    /// Returns the bytes before an object.
    pub(super) const fn prefix(&self) -> u64 {
        let collector = if self.has_gc() { 16 } else { 0 };
        collector + if self.has_managed_fields { 16 } else { 0 }
    }
}

pub(super) struct Types {
    version: Version,
    all: Vec<Type>,
    known: HashMap<u64, Option<usize>>,
    /// Bytes of the names in `all`.
    names: usize,
}

impl Types {
    pub(super) fn new(version: Version) -> Self {
        Self {
            version,
            all: Vec::new(),
            known: HashMap::new(),
            names: 0,
        }
    }

    pub(super) fn at(&self, index: usize) -> &Type {
        &self.all[index]
    }

    /// Returns true if there is no room for another type.
    pub(super) const fn is_full(&self) -> bool {
        self.all.len() >= MAX_TYPES || self.names >= MAX_NAMES
    }

    /// Returns the number of the type at an address; `None` if there is none.
    pub(super) fn find(&mut self, memory: &mut Cache<'_>, address: u64) -> Option<usize> {
        if let Some(known) = self.known.get(&address) {
            return *known;
        }
        let read = self.read(memory, address);
        let index = read.map(|read| {
            self.names += read.name.len();
            self.all.push(read);
            self.all.len() - 1
        });
        if self.known.len() < MAX_KNOWN {
            self.known.insert(address, index);
        }
        index
    }

    fn read(&self, memory: &mut Cache<'_>, address: u64) -> Option<Type> {
        if !ADDRESSES.contains(&address) || !address.is_multiple_of(8) || self.is_full() {
            return None;
        }
        let [references, meta, _, name, basic, item] = memory.words(address)?;
        let flags = memory.word(address + 168)?;
        let meta_flags = memory.word(meta.checked_add(168)?)?;
        let is_type =
            references > 0 && flags & READY != 0 && meta_flags & (TYPE_SUBCLASS | READY) == TYPE_SUBCLASS | READY;
        if !is_type || !(16..1 << 24).contains(&basic) || item > 1 << 20 {
            return None;
        }
        let short = memory.text(name, MAX_NAME)?;
        if short.is_empty() {
            return None;
        }
        // The name of a type of C code has its module.
        let is_class =
            flags & HEAP_TYPE != 0 && !short.contains('.') && self.class_name(memory, address, &short).is_some();
        let name = if is_class {
            self.class_name(memory, address, &short)
                .unwrap_or_else(|| short.clone())
        } else {
            short
        };
        let subclass = |bit: u32| flags >> bit & 1 == 1;
        let kind = if subclass(24) {
            Kind::Int
        } else if subclass(25) {
            Kind::List
        } else if subclass(26) {
            Kind::Tuple
        } else if subclass(28) {
            Kind::Text
        } else if subclass(29) {
            Kind::Dict
        } else {
            match name.as_str() {
                "set" | "frozenset" => Kind::Set,
                "collections.deque" => Kind::Deque,
                "bytearray" => Kind::Bytearray,
                "numpy.ndarray" => Kind::Array,
                _ => Kind::Other,
            }
        };
        Some(Type {
            name,
            kind,
            basic,
            item,
            dict_offset: memory.word(address + 288)?.cast_signed(),
            is_class,
            flags,
            has_managed_fields: match self.version {
                (3, ..=10) => false,
                (3, 11) => flags & MANAGED_DICT != 0,
                _ => flags & MANAGED != 0,
            },
            has_managed_dict: self.version >= (3, 11) && flags & MANAGED_DICT != 0,
            has_inline_values: self.version >= (3, 13) && flags & INLINE_VALUES != 0,
        })
    }

    /// Returns the module and the qualified name of a class.
    fn class_name(&self, memory: &mut Cache<'_>, address: u64, short: &str) -> Option<String> {
        // `ht_qualname` is at another place in each version.
        let name = [864, 872, 856, 880, 888, 896].into_iter().find_map(|at| {
            let name = {
                let text = memory.word(address + at)?;
                self.text(memory, text)?
            };
            (name == short || name.ends_with(&format!(".{short}"))).then_some(name)
        })?;
        let module = self.module(memory, address);
        Some(match module.as_deref() {
            None | Some("builtins") => name,
            Some(module) => format!("{module}.{name}"),
        })
    }

    /// Returns the value of `__module__` in the dict of a class.
    fn module(&self, memory: &mut Cache<'_>, address: u64) -> Option<String> {
        let dict = memory.word(address + 264)?;
        let keys = memory.word(dict.checked_add(32)?)?;
        let (entries, stride, key, count) = if self.version <= (3, 10) {
            let [size, _, _, count] = memory.words(keys.checked_add(8)?)?;
            let width = if size <= 0xff { 1 } else { 2 };
            (keys.wrapping_add(40 + clamp(size) * width), 24, 8, count)
        } else {
            let [shape, _, count] = memory.words(keys.checked_add(8)?)?;
            let has_hashes = (shape >> 16) as u8 == 0;
            let index_bytes = 1_u64 << ((shape >> 8) as u8).min(40);
            let (stride, key) = if has_hashes { (24, 8) } else { (16, 0) };
            (keys.wrapping_add(32 + index_bytes), stride, key, count)
        };
        // It is among the first, since the class's body begins with it.
        (0..count.min(16)).find_map(|n| {
            let [name, value] = memory.words(entries.wrapping_add(n * stride + key))?;
            (self.text(memory, name)? == "__module__").then(|| self.text(memory, value))?
        })
    }

    pub(super) const fn tuple_items(&self) -> u64 {
        // Since 3.14 a tuple keeps its hash.
        if self.version.1 >= 14 { 32 } else { 24 }
    }

    /// Returns the bytes of a character, true if the text is in the object, and true if it is ASCII.
    fn text_shape(memory: &mut Cache<'_>, object: u64) -> Option<(u64, bool, bool)> {
        let state = memory.word(object.checked_add(32)?)?;
        // Two bits, or two bytes in some builds, say whether it is interned.
        let shape = |shift: u32| {
            (
                (state >> shift) & 7,
                state >> (shift + 3) & 1 == 1,
                state >> (shift + 4) & 1 == 1,
            )
        };
        [shape(2), shape(16)]
            .into_iter()
            .find(|(kind, ..)| matches!(kind, 1 | 2 | 4))
    }

    const fn text_headers(&self) -> (u64, u64) {
        if self.version.1 >= 12 { (40, 56) } else { (48, 72) }
    }

    /// Returns the bytes of a text, with its header; `None` if its characters are elsewhere.
    pub(super) fn text_size(&self, memory: &mut Cache<'_>, object: u64) -> Option<u64> {
        let (ascii, compact) = self.text_headers();
        let length = clamp(memory.word(object.checked_add(16)?)?);
        let (kind, is_compact, is_ascii) = Self::text_shape(memory, object)?;
        is_compact.then_some((if is_ascii { ascii } else { compact }) + (length + 1) * kind)
    }

    /// Returns a short text.
    fn text(&self, memory: &mut Cache<'_>, object: u64) -> Option<String> {
        let (ascii, compact) = self.text_headers();
        let length = memory.word(object.checked_add(16)?)?;
        let (kind, is_compact, is_ascii) = Self::text_shape(memory, object)?;
        if !is_compact || length == 0 || length > MAX_NAME {
            return None;
        }
        let mut bytes = vec![0; (length * kind) as usize];
        memory.bytes(object.checked_add(if is_ascii { ascii } else { compact })?, &mut bytes)?;
        let character = |bytes: &[u8]| {
            let code = bytes.iter().rev().fold(0, |code, byte| code << 8 | u32::from(*byte));
            char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
        };
        Some(bytes.chunks(kind as usize).map(character).collect())
    }
}
