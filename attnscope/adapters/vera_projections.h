// The random projections that all modules of a VeRA adapter share, if its file lacks them. Source:
// huggingface/peft, tuners/vera/model.py; pytorch/pytorch, uniform_real_transform().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace attnscope {

/// float32 elements of A (rank, inputs) and B (outputs, rank).
struct VeraProjections {
  std::shared_ptr<const std::vector<std::byte>> a, b;
};

/// Draws them as PyTorch does on a CPU. `key`: projection_prng_key of the config.
VeraProjections vera_projections(std::int64_t rank, std::int64_t outputs, std::int64_t inputs,
                                 std::int64_t key);

}  // namespace attnscope
