// A complete torch.save file, zip archive or stream, then the size and location of every tensor.
#include <cstdint>

#include "attnscope/base/error.h"
#include "attnscope/checkpoint/pytorch/pytorch.h"

using namespace attnscope;

namespace {

/// Whether the part is inside the whole.
bool lies_in(std::span<const std::byte> part, std::span<const std::byte> whole) {
  return part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size();
}

void check(const TensorView& view, std::span<const std::byte> file, const FileContents& contents) {
  if (view.element_count() == 0) return;
  const std::int64_t element_bytes = dtype_info(view.dtype).bits / 8;
  std::int64_t last = 0;
  for (std::size_t axis = 0; axis < view.shape.size(); ++axis) {
    last += (view.shape[axis] - 1) * view.stride(axis);
  }
  if (static_cast<std::uint64_t>((last + 1) * element_bytes) != view.bytes.size()) __builtin_trap();
  bool found = lies_in(view.bytes, file);
  for (const auto& memory : contents.memory) found = found || lies_in(view.bytes, *memory);
  if (!found) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  try {
    const FileContents contents = parse_pytorch(file, "input");
    for (const NamedTensor& tensor : contents.tensors) check(tensor.view, file, contents);
  } catch (const Error&) {
  }
  return 0;
}
