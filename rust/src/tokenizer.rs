//! The C interface described in tokenizer.h.

mod growth;
mod load;
mod meaning;

use crate::boundary::{guarded, slice, Bytes};
use load::Loaded;

const OK: i32 = 0;
const BAD_UTF8: i32 = 1;
const FAILED: i32 = 2;

fn fail(message: &mut Bytes, text: String) -> i32 {
    *message = Bytes::of(text.into_bytes());
    FAILED
}

/// # Safety
/// See tokenizer.h.
#[no_mangle]
pub unsafe extern "C" fn tokc_load(
    json: *const u8,
    size: usize,
    tokenizer: &mut *mut Loaded,
    message: &mut Bytes,
) -> i32 {
    match guarded(|| Loaded::from_json(slice(json, size))) {
        Ok(loaded) => {
            *tokenizer = Box::into_raw(Box::new(loaded));
            OK
        }
        Err(text) => fail(message, text),
    }
}

/// # Safety
/// `tokenizer` came from `tokc_load` and is not used again.
#[no_mangle]
pub unsafe extern "C" fn tokc_unload(tokenizer: *mut Loaded) {
    if !tokenizer.is_null() {
        let _ = guarded(|| {
            drop(Box::from_raw(tokenizer));
            Ok(())
        });
    }
}

/// # Safety
/// See tokenizer.h.
#[no_mangle]
pub unsafe extern "C" fn tokc_encode(
    tokenizer: &Loaded,
    text: *const u8,
    size: usize,
    special: i32,
    ids: &mut Bytes,
    position: &mut usize,
    message: &mut Bytes,
) -> i32 {
    let text = match std::str::from_utf8(slice(text, size)) {
        Ok(text) => text,
        Err(error) => {
            *position = error.valid_up_to();
            return BAD_UTF8;
        }
    };
    let encoded = guarded(|| {
        tokenizer.check_text(text)?;
        let encoding = tokenizer.tokenizer.encode_fast(text, special != 0);
        let encoding = encoding.map_err(|error| error.to_string())?;
        let bytes = encoding.get_ids().iter().flat_map(|id| id.to_ne_bytes());
        Ok(Bytes::of(bytes.collect::<Vec<u8>>()))
    });
    match encoded {
        Ok(bytes) => {
            *ids = bytes;
            OK
        }
        Err(text) => fail(message, text),
    }
}

/// # Safety
/// See tokenizer.h.
#[no_mangle]
pub unsafe extern "C" fn tokc_encode_offsets(
    tokenizer: &Loaded,
    text: *const u8,
    size: usize,
    ids: &mut Bytes,
    offsets: &mut Bytes,
    message: &mut Bytes,
) -> i32 {
    let encoded = guarded(|| {
        let text = std::str::from_utf8(slice(text, size)).map_err(|error| error.to_string())?;
        tokenizer.check_text(text)?;
        let encoding = tokenizer.tokenizer.encode(text, false);
        let encoding = encoding.map_err(|error| error.to_string())?;
        let bytes = encoding.get_ids().iter().flat_map(|id| id.to_ne_bytes());
        let ends = encoding.get_offsets().iter();
        let ends = ends.flat_map(|&(begin, end)| [begin as u32, end as u32]);
        let ends = ends.flat_map(u32::to_ne_bytes);
        Ok((
            Bytes::of(bytes.collect::<Vec<u8>>()),
            Bytes::of(ends.collect::<Vec<u8>>()),
        ))
    });
    match encoded {
        Ok(found) => {
            (*ids, *offsets) = found;
            OK
        }
        Err(text) => fail(message, text),
    }
}

/// # Safety
/// See tokenizer.h.
#[no_mangle]
pub unsafe extern "C" fn tokc_encode_pair(
    tokenizer: &Loaded,
    first: *const u8,
    first_size: usize,
    second: *const u8,
    second_size: usize,
    special: i32,
    ids: &mut Bytes,
    types: &mut Bytes,
    texts: &mut Bytes,
    message: &mut Bytes,
) -> i32 {
    let encoded = guarded(|| {
        let text = |data, size| {
            let text = std::str::from_utf8(slice(data, size));
            text.map_err(|error| error.to_string())
        };
        let (first, second) = (text(first, first_size)?, text(second, second_size)?);
        tokenizer.check_text(first)?;
        tokenizer.check_text(second)?;
        let encoding = tokenizer.tokenizer.encode((first, second), special != 0);
        let encoding = encoding.map_err(|error| error.to_string())?;
        let numbers = |values: &[u32]| {
            let bytes = values.iter().flat_map(|value| value.to_ne_bytes());
            Bytes::of(bytes.collect::<Vec<u8>>())
        };
        // Tokens that a post-processor adds belong to no text.
        let text_of = encoding.get_sequence_ids().into_iter();
        let text_of = text_of.map(|text| text.map_or(u32::MAX, |number| number as u32));
        Ok((
            numbers(encoding.get_ids()),
            numbers(encoding.get_type_ids()),
            numbers(&text_of.collect::<Vec<u32>>()),
        ))
    });
    match encoded {
        Ok(found) => {
            (*ids, *types, *texts) = found;
            OK
        }
        Err(text) => fail(message, text),
    }
}

/// # Safety
/// See tokenizer.h.
#[no_mangle]
pub unsafe extern "C" fn tokc_decode(
    tokenizer: &Loaded,
    ids: *const u32,
    count: usize,
    skip_special: i32,
    text: &mut Bytes,
    message: &mut Bytes,
) -> i32 {
    let decoded = guarded(|| {
        growth::check(
            tokenizer.bytes_of(slice(ids, count)),
            tokenizer.decoding_growth,
        )?;
        let decoded = tokenizer
            .tokenizer
            .decode(slice(ids, count), skip_special != 0);
        decoded.map_err(|error| error.to_string())
    });
    match decoded {
        Ok(decoded) => {
            *text = Bytes::of(decoded.into_bytes());
            OK
        }
        Err(reason) => fail(message, reason),
    }
}

/// # Safety
/// See tokenizer.h.
#[no_mangle]
pub unsafe extern "C" fn tokc_token(
    tokenizer: &Loaded,
    id: u32,
    spelling: &mut Bytes,
    meaning: &mut Bytes,
) -> i32 {
    match guarded(|| Ok(tokenizer.token(id))) {
        Ok(Some((token, bytes))) => {
            *spelling = Bytes::of(token.into_bytes());
            *meaning = Bytes::of(bytes);
            1
        }
        _ => 0,
    }
}

/// # Safety
/// See tokenizer.h.
#[no_mangle]
pub unsafe extern "C" fn tokc_id(
    tokenizer: &Loaded,
    spelling: *const u8,
    size: usize,
    id: &mut u32,
) -> i32 {
    let Ok(token) = std::str::from_utf8(slice(spelling, size)) else {
        return 0;
    };
    match guarded(|| Ok(tokenizer.tokenizer.token_to_id(token))) {
        Ok(Some(found)) => {
            *id = found;
            1
        }
        _ => 0,
    }
}

#[no_mangle]
pub extern "C" fn tokc_unknown(tokenizer: &Loaded, id: &mut u32) -> i32 {
    match tokenizer.unknown {
        Some(unknown) => {
            *id = unknown;
            1
        }
        None => 0,
    }
}

#[no_mangle]
pub extern "C" fn tokc_limit_memory(bytes: usize) {
    growth::limit_memory(bytes);
}

#[no_mangle]
pub extern "C" fn tokc_count(tokenizer: &Loaded) -> usize {
    guarded(|| Ok(tokenizer.tokenizer.get_vocab_size(true))).unwrap_or(0)
}
