// Kernels of the forward pass. Callers use the declarations in numerics/inference/*.h.
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

// Activation functions of many values, in place.

void activate_values(Kernels kernels, Activation activation, float* values, std::size_t count);

/// Replaces each value by limit · tanh(value / limit).
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

/// Returns Σ exp(x − largest).
double sum_of_exponentials(Kernels kernels, std::span<const float> x, float largest);

/// Returns Σ w (a − b).
double sum_of_weighted_differences(Kernels kernels, std::span<const float> w,
                                   std::span<const float> a, std::span<const float> b);

ExponentialSums float64_exponentials(Kernels kernels, std::span<const float> x, double shift);

double float64_divergence(Kernels kernels, std::span<const float> a, double log_a,
                          std::span<const float> b, double log_b);

// Weights of a linear layer, packed for products: panels of kPanel outputs.

/// Number of outputs of a panel. A panel contains depth * kPanel weights for `depth` inputs, in an
/// order internal to the kernels.
inline constexpr std::size_t kPanel = 48;
/// Number of outputs that are packed together when read from a file.
inline constexpr std::size_t kPanelGroup = 16;

/// Returns whether elements of this dtype can be packed directly from a file: F32, F16 and BF16.
bool is_packed_directly(DType dtype);

/// A part of a panel: inputs [first, first + count) of the outputs in group `group`.
struct PanelLocation {
  float* panel;
  std::size_t depth;
  std::size_t group;
  std::size_t first;
  std::size_t count;
};

/// Packs weights. outputs[o] points to the `count` contiguous weights of output o.
void pack_output_rows(Kernels kernels, DType dtype, const std::byte* const* outputs,
                      const PanelLocation& location);

/// Packs weights if those of one input for kPanelGroup outputs are contiguous. Those of the next
/// input follow after `step` bytes.
void pack_input_rows(Kernels kernels, DType dtype, const std::byte* inputs, std::ptrdiff_t step,
                     const PanelLocation& location);

// Products x Wᵀ of rows with a panel of weights, and the epilogue.

/// A (rows, columns) matrix with contiguous rows. Null data: no matrix.
template <class T>
struct Lines {
  T* data = nullptr;
  std::size_t step = 0;  // from one row to the next, in elements
};

/// One block of inputs of one panel.
struct PanelProduct {
  std::size_t rows = 0;
  std::size_t columns = kPanel;  // valid outputs of the panel
  Lines<const float> x;          // starting at the first input
  const float* panel = nullptr;  // with `panel_depth` inputs
  std::size_t panel_depth = 0;
  std::size_t first = 0;  // first input in the panel
  std::size_t depth = 0;  // number of inputs
  /// (rows, kPanel). On entry, the sums over earlier inputs (not if is_first). On return, the sums
  /// including these inputs (not if is_last).
  float* sums = nullptr;
  bool is_first = true;
  bool is_last = true;
  /// If is_last: out = activation(sums + bias) * multiply + add. All pointers start at the panel's
  /// first output. `multiply` and `add` may alias `out`.
  const float* bias = nullptr;
  Activation activation = Activation::linear;
  Lines<const float> multiply, add;
  Lines<float> out;
};

void multiply_panel(Kernels kernels, const PanelProduct& product);

// Attention of one head, one block of queries at a time.

/// Number of keys of a panel. Arrays over T keys have room for T rounded up to a multiple of this.
inline constexpr std::size_t kKeyPanel = 48;
/// The columns of values are padded to a multiple of this.
inline constexpr std::size_t kValueColumns = 16;

/// Packs kᵀ in panels of keys, [panel][d][key]: keys first … first + k.rows − 1. Earlier keys must
/// already be packed. T keys take d times T elements, with T rounded up to kKeyPanel.
void pack_attention_keys(Kernels kernels, MatrixView<const float> k, std::int64_t first,
                         float* packed);

/// Packs v in panels of columns, [panel][room][column], in the same way. `room`: the maximum number
/// of tokens. Takes room times d_v elements, with d_v rounded up to kValueColumns.
void pack_attention_values(Kernels kernels, MatrixView<const float> v, std::int64_t first,
                           std::int64_t room, float* packed);

/// Copies packed keys or values back to rows (T, d) or (T, d_v).
void unpack_attention_keys(Kernels kernels, const float* packed, MatrixView<float> k);
void unpack_attention_values(Kernels kernels, const float* packed, std::int64_t room,
                             MatrixView<float> v);

/// Columns of a block's scores. Both are multiples of kKeyPanel. The queries of the block attend at
/// most to keys first … first + count − 1.
struct AttentionColumns {
  std::int64_t first = 0;
  std::int64_t count = 0;
};
AttentionColumns attention_columns(const AttentionMask& mask, std::int64_t first_query,
                                   std::int64_t queries, std::int64_t tokens);

/// Consecutive queries of a head, and all of its keys.
struct AttentionBlock {
  MatrixView<const float> q;  // (queries, d)
  std::int64_t first = 0;     // position of the first query
  std::int64_t tokens = 0;    // T
  const float* keys;          // both packed
  const float* values;
  std::int64_t value_room;      // `room` of the packed values
  AttentionRule rule = {};      // its bias has one row per query of the block
  AttentionColumns columns;     // includes all keys that its queries attend to
  float* scores = nullptr;      // memory for (queries, score_stride); 64-byte aligned
  std::int64_t score_stride;    // at least columns.count; a multiple of 16
  MatrixView<float> maps = {};  // (queries, T), or no data
  MatrixView<float> out = {};   // (queries, d_v)
};

/// Computes the block's rows of maps and out.
void attend_block(Kernels kernels, const AttentionBlock& block);

// The recurrence of Gated DeltaNet and Mamba-2; see numerics/inference/delta_rule.h.

/// Maximum number of columns of the state that are computed together: with 128 rows they stay in
/// the L1 cache.
inline constexpr std::int64_t kDeltaRuleColumns = 64;

struct DeltaRule {
  MatrixView<const float> queries, keys, values;
  const float* decays;
  const float* steps;
  bool corrects = true;
  MatrixView<float> state, out;
  float* scratch;  // (state.rows + 1) * kDeltaRuleColumns, aligned
};

void apply_delta_rule(Kernels kernels, const DeltaRule& rule);

// The recurrence of Mamba; see numerics/inference/selective_scan.h.

/// Maximum number of channels that are computed together.
inline constexpr std::int64_t kScanChannels = 16;

struct SelectiveScan {
  MatrixView<const float> values, steps, inputs, outputs, rates;
  MatrixView<float> state, out;
  float* scratch;  // 2 (state.rows + 1) kScanChannels, aligned
};

void apply_selective_scan(Kernels kernels, const SelectiveScan& scan);

}  // namespace attnscope::kernels
