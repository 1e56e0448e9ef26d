//! Recordings made by hand, whose small files would be large in memory, or take minutes to read.

use zmtop::heap::java::jfr::kept;

const SAMPLE: u64 = 1;
const OBJECT: u64 = 2;
const CLASS: u64 = 3;
const SYMBOL: u64 = 4;
const TEXT: u64 = 5;
const STACK: u64 = 6;
const FRAME: u64 = 7;
const METHOD: u64 = 8;
/// A class without fields.
const EMPTY: u64 = 9;

/// The kind, the name and the fields: name, kind, whether it refers to a constant, whether it is a list.
type Declared<'a> = (u64, &'a str, &'a [(&'a str, u64, bool, bool)]);

const CLASSES: &[Declared<'_>] = &[
    (
        SAMPLE,
        "jdk.OldObjectSample",
        &[
            ("more", EMPTY, false, true),
            ("object", OBJECT, true, false),
            ("stackTrace", STACK, true, false),
        ],
    ),
    (OBJECT, "jdk.types.OldObject", &[("type", CLASS, true, false)]),
    (CLASS, "java.lang.Class", &[("name", SYMBOL, true, false)]),
    (SYMBOL, "jdk.types.Symbol", &[("string", TEXT, false, false)]),
    (TEXT, "java.lang.String", &[]),
    (STACK, "jdk.types.StackTrace", &[("frames", FRAME, false, true)]),
    (FRAME, "jdk.types.StackFrame", &[("method", METHOD, true, false)]),
    (
        METHOD,
        "jdk.types.Method",
        &[("type", CLASS, true, false), ("name", SYMBOL, true, false)],
    ),
    (EMPTY, "Empty", &[]),
];

fn number(mut n: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..8 {
        if n < 0x80 {
            bytes.push(n as u8);
            return bytes;
        }
        bytes.push(n as u8 | 0x80);
        n >>= 7;
    }
    bytes.push(n as u8);
    bytes
}

fn numbers(all: &[u64]) -> Vec<u8> {
    all.iter().flat_map(|n| number(*n)).collect()
}

fn text(text: &str) -> Vec<u8> {
    [&[3][..], &number(text.len() as u64), text.as_bytes()].concat()
}

/// Writes elements of the metadata, and the texts that they refer to.
#[derive(Default)]
struct Metadata {
    texts: Vec<String>,
}

impl Metadata {
    fn text(&mut self, text: &str) -> Vec<u8> {
        let known = self.texts.iter().position(|known| known == text);
        number(known.unwrap_or_else(|| {
            self.texts.push(text.to_owned());
            self.texts.len() - 1
        }) as u64)
    }

    fn element(&mut self, name: &str, attributes: &[(&str, &str)], children: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = self.text(name);
        bytes.extend(number(attributes.len() as u64));
        for (key, value) in attributes {
            bytes.extend(self.text(key));
            bytes.extend(self.text(value));
        }
        bytes.extend(number(children.len() as u64));
        bytes.extend(children.concat());
        bytes
    }
}

fn metadata(classes: &[Declared<'_>]) -> Vec<u8> {
    let mut made = Metadata::default();
    let mut elements = Vec::new();
    for (kind, name, fields) in classes {
        let fields: Vec<_> = fields
            .iter()
            .map(|(name, kind, is_constant, is_list)| {
                let attributes = [
                    ("name", *name),
                    ("class", &kind.to_string()),
                    ("constantPool", if *is_constant { "true" } else { "false" }),
                    ("dimension", if *is_list { "1" } else { "0" }),
                ];
                made.element("field", &attributes, &[])
            })
            .collect();
        elements.push(made.element("class", &[("id", &kind.to_string()), ("name", name)], &fields));
    }
    let root = made.element("root", &[], &elements);
    let texts: Vec<u8> = made.texts.iter().flat_map(|known| text(known)).collect();
    [numbers(&[0; 5]), number(made.texts.len() as u64), texts, root].concat()
}

/// A pool of constants: their kinds, and for each the keys and values.
fn pool(to_previous: i64, constants: &[(u64, u64, Vec<u8>)]) -> Vec<u8> {
    let head = numbers(&[0, 1, 0, 0, to_previous.cast_unsigned()]);
    let mut bytes = [head, vec![0], number(constants.len() as u64)].concat();
    for (kind, key, value) in constants {
        bytes.extend(numbers(&[*kind, 1, *key]));
        bytes.extend(value);
    }
    bytes
}

/// A chunk of events, pools and metadata. `newest` is the place of the newest pool in `pools`.
fn chunk(events: &[Vec<u8>], pools: &[u8], newest: usize, classes: &[Declared<'_>]) -> Vec<u8> {
    let events: Vec<u8> = events
        .iter()
        .flat_map(|event| {
            let mut whole = number(event.len() as u64 + 1);
            if whole.len() > 1 {
                whole = number(event.len() as u64 + 2);
            }
            whole.extend(event);
            whole
        })
        .collect();
    let metadata = metadata(classes);
    let (at_pools, at_metadata) = (68 + events.len(), 68 + events.len() + pools.len());
    let mut bytes = b"FLR\0\0\x02\0\x01".to_vec();
    for word in [at_metadata + metadata.len(), at_pools + newest, at_metadata] {
        bytes.extend((word as u64).to_be_bytes());
    }
    bytes.resize(68, 0);
    [bytes, events, pools.to_vec(), metadata].concat()
}

/// A sample with so many empty objects in front.
fn sample(empty: u64) -> Vec<u8> {
    numbers(&[SAMPLE, empty, 1, 1])
}

/// The constants of one sample: an object of a class of that name, allocated by one method.
fn constants(name: &str) -> Vec<(u64, u64, Vec<u8>)> {
    vec![
        (OBJECT, 1, number(1)),
        (CLASS, 1, number(1)),
        (SYMBOL, 1, text(name)),
        (STACK, 1, numbers(&[1, 1])),
        (METHOD, 1, numbers(&[1, 1])),
    ]
}

#[test]
fn a_made_recording_is_read() {
    let bytes = chunk(&[sample(0), sample(3)], &pool(0, &constants("App")), 0, CLASSES);
    let found = kept(&bytes).unwrap();
    assert_eq!((found[0].class.as_str(), found[0].samples), ("App", 2));
    assert_eq!(found[0].frames, ["App.App"]);
}

#[test]
fn long_names_are_cut() {
    let bytes = chunk(&[sample(0)], &pool(0, &constants(&"é".repeat(100_000))), 0, CLASSES);
    let found = kept(&bytes).unwrap();
    assert_eq!(found[0].class.chars().count(), 512);
    assert_eq!(found[0].frames[0].chars().count(), 512 + 1 + 512);
}

#[test]
fn the_limit_of_values_is_that_of_the_recording() {
    let one = chunk(&[sample(600_000)], &pool(0, &constants("App")), 0, CLASSES);
    assert_eq!(kept(&one).unwrap()[0].samples, 1);
    assert_eq!(kept(&one.repeat(2)).unwrap()[0].samples, 1);
}

#[test]
fn pools_that_overlap_are_refused() {
    let empty = pool(0, &[]);
    let back = -i64::try_from(empty.len()).unwrap();
    let apart = [empty.clone(), pool(back, &constants("App"))].concat();
    let bytes = chunk(&[sample(0)], &apart, empty.len(), CLASSES);
    assert_eq!(kept(&bytes).unwrap()[0].class, "App");
    // Each text reaches over all pools behind it: together they are many times as large as the chunk.
    let (mut pools, mut newest) = (Vec::new(), 0);
    for n in 0..40 {
        let back = i64::try_from(pools.len() - newest).unwrap();
        newest = pools.len();
        let rest = 3000 - pools.len() as u64;
        pools.extend(pool(-back, &[(TEXT, n, [&[3][..], &number(rest)].concat())]));
    }
    pools.resize(6000, 0);
    let bytes = chunk(&[sample(0)], &pools, newest, CLASSES);
    assert_eq!(kept(&bytes), None);
}

#[test]
fn a_class_has_a_limited_number_of_fields() {
    let fields = [("more", EMPTY, false, false); 257];
    for (count, is_read) in [(256, true), (257, false)] {
        let mut classes = CLASSES.to_vec();
        classes.push((10, "Wide", &fields[..count]));
        let bytes = chunk(&[sample(0)], &pool(0, &constants("App")), 0, &classes);
        assert_eq!(kept(&bytes).is_some(), is_read, "{count}");
    }
}

#[test]
fn names_of_the_metadata_are_cut_and_limited_as_a_whole() {
    // Further classes, which share one name of so many characters of 4 bytes, and whether the recording is read.
    for (count, len, is_read) in [(1_000, 25_000, true), (8_000, 600, true), (8_300, 600, false)] {
        let name = "\u{1d11e}".repeat(len);
        let mut classes = CLASSES.to_vec();
        classes.extend((10..10 + count).map(|kind| (kind, name.as_str(), &[][..])));
        let bytes = chunk(&[sample(0)], &pool(0, &constants("App")), 0, &classes);
        assert_eq!(kept(&bytes).is_some(), is_read, "{count} of {len}");
    }
}

#[test]
fn the_methods_of_all_samples_are_limited() {
    let mut constants = constants("App");
    // A stack of 64 methods.
    let deep = [vec![64], vec![1; 64]].concat();
    constants[3].2 = numbers(&deep);
    let of = |samples| chunk(&vec![sample(0); samples], &pool(0, &constants), 0, CLASSES);
    assert_eq!(kept(&of(5_000)).unwrap()[0].samples, 5_000);
    let found = kept(&of(50_000)).unwrap();
    let all = found.iter().map(|kept| kept.samples).sum::<u64>();
    assert!((5_000..50_000).contains(&all), "{all}");
}
