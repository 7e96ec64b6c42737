//! The C interface described in rust_chat.h: chat templates, as transformers renders them.

mod json;
mod markup;

use crate::boundary::{guarded, slice, Bytes};
use minijinja::syntax::SyntaxConfig;
use minijinja::{escape_formatter, Environment, Error, ErrorKind, Value};
use minijinja_contrib::pycompat::unknown_method_callback;
use std::ffi::c_void;

const OK: i32 = 0;
const FAILED: i32 = 1;

/// A few times what the longest public templates need for a long chat. An instruction costs one
/// unit, and so do some bytes of a text or list.
const FUEL: u64 = 20_000_000;
const MAX_NESTING: usize = 200;

/// Writes a date in a format of strftime() into `room` bytes. Returns the number of bytes, and 0 if
/// the format is not valid.
type Date = extern "C" fn(*const c_void, *const u8, usize, *mut u8, usize) -> usize;

#[repr(C)]
pub struct Clock {
    write: Date,
    context: *const c_void,
}

impl Clock {
    fn text(&self, format: &str) -> Result<String, Error> {
        let mut room = vec![0u8; 1024];
        let size = (self.write)(
            self.context,
            format.as_ptr(),
            format.len(),
            room.as_mut_ptr(),
            room.len(),
        );
        if size == 0 && !format.is_empty() {
            return Err(failure(format!(
                "strftime_now: '{format}' is not a format of a date"
            )));
        }
        room.truncate(size);
        String::from_utf8(room).map_err(|error| failure(error.to_string()))
    }
}

// SAFETY: it is only used during a call, by the thread of the caller.
unsafe impl Send for Clock {}
unsafe impl Sync for Clock {}

fn failure(message: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

fn raise_exception(message: String) -> Result<Value, Error> {
    Err(failure(message))
}

/// As in Python, None is not iterable.
fn is_iterable(value: &Value) -> bool {
    !value.is_none() && value.try_iter().is_ok()
}

/// Replaces the tags of `{% generation %}` blocks, which mark what the model generated, by an `if`
/// that is always true. It controls white space in the same way.
fn without_generation_tags(template: &str) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(start) = rest.find("{%") {
        let (before, tag) = rest.split_at(start);
        out.push_str(before);
        let Some(end) = tag.find("%}") else {
            rest = tag;
            break;
        };
        let inside = &tag[2..end];
        let name = inside.trim_matches(|c: char| c == '-' || c == '+' || c.is_whitespace());
        match name {
            "generation" => out.push_str(&format!("{{%{}%}}", inside.replace(name, "if true"))),
            "endgeneration" => out.push_str(&format!("{{%{}%}}", inside.replace(name, "endif"))),
            _ => {
                out.push_str("{%");
                rest = &tag[2..];
                continue;
            }
        }
        rest = &tag[end + 2..];
    }
    out + rest
}

/// The text of an error, with the line of the template.
fn message(error: &Error) -> String {
    let detail = error
        .detail()
        .map_or_else(|| error.kind().to_string(), str::to_string);
    match error.line() {
        Some(line) => format!("line {line}: {detail}"),
        None => detail,
    }
}

fn render(template: &str, variables: &str, clock: &'static Clock) -> Result<String, String> {
    let variables: Value = serde_json::from_str(variables).map_err(|error| error.to_string())?;
    let mut syntax = SyntaxConfig::builder();
    syntax.trim_blocks(true).lstrip_blocks(true);
    markup::check(template)?;
    let template = without_generation_tags(template);
    let mut environment = Environment::new();
    environment.set_syntax(syntax.build().map_err(|error| message(&error))?);
    environment.set_fuel(Some(FUEL));
    environment.set_recursion_limit(MAX_NESTING);
    environment.set_unknown_method_callback(unknown_method_callback);
    environment.set_formatter(|out, state, value| match json::float_text(value) {
        Some(text) => out.write_str(&text).map_err(Error::from),
        None => escape_formatter(out, state, value),
    });
    environment.add_filter("tojson", json::tojson);
    environment.add_test("iterable", is_iterable);
    environment.add_function("raise_exception", raise_exception);
    environment.add_function("strftime_now", move |format: String| clock.text(&format));
    environment
        .render_str(&template, variables)
        .map_err(|error| message(&error))
}

/// # Safety
/// See rust_chat.h.
#[no_mangle]
pub unsafe extern "C" fn chat_render(
    template: *const u8,
    template_size: usize,
    variables: *const u8,
    variables_size: usize,
    clock: &Clock,
    text: &mut Bytes,
) -> i32 {
    let rendered = guarded(|| {
        let utf8 = |data, size| {
            let text = std::str::from_utf8(slice(data, size));
            text.map_err(|error| error.to_string())
        };
        // SAFETY: the environment that keeps it does not outlive this call.
        let clock = std::mem::transmute::<&Clock, &'static Clock>(clock);
        render(
            utf8(template, template_size)?,
            utf8(variables, variables_size)?,
            clock,
        )
    });
    let (status, found) = match rendered {
        Ok(found) => (OK, found),
        Err(reason) => (FAILED, reason),
    };
    *text = Bytes::of(found.into_bytes());
    status
}
