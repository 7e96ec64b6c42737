/* QuickJS behind a C interface. Only attnscope/page/script.cpp includes it. */
#ifndef ATTNSCOPE_RUST_SCRIPT_H
#define ATTNSCOPE_RUST_SCRIPT_H

#include "attnscope/base/rust_bytes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of the caller. They must outlive the call. */
typedef struct {
  const uint8_t* data;
  size_t size;
} script_bytes;

/* The result of a call. `failed`: the script threw an exception. `ended`: `ends` stopped it.
 * `too_large`: it exceeded its memory. `absent`: this build runs no scripts. No call prints, exits,
 * or lets a panic out. */
enum {
  script_ok = 0,
  script_failed = 1,
  script_ended = 2,
  script_too_large = 3,
  script_absent = 4
};

typedef struct {
  size_t memory;              /* limit in bytes, including the script's arguments */
  int (*ends)(void* context); /* called every few thousand steps; not 0: end the script */
  void* context;
} script_limits;

/* Whether this build runs scripts. */
int script_present(void);

/* Runs a script, then the global function of that name, with `text` as a string and each of
 * `buffers` as an ArrayBuffer, copied. Texts are UTF-8. `answer`: the string that it returns, or
 * else its exception. A script has the language only: no files, network, modules or timers. */
int script_call(script_bytes script, script_bytes function, script_bytes text,
                const script_bytes* buffers, size_t count, const script_limits* limits,
                rust_bytes* answer);

#ifdef __cplusplus
}
#endif
#endif
