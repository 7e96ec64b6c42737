// Composition of heads: how much a later head reads of what an earlier head writes to the residual
// stream. Source: Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits".
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/features/common/circuit_factors.h"
#include "attnscope/numerics/products/packed_product.h"

namespace attnscope {

/// Types of composition of an earlier head l with a later head r. Scores: q: ‖QK_rᵀ OV_l‖, k: ‖QK_r
/// OV_l‖, v: ‖OV_r OV_l‖, each divided by the product of both circuits' norms.
enum class ReadingKind { query, key, value };
inline constexpr std::array kReadingKinds = {ReadingKind::query, ReadingKind::key,
                                             ReadingKind::value};
/// Names in rows: "q", "k", "v".
std::string_view reading_kind_name(ReadingKind kind);

/// The query heads first … first + count − 1. For readers, whole groups that share a key/value
/// head.
struct HeadRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// Prepared heads as readers for one type of composition, for any number of writers.
struct ReadingHeads {
  ReadingKind kind = ReadingKind::query;
  HeadRange heads;
  /// ‖leftᵀ right‖_F of the circuits of `heads`; empty for a factor with NaN or Inf.
  std::vector<std::optional<double>> norms;
  /// q: R_K W_Q per head. k, v: W_K, W_V per key/value head of `heads`.
  PackedMatrix readers;
  /// k, v: per key/value head, the stacked R_Q (R_O) of its query heads. RᵀR is the Gram matrix of
  /// a factor's rows, so ‖leftᵀ X‖ = ‖R X‖ for every X.
  std::vector<PackedMatrix> triangles;
};

/// Prepared heads as writers, for any number of readers.
struct WritingHeads {
  HeadRange heads;
  std::vector<std::optional<double>> norms;
  std::int64_t rank = 0;  // min(d_v, D)
  PackedMatrix written;   // R_V W_Oᵀ per head, (count · rank, D)
};

/// `weights`: of qk for q and k, of ov for v.
ReadingHeads prepare_readers(const CircuitWeights& weights, ReadingKind kind, HeadRange heads,
                             const Compute& compute = {});
/// `weights`: of ov.
WritingHeads prepare_writers(const CircuitWeights& weights, HeadRange heads,
                             const Compute& compute = {});

/// Whether all factors of a query head's circuit are finite.
bool is_finite_head(const CircuitWeights& weights, std::int64_t head);

/// Scores, (reading heads, writing heads). NaN if the norm of a circuit is 0 or not finite. A score
/// does not depend on the ranges in which heads were prepared.
Matrix<double> composition_scores(const ReadingHeads& readers, const WritingHeads& writers,
                                  const Compute& compute = {});

/// Approximate score of two random heads: 1 / sqrt(D).
double composition_baseline(std::int64_t width);

}  // namespace attnscope
