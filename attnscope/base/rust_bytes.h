/* Shared by the C interfaces of the Rust crate. */
#ifndef ATTNSCOPE_RUST_BYTES_H
#define ATTNSCOPE_RUST_BYTES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Memory owned by the crate. Free it with rust_free(). If `data` is null, there is nothing to free.
 */
typedef struct {
  uint8_t* data;
  size_t size; /* bytes */
} rust_bytes;

void rust_free(rust_bytes bytes);

#ifdef __cplusplus
}
#endif
#endif
