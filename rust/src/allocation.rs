//! The allocator of this crate. Without it, Rust would abort the process with SIGABRT if the system
//! has no memory left. Stable Rust cannot return an error here, and an allocator must not unwind.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::{c_int, c_void};

extern "C" {
    fn write(file: c_int, bytes: *const c_void, size: usize) -> isize;
    fn _exit(status: c_int) -> !;
}

const MESSAGE: &[u8] =
    b"attnscope: error: memory: out of memory (try a smaller --memory, or a shorter text)\n";
/// The exit code of system errors (ErrorKind::io).
const EXIT_CODE: c_int = 3;
const STANDARD_ERROR: c_int = 2;

/// Ends the process if the system refused memory. It is unknown whether a caller could recover.
fn checked(memory: *mut u8) -> *mut u8 {
    if memory.is_null() {
        // SAFETY: neither function allocates, and the bytes are static.
        unsafe {
            write(STANDARD_ERROR, MESSAGE.as_ptr().cast(), MESSAGE.len());
            _exit(EXIT_CODE)
        }
    }
    memory
}

struct Checked;

// SAFETY: all memory comes from the system allocator.
unsafe impl GlobalAlloc for Checked {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        checked(System.alloc(layout))
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        checked(System.alloc_zeroed(layout))
    }
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        checked(System.realloc(memory, layout, size))
    }
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        System.dealloc(memory, layout)
    }
}

#[global_allocator]
static ALLOCATOR: Checked = Checked;
