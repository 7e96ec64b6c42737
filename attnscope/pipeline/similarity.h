// `similarity`: models × layers × projections → cosines between weight vectors, and how far heads
// overlap.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/analysis/histogram.h"
#include "attnscope/pipeline/selection.h"
#include "attnscope/pipeline/work_queue.h"
#include "attnscope/results/report.h"
#include "attnscope/store/store.h"

namespace attnscope {

/// One head of one layer; a negative layer counts from the end.
struct HeadPlace {
  std::int64_t layer = 0;
  std::int64_t head = 0;
};

struct SimilarityRequest {
  std::vector<Role> matrices;  // of q, k, v; empty: those
  LayerSelection layers;
  bool with_histogram = false;
  BinRule bins{.bins = 100, .range = ValueRange{-0.4, 0.4}};
  bool overlap = false;                  // the overlap of heads instead of cosines
  std::optional<HeadPlace> head_matrix;  // the cosines of one head's rows instead
  Resources resources;
  Store* store = nullptr;  // keeps finished rows; null: none does
};

/// Rows by model, layer, matrix (as asked), then by scope; with `overlap` one for each matrix; with
/// `head_matrix` one for each of the head's rows.
Report run_similarity(std::span<const Model> models, const SimilarityRequest& request,
                      const ProgressFn& on_progress);

/// Leaves the `head` out of rows that are of whole matrices, where it could only be null: the last
/// step of run_similarity, for rows that a store kept.
void drop_heads(Report& report);

}  // namespace attnscope
