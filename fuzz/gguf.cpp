// A GGUF file: its values and tensors, their names in transformers, its tokenizer, and elements of
// every tensor that can be decoded.
#include <cstdint>

#include "attnscope/base/error.h"
#include "attnscope/checkpoint/gguf/gguf_reader.h"
#include "attnscope/tensor/decode.h"

using namespace attnscope;

namespace {

void check_bytes(const GgufFile& file, std::span<const std::byte> whole) {
  for (const GgufTensor& tensor : file.tensors) {
    const bool inside = tensor.bytes.data() >= whole.data() &&
                        tensor.bytes.data() + tensor.bytes.size() <= whole.data() + whole.size();
    if (!tensor.bytes.empty() && !inside) __builtin_trap();
  }
}

/// Decodes the first and the last elements.
void decode_ends(const TensorView& view) {
  if (dtype_info(view.dtype).kind != DTypeClass::real) return;
  const std::int64_t count = view.element_count();
  const std::int64_t taken = std::min<std::int64_t>(count, 600);
  std::vector<double> values(static_cast<std::size_t>(taken));
  decode_elements(view, 0, 1, taken, values.data());
  if (view.strides.empty()) decode_elements(view, count - taken, 1, taken, values.data());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  try {
    const std::vector<GgufFile> parts = {parse_gguf(bytes, "input")};
    check_bytes(parts.front(), bytes);
    for (const FileContents& contents : gguf_contents(parts)) {
      for (const NamedTensor& tensor : contents.tensors) decode_ends(tensor.view);
      if (contents.tokenizer) contents.tokenizer();
    }
  } catch (const Error&) {
  }
  return 0;
}
