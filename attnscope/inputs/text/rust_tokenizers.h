/* The tokenizers crate behind a C interface. Only attnscope/inputs/text/tokenizer.cpp includes it.
 */
#ifndef ATTNSCOPE_RUST_TOKENIZER_H
#define ATTNSCOPE_RUST_TOKENIZER_H

#include "attnscope/base/rust_bytes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A loaded tokenizer. It is immutable, so several threads may use it. */
typedef struct tokc_tokenizer tokc_tokenizer;

/* The result of a call. `bad_utf8`: the text is not UTF-8 from byte `position` on. `failed`:
 * `message` says why, in UTF-8. `absent`: this build has no tokenizer. No call prints, exits, or
 * lets a panic out. */
enum { tokc_ok = 0, tokc_bad_utf8 = 1, tokc_failed = 2, tokc_absent = 3 };

/* Reads a tokenizer.json. Its padding, truncation and dropout, which are for training, are left
 * out. */
int tokc_load(const uint8_t* json, size_t size, tokc_tokenizer** tokenizer, rust_bytes* message);
void tokc_unload(tokc_tokenizer* tokenizer);

/* The ids of a text: uint32 values, one after another. `special`: with the tokens that the
 * tokenizer puts around a text, such as [CLS]. */
int tokc_encode(const tokc_tokenizer* tokenizer, const uint8_t* text, size_t size, int special,
                rust_bytes* ids, size_t* position, rust_bytes* message);

/* The text of ids, in UTF-8. Ids that the tokenizer does not know are left out. */
int tokc_decode(const tokc_tokenizer* tokenizer, const uint32_t* ids, size_t count,
                int skip_special, rust_bytes* text, rust_bytes* message);

/* The token of an id as the vocabulary spells it, and the bytes that it stands for: a byte-level
 * "Ġthe" and a "▁the" stand for " the", "<0x0A>" for a newline. 0 where there is no such id. */
int tokc_token(const tokc_tokenizer* tokenizer, uint32_t id, rust_bytes* spelling,
               rust_bytes* meaning);

/* The id of a token as the vocabulary spells it. 0 where there is none. */
int tokc_id(const tokc_tokenizer* tokenizer, const uint8_t* spelling, size_t size, uint32_t* id);

/* The token that the model has for text that it does not know. 0 where there is none. */
int tokc_unknown(const tokc_tokenizer* tokenizer, uint32_t* id);

/* About how much memory a call may take beyond a usual multiple of its text. Calls that would take
 * more fail. */
void tokc_limit_memory(size_t bytes);

/* Number of tokens, added ones among them. */
size_t tokc_count(const tokc_tokenizer* tokenizer);

#ifdef __cplusplus
}
#endif
#endif
