// Cosine similarity between the rows of a matrix, within and across heads. Definitions:
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

/// Pairs of rows a < b: within one head, across two heads, or all.
enum class PairScope { within_head, across_head, all };
inline constexpr std::array<std::string_view, 3> kPairScopeNames = {"within_head", "across_head",
                                                                    "all"};

struct ScopeSimilarity {
  std::int64_t pairs = 0;
  std::optional<double> mean, std;  // none without pairs
  std::optional<Histogram> histogram;
  std::string note;
};

struct Similarity {
  std::int64_t zero_vectors = 0;          // excluded zero rows
  std::array<ScopeSimilarity, 3> scopes;  // indexed by PairScope
};

/// Requires a finite `matrix` whose rows belong to heads of `head_rows` rows each. The cosines are
/// computed block by block in float64, twice for the Freedman–Diaconis rule; the full (rows, rows)
/// matrix is never stored. They are rounded to multiples of 2^-46, so that equal cosines stay equal
/// for any order of summation.
template <class T>
Similarity cosine_similarity(MatrixView<const T> matrix, std::int64_t head_rows,
                             const std::optional<BinRule>& bins, const Compute& compute = {});

/// The fields of a similarity row after its identifiers. `with_histogram`: whether a histogram was
/// requested.
Record scope_fields(PairScope scope, const Similarity& similarity, bool with_histogram);

/// The cosines between all rows of `matrix`, (rows, rows); NaN for a zero row.
template <class T>
Matrix<double> cosine_matrix(MatrixView<const T> matrix, const Compute& compute = {});

// Overlap of the row spaces of the heads of one projection. Definition: docs/metrics.md.

struct HeadOverlap {
  /// (H, H), symmetric: ‖U_aᵀ U_b‖_F² / min(rank a, rank b), where U is an orthonormal basis of a
  /// head's row space. It is the mean cos² of the principal angles: 1 for equal spaces, 0 for
  /// orthogonal ones. NaN for a zero head. Björck & Golub 1973.
  Matrix<double> overlap;
  std::vector<std::int64_t> ranks;  // per head: pivots above max(d, D) ε × the first
};

/// Requires a finite `matrix` (H head_rows, D). ε is 2^-23, or 2^-52 for float64 weights.
template <class T>
HeadOverlap head_overlap(MatrixView<const T> matrix, std::int64_t head_rows,
                         Resolution resolution = Resolution::float32, const Compute& compute = {});

/// The fields of a row after its identifiers: overlap and ranks.
Record overlap_fields(const HeadOverlap& measured);

}  // namespace attnscope
