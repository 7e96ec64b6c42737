// Cosine similarity between the rows of a matrix, within heads and across them. Definitions:
// docs/metrics.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "attnscope/analysis/histogram.h"
#include "attnscope/core/matrix_view.h"
#include "attnscope/numerics/compute.h"
#include "attnscope/results/record.h"

namespace attnscope {

/// Which pairs of rows a < b: of one head, of two heads, or any.
enum class PairScope { within_head, across_head, all };
inline constexpr std::array<std::string_view, 3> kPairScopeNames = {"within_head", "across_head",
                                                                    "all"};

struct ScopeSimilarity {
  std::int64_t pairs = 0;
  std::optional<double> mean, std;  // none where there are no pairs
  std::optional<Histogram> histogram;
  std::string note;
};

struct Similarity {
  std::int64_t zero_vectors = 0;          // rows left out: they have no direction
  std::array<ScopeSimilarity, 3> scopes;  // by PairScope
};

/// Of `matrix`, finite, whose rows belong to heads of `head_rows` rows each. The cosines are formed
/// block by block in float64, twice where `bins` says Freedman–Diaconis: their (rows, rows) matrix
/// never stands whole. They are rounded to multiples of 2^-46, so that equal ones stay equal in
/// whatever order a product was summed.
template <class T>
Similarity cosine_similarity(MatrixView<const T> matrix, std::int64_t head_rows,
                             const std::optional<BinRule>& bins, const Compute& compute = {});

/// The fields of a similarity row after its ids; `with_histogram`: whether one was asked for.
Record scope_fields(PairScope scope, const Similarity& similarity, bool with_histogram);

/// The cosines between all rows of `matrix`, (rows, rows); NaN for a zero row.
template <class T>
Matrix<double> cosine_matrix(MatrixView<const T> matrix, const Compute& compute = {});

}  // namespace attnscope
