// model.safetensors.index.json: for any content, no shard is outside its folder.
#include "attnscope/checkpoint/weight_files.h"

#include <cstdint>
#include <filesystem>

#include "attnscope/base/error.h"

using namespace attnscope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    for (const auto& [tensor, shard] : parse_shard_index(text, "input")) {
      const std::filesystem::path folder = "folder";
      const auto place = (folder / shard).lexically_normal();
      if (place.parent_path() != folder || shard.find('\0') != std::string::npos) __builtin_trap();
    }
  } catch (const Error&) {
  }
  return 0;
}
