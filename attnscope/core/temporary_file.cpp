#include "attnscope/core/temporary_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace attnscope {

std::string temporary_folder() {
  const char* named = std::getenv("TMPDIR");
  return named == nullptr || *named == '\0' ? "/tmp" : named;
}

int open_unnamed_file(const std::filesystem::path& folder) {
#ifdef O_TMPFILE
  return open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
#else
  (void)folder;
  errno = EOPNOTSUPP;
  return -1;
#endif
}

int open_temporary_file() {
  const std::string folder = temporary_folder();
  const int unnamed = open_unnamed_file(folder);
  if (unnamed >= 0) return unnamed;
  std::string name = folder + "/attnscope-XXXXXX";
  const int file = mkostemp(name.data(), O_CLOEXEC);
  if (file >= 0) unlink(name.c_str());
  return file;
}

}  // namespace attnscope
