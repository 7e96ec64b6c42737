//! The text of a vocabulary token if it differs from its spelling.

use serde_json::Value;

/// Derived from the decoder. A byte-level vocabulary spells each byte with a special character. A
/// SentencePiece vocabulary spells a space as `▁` and a byte without a token as `<0xNN>`.
#[derive(Default)]
pub struct Meaning {
    byte_level: bool,
    byte_fallback: bool,
    space: Option<String>,
}

impl Meaning {
    /// Reads the decoder, or the pre-tokenizer if there is no decoder.
    pub fn of(part: &Value) -> Meaning {
        let mut meaning = Meaning::default();
        meaning.read(part);
        meaning
    }

    fn read(&mut self, part: &Value) {
        match part["type"].as_str() {
            Some("Sequence") => {
                for list in ["decoders", "pretokenizers"] {
                    for inner in part[list].as_array().into_iter().flatten() {
                        self.read(inner);
                    }
                }
            }
            Some("ByteLevel") => self.byte_level = true,
            Some("ByteFallback") => self.byte_fallback = true,
            Some("Metaspace") => self.space = part["replacement"].as_str().map(String::from),
            Some("BPEDecoder") => self.space = part["suffix"].as_str().map(String::from),
            Some("Replace") if part["content"] == " " => {
                self.space = part["pattern"]["String"].as_str().map(String::from)
            }
            _ => {}
        }
    }

    pub fn bytes(&self, token: &str) -> Vec<u8> {
        if self.byte_level {
            let bytes: Option<Vec<u8>> = token.chars().map(byte_of).collect();
            return bytes.unwrap_or_else(|| token.as_bytes().to_vec());
        }
        if self.byte_fallback {
            let digits = token
                .strip_prefix("<0x")
                .and_then(|rest| rest.strip_suffix('>'));
            let byte = digits.filter(|digits| digits.len() == 2);
            if let Some(byte) = byte.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
                return vec![byte];
            }
        }
        match &self.space {
            Some(space) if !space.is_empty() => token.replace(space.as_str(), " ").into_bytes(),
            _ => token.as_bytes().to_vec(),
        }
    }
}

/// GPT-2's table: printable Latin-1 bytes stay the same, and the other 68 start at U+0100.
fn byte_of(character: char) -> Option<u8> {
    match u32::from(character) {
        code @ (0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF) => Some(code as u8),
        code @ 0x100..=0x120 => Some((code - 0x100) as u8), // 0x00 … 0x20
        code @ 0x121..=0x142 => Some((code - 0x121 + 0x7F) as u8), // 0x7F … 0xA0
        0x143 => Some(0xAD),
        _ => None,
    }
}
