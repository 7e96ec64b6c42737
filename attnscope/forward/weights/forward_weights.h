// Weights of a forward pass: located in a checkpoint, checked, and laid out for products.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/model/model.h"
#include "attnscope/numerics/compute.h"
#include "attnscope/numerics/inference/linear.h"

namespace attnscope {

/// Linear layer y = x Wᵀ + bias. Layers that share weights share these objects.
struct LinearLayer {
  LinearWeights weights;
  std::vector<float> bias;  // empty: no bias
};
using SharedLinear = std::shared_ptr<const LinearLayer>;  // null: there is no such layer

struct NormWeights {
  NormSpec spec;
  std::vector<float> gain, bias;  // empty if the norm has none
};
using OptionalNorm = std::optional<NormWeights>;

/// Mean and scale of a norm for one row: out = (x − mean) / scale.
struct NormedRow {
  double mean = 0;  // 0 if the norm does not center
  double scale = 1;
};
NormedRow normed_row(const NormSpec& norm, std::span<const float> row);

/// Returns the factors of the norm, (n,): its gains plus their offset. Empty if it has none.
std::vector<double> gains_of(const NormWeights& norm);

/// A table in a file. Rows are decoded when they are looked up.
struct RowTable {
  const Checkpoint* checkpoint = nullptr;
  const CheckpointTensor* tensor = nullptr;  // null: there is no such table
  std::int64_t rows = 0, cols = 0;
  std::int64_t first_col = 0;  // first column within the tensor

  /// Reads a row (cols,). Throws Error(io) if a remote file cannot be read.
  void read(std::int64_t row, std::span<float> out) const;
  void check_intact() const { checkpoint->check_intact(*tensor); }
};

/// Token embedding that is added to a layer's values (daisy).
struct ValueEmbedding {
  float of_value = 1, of_table = 0;
  RowTable table;
};

/// Layer input that is not only the residual stream (daisy).
struct LayerInput {
  std::optional<std::int64_t> skip_from;
  float skip = 0, of_stream = 1, of_embedding = 0;
};

/// Per-layer input of each token (Gemma 4).
struct PerLayerInputWeights {
  std::int64_t width = 0;  // P
  RowTable table;
  SharedLinear projection, gate, up;
  OptionalNorm projection_norm, norm;
};

/// AltUp of a layer, see AltUpRule.
struct AltUpWeights {
  NormWeights router_norm;          // its gains are divided by D
  SharedLinear router;              // (A, D)
  SharedLinear predict;             // (A A, A): for each stream, the coefficients of all streams
  SharedLinear correct;             // (A, A)
  std::vector<float> active_scale;  // (D,), see AltUpRule::scaled; empty: 1
};

/// Patch merging after a layer, see PatchMergingRule.
struct PatchMergingWeights {
  SharedLinear projection;
  NormWeights norm;
  bool norm_last = false;
};

/// LAuReL of a layer, see LaurelRule.
struct LaurelWeights {
  SharedLinear left, right;
  NormWeights norm;
};

/// Weights of an MoE layer. Expert matrices stay in the files until they run.
struct ExpertWeights {
  const Model* model = nullptr;
  SharedLinear router;
  std::vector<float> choice_bias;                    // empty: no bias
  SharedLinear shared_gate, shared_up, shared_down;  // null: there are no shared experts
  SharedLinear shared_weight;                        // null: weight 1
  std::vector<float> factors;                        // factor of each expert's weight; empty: 1
  SharedLinear latent_down, latent_up;               // null: experts read D dimensions
  OptionalNorm router_norm, input_norm, output_norm, shared_norm;  // see ExpertNorms
};

/// Convolution added to the output of DeBERTa's layer 0.
struct ConvolutionWeights {
  std::int64_t kernel = 1;
  SharedLinear taps;  // (D, D · kernel): for each input, all taps
  OptionalNorm norm;
  Activation activation = Activation::linear;
};

/// MLA projections of a layer.
struct MlaWeights {
  SharedLinear query;  // (H d, D); null with a query latent
  SharedLinear query_down, query_up;
  SharedLinear kv_down, kv_up;
  OptionalNorm query_norm;  // norm of the query latent
  NormWeights kv_norm;
};

/// Weights of a layer's indexer: see IndexerRule.
struct IndexerWeights {
  SharedLinear query;    // (H d, query rank), with the indexer's H and d
  SharedLinear key;      // (d, D)
  SharedLinear weights;  // (H, D)
  NormWeights key_norm;
};

/// Cross-attention of a decoder layer, between its self-attention and MLP. Queries come from the
/// residual stream, keys and values from the encoder output.
struct CrossWeights {
  OptionalNorm input, sum;
  SharedLinear query, output;
  SharedLinear keys_and_values;  // rows of K, then of V: (G d + G d_v, D)
  TensorMatrix stored_output;    // matrix of `output` in the files
  HeadShape heads;
  float scale = 1;
};

/// A product of two matrices that is added to a projection.
struct AdapterWeights {
  SharedLinear down, up;
};

/// See SharedBlockRule.
struct SharedBlockWeights {
  SharedLinear projection;
  NormWeights mixer_norm;
  std::vector<AdapterWeights> qkv;  // of W_Q, W_K and W_V; empty: none
  SharedLinear mlp_down;            // (r, D)
  SharedLinear gate_up, up_up;      // (F, r)
};

/// See BucketGate.
struct BucketGateWeights {
  Matrix<float> rows;          // (2, d): sums of the rows for a and for b
  std::vector<float> bias;     // (2,)
  std::vector<float> factors;  // (H,)
};

/// See ConformerRule.
struct ConformerWeights {
  OptionalNorm first_norm, norm, inner_norm;
  SharedLinear first_up, first_down;  // (F, D), (D, F)
  SharedLinear expand, project;       // (2 D, D), (D, D)
  Matrix<float> taps;                 // (D, kernel)
};

struct MixerWeights;  // mixer_weights.h

struct LayerWeights {
  OptionalNorm attention_input, attention_output, attention_sum;
  OptionalNorm mlp_input, mlp_output, mlp_sum;
  OptionalNorm attention_heads, mlp_hidden;
  OptionalNorm query_norm, key_norm, value_norm;
  /// Rows of Q, K and V: (H d + G d + G d_v, D), or of Q only. Null with MLA.
  SharedLinear qkv;
  std::optional<MlaWeights> mla;
  std::optional<IndexerWeights> indexer;
  std::shared_ptr<const MixerWeights> mixer;  // null: none
  std::optional<SharedBlockWeights> block;    // attention and MLP feed the mixer
  SharedLinear attention_gate;                // null: no gate
  std::optional<CrossWeights> cross;          // empty: the model has no encoder
  SharedLinear output;                        // of the attention; null: no attention
  SharedLinear gate, up, down;                // null: no such matrix
  std::optional<ExpertWeights> experts;       // replaces gate, up and down
  std::optional<ValueEmbedding> value_embedding;
  std::optional<LayerInput> input;
  std::optional<ConvolutionWeights> convolution;
  std::optional<PerLayerInputWeights> own_input;
  std::optional<AltUpWeights> altup;
  std::optional<LaurelWeights> laurel;
  std::optional<ConformerWeights> conformer;
  std::optional<PatchMergingWeights> merging;
  float output_factor = 1;
  std::vector<float> attention_factors, mlp_factors;  // (D,), factors of their outputs; empty: 1
  std::vector<float> sinks;                           // (H,); empty: none
  std::vector<float> bucket_table;                    // (buckets, H), row-major; empty: none
  std::optional<BucketGateWeights> bucket_gate;
  Matrix<float> distance_table;  // of DistanceBias; empty: none
  std::vector<float> grid_table;                      // of GridBias, row-major; empty: none
  std::vector<float> cosine_scales;                   // (H,), factors of scores; empty: 1
  std::shared_ptr<const Matrix<float>> row_offsets, column_offsets;  // of AxisBiases; null: none
  std::shared_ptr<const Matrix<float>> distances;     // of relative positions, (2 span, D)
  SharedLinear distance_query, distance_key;          // null: projections of tokens are shared
  SharedLinear relative_key;                          // of RelativeWaveRule, (H d, D); null: none
  std::vector<float> relative_bias;  // its position_bias minus its content_bias, (H d,)
};

/// Weights of the patch embedding.
struct PatchWeights {
  SharedLinear projection;  // (D, channels p p)
  Matrix<float> before;     // (B, D): tokens before the patches, with positions
  Matrix<float> positions;  // (n, D), for the default image size; empty: none
};

struct AudioLayerWeights {
  SharedLinear taps;  // (out, in kernel)
  OptionalNorm norm;
};

/// Weights of the audio embedding.
struct AudioWeights {
  std::vector<AudioLayerWeights> convolutions;
  OptionalNorm projection_norm;
  SharedLinear projection;                       // null: no projection
  Matrix<float> position_convolution;            // (D, D / groups kernel)
  std::vector<float> position_convolution_bias;  // (D,)
  Matrix<float> positions;                       // (n, D); empty: none
};

/// Attention pooling: a learned query attends to a sequence's last states.
struct PoolingAttention {
  std::int64_t heads = 1;
  Matrix<float> query;            // (1, D), projected
  SharedLinear key_value;         // (2 D, D)
  SharedLinear output, up, down;  // (D, D), (F, D), (D, F)
  NormWeights norm;
  Activation activation = Activation::linear;
};

/// Pooled head: see Pooling.
struct PooledHead {
  SharedLinear weight, second;  // null: no projection; no second layer
  OptionalNorm norm;            // of the pooled row
  std::optional<PoolingAttention> attention;
};

struct HeadWeights {
  SharedLinear dense;  // masked-language models only
  OptionalNorm norm;
  SharedLinear vocabulary;  // (V, E)
  RowTable rows;            // the same matrix, read row by row
};

/// Head of a classifier: see LabelHeadRule.
struct LabelHeadWeights {
  LabelTask task = LabelTask::sequence;
  LabelPooling pooling = LabelPooling::first;
  SharedLinear dense;  // null: no such step
  Activation activation = Activation::linear;
  OptionalNorm norm;
  SharedLinear weight;  // (labels, E); for spans, two rows: first and last token
  RowTable rows;        // the same matrix, read row by row
};

/// All weights of a forward pass. The model must outlive them.
struct ForwardWeights {
  const Checkpoint* checkpoint = nullptr;
  RowTable tokens, positions, types;
  std::vector<RowTable> added;          // row 0 of each is added
  std::vector<RowTable> joined;         // row 0 of all, side by side, is added
  std::optional<PatchWeights> patches;  // replaces tokens
  std::optional<AudioWeights> audio;    // replaces tokens
  OptionalNorm embedding_norm;
  SharedLinear projection, last_projection;
  SharedLinear source_projection;  // of the encoder output; null: none
  /// Projections of the streams after the first, before and after all layers; empty: one stream.
  std::vector<SharedLinear> streams, last_streams;
  std::vector<LayerWeights> layers;
  OptionalNorm last_norm;
  std::optional<HeadWeights> head;
  std::string no_head;  // reason for missing logits; empty: has logits
  std::optional<PooledHead> pooled;
  std::optional<LabelHeadWeights> labels;
  std::string
      no_labels;  // reason for missing labels of a classifier; empty: has labels, or is none

  /// Reads norms and biases. `copy_weights`: copies float32 projections to memory, which then need
  /// no decoding. `cross`: the cross-attention stack of a decoder, else null. Throws
  /// Error(unsupported) if the pass cannot be computed. Throws Error(format) with the first tensor
  /// that is missing or has another shape.
  static ForwardWeights read(const Model& model, bool copy_weights, const Compute& compute,
                             const Model* cross = nullptr);
};

/// Returns the memory of ForwardWeights::read() with copied weights in bytes, without the files.
std::uint64_t forward_weights_bytes(const Model& model);

}  // namespace attnscope
