// The weights of one layer's circuits in the variant that was asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/base/heads.h"
#include "attnscope/base/matrix_view.h"
#include "attnscope/engine/item_inputs.h"
#include "attnscope/engine/work_item.h"
#include "attnscope/features/common/circuit_factors.h"
#include "attnscope/features/common/fold_norm.h"
#include "attnscope/model/model.h"

namespace attnscope {

/// What is done to the weights of the file before their circuits are measured.
struct CircuitVariant {
  FoldNorm fold_norm = FoldNorm::none;       // of the norm before Q, K and V
  bool with_bias = false;                    // biases of Q, K, V as one more input coordinate
  std::int64_t rope_offset = 0;              // key position − query position, in tokens
  std::optional<LatentRms> latent_rms = {};  // on a text; none: on white input
};

/// The variant of these options: "fold_norm" (false, true or "centered"), "with_bias" and
/// "rope_offset".
CircuitVariant variant_of(const Record& options);

/// Throws Error(usage) for a rotary offset of a model without rotary positions, or folding where
/// the architecture names no norm; Error(unsupported) for a rotary scaling that is not computed.
void check_variant(const Model& model, const CircuitVariant& variant);

/// What becomes of keys at a rotary offset.
struct KeyRotation {
  std::vector<double> angles;  // of each pair, radians
  RotaryPairs pairs = RotaryPairs::halves;
  double factor = 1;  // of all that turns
};

KeyRotation key_rotation(const Model& model, std::int64_t layer, std::int64_t offset);

/// The matrix with its bias as the last column; zero where it has none. Returns why not, if so.
std::string append_bias(const Model& model, const Weight& weight, Matrix<double>& matrix);

/// What to say where a norm was to be folded in.
inline constexpr const char* kNothingFolded =
    "no norm of the model's width feeds it, so nothing was folded in";

/// The factors of a circuit summed over heads, and what they view, if that is theirs alone.
struct SumFactors {
  Matrix<double> left;
  CircuitFactors factors;
};

/// Owns what CircuitWeights views.
struct LoadedCircuit {
  Role circuit = Role::qk;
  Matrix<double> left;   // W_Q (H d, D), or W_O (D, H d_v); D + 1 columns of W_Q with biases
  Matrix<double> right;  // W_K (G d, D), or W_V (G d_v, D); D + 1 columns with biases
  HeadShape heads;
  Matrix<double> summed_left, summed_right;  // of the sum over heads, if not by adding up heads
  LatentRms latent_rms = {};                 // what its factors' latents were divided by
  std::string skipped;  // why the matrices are empty; itself empty where they are not
  std::string note;     // what a reader should know though the circuit is there

  CircuitWeights weights() const { return {circuit, left.view(), right.view(), heads}; }
  SumFactors sum() const;
};

/// Why a head's circuit is skipped where one of its numbers is not finite.
inline constexpr const char* kFactorNotFinite = "a factor holds NaN or Inf";

/// What to say of a model whose Q and K pass norms of their own.
/// Of cross attention, what its circuits are between.
std::string cross_note(const Model& model);
std::string query_norm_note(const Model& model);

/// What the variant reads beside the two factors themselves.
void add_variant_inputs(ItemInputs& inputs, const Model& model, std::int64_t layer, Role circuit,
                        const CircuitVariant& variant);

LoadedCircuit load_circuit(const Model& model, std::int64_t layer, Role circuit,
                           const CircuitVariant& variant);

}  // namespace attnscope
