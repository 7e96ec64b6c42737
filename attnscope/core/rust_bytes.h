/* What the crate's C interfaces share. */
#ifndef ATTNSCOPE_RUST_BYTES_H
#define ATTNSCOPE_RUST_BYTES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Memory of the crate, given back with rust_free(); nothing to free where `data` is null. */
typedef struct {
  uint8_t* data;
  size_t size; /* bytes */
} rust_bytes;

void rust_free(rust_bytes bytes);

#ifdef __cplusplus
}
#endif
#endif
