//! Reads an untrusted tokenizer.json.

use super::growth::{check, check_text, growth, template_growth, Steps};
use super::meaning::Meaning;
use serde_json::{to_value, Value};
use std::collections::HashSet;
use tokenizers::models::ModelWrapper;
use tokenizers::{Model, NormalizerWrapper, Tokenizer};

/// Maximum nesting of objects and arrays. Real tokenizers reach about 8. The crate tries each
/// nested part in two ways, so the time doubles with each level.
const MOST_LEVELS: usize = 16;

/// Spellings up to this size are covered by the memory that is assumed per token.
const SHORT_SPELLING: f64 = 64.0;

pub struct Loaded {
    pub tokenizer: Tokenizer,
    meaning: Meaning,
    added: HashSet<u32>,
    /// The token for text outside the vocabulary.
    pub unknown: Option<u32>,
    normalizing: Steps,
    /// Growth of a text after normalization, and of tokens during decoding.
    encoding_growth: f64,
    pub decoding_growth: f64,
    /// Number of tokens that the post-processor adds to any text.
    added_to_texts: f64,
}

impl Loaded {
    pub fn from_json(json: &[u8]) -> Result<Loaded, String> {
        if levels(json) > MOST_LEVELS {
            return Err(format!("nested deeper than {MOST_LEVELS}"));
        }
        check_added_tokens(json)?;
        let mut tokenizer = Tokenizer::from_bytes(json).map_err(|error| error.to_string())?;
        tokenizer.with_padding(None);
        tokenizer
            .with_truncation(None)
            .map_err(|error| error.to_string())?;
        if let ModelWrapper::BPE(bpe) = tokenizer.get_model() {
            if bpe.dropout.is_some() {
                let mut plain = bpe.clone();
                plain.dropout = None;
                tokenizer.with_model(plain);
            }
        }
        let part = |value: serde_json::Result<Value>| value.unwrap_or_default();
        let pre_tokenizer = part(to_value(tokenizer.get_pre_tokenizer()));
        let decoder = part(to_value(tokenizer.get_decoder()));
        let processor = part(to_value(tokenizer.get_post_processor()));
        let added_tokens = tokenizer.get_added_tokens_decoder();
        let shortest = added_tokens.values().map(|token| token.content.len()).min();
        let normalizing = Steps::of(tokenizer.get_normalizer(), shortest);
        let added = added_tokens.keys().copied().collect();
        let (copies, added_to_texts) = template_growth(&processor);
        let unknown = unknown_of(&tokenizer);
        let spelled = unknown.and_then(|id| tokenizer.id_to_token(id));
        // Each byte may become a token with the spelling of the unknown token.
        let of_unknown = spelled.map_or(0, |token| token.len()) as f64 / SHORT_SPELLING;
        Ok(Loaded {
            meaning: Meaning::of(if decoder.is_null() {
                &pre_tokenizer
            } else {
                &decoder
            }),
            normalizing,
            encoding_growth: growth(&pre_tokenizer) * copies.max(1.0) * of_unknown.max(1.0),
            decoding_growth: growth(&decoder),
            added_to_texts,
            unknown,
            tokenizer,
            added,
        })
    }

    /// Checks whether a text fits in memory in all steps of its encoding.
    pub fn check_text(&self, text: &str) -> Result<(), String> {
        check_text(text, &self.normalizing, self.encoding_growth)?;
        check(self.added_to_texts as usize, 1.0)
    }

    /// Total bytes of the spellings of `ids`, plus one per token.
    pub fn bytes_of(&self, ids: &[u32]) -> usize {
        let spelling = |id: &u32| self.tokenizer.id_to_token(*id);
        ids.iter()
            .filter_map(spelling)
            .map(|token| token.len() + 1)
            .sum()
    }

    /// The spelling of a token and the bytes that it represents.
    pub fn token(&self, id: u32) -> Option<(String, Vec<u8>)> {
        let token = self.tokenizer.id_to_token(id)?;
        // Added tokens represent their own spelling: they are matched before any replacement.
        let bytes = if self.added.contains(&id) {
            token.as_bytes().to_vec()
        } else {
            self.meaning.bytes(&token)
        };
        Some((token, bytes))
    }
}

/// The token for text outside the vocabulary. No vocabulary contains this character.
fn unknown_of(tokenizer: &Tokenizer) -> Option<u32> {
    let tokens = tokenizer.get_model().tokenize("\u{10FFFE}").ok()?;
    match tokens.as_slice() {
        [token] if token.value != "\u{10FFFE}" => Some(token.id),
        _ => None,
    }
}

/// The crate normalizes added tokens while it loads a file. Those that grow too much are rejected.
fn check_added_tokens(json: &[u8]) -> Result<(), String> {
    let value = |key: &str| -> Option<Value> { serde_json::from_slice(member(json, key)?).ok() };
    let normalizer = value("normalizer").and_then(|normalizer| {
        serde_json::from_value::<Option<NormalizerWrapper>>(normalizer).ok()?
    });
    let Some(normalizer) = normalizer else {
        return Ok(()); // none, or invalid, which the crate reports
    };
    let steps = Steps::of(Some(&normalizer), None);
    let tokens = value("added_tokens").unwrap_or_default();
    for token in tokens.as_array().into_iter().flatten() {
        check_text(token["content"].as_str().unwrap_or_default(), &steps, 1.0)?;
    }
    Ok(())
}

/// The bytes outside strings, and the opening quotes of strings, with their positions.
fn outside_strings(json: &[u8]) -> impl Iterator<Item = (usize, u8)> + '_ {
    let (mut in_string, mut escaped) = (false, false);
    json.iter().copied().enumerate().filter(move |&(_, byte)| {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            return false;
        }
        in_string = byte == b'"';
        true
    })
}

/// The value of a member of the outermost object. If there are several, the last one, like the
/// crate.
fn member<'a>(json: &'a [u8], wanted: &str) -> Option<&'a [u8]> {
    let (mut level, mut start) = (0usize, 0usize);
    let (mut key, mut found) = (String::new(), None);
    for (at, byte) in outside_strings(json) {
        match byte {
            b':' if level == 1 => {
                key = serde_json::from_slice(&json[start..at]).ok()?;
                start = at + 1;
            }
            b'{' | b'[' => {
                level += 1;
                start = if level == 1 { at + 1 } else { start };
            }
            b',' | b'}' if level == 1 => {
                if key == wanted {
                    found = Some(&json[start..at]);
                }
                key.clear();
                start = at + 1;
                level -= usize::from(byte == b'}');
            }
            b'}' | b']' => level = level.saturating_sub(1),
            _ => {}
        }
    }
    found
}

/// The maximum nesting of brackets, if `json` is valid JSON.
fn levels(json: &[u8]) -> usize {
    let (mut level, mut deepest) = (0usize, 0usize);
    for (_, byte) in outside_strings(json) {
        match byte {
            b'{' | b'[' => {
                level += 1;
                deepest = deepest.max(level);
            }
            b'}' | b']' => level = level.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}
