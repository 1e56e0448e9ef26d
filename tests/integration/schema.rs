//! `zmtop schema` against the documents that are written: each field is described, and each that is described is written.

use std::collections::BTreeSet;
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::Duration;

use crate::alerts::program::events;
use crate::arch::sources;
use crate::callers::report;
use crate::formats::{made, recording};
use crate::limits;
use crate::mem::scope::{V2, container};
use crate::oneshot::leaks;
use crate::sampler::held::sharers;
use crate::support::pty::ZMTOP;
use crate::support::tree::ProcTree;
use crate::{heaps, sites, slab, why};
use serde_json::{Map, Value};

use zmtop::history::mappings::{Coldness, MappingColdness, Resident};
use zmtop::model::mapping::MappingKind;
use zmtop::model::system::{Ksm, Scope, ScopeKind, Sockets};
use zmtop::model::{Identity, Missing};
use zmtop::output::mem::MemReport;
use zmtop::output::prove::ProveReport;
use zmtop::output::{Format, OutputStyle, Report, write};
use zmtop::record::Record;
use zmtop::run::alert::payload::Payload;

/// Runs `zmtop schema`.
fn run(names: &[&str]) -> Output {
    let mut command = Command::new(ZMTOP);
    command.arg("schema").args(names).env_clear().output().unwrap()
}

fn schema(names: &[&str]) -> Value {
    let done = run(names);
    assert_eq!((done.status.code(), &*done.stderr), (Some(0), &b""[..]));
    serde_json::from_slice(&done.stdout).unwrap()
}

fn written(report: &dyn Report) -> Value {
    let mut out = Vec::new();
    write(&mut out, report, Format::Json).unwrap();
    serde_json::from_slice(&out).unwrap()
}

/// A document beside its schema: what is at odds, and the places of the schema that values were found for.
#[derive(Default)]
struct Comparison {
    faults: Vec<String>,
    seen: BTreeSet<String>,
}

impl Comparison {
    /// Compares a value; `at` is its place in the schema.
    fn compare(&mut self, value: &Value, schema: &Value, at: &str) {
        if let Some(any) = schema.get("anyOf").and_then(Value::as_array) {
            let fitting = any.iter().map(|schema| {
                let mut tried = Self::default();
                tried.compare(value, schema, at);
                tried
            });
            match fitting.min_by_key(|tried| tried.faults.len()) {
                Some(best) => {
                    self.faults.extend(best.faults);
                    self.seen.extend(best.seen);
                }
                None => self.faults.push(format!("{at}: of nothing")),
            }
            return;
        }
        if let Some(words) = schema.get("enum").and_then(Value::as_array) {
            if !words.contains(value) {
                self.faults.push(format!("{at}: {value} is none of {words:?}"));
            }
            return;
        }
        if schema.get("const").is_some_and(|only| only != value) {
            self.faults.push(format!("{at}: {value}"));
        }
        let found = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(n) if n.is_f64() => "number",
            Value::Number(_) => "integer",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        let allowed = match &schema["type"] {
            Value::Array(several) => several.clone(),
            one => vec![one.clone()],
        };
        let is_allowed = |name: &str| allowed.iter().any(|allowed| allowed == name);
        let is_fitting = is_allowed(found) || found == "integer" && is_allowed("number");
        if !is_fitting {
            self.faults.push(format!("{at}: {value} is no {allowed:?}"));
        }
        match value {
            Value::Array(values) => {
                for value in values {
                    self.seen.insert(format!("{at}[]"));
                    self.compare(value, &schema["items"], &format!("{at}[]"));
                }
            }
            Value::Object(fields) => self.compare_fields(fields, schema, at),
            _ => {}
        }
    }

    fn compare_fields(&mut self, fields: &Map<String, Value>, schema: &Value, at: &str) {
        let properties = schema["properties"].as_object();
        for (name, value) in fields {
            if let Some(property) = properties.and_then(|all| all.get(name)) {
                let at = format!("{at}.{name}");
                self.seen.insert(at.clone());
                self.compare(value, property, &at);
            } else if let Some(others) = schema.get("additionalProperties") {
                self.compare(value, others, &format!("{at}.*"));
            } else {
                self.faults.push(format!("{at}.{name} is not described"));
            }
        }
        for name in schema["required"].as_array().into_iter().flatten() {
            if !fields.contains_key(name.as_str().unwrap()) {
                self.faults.push(format!("{at}.{name} is not there"));
            }
        }
    }
}

/// Returns the places of all fields that are described, but for those that say where they are absent, and what is in those.
fn places(schema: &Value, at: &str, all: &mut BTreeSet<String>) {
    for one in schema.get("anyOf").and_then(Value::as_array).into_iter().flatten() {
        places(one, at, all);
    }
    for (name, property) in schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        let described = |key: &str| property[key].as_str().is_some_and(|text| !text.is_empty());
        assert!(described("description"), "{at}.{name} has no meaning");
        if property.get("x-absent").is_none() {
            let at = format!("{at}.{name}");
            all.insert(at.clone());
            places(property, &at, all);
        }
    }
    if let Some(items) = schema.get("items").filter(|items| items.get("properties").is_some()) {
        places(items, &format!("{at}[]"), all);
    }
}

/// Returns documents of every kind.
fn documents() -> Vec<Value> {
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let mut small = made::small();
    let mut inputs = (*small.accounting).clone();
    inputs.sockets = Ok(Sockets::default());
    inputs.ksm = Ok(Ksm {
        on: true,
        shared: 1,
        saved: 2,
    });
    small.accounting = Arc::new(inputs);
    let full = crate::support::machine::machine(Duration::from_secs(100), Vec::new());
    let mut scoped = small.clone();
    let path = (*b"/web").into();
    scoped.system.scope = Some(Box::new(Scope::missing(ScopeKind::Chosen, path, Missing::Denied)));
    let mut all = vec![
        serde_json::to_value(Record::new(&scoped)).unwrap(),
        written(&MemReport::new(&scoped, OutputStyle::default())),
        serde_json::to_value(Record::new(&small)).unwrap(),
        serde_json::to_value(Record::new(&full)).unwrap(),
        written(&MemReport::new(&small, OutputStyle::default())),
        written(&MemReport::new(&full, OutputStyle::default())),
        written(&ProveReport {
            id: Identity { pid: 7, starttime: 8 },
            comm: b"x\xff",
            coldness: &Coldness {
                since: Duration::from_secs(60),
                total: Err(Missing::Denied),
                mappings: vec![MappingColdness {
                    kind: MappingKind::Heap,
                    name: Arc::from(&b"[heap]"[..]),
                    size: Ok(9),
                    resident: Ok(Resident { rss: 5, hot: 2 }),
                }],
            },
            top: None,
            style: OutputStyle::default(),
        }),
        read(&report::of_all()),
    ];
    all.extend(leaks::of_all().iter().map(|text| read(text)));
    all.extend(why::of_all().iter().map(|text| read(text)));
    all.extend(events().iter().map(|event| {
        let json = Payload::new(event, "pss>100M swap>=0", b"db1").json();
        serde_json::from_slice(&json).unwrap()
    }));
    let tree = |tree: &ProcTree, line: &str| read(&tree.zmtop(line).1);
    all.push(tree(&slab::machine(), "kernel slab --format json"));
    let of_sites = ProcTree::new();
    of_sites.system("allocinfo", sites::FILE);
    all.push(tree(&of_sites, "kernel sites --format json"));
    let holders = sharers();
    for line in [
        "ps --format json",
        "ps --format ndjson",
        "ps --columns exe,oom_score,held,pss,cg_limit,unread,age --format json",
        "ps --tree --columns pid,pss,command --format json",
        "ps --by command --format json",
        "ps --by mapping --format json",
        "mem --format json",
        "maps 2 --format json",
        "maps 2 --format ndjson",
        "held 2 --format json",
        "held 2 --format ndjson",
    ] {
        all.push(tree(&holders, line));
    }
    all.push(tree(&container(V2), "mem --cgroup /pod/app --format json"));
    let cache = format!("cache {} --format json", holders.root().display());
    all.push(tree(&holders, &cache));
    all.push(read(&limits::document()));
    all.extend(heaps::documents().iter().map(|text| read(text)));
    all.push(serde_json::to_value(crate::update::call_paths::measured()).unwrap());
    all.push(read(&recording::line_of_changes()));
    all
}

#[test]
fn every_field_is_described_and_every_described_field_is_written() {
    let schemas = schema(&[]);
    let definitions = schemas["$defs"].as_object().unwrap();
    let mut found = Comparison::default();
    for document in documents() {
        let name = document["schema"].as_str().unwrap();
        found.compare(&document, &definitions[name], name);
    }
    let mut described = BTreeSet::new();
    for (name, schema) in definitions {
        places(schema, name, &mut described);
    }
    found.faults.dedup();
    assert!(found.faults.is_empty(), "{}", found.faults.join("\n"));
    let unseen: Vec<_> = described.difference(&found.seen).map(String::as_str).collect();
    assert!(unseen.is_empty(), "described and not written:\n{}", unseen.join("\n"));
}

#[test]
fn every_schema_has_a_name_of_its_own() {
    let schemas = schema(&[]);
    let definitions = schemas["$defs"].as_object().unwrap();
    for (name, definition) in definitions {
        let mut one = schema(&[name.as_str()]);
        assert_eq!(one["title"], **name);
        one.as_object_mut().unwrap().remove("$schema");
        assert_eq!(&one, definition);
    }
    for (short, name) in [
        ("mem", "zmtop-mem/1"),
        ("ps", "zmtop-table/1"),
        ("callers", "zmtop-call-paths/1"),
    ] {
        assert_eq!(schema(&[short])["title"], *name);
    }
    let done = run(&["zmtop-nothing/1"]);
    assert_eq!(done.status.code(), Some(2));
    let err = String::from_utf8(done.stderr).unwrap();
    assert!(err.contains("zmtop-mem/1, zmtop-leaks/1"), "{err}");
    // Those that the sources name.
    let mut named = BTreeSet::new();
    for (_, text) in sources("src") {
        named.extend(
            text.split('"')
                .filter(|word| {
                    let name = word.strip_suffix("/1").and_then(|name| name.strip_prefix("zmtop"));
                    name.is_some_and(|name| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'))
                })
                .map(ToOwned::to_owned),
        );
    }
    assert_eq!(named.iter().collect::<Vec<_>>(), definitions.keys().collect::<Vec<_>>());
}
