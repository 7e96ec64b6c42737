// Stands in for the Rust crate in a build without it: no tokenizer can be loaded, so nothing else
// is ever called.
#include "attnscope/forward/tokenizers_c/tokenizers_c.h"

int tokc_load(const uint8_t*, size_t, tokc_tokenizer**, tokc_bytes*) { return tokc_absent; }
void tokc_unload(tokc_tokenizer*) {}
int tokc_encode(const tokc_tokenizer*, const uint8_t*, size_t, int, tokc_bytes*, size_t*,
                tokc_bytes*) {
  return tokc_absent;
}
int tokc_decode(const tokc_tokenizer*, const uint32_t*, size_t, int, tokc_bytes*, tokc_bytes*) {
  return tokc_absent;
}
int tokc_token(const tokc_tokenizer*, uint32_t, tokc_bytes*, tokc_bytes*) { return 0; }
int tokc_id(const tokc_tokenizer*, const uint8_t*, size_t, uint32_t*) { return 0; }
size_t tokc_count(const tokc_tokenizer*) { return 0; }
void tokc_free(tokc_bytes) {}
