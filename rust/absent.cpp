// Replaces the Rust crate in a build without it. No tokenizer can be loaded, so no other tokenizer
// function is ever called, no script runs, and no
// chart is drawn as PNG.
#include "attnscope/base/rust_bytes.h"
#include "attnscope/inputs/text/rust_chat.h"
#include "attnscope/inputs/text/rust_tokenizers.h"
#include "attnscope/page/rust_picture.h"
#include "attnscope/page/rust_script.h"

int tokc_load(const uint8_t*, size_t, tokc_tokenizer**, rust_bytes*) { return tokc_absent; }
void tokc_unload(tokc_tokenizer*) {}
int tokc_encode(const tokc_tokenizer*, const uint8_t*, size_t, int, rust_bytes*, size_t*,
                rust_bytes*) {
  return tokc_absent;
}
int tokc_encode_offsets(const tokc_tokenizer*, const uint8_t*, size_t, rust_bytes*, rust_bytes*,
                        rust_bytes*) {
  return tokc_absent;
}
int tokc_encode_pair(const tokc_tokenizer*, const uint8_t*, size_t, const uint8_t*, size_t, int,
                     rust_bytes*, rust_bytes*, rust_bytes*, rust_bytes*) {
  return tokc_absent;
}
int tokc_decode(const tokc_tokenizer*, const uint32_t*, size_t, int, rust_bytes*, rust_bytes*) {
  return tokc_absent;
}
int tokc_token(const tokc_tokenizer*, uint32_t, rust_bytes*, rust_bytes*) { return 0; }
int tokc_id(const tokc_tokenizer*, const uint8_t*, size_t, uint32_t*) { return 0; }
int tokc_unknown(const tokc_tokenizer*, uint32_t*) { return 0; }
void tokc_limit_memory(size_t) {}
size_t tokc_count(const tokc_tokenizer*) { return 0; }

int chat_render(const uint8_t*, size_t, const uint8_t*, size_t, const chat_clock*, rust_bytes*) {
  return chat_absent;
}

int script_present() { return 0; }
int script_call(script_bytes, script_bytes, script_bytes, const script_bytes*, size_t,
                const script_limits*, rust_bytes*) {
  return script_absent;
}

int picture_draw(const uint8_t*, size_t, const uint8_t*, size_t, float, rust_bytes*) {
  return picture_failed;
}

void rust_free(rust_bytes) {}
