#include "attnscope/checkpoint/file_bytes.h"

#include "attnscope/base/error.h"

namespace attnscope {

std::string bytes_of(const MappedFile& file, std::uint64_t limit_bytes) {
  if (file.bytes().size() > limit_bytes) {
    throw Error(ErrorKind::format,
                {.file = file.path().string(),
                 .problem = "is larger than " + std::to_string(limit_bytes) + " bytes"});
  }
  file.need(file.bytes());
  std::string bytes(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  file.check_intact();
  return bytes;
}

}  // namespace attnscope
