// Loads the weights of a layer's circuits in the requested variant.
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

/// Changes to the stored weights before circuits are measured.
struct CircuitVariant {
  FoldNorm fold_norm = FoldNorm::none;       // folds in the norm before Q, K and V
  bool with_bias = false;                    // adds the biases of Q, K, V as an input coordinate
  std::int64_t rope_offset = 0;              // key position − query position, in tokens
  std::optional<LatentRms> latent_rms = {};  // measured on a text; empty: for white input
};

/// Reads the variant from the options "fold_norm" (false, true or "centered"), "with_bias" and
/// "rope_offset".
CircuitVariant variant_of(const Record& options);

/// Throws Error(usage) for a RoPE offset of a model without RoPE, or for folding if the norm is
/// unknown. Throws Error(unsupported) for a RoPE scaling that is not implemented.
void check_variant(const Model& model, const CircuitVariant& variant);

/// Rotation of the keys at a RoPE offset.
struct KeyRotation {
  std::vector<double> angles;  // per pair, in radians
  RotaryPairs pairs = RotaryPairs::halves;
  double factor = 1;  // scale of all rotary dimensions
};

KeyRotation key_rotation(const Model& model, std::int64_t layer, std::int64_t offset);

/// Appends the bias to the matrix as its last column; zeros without a bias. Returns the reason if
/// the bias cannot be read, else an empty text.
std::string append_bias(const Model& model, const Weight& weight, Matrix<double>& matrix);

/// Note for a layer without a norm to fold in.
inline constexpr const char* kNothingFolded =
    "no norm of the model's width feeds it, so nothing was folded in";

/// The factors of a circuit summed over heads. Owns the left factor if it is not a view.
struct SumFactors {
  Matrix<double> left;
  CircuitFactors factors;
};

/// Owns the matrices that CircuitWeights refers to.
struct LoadedCircuit {
  Role circuit = Role::qk;
  Matrix<double> left;   // W_Q (H d, D), or W_O (D, H d_v); D + 1 columns of W_Q with biases
  Matrix<double> right;  // W_K (G d, D), or W_V (G d_v, D); D + 1 columns with biases
  HeadShape heads;
  Matrix<double> summed_left,
      summed_right;           // for the sum over heads, if it is not the sum of the factors
  LatentRms latent_rms = {};  // RMS used for the latents of its factors
  std::string skipped;        // reason if the matrices are empty; otherwise empty
  std::string note;           // note for the user about a circuit that is present

  CircuitWeights weights() const { return {circuit, left.view(), right.view(), heads}; }
  SumFactors sum() const;
};

/// Reason for skipping a circuit with a value that is not finite.
inline constexpr const char* kFactorNotFinite = "a factor holds NaN or Inf";

/// Notes for the user: about cross-attention, whose circuits connect two spaces, and about models
/// with norms of Q and K.
std::string cross_note(const Model& model);
std::string query_norm_note(const Model& model);

/// Adds the inputs of the variant other than the two factors.
void add_variant_inputs(ItemInputs& inputs, const Model& model, std::int64_t layer, Role circuit,
                        const CircuitVariant& variant);

LoadedCircuit load_circuit(const Model& model, std::int64_t layer, Role circuit,
                           const CircuitVariant& variant);

}  // namespace attnscope
