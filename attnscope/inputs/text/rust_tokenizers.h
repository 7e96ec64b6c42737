/* C interface of the tokenizers crate. Only attnscope/inputs/text/tokenizer.cpp includes it. */
#ifndef ATTNSCOPE_RUST_TOKENIZER_H
#define ATTNSCOPE_RUST_TOKENIZER_H

#include "attnscope/base/rust_bytes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A loaded tokenizer. It is immutable and thread-safe. */
typedef struct tokc_tokenizer tokc_tokenizer;

/* The result of a call. `bad_utf8`: the text is not UTF-8 from byte `position` on. `failed`:
 * `message` contains the reason, in UTF-8. `absent`: this build has no tokenizer. No call prints,
 * exits, or panics. */
enum { tokc_ok = 0, tokc_bad_utf8 = 1, tokc_failed = 2, tokc_absent = 3 };

/* Reads a tokenizer.json. Ignores its padding, truncation and dropout, which are for training. */
int tokc_load(const uint8_t* json, size_t size, tokc_tokenizer** tokenizer, rust_bytes* message);
void tokc_unload(tokc_tokenizer* tokenizer);

/* Returns the ids of a text as consecutive uint32 values. `special`: includes special tokens such
 * as [CLS]. */
int tokc_encode(const tokc_tokenizer* tokenizer, const uint8_t* text, size_t size, int special,
                rust_bytes* ids, size_t* position, rust_bytes* message);

/* Returns the ids of a text without added special tokens, and the bytes of the text that each token
 * covers, [begin, end), as pairs of uint32 values. */
int tokc_encode_offsets(const tokc_tokenizer* tokenizer, const uint8_t* text, size_t size,
                        rust_bytes* ids, rust_bytes* offsets, rust_bytes* message);

/* Returns the ids of a pair of texts, as tokc_encode() does, and for each token its token type and
 * its text: 0, 1, or UINT32_MAX for an added token. */
int tokc_encode_pair(const tokc_tokenizer* tokenizer, const uint8_t* first, size_t first_size,
                     const uint8_t* second, size_t second_size, int special, rust_bytes* ids,
                     rust_bytes* types, rust_bytes* texts, rust_bytes* message);

/* Returns the text of ids, in UTF-8. Skips unknown ids. */
int tokc_decode(const tokc_tokenizer* tokenizer, const uint32_t* ids, size_t count,
                int skip_special, rust_bytes* text, rust_bytes* message);

/* Returns the spelling of a token in the vocabulary, and the bytes that it stands for: byte-level
 * "Ġthe" and "▁the" stand for " the", "<0x0A>" for a newline. Returns 0 for an unknown id. */
int tokc_token(const tokc_tokenizer* tokenizer, uint32_t id, rust_bytes* spelling,
               rust_bytes* meaning);

/* Returns the id of a token by its spelling in the vocabulary. Returns 0 if there is none. */
int tokc_id(const tokc_tokenizer* tokenizer, const uint8_t* spelling, size_t size, uint32_t* id);

/* Returns the model's token for unknown text. Returns 0 if there is none. */
int tokc_unknown(const tokc_tokenizer* tokenizer, uint32_t* id);

/* Sets approximately how much memory a call may take beyond the usual multiple of its text. Calls
 * that exceed it fail. */
void tokc_limit_memory(size_t bytes);

/* Returns the number of tokens, including added ones. */
size_t tokc_count(const tokc_tokenizer* tokenizer);

#ifdef __cplusplus
}
#endif
#endif
