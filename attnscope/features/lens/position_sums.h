// Sums over places of what a state of the stream foretells, and the means that rows have.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/features/lens/logit_lens.h"
#include "attnscope/rows/record.h"

namespace attnscope {

struct LensSums {
  std::int64_t places = 0;
  double loss = 0, entropy = 0, divergence = 0;
  std::int64_t agreeing = 0;        // places with the model's own likeliest token
  std::vector<std::int64_t> ranks;  // of the tokens asked for, in the places that have one

  void add(const LensSums& more);
};

LensSums lens_sums(std::span<const LensReading> readings);

/// As a store keeps them, and back. Throws as expect().
Record sums_record(const LensState& state, const LensSums& sums);
LensState read_state(const Record& record);
LensSums read_sums(const Record& record);

/// Adds loss, entropy, kl, mean_reciprocal_rank, median_rank, top1 and agreement.
void add_lens_means(Record& row, const LensSums& sums);

/// "layer" or "mid".
const char* state_name(const LensState& state);

}  // namespace attnscope
