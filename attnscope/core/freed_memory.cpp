#include "attnscope/core/freed_memory.h"

#include <cstddef>  // says whether the C library is GNU's
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace attnscope {

void return_freed_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace attnscope
