// Cosine similarity between the rows of a matrix, within heads and across them. Definitions:
// docs/metrics.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"
#include "attnscope/numerics/statistics/histogram.h"
#include "attnscope/numerics/svd/singular_values.h"
#include "attnscope/rows/record.h"

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

// How far the heads of one projection read the same directions. Definition: docs/metrics.md.

struct HeadOverlap {
  /// (H, H), symmetric: ‖U_aᵀ U_b‖_F² / min(rank a, rank b), U an orthonormal basis of a head's row
  /// space: the mean cos² of the principal angles between the two. 1 for equal spaces, 0 for
  /// orthogonal ones; NaN where a head is zero. Björck & Golub 1973.
  Matrix<double> overlap;
  std::vector<std::int64_t> ranks;  // of each head: pivots above max(d, D) ε of the first
};

/// Of `matrix`, (H head_rows, D), finite. ε is 2^-23, or 2^-52 if the matrix is made of float64
/// numbers.
template <class T>
HeadOverlap head_overlap(MatrixView<const T> matrix, std::int64_t head_rows,
                         Resolution resolution = Resolution::float32, const Compute& compute = {});

/// The fields of a row after its ids: overlap and ranks.
Record overlap_fields(const HeadOverlap& measured);

}  // namespace attnscope
