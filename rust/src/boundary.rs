//! Shared by both C interfaces: memory that is passed to the caller, and panics as error messages.

use std::cell::Cell;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Once;

#[repr(C)]
pub struct Bytes {
    data: *mut u8,
    size: usize,
}

impl Bytes {
    pub const NONE: Bytes = Bytes {
        data: std::ptr::null_mut(),
        size: 0,
    };

    pub fn of(bytes: impl Into<Box<[u8]>>) -> Bytes {
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
    /// Whether this thread is inside a call of this crate, whose panics become error messages.
    static CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Returns the result of `work`, or a message if it fails or panics. Rust prints panics before they
/// can be caught, so panics inside `work` are silenced. No other Rust code in the process uses this
/// hook.
pub fn guarded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
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
        Err(format!("its code failed: {text}"))
    })
}

/// # Safety
/// `data` is null or points to `size` values that outlive the call.
pub unsafe fn slice<'a, T>(data: *const T, size: usize) -> &'a [T] {
    if data.is_null() {
        return &[];
    }
    std::slice::from_raw_parts(data, size)
}

/// # Safety
/// `bytes` came from this crate and is not used again.
#[no_mangle]
pub unsafe extern "C" fn rust_free(bytes: Bytes) {
    if !bytes.data.is_null() {
        drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(
            bytes.data, bytes.size,
        )));
    }
}
