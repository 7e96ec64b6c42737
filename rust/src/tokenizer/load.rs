//! Reads a tokenizer.json that nobody vouches for.

use super::growth::growth;
use super::meaning::Meaning;
use serde_json::{to_value, Value};
use std::collections::HashSet;
use tokenizers::models::ModelWrapper;
use tokenizers::Tokenizer;

/// Objects and arrays inside one another. Those of trained tokenizers end at about 8; the crate tries
/// each nested part in two ways, so that time doubles with each level.
const MOST_LEVELS: usize = 16;

pub struct Loaded {
    pub tokenizer: Tokenizer,
    meaning: Meaning,
    added: HashSet<u32>,
    /// Of a text while it is encoded, and of tokens while they are decoded.
    pub encoding_growth: f64,
    pub decoding_growth: f64,
}

impl Loaded {
    pub fn from_json(json: &[u8]) -> Result<Loaded, String> {
        if levels(json) > MOST_LEVELS {
            return Err(format!("nested deeper than {MOST_LEVELS}"));
        }
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
        let normalizer = part(to_value(tokenizer.get_normalizer()));
        let pre_tokenizer = part(to_value(tokenizer.get_pre_tokenizer()));
        let decoder = part(to_value(tokenizer.get_decoder()));
        let added = tokenizer
            .get_added_tokens_decoder()
            .keys()
            .copied()
            .collect();
        Ok(Loaded {
            meaning: Meaning::of(if decoder.is_null() {
                &pre_tokenizer
            } else {
                &decoder
            }),
            encoding_growth: growth(&normalizer) * growth(&pre_tokenizer),
            decoding_growth: growth(&decoder),
            tokenizer,
            added,
        })
    }

    /// Bytes of the tokens of `ids` as they are spelled.
    pub fn bytes_of(&self, ids: &[u32]) -> usize {
        let spelling = |id: &u32| self.tokenizer.id_to_token(*id);
        ids.iter()
            .filter_map(spelling)
            .map(|token| token.len())
            .sum()
    }

    /// A token as it is spelled, and the bytes that it stands for.
    pub fn token(&self, id: u32) -> Option<(String, Vec<u8>)> {
        let token = self.tokenizer.id_to_token(id)?;
        // What was added stands for itself: it is found in the text before anything is replaced.
        let bytes = if self.added.contains(&id) {
            token.as_bytes().to_vec()
        } else {
            self.meaning.bytes(&token)
        };
        Some((token, bytes))
    }
}

/// How deep brackets of `json` are nested, where it is JSON at all.
fn levels(json: &[u8]) -> usize {
    let (mut level, mut deepest) = (0usize, 0usize);
    let (mut in_string, mut escaped) = (false, false);
    for &byte in json {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'"' => in_string = true,
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
