//! The C interface that tokenizers_c.h describes.

mod growth;
mod load;
mod meaning;

use load::Loaded;
use std::cell::Cell;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Once;

const OK: i32 = 0;
const BAD_UTF8: i32 = 1;
const FAILED: i32 = 2;

#[repr(C)]
pub struct Bytes {
    data: *mut u8,
    size: usize,
}

impl Bytes {
    const NONE: Bytes = Bytes {
        data: std::ptr::null_mut(),
        size: 0,
    };

    fn of(bytes: impl Into<Box<[u8]>>) -> Bytes {
        let bytes = bytes.into();
        let size = bytes.len();
        if size == 0 {
            return Bytes::NONE;
        }
        Bytes {
            data: Box::into_raw(bytes).cast(),
            size,
        }
    }
}

thread_local! {
    /// Whether this thread is inside a call of this crate, whose panics are reported by value.
    static CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// What `work` returns, or a message where it fails or panics. Rust prints panics before they can be
/// caught, so those inside are silenced; all Rust code of the process that uses the hook is this crate's.
fn guarded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    static SILENCE: Once = Once::new();
    SILENCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !CAUGHT.with(Cell::get) {
                before(panic)
            }
        }));
    });
    CAUGHT.with(|caught| caught.set(true));
    let outcome = catch_unwind(AssertUnwindSafe(work));
    CAUGHT.with(|caught| caught.set(false));
    outcome.unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<&str>()
            .map(|text| text.to_string())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_default();
        Err(format!("the tokenizer's code failed: {text}"))
    })
}

/// # Safety
/// `data` is null or points to `size` values that outlive the call.
unsafe fn slice<'a, T>(data: *const T, size: usize) -> &'a [T] {
    if data.is_null() {
        return &[];
    }
    std::slice::from_raw_parts(data, size)
}

fn fail(message: &mut Bytes, text: String) -> i32 {
    *message = Bytes::of(text.into_bytes());
    FAILED
}

/// # Safety
/// See tokenizers_c.h.
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
/// See tokenizers_c.h.
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
        growth::check(text.len(), tokenizer.encoding_growth)?;
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
/// See tokenizers_c.h.
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
/// See tokenizers_c.h.
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
/// See tokenizers_c.h.
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
pub extern "C" fn tokc_count(tokenizer: &Loaded) -> usize {
    guarded(|| Ok(tokenizer.tokenizer.get_vocab_size(true))).unwrap_or(0)
}

/// # Safety
/// `bytes` came from this crate and is not used again.
#[no_mangle]
pub unsafe extern "C" fn tokc_free(bytes: Bytes) {
    if !bytes.data.is_null() {
        drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(
            bytes.data, bytes.size,
        )));
    }
}
