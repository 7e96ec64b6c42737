// How much of what an earlier head writes into the residual stream a later head reads.
// Source: Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits".
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

/// By what a later head r reads what an earlier head l writes:
/// q: ‖QK_rᵀ OV_l‖, k: ‖QK_r OV_l‖, v: ‖OV_r OV_l‖, each over the product of both circuits' norms.
enum class ReadingKind { query, key, value };
inline constexpr std::array kReadingKinds = {ReadingKind::query, ReadingKind::key,
                                             ReadingKind::value};
/// The names that rows give them: "q", "k", "v".
std::string_view reading_kind_name(ReadingKind kind);

/// Query heads first … first + count − 1; for readers whole groups that share a key/value head.
struct HeadRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// Heads that read in one way, made ready for any number of writers.
struct ReadingHeads {
  ReadingKind kind = ReadingKind::query;
  HeadRange heads;
  /// ‖leftᵀ right‖_F of the circuits of `heads`; nothing where a factor holds NaN or Inf.
  std::vector<std::optional<double>> norms;
  /// q: R_K W_Q of each head. k, v: W_K, W_V of each key/value head that `heads` read.
  PackedMatrix readers;
  /// k, v: of each of these key/value heads, R_Q (R_O) of its query heads above each other, with
  /// RᵀR the Gram matrix of a factor's rows: for every X ‖leftᵀ X‖ = ‖R X‖.
  std::vector<PackedMatrix> triangles;
};

/// Heads as writers, made ready for any number of readers.
struct WritingHeads {
  HeadRange heads;
  std::vector<std::optional<double>> norms;
  std::int64_t rank = 0;  // min(d_v, D)
  PackedMatrix written;   // R_V W_Oᵀ of each head, (count · rank, D)
};

/// `weights` are those of qk for q and k, of ov for v.
ReadingHeads prepare_readers(const CircuitWeights& weights, ReadingKind kind, HeadRange heads,
                             const Compute& compute = {});
/// `weights` are those of ov.
WritingHeads prepare_writers(const CircuitWeights& weights, HeadRange heads,
                             const Compute& compute = {});

/// Whether no factor of a query head's circuit holds NaN or Inf.
bool is_finite_head(const CircuitWeights& weights, std::int64_t head);

/// (reading heads, writing heads). NaN where a circuit's norm is 0, or it holds NaN or Inf. A score
/// has the same digits in whatever ranges the heads were prepared.
Matrix<double> composition_scores(const ReadingHeads& readers, const WritingHeads& writers,
                                  const Compute& compute = {});

/// What two random heads score, about: 1 / sqrt(D).
double composition_baseline(std::int64_t width);

}  // namespace attnscope
