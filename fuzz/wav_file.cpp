// WAV files: the samples that are read are inside the file.
#include "attnscope/inputs/audio/wav_file.h"

#include <cstdint>

#include "attnscope/base/error.h"

using namespace attnscope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto samples =
        read_wave(std::string_view(reinterpret_cast<const char*>(data), size), "input");
    if (samples.empty() || samples.size() > size) __builtin_trap();
  } catch (const Error&) {
  }
  return 0;
}
