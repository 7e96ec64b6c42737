//! How much longer a text can become in the steps of a tokenizer, of which a file may list any number.

use serde_json::Value;

/// Steps that could make more than this of a text are not begun: they would take all memory there is.
const MOST_BYTES: f64 = 1024.0 * 1024.0 * 1024.0;

/// Bytes after all of a component's steps for each byte before, at most; 1 where there is no component.
pub fn growth(part: &Value) -> f64 {
    let length = |text: &Value| text.as_str().map_or(1, str::len) as f64;
    let list = ["normalizers", "pretokenizers", "decoders"]
        .iter()
        .find_map(|name| part[*name].as_array());
    match part["type"].as_str() {
        Some("Sequence") => list.into_iter().flatten().map(growth).product(),
        Some("Replace") => match part["pattern"]["String"].as_str() {
            Some(pattern) => (length(&part["content"]) / pattern.len().max(1) as f64).max(1.0),
            None => length(&part["content"]) + 1.0, // at every byte, where it matches nothing
        },
        Some("Prepend") => length(&part["prepend"]) + 1.0,
        Some("Metaspace") => length(&part["replacement"]),
        Some("ByteLevel") => 2.0,
        Some("NFKC" | "NFKD" | "Precompiled") => 18.0, // U+FDFA stands for 18 letters
        Some("NFC" | "NFD" | "Lowercase" | "BertNormalizer") => 3.0,
        _ => 1.0,
    }
}

/// Whether `bytes` of text may go through steps that multiply it by `growth`.
pub fn check(bytes: usize, growth: f64) -> Result<(), String> {
    if bytes as f64 * growth > MOST_BYTES {
        return Err(format!(
            "its steps could make {growth} bytes of each of {bytes}"
        ));
    }
    Ok(())
}
