//! JSON as Python's json.dumps() writes it. The engine's own filter escapes HTML.

use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Error, ErrorKind, Value};

/// The arguments that transformers adds to Jinja's filter.
struct Style {
    ascii: bool,
    indent: Option<String>,
    item: String,
    key: String,
    sorted: bool,
}

fn failure(message: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

/// Takes them by name, or by position in this order: ensure_ascii, indent, separators, sort_keys.
fn style(positional: &[Value], named: &Kwargs) -> Result<Style, Error> {
    let argument = |at: usize, name: &str| -> Result<Value, Error> {
        match positional.get(at) {
            Some(value) => Ok(value.clone()),
            None => Ok(named.get::<Option<Value>>(name)?.unwrap_or_default()),
        }
    };
    let indent = argument(1, "indent")?;
    let indent = match (indent.as_str(), indent.is_none() || indent.is_undefined()) {
        (_, true) => None,
        (Some(text), _) => Some(text.to_string()),
        _ => Some(" ".repeat(usize::try_from(i64::try_from(indent)?.clamp(0, 64)).unwrap_or(0))),
    };
    let separators = argument(2, "separators")?;
    let (item, key) = if separators.is_none() || separators.is_undefined() {
        (
            if indent.is_some() { "," } else { ", " }.to_string(),
            ": ".to_string(),
        )
    } else {
        (
            separators.get_item_by_index(0)?.to_string(),
            separators.get_item_by_index(1)?.to_string(),
        )
    };
    let style = Style {
        ascii: argument(0, "ensure_ascii")?.is_true(),
        indent,
        item,
        key,
        sorted: argument(3, "sort_keys")?.is_true(),
    };
    named.assert_all_used()?;
    Ok(style)
}

pub fn tojson(
    value: Value,
    positional: minijinja::value::Rest<Value>,
    named: Kwargs,
) -> Result<Value, Error> {
    let style = style(&positional, &named)?;
    let mut out = String::new();
    write(&value, &style, 0, &mut out)?;
    Ok(Value::from(out))
}

fn write_text(text: &str, style: &Style, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            _ if letter < ' ' || (style.ascii && letter > '~') => {
                for unit in letter.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            _ => out.push(letter),
        }
    }
    out.push('"');
}

fn key_text(key: &Value) -> Result<String, Error> {
    match key.kind() {
        ValueKind::String => Ok(key.to_string()),
        ValueKind::Number => Ok(number_text(key)),
        ValueKind::Bool => Ok(if key.is_true() { "true" } else { "false" }.to_string()),
        ValueKind::None => Ok("null".to_string()),
        kind => Err(failure(format!(
            "tojson: a {kind} is not a key of a JSON object"
        ))),
    }
}

/// A float as Python's repr() writes it, or nothing for other values.
pub fn float_text(value: &Value) -> Option<String> {
    if value.kind() != ValueKind::Number || value.is_integer() {
        return None;
    }
    let number = f64::try_from(value.clone()).ok()?;
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e')?;
    match exponent.parse::<i32>().ok()? {
        -4..=15 => Some(format!("{number:?}")),
        large @ 16.. => Some(format!("{digits}e+{large:02}")),
        small => Some(format!("{digits}e-{:02}", -small)),
    }
}

fn number_text(value: &Value) -> String {
    let text = float_text(value).unwrap_or_else(|| value.to_string());
    match text.to_lowercase().as_str() {
        "nan" => "NaN".to_string(),
        "inf" => "Infinity".to_string(),
        "-inf" => "-Infinity".to_string(),
        _ => text,
    }
}

/// Starts a new line inside a list or an object, if the style has lines.
fn new_line(style: &Style, depth: usize, out: &mut String) {
    if let Some(indent) = &style.indent {
        out.push('\n');
        out.push_str(&indent.repeat(depth));
    }
}

fn write(value: &Value, style: &Style, depth: usize, out: &mut String) -> Result<(), Error> {
    const MOST_NESTED: usize = 200;
    if depth > MOST_NESTED {
        return Err(failure(
            "tojson: the value is nested too deeply".to_string(),
        ));
    }
    match value.kind() {
        ValueKind::None => out.push_str("null"),
        ValueKind::Bool => out.push_str(if value.is_true() { "true" } else { "false" }),
        ValueKind::Number => out.push_str(&number_text(value)),
        ValueKind::String => write_text(&value.to_string(), style, out),
        ValueKind::Map => {
            let mut keys: Vec<Value> = value.try_iter()?.collect();
            if style.sorted {
                keys.sort();
            }
            if keys.is_empty() {
                out.push_str("{}");
                return Ok(());
            }
            out.push('{');
            for (at, key) in keys.iter().enumerate() {
                if at > 0 {
                    out.push_str(&style.item);
                }
                new_line(style, depth + 1, out);
                write_text(&key_text(key)?, style, out);
                out.push_str(&style.key);
                write(&value.get_item(key)?, style, depth + 1, out)?;
            }
            new_line(style, depth, out);
            out.push('}');
        }
        ValueKind::Seq | ValueKind::Iterable => {
            let items: Vec<Value> = value.try_iter()?.collect();
            if items.is_empty() {
                out.push_str("[]");
                return Ok(());
            }
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push_str(&style.item);
                }
                new_line(style, depth + 1, out);
                write(item, style, depth + 1, out)?;
            }
            new_line(style, depth, out);
            out.push(']');
        }
        kind => {
            return Err(failure(format!(
                "tojson: a value of type {kind} has no JSON"
            )))
        }
    }
    Ok(())
}
