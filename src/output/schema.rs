//! Schemas as JSON Schema (2020-12), which a person can read: every field with its meaning, its unit and what null means.
//!
//! ```text
//! {"$schema":"https://json-schema.org/draft/2020-12/schema","title":"zmtop-held/1","description":"What processes hold …",
//!  "type":"object","required":["schema"],"properties":{
//!   "pid":{"description":"Its pid.","type":"integer"},
//!   "pss":{"description":"Proportional set: …","type":["integer","null"],"x-unit":"bytes","x-null":"unknown; …"}}}
//! ```
//!
//! Properties are not closed: fields are only ever added. `x-unit` is the unit, `x-null` what null means, `x-absent` where the
//! field is absent.

use std::io::{self, Write};

use serde_json::ser::PrettyFormatter;

use super::data::{Node, Object};
use crate::schema::{Field, Kind, Schema, Shape};

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Writes a schema, or several as alternatives.
pub fn write(out: &mut dyn Write, schemas: &[Schema]) -> io::Result<()> {
    use serde::Serialize as _;
    let head = Object::default().put("$schema", DIALECT);
    let all = match schemas {
        [one] => head.extend(document(one)),
        several => {
            let references = several
                .iter()
                .map(|schema| Object::default().put("$ref", format!("#/$defs/{}", pointer(schema.name))));
            let definitions = several
                .iter()
                .fold(Object::default(), |all, schema| all.put(schema.name, document(schema)));
            head.put("oneOf", references.collect::<Vec<_>>())
                .put("$defs", definitions)
        }
    };
    let formatter = PrettyFormatter::with_indent(b"  ");
    all.serialize(&mut serde_json::Serializer::with_formatter(&mut *out, formatter))?;
    out.write_all(b"\n")
}

/// Escapes a name for a JSON pointer.
fn pointer(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn document(schema: &Schema) -> Object<'static> {
    let base = Object::default()
        .put("title", schema.name)
        .put("description", schema.help);
    // The name distinguishes documents.
    let fields = schema.fields.iter().map(|field| match &*field.name {
        "schema" => (field, property(field).put("const", schema.name)),
        _ => (field, property(field)),
    });
    base.extend(of_fields(fields.collect()))
}

fn property(field: &Field) -> Object<'static> {
    Object::default()
        .put("description", field.help.to_string())
        .extend(of_shape(&field.shape))
}

/// Returns an object's type and its properties.
fn of_fields(fields: Vec<(&Field, Object<'static>)>) -> Object<'static> {
    let required = fields.iter().filter(|(field, _)| field.shape.absent.is_none());
    let required: Vec<String> = required.map(|(field, _)| field.name.to_string()).collect();
    let properties = fields.into_iter();
    let properties = properties.fold(Object::default(), |all, (field, property)| {
        all.put(field.name.clone(), property)
    });
    Object::default()
        .put("type", "object")
        .put("required", required)
        .put("properties", properties)
}

fn of_shape(shape: &Shape) -> Object<'static> {
    let is_null = shape.null.is_some();
    let typed = |name: &'static str| -> Object<'static> {
        Object::default().put(
            "type",
            if is_null {
                Node::from(vec![name, "null"])
            } else {
                name.into()
            },
        )
    };
    let kind = match &shape.kind {
        Kind::Text => typed("string"),
        Kind::OneOf(words) => {
            let words = words.iter().map(|word| Node::from(*word));
            let null = is_null.then(|| Node::from(None::<&str>));
            Object::default().put("enum", words.chain(null).collect::<Vec<_>>())
        }
        Kind::Switch => typed("boolean"),
        Kind::Integer => typed("integer"),
        Kind::Number => typed("number"),
        Kind::List(of) => typed("array").put("items", of_shape(of)),
        Kind::Map(of) => typed("object").put("additionalProperties", of_shape(of)),
        Kind::Object(fields) => {
            let object = of_fields(fields.iter().map(|field| (field, property(field))).collect());
            if is_null { either(vec![object]) } else { object }
        }
        Kind::AnyOf(shapes) => {
            let shapes: Vec<_> = shapes.iter().map(of_shape).collect();
            if is_null {
                either(shapes)
            } else {
                Object::default().put("anyOf", shapes)
            }
        }
    };
    let more = [
        ("x-unit", shape.unit),
        ("x-null", shape.null),
        ("x-absent", shape.absent),
    ];
    let more = more.into_iter().filter_map(|(name, words)| Some((name, words?)));
    more.fold(kind, |object, (name, words)| object.put(name, words))
}

/// Returns a schema that accepts any of these, or null.
fn either(mut shapes: Vec<Object<'static>>) -> Object<'static> {
    shapes.push(Object::default().put("type", "null"));
    Object::default().put("anyOf", shapes)
}
