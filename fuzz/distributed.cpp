// The index of a distributed checkpoint. Each chunk is read from the same bytes.
#include "attnscope/checkpoint/pytorch/distributed.h"

#include <cstdint>

#include "attnscope/base/error.h"

using namespace attnscope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  try {
    for (const DistributedTensor& tensor : parse_distributed_index(bytes, {"input"})) {
      std::vector<TensorView> chunks;
      for (const DistributedChunk& chunk : tensor.chunks) {
        TensorView& view = chunks.emplace_back();
        view.shape = chunk.sizes;
      }
      FileContents memory;
      joined_chunks(tensor, std::move(chunks), {"input"}, memory);
    }
  } catch (const Error&) {
  }
  return 0;
}
