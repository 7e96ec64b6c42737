//! Reads a tokenizer.json that nobody vouches for.

use crate::meaning::Meaning;
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
}

impl Loaded {
    pub fn from_json(json: &[u8]) -> Result<Loaded, String> {
        if levels(json) > MOST_LEVELS {
            return Err(format!("nested deeper than {MOST_LEVELS}"));
        }
        let mut tokenizer = Tokenizer::from_bytes(json).map_err(|error| error.to_string())?;
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None).map_err(|error| error.to_string())?;
        if let ModelWrapper::BPE(bpe) = tokenizer.get_model() {
            if bpe.dropout.is_some() {
                let mut plain = bpe.clone();
                plain.dropout = None;
                tokenizer.with_model(plain);
            }
        }
        let meaning = Meaning::of(&tokenizer);
        let added = tokenizer.get_added_tokens_decoder().keys().copied().collect();
        Ok(Loaded { tokenizer, meaning, added })
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
