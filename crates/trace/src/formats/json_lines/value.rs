//! Values in JSON, to the bit.

use serde_json::Value as Json;

use crate::event::{Value, ValueKind};

const KINDS: [(&str, ValueKind); 6] = [
    ("int", ValueKind::Int),
    ("bool", ValueKind::Bool),
    ("char", ValueKind::Char),
    ("float", ValueKind::Float),
    ("double", ValueKind::Double),
    ("ref", ValueKind::Ref),
];

pub(super) fn kind_from_name(name: &str) -> Option<ValueKind> {
    KINDS.iter().find(|(known, _)| *known == name).map(|&(_, kind)| kind)
}

pub(super) fn kind_name(kind: ValueKind) -> &'static str {
    KINDS.iter().find(|(_, known)| *known == kind).map_or("int", |&(name, _)| name)
}

/// The value that `json` means for a variable of this kind.
pub(super) fn read(json: &Json, kind: ValueKind) -> Result<Value, String> {
    let fault = || format!("{json} is not a value of kind {:?}", kind_name(kind));
    if let Some(bits) = json.as_str().and_then(|text| text.strip_prefix("0x"))
        && !bits.is_empty()
    {
        return u64::from_str_radix(bits, 16).map(Value).map_err(|_| fault());
    }
    let value = match (kind, json) {
        (ValueKind::Int, Json::Number(number)) => number.as_i64().map(Value::int),
        (ValueKind::Bool, Json::Bool(value)) => Some(Value(u64::from(*value))),
        (ValueKind::Char, Json::String(text)) => one_char(text).map(|c| Value(u64::from(c))),
        (ValueKind::Char, Json::Number(number)) => number.as_u64().map(Value),
        (ValueKind::Float, Json::Number(number)) => {
            number.as_f64().map(|value| Value(u64::from((value as f32).to_bits())))
        }
        (ValueKind::Float, Json::String(text)) => {
            not_finite(text).map(|value| Value(u64::from((value as f32).to_bits())))
        }
        (ValueKind::Double, Json::Number(number)) => {
            number.as_f64().map(|value| Value(value.to_bits()))
        }
        (ValueKind::Double, Json::String(text)) => {
            not_finite(text).map(|value| Value(value.to_bits()))
        }
        (ValueKind::Ref, Json::Null) => Some(Value(0)),
        (ValueKind::Ref, Json::String(text)) => {
            text.strip_prefix('#').and_then(|number| number.parse().ok()).map(Value)
        }
        _ => None,
    };
    value.ok_or_else(fault)
}

fn one_char(text: &str) -> Option<char> {
    let mut chars = text.chars();
    chars.next().filter(|_| chars.next().is_none())
}

fn not_finite(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

/// The JSON that [`read`] gives the same bits for: the natural form if there is one, else the bits.
pub(super) fn write(value: Value, kind: ValueKind) -> Json {
    let natural = match kind {
        ValueKind::Int => Some(Json::from(value.0.cast_signed())),
        ValueKind::Bool => Some(Json::from(value.0 == 1)),
        ValueKind::Char => {
            let scalar = u32::try_from(value.0).ok().and_then(char::from_u32);
            scalar.map(|c| Json::from(c.to_string()))
        }
        ValueKind::Float => real(short_double(f32::from_bits(value.0 as u32))),
        ValueKind::Double => real(f64::from_bits(value.0)),
        ValueKind::Ref if value.0 == 0 => Some(Json::Null),
        ValueKind::Ref => Some(Json::from(format!("#{}", value.0))),
    };
    natural
        .filter(|json| read(json, kind) == Ok(value))
        .unwrap_or_else(|| Json::from(format!("{:#018x}", value.0)))
}

/// The double that is written with as few digits as the float needs: 0.1 and not
/// 0.10000000149011612.
fn short_double(value: f32) -> f64 {
    value.to_string().parse().unwrap_or_else(|_| f64::from(value))
}

fn real(value: f64) -> Option<Json> {
    serde_json::Number::from_f64(value).map(Json::Number).or_else(|| {
        Some(Json::from(match value {
            f64::INFINITY => "Infinity",
            f64::NEG_INFINITY => "-Infinity",
            _ => "NaN",
        }))
    })
}
