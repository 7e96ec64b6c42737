//! Bounds on the growth of a text in the steps of a tokenizer, of which a file may list any number.

use serde_json::{json, Value};
use std::sync::atomic::{AtomicUsize, Ordering};
use tokenizers::{NormalizedString, Normalizer, NormalizerWrapper};

/// Memory per byte of a text while it is encoded: its alignments, and one-letter words.
const MEMORY_PER_BYTE: f64 = 256.0;

/// Growth that is allowed for any memory limit. No real tokenizer comes close to it.
const USUAL_GROWTH: f64 = 8.0;
const USUAL_BYTES: f64 = 65536.0;

static MEMORY: AtomicUsize = AtomicUsize::new(4 << 30);

pub fn limit_memory(bytes: usize) {
    MEMORY.store(bytes, Ordering::Relaxed);
}

/// The maximum size of a text that initially has `bytes` bytes.
fn most_bytes(bytes: usize) -> f64 {
    let memory = MEMORY.load(Ordering::Relaxed) as f64;
    (memory / MEMORY_PER_BYTE).max(USUAL_GROWTH * bytes as f64 + USUAL_BYTES)
}

fn refuse(bytes: usize) -> String {
    let memory = MEMORY.load(Ordering::Relaxed) as f64 / 1e6;
    format!("its steps turn {bytes} bytes of text into more than fits in {memory:.0} MB of memory")
}

fn length(text: &Value) -> f64 {
    text.as_str().map_or(1, str::len) as f64
}

fn is_true(part: &Value, key: &str) -> bool {
    part[key].as_bool().unwrap_or(true)
}

fn steps(part: &Value) -> impl Iterator<Item = &Value> {
    let list = ["normalizers", "pretokenizers", "decoders", "processors"]
        .iter()
        .find_map(|name| part[*name].as_array());
    list.into_iter().flatten()
}

/// Upper bound on output bytes per input byte of all steps of a component; 1 without a component.
pub fn growth(part: &Value) -> f64 {
    match part["type"].as_str() {
        Some("Sequence") => steps(part).map(growth).product(),
        Some("Replace") => match part["pattern"]["String"].as_str() {
            Some(pattern) if !pattern.is_empty() => {
                (length(&part["content"]) / pattern.len() as f64).max(1.0)
            }
            _ => length(&part["content"]) + 1.0, // inserted at every byte if it matches nothing
        },
        Some("Prepend") => length(&part["prepend"]) + 1.0,
        Some("Metaspace") => length(&part["replacement"]) + 1.0,
        Some("ByteLevel") if is_true(part, "add_prefix_space") => 4.0,
        Some("ByteLevel") => 2.0,
        Some("NFKC" | "NFKD" | "Precompiled") => 18.0, // U+FDFA expands to 18 letters
        Some("NFC" | "NFD" | "Lowercase" | "BertNormalizer") => 3.0,
        Some("ByteFallback") => 3.0, // U+FFFD for an invalid byte
        Some("WordPiece" | "BPEDecoder" | "CTC") => 2.0, // a space per token
        _ => 1.0,
    }
}

/// Output tokens per input token of a post-processor, and the number of tokens that it adds.
pub fn template_growth(part: &Value) -> (f64, f64) {
    let mut grown = (1.0, 0.0);
    match part["type"].as_str() {
        Some("Sequence") => {
            for step in steps(part) {
                let (times, more) = template_growth(step);
                grown = (grown.0 * times, grown.1 * times + more);
            }
        }
        Some("TemplateProcessing") => {
            // The larger of both forms. A pair repeats each of its texts at most as often as a
            // single text of their joint length.
            let form = |name: &str| part[name].as_array().map_or(&[][..], Vec::as_slice);
            let (single, pair) = (form("single"), form("pair"));
            let pieces = single.len().max(pair.len()) as f64;
            let whole = |piece: &&Value| piece.get("Sequence").is_some();
            let texts = |form: &[Value]| form.iter().filter(whole).count();
            let copies = texts(single).max(texts(pair).saturating_sub(1));
            let ids = |special: &Value| special["ids"].as_array().map_or(0, Vec::len);
            let longest = part["special_tokens"].as_object().into_iter();
            let longest = longest.flat_map(|all| all.values()).map(ids).max();
            grown = (copies as f64, pieces * longest.unwrap_or(0) as f64);
        }
        Some("BertProcessing" | "RobertaProcessing") => grown.1 = 4.0,
        _ => {}
    }
    grown
}

/// The steps of a normalizer. They are measured one by one if all together could grow too much.
pub struct Steps {
    list: Vec<(NormalizerWrapper, Value)>,
    growth: f64,
    /// Length in bytes of the shortest added token that is matched before normalization. Each part
    /// between such tokens is normalized separately.
    shortest_token: Option<usize>,
}

fn add_steps(normalizer: &NormalizerWrapper, list: &mut Vec<(NormalizerWrapper, Value)>) {
    if let NormalizerWrapper::Sequence(sequence) = normalizer {
        for step in sequence.as_ref() {
            add_steps(step, list);
        }
        return;
    }
    let description = serde_json::to_value(normalizer).unwrap_or_default();
    list.push((normalizer.clone(), description));
}

impl Steps {
    pub fn of(normalizer: Option<&NormalizerWrapper>, shortest_token: Option<usize>) -> Steps {
        let mut list = Vec::new();
        if let Some(normalizer) = normalizer {
            add_steps(normalizer, &mut list);
        }
        let growth = list.iter().map(|(_, step)| growth(step)).product();
        Steps {
            list,
            growth,
            shortest_token,
        }
    }

    /// Upper bound on the bytes of a text after all steps; an error if it exceeds `most`.
    fn bytes_after(&self, text: &str, most: f64) -> Result<f64, String> {
        let mut text = text.to_owned();
        let before = text.len();
        let parts = self
            .shortest_token
            .map_or(0, |shortest| before / shortest.max(1))
            + 1;
        for (step, description) in &self.list {
            let too_large = |bytes: f64| bytes > most;
            if let Some(prepended) = description["prepend"].as_str() {
                let bytes = text.len() as f64 + parts as f64 * prepended.len() as f64;
                if too_large(bytes) {
                    return Err(refuse(before));
                }
                text = prepended.repeat(parts) + &text;
                continue;
            }
            if description["type"] == "Replace" {
                text = replaced(&text, description, most).ok_or_else(|| refuse(before))??;
                continue;
            }
            text = in_parts(step, &text, most).ok_or_else(|| refuse(before))??;
        }
        Ok(text.len() as f64)
    }
}

/// The text after a replacement, measured before it is created; None if it exceeds `most` bytes.
fn replaced(text: &str, step: &Value, most: f64) -> Option<Result<String, String>> {
    let content = step["content"].as_str().unwrap_or_default();
    let within = |text: &str, matched: &str| {
        let growth = content.len() as f64 - matched.len() as f64;
        text.len() as f64 + text.matches(matched).count() as f64 * growth <= most
    };
    if let Some(pattern) = step["pattern"]["String"].as_str() {
        return within(text, pattern).then(|| Ok(text.replace(pattern, content)));
    }
    let marker = ('\u{1}'..).find(|mark| !text.contains(*mark))?.to_string();
    let mut marking = step.clone();
    marking["content"] = json!(marker);
    let marked = serde_json::from_value::<NormalizerWrapper>(marking)
        .map_err(|error| error.to_string())
        .and_then(|step| normalized(&step, text));
    match marked {
        Ok(marked) => within(&marked, &marker).then(|| Ok(marked.replace(&marker, content))),
        Err(error) => Some(Err(error)),
    }
}

/// The text after a step that turns a byte into at most 18; None if it exceeds `most` bytes.
fn in_parts(step: &NormalizerWrapper, text: &str, most: f64) -> Option<Result<String, String>> {
    const PART: usize = 65536;
    let mut out = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let mut end = rest.len().min(PART);
        while !rest.is_char_boundary(end) {
            end += 1;
        }
        match normalized(step, &rest[..end]) {
            Ok(part) => out += &part,
            Err(error) => return Some(Err(error)),
        }
        if out.len() as f64 > most {
            return None;
        }
        rest = &rest[end..];
    }
    Some(Ok(out))
}

fn normalized(step: &NormalizerWrapper, text: &str) -> Result<String, String> {
    let mut string = NormalizedString::from(text);
    step.normalize(&mut string)
        .map_err(|error| error.to_string())?;
    Ok(string.get().to_owned())
}

/// Checks whether a text that grows by the factor `after` in later steps may be normalized.
pub fn check_text(text: &str, steps: &Steps, after: f64) -> Result<(), String> {
    let most = most_bytes(text.len());
    if text.len() as f64 * steps.growth * after <= most {
        return Ok(());
    }
    if steps.bytes_after(text, most)? * after > most {
        return Err(refuse(text.len()));
    }
    Ok(())
}

/// Checks whether `bytes` of tokens may pass through steps that multiply them by `growth`.
pub fn check(bytes: usize, growth: f64) -> Result<(), String> {
    if bytes as f64 * growth > most_bytes(bytes) {
        return Err(refuse(bytes));
    }
    Ok(())
}
