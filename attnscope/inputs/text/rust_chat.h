/* Chat templates behind a C interface. Only attnscope/inputs/text/chat_template.cpp includes it. */
#ifndef ATTNSCOPE_RUST_CHAT_H
#define ATTNSCOPE_RUST_CHAT_H

#include "attnscope/base/rust_bytes.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { chat_ok = 0, chat_failed = 1, chat_absent = 2 };

/* Writes the date of the run in a format of strftime() into `room` bytes. Returns the number of
 * bytes; 0 if the format is not valid or the text does not fit. */
typedef struct {
  size_t (*write)(const void* context, const uint8_t* format, size_t size, uint8_t* out,
                  size_t room);
  const void* context;
} chat_clock;

/* Renders a Jinja template as transformers does. `variables`: a JSON object. `text`: the rendered
 * text, or else the reason why it failed. A template reads no files, and its time and memory are
 * limited. */
int chat_render(const uint8_t* text_of_template, size_t template_size, const uint8_t* variables,
                size_t variables_size, const chat_clock* clock, rust_bytes* text);

#ifdef __cplusplus
}
#endif
#endif
