#include "attnscope/cli/app.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

int main(int argc, char** argv) {
#ifdef __GLIBC__
  // Reuses freed memory for the next matrix: fresh pages from the system would cost a tenth of the
  // run time for a model of BERT's size.
  mallopt(M_MMAP_THRESHOLD, 256 << 20);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
  return attnscope::run_command_line(argc, argv);
}
