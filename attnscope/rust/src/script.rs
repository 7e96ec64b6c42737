//! The C interface that script.h describes.

use crate::boundary::{guarded, slice, Bytes};
use rquickjs::function::Args;
use rquickjs::{ArrayBuffer, CatchResultExt, CaughtError, Context, Ctx, Function, Runtime};
use std::cell::Cell;
use std::ffi::c_void;
use std::rc::Rc;
use std::time::{Duration, Instant};

const OK: i32 = 0;
const FAILED: i32 = 1;
const STOPPED: i32 = 2;
const TOO_LONG: i32 = 3;
const TOO_LARGE: i32 = 4;

/// Deep enough for recursion over nested data, and small beside a thread's stack of 8 MiB.
const STACK_BYTES: usize = 1 << 20;

#[repr(C)]
pub struct Slice {
    data: *const u8,
    size: usize,
}

impl Slice {
    /// # Safety
    /// As of `slice`.
    unsafe fn bytes(&self) -> &[u8] {
        slice(self.data, self.size)
    }

    /// # Safety
    /// As of `slice`.
    unsafe fn text(&self) -> Result<&str, String> {
        std::str::from_utf8(self.bytes()).map_err(|error| error.to_string())
    }
}

#[repr(C)]
pub struct Limits {
    memory: usize,
    seconds: f64,
    stop: extern "C" fn(*const c_void) -> i32,
    context: *const c_void,
}

#[no_mangle]
pub extern "C" fn script_present() -> i32 {
    1
}

/// # Safety
/// See script.h.
#[no_mangle]
pub unsafe extern "C" fn script_call(
    script: Slice,
    function: Slice,
    text: Slice,
    buffers: *const Slice,
    count: usize,
    limits: &Limits,
    answer: &mut Bytes,
) -> i32 {
    let why = Rc::new(Cell::new(FAILED));
    let outcome = guarded(|| {
        let runtime = Runtime::new().map_err(|error| error.to_string())?;
        runtime.set_memory_limit(limits.memory);
        runtime.set_max_stack_size(STACK_BYTES);
        interrupt(&runtime, limits, why.clone());
        let context = Context::full(&runtime).map_err(|error| error.to_string())?;
        context.with(|ctx| {
            let buffers = slice(buffers, count);
            let outcome = call(&ctx, &script, function.text()?, text.text()?, buffers);
            outcome.catch(&ctx).map_err(|error| message(&error, &why))
        })
    });
    let (status, text) = match outcome {
        Ok(text) => (OK, text),
        Err(text) => (why.get(), text),
    };
    *answer = Bytes::of(text.into_bytes());
    status
}

/// Lets the script end when it is told to stop, or has taken too long; `why` says which.
fn interrupt(runtime: &Runtime, limits: &Limits, why: Rc<Cell<i32>>) {
    let (stop, context) = (limits.stop, limits.context);
    let allowed = Duration::try_from_secs_f64(limits.seconds).unwrap_or(Duration::MAX);
    let start = Instant::now();
    runtime.set_interrupt_handler(Some(Box::new(move || {
        if stop(context) != 0 {
            why.set(STOPPED);
        } else if start.elapsed() > allowed {
            why.set(TOO_LONG);
        } else {
            return false;
        }
        true
    })));
}

/// # Safety
/// As of `slice`, for the script and each buffer.
unsafe fn call(
    ctx: &Ctx,
    script: &Slice,
    function: &str,
    text: &str,
    buffers: &[Slice],
) -> rquickjs::Result<String> {
    ctx.eval::<(), _>(script.bytes())?;
    let function: Function = ctx.globals().get(function)?;
    let mut arguments = Args::new(ctx.clone(), 1 + buffers.len());
    arguments.push_arg(text)?;
    for buffer in buffers {
        arguments.push_arg(ArrayBuffer::new_copy(ctx.clone(), buffer.bytes())?)?;
    }
    function.call_arg(arguments)
}

/// What went wrong, with the place in the script where it says so.
fn message(error: &CaughtError, why: &Cell<i32>) -> String {
    let text = match error {
        CaughtError::Exception(exception) => {
            let place = exception.stack().unwrap_or_default();
            let place = place.lines().next().unwrap_or_default().trim();
            let name: Option<String> = exception.get("name").ok();
            let text = exception.message().unwrap_or_default();
            format!("{}: {text} {place}", name.unwrap_or_default())
        }
        // Where there is no room for an exception either, there is none.
        CaughtError::Value(value) if value.is_null() => "out of memory".to_string(),
        CaughtError::Value(value) => value
            .as_string()
            .and_then(|text| text.to_string().ok())
            .unwrap_or_else(|| "threw no Error".to_string()),
        CaughtError::Error(error) => error.to_string(),
    };
    if why.get() == FAILED && text.contains("out of memory") {
        why.set(TOO_LARGE);
    }
    text
}
