//! The C interface described in script.h.

mod limits;

use crate::boundary::{guarded, slice, Bytes};
use limits::watched_runtime;
use rquickjs::function::Args;
use rquickjs::{ArrayBuffer, CatchResultExt, CaughtError, Context, Ctx, Function};
use std::cell::Cell;
use std::ffi::c_void;

const OK: i32 = 0;
const FAILED: i32 = 1;
const ENDED: i32 = 2;
const TOO_LARGE: i32 = 3;

/// Deep enough for recursion over nested data, and small compared with a thread's stack of 8 MiB.
const STACK_BYTES: usize = 1 << 20;

#[repr(C)]
pub struct Slice {
    data: *const u8,
    size: usize,
}

impl Slice {
    /// # Safety
    /// The requirements of `slice` apply.
    unsafe fn bytes(&self) -> &[u8] {
        slice(self.data, self.size)
    }

    /// # Safety
    /// The requirements of `slice` apply.
    unsafe fn text(&self) -> Result<&str, String> {
        std::str::from_utf8(self.bytes()).map_err(|error| error.to_string())
    }
}

#[repr(C)]
pub struct Limits {
    memory: usize,
    ends: extern "C" fn(*mut c_void) -> i32,
    context: *mut c_void,
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
    let ended = Cell::new(None);
    let outcome = guarded(|| {
        let (runtime, watch) = watched_runtime(limits)?;
        runtime.set_max_stack_size(STACK_BYTES);
        let context = Context::full(&runtime).map_err(|error| error.to_string())?;
        context.with(|ctx| {
            let buffers = slice(buffers, count);
            let outcome = call(&ctx, &script, function.text()?, text.text()?, buffers);
            ended.set(watch.ended());
            outcome.catch(&ctx).map_err(|error| message(&error))
        })
    });
    let (status, text) = match outcome {
        Ok(text) => (OK, text),
        Err(text) => (ended.get().unwrap_or(FAILED), text),
    };
    *answer = Bytes::of(text.into_bytes());
    status
}

/// # Safety
/// The requirements of `slice` apply to the script and each buffer.
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

/// The exception of the script, with its location.
fn message(error: &CaughtError) -> String {
    match error {
        CaughtError::Exception(exception) => {
            let name: Option<String> = exception.get("name").ok();
            let stack = exception.stack().unwrap_or_default();
            let place = stack.lines().next().unwrap_or_default().trim();
            let text = exception.message().unwrap_or_default();
            format!("{}: {text} {place}", name.unwrap_or_default())
        }
        CaughtError::Value(value) => match value.as_string().and_then(|text| text.to_string().ok())
        {
            Some(text) => text,
            None => format!("it threw a value of type {}", value.type_of()),
        },
        CaughtError::Error(error) => error.to_string(),
    }
}
