// The kernels of a forward pass: numerics/inference/*.h declare what callers use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "attnscope/base/activation.h"
#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/inference/attention.h"
#include "attnscope/numerics/inference/softmax.h"
#include "attnscope/numerics/kernel_choice.h"
#include "attnscope/tensor/dtype.h"

namespace attnscope::kernels {

// Activations of many values, in place.

void activate_values(Kernels kernels, Activation activation, float* values, std::size_t count);

/// limit · tanh(value / limit).
void cap_values(Kernels kernels, float limit, float* values, std::size_t count);

// Norms of rows; see numerics/inference/norms.h. Rows are contiguous.

/// gain and bias: null, or x.cols elements.
void layer_norm_rows(Kernels kernels, MatrixView<const float> x, const float* gain,
                     const float* bias, double epsilon, MatrixView<float> out);
void rms_norm_rows(Kernels kernels, MatrixView<const float> x, const float* gain, float gain_offset,
                   double epsilon, MatrixView<float> out);

// Rotation of pairs of dimensions; see numerics/inference/rotary.h.

/// cos, sin: (x.rows, pairs).
void rotate_halves(Kernels kernels, MatrixView<float> x, const float* cos, const float* sin,
                   std::int64_t pairs, bool backward);
void rotate_neighbors(Kernels kernels, MatrixView<float> x, const float* cos, const float* sin,
                      std::int64_t pairs, bool backward);

// Sums over rows; see numerics/inference/softmax.h.

float largest_element(Kernels kernels, std::span<const float> x);

/// Σ exp(x − largest)
double sum_of_exponentials(Kernels kernels, std::span<const float> x, float largest);

/// Σ w (a − b)
double sum_of_weighted_differences(Kernels kernels, std::span<const float> w,
                                   std::span<const float> a, std::span<const float> b);

ExponentialSums float64_exponentials(Kernels kernels, std::span<const float> x, double shift);

double float64_divergence(Kernels kernels, std::span<const float> a, double log_a,
                          std::span<const float> b, double log_b);

// Weights of a linear layer, packed for products: panels of kPanel outputs.

/// Outputs of a panel. A panel holds depth * kPanel weights for `depth` inputs, in an order that
/// only the kernels know.
inline constexpr std::size_t kPanel = 48;
/// Outputs that are packed together, as they come from a file.
inline constexpr std::size_t kPanelGroup = 16;

/// Whether elements of that dtype can be packed straight from a file: F32, F16 and BF16.
bool is_packed_directly(DType dtype);

/// A part of a panel: inputs [first, first + count) of the outputs of group `group`.
struct PanelLocation {
  float* panel;
  std::size_t depth;
  std::size_t group;
  std::size_t first;
  std::size_t count;
};

/// outputs[o] points to the `count` contiguous weights of output o.
void pack_output_rows(Kernels kernels, DType dtype, const std::byte* const* outputs,
                      const PanelLocation& location);

/// The weights of one input for kPanelGroup outputs are contiguous; those of the next input follow
/// after `step` bytes.
void pack_input_rows(Kernels kernels, DType dtype, const std::byte* inputs, std::ptrdiff_t step,
                     const PanelLocation& location);

// x Wᵀ of rows with a panel of weights, and what is done with the sums.

/// A (rows, columns) matrix with contiguous rows; null data: there is none.
template <class T>
struct Lines {
  T* data = nullptr;
  std::size_t step = 0;  // from one row to the next, in elements
};

/// One block of inputs of one panel.
struct PanelProduct {
  std::size_t rows = 0;
  std::size_t columns = kPanel;  // outputs of the panel that exist
  Lines<const float> x;          // from the first input on
  const float* panel = nullptr;  // of `panel_depth` inputs
  std::size_t panel_depth = 0;
  std::size_t first = 0;  // in the panel
  std::size_t depth = 0;  // inputs
  /// (rows, kPanel). On entry the sums over earlier inputs (not if is_first); on return the sums
  /// including these inputs (not if is_last).
  float* sums = nullptr;
  bool is_first = true;
  bool is_last = true;
  /// If is_last: out = activation(sums + bias) * multiply + add. All start at the panel's first
  /// output; `multiply` and `add` may be `out`.
  const float* bias = nullptr;
  Activation activation = Activation::linear;
  Lines<const float> multiply, add;
  Lines<float> out;
};

void multiply_panel(Kernels kernels, const PanelProduct& product);

// One head of attention, a block of queries at a time.

/// Keys of a panel. Arrays over T keys have room for T rounded up to a multiple of this.
inline constexpr std::size_t kKeyPanel = 48;
/// Columns of values are padded to a multiple of this.
inline constexpr std::size_t kValueColumns = 16;

/// Packs kᵀ in panels of keys, [panel][d][key]: keys first … first + k.rows − 1, after earlier
/// keys, which must be packed already. T keys take d times T, rounded up to kKeyPanel, elements.
void pack_attention_keys(Kernels kernels, MatrixView<const float> k, std::int64_t first,
                         float* packed);

/// Packs v in panels of columns, [panel][room][column], in the same way. `room`: the largest number
/// of tokens. Takes room times d_v, rounded up to kValueColumns, elements.
void pack_attention_values(Kernels kernels, MatrixView<const float> v, std::int64_t first,
                           std::int64_t room, float* packed);

/// The columns of a block's scores, both multiples of kKeyPanel: its queries see at most keys first
/// … first + count − 1.
struct AttentionColumns {
  std::int64_t first = 0;
  std::int64_t count = 0;
};
AttentionColumns attention_columns(const AttentionMask& mask, std::int64_t first_query,
                                   std::int64_t queries, std::int64_t tokens);

/// Consecutive queries of a head, and all of its keys.
struct AttentionBlock {
  MatrixView<const float> q;  // (queries, d)
  std::int64_t first = 0;     // the first query's position
  std::int64_t tokens = 0;    // T
  const float* keys;          // both packed
  const float* values;
  std::int64_t value_room;      // `room` of the packed values
  AttentionRule rule = {};      // its bias is that of these queries
  AttentionColumns columns;     // at least the columns that its queries see
  float* scores = nullptr;      // memory for (queries, score_stride); 64-byte aligned
  std::int64_t score_stride;    // at least columns.count; a multiple of 16
  MatrixView<float> maps = {};  // (queries, T), or no data
  MatrixView<float> out = {};   // (queries, d_v)
};

/// Computes the block's rows of maps and out.
void attend_block(Kernels kernels, const AttentionBlock& block);

// The recurrence of Gated DeltaNet; see numerics/inference/delta_rule.h.

/// Columns of the state that are computed together at most: so many of 128 rows stay in the first
/// cache.
inline constexpr std::int64_t kDeltaRuleColumns = 64;

struct DeltaRule {
  MatrixView<const float> queries, keys, values;
  const float* decays;
  const float* steps;
  MatrixView<float> state, out;
  float* scratch;  // state.rows + 1 times kDeltaRuleColumns, aligned
};

void apply_delta_rule(Kernels kernels, const DeltaRule& rule);

}  // namespace attnscope::kernels
