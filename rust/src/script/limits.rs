//! Limits that end a script early.

use super::{Limits, ENDED, TOO_LARGE};
use rquickjs::allocator::{Allocator, RustAllocator};
use rquickjs::Runtime;
use std::cell::Cell;
use std::rc::Rc;

/// Shared by the allocator and by the interrupt handler, which QuickJS calls every few thousand
/// steps.
pub struct Watch {
    used: Cell<usize>,
    refused: Cell<bool>,
    ended: Cell<Option<i32>>,
}

impl Watch {
    /// Why the script was ended; None if it ended by itself.
    pub fn ended(&self) -> Option<i32> {
        self.ended.get().or(self.refused.get().then_some(TOO_LARGE))
    }
}

/// A runtime whose scripts end at the limits.
pub fn watched_runtime(limits: &Limits) -> Result<(Runtime, Rc<Watch>), String> {
    let watch = Rc::new(Watch {
        used: Cell::new(0),
        refused: Cell::new(false),
        ended: Cell::new(None),
    });
    let counted = Counted {
        watch: watch.clone(),
        most: limits.memory,
    };
    let runtime = Runtime::new_with_alloc(counted).map_err(|error| error.to_string())?;
    let (ends, context, most) = (limits.ends, limits.context, limits.memory);
    let asked = watch.clone();
    runtime.set_interrupt_handler(Some(Box::new(move || {
        let why = if ends(context) != 0 {
            ENDED
        } else if asked.refused.get() || asked.used.get() > most {
            TOO_LARGE
        } else {
            return false;
        };
        asked.ended.set(Some(why));
        true
    })));
    Ok((runtime, watch))
}

/// Counts the memory of a runtime. At the limit, only large requests are refused: if a small one
/// fails, QuickJS can be left with an incomplete object, and aborts. Small requests succeed until
/// the interrupt handler ends the script.
struct Counted {
    watch: Rc<Watch>,
    most: usize,
}

impl Counted {
    fn refuses(&self, size: usize) -> bool {
        const LARGE: usize = 1 << 20;
        let refused = size > LARGE && size > self.most.saturating_sub(self.watch.used.get());
        if refused {
            self.watch.refused.set(true);
        }
        refused
    }

    /// `pointer` has replaced an allocation of `before` bytes.
    unsafe fn count(&self, pointer: *mut u8, before: usize) -> *mut u8 {
        if !pointer.is_null() {
            let used = self.watch.used.get() - before + RustAllocator::usable_size(pointer);
            self.watch.used.set(used);
        }
        pointer
    }
}

unsafe impl Allocator for Counted {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        if self.refuses(size) {
            return std::ptr::null_mut();
        }
        unsafe { self.count(RustAllocator.alloc(size), 0) }
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        if self.refuses(count.saturating_mul(size)) {
            return std::ptr::null_mut();
        }
        unsafe { self.count(RustAllocator.calloc(count, size), 0) }
    }

    unsafe fn dealloc(&mut self, pointer: *mut u8) {
        let used = self.watch.used.get() - RustAllocator::usable_size(pointer);
        self.watch.used.set(used);
        RustAllocator.dealloc(pointer);
    }

    unsafe fn realloc(&mut self, pointer: *mut u8, size: usize) -> *mut u8 {
        let before = RustAllocator::usable_size(pointer);
        if self.refuses(size.saturating_sub(before)) {
            return std::ptr::null_mut();
        }
        self.count(RustAllocator.realloc(pointer, size), before)
    }

    unsafe fn usable_size(pointer: *mut u8) -> usize {
        RustAllocator::usable_size(pointer)
    }
}
