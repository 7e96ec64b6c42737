// What a forward pass reads of a checkpoint: located, checked, and laid out for products.
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

/// y = x Wᵀ + bias. Layers that share weights share these.
struct LinearLayer {
  LinearWeights weights;
  std::vector<float> bias;  // empty where there is none
};
using SharedLinear = std::shared_ptr<const LinearLayer>;  // null: there is no such layer

struct NormWeights {
  NormSpec spec;
  std::vector<float> gain, bias;  // empty where the norm has none
};
using OptionalNorm = std::optional<NormWeights>;

/// What a norm takes off a row, and divides it by.
struct NormedRow {
  double mean = 0;  // 0 of a norm that takes out none
  double scale = 1;
};
NormedRow normed_row(const NormSpec& norm, std::span<const float> row);

/// What the norm multiplies by, (n,): its gains and their offset. Empty where it has none.
std::vector<double> gains_of(const NormWeights& norm);

/// A table of rows of a file, which are decoded when they are looked up.
struct RowTable {
  const Checkpoint* checkpoint = nullptr;
  const CheckpointTensor* tensor = nullptr;  // null: there is no such table
  std::int64_t rows = 0, cols = 0;
  std::int64_t first_col = 0;  // of the tensor

  /// (cols,). Throws Error(io) where the file is elsewhere and cannot be read.
  void read(std::int64_t row, std::span<float> out) const;
  void check_intact() const { checkpoint->check_intact(*tensor); }
};

/// What is added to a layer's values of each token (daisy).
struct ValueEmbedding {
  float of_value = 1, of_table = 0;
  RowTable table;
};

/// What enters a layer where that is not just the stream (daisy).
struct LayerInput {
  std::optional<std::int64_t> skip_from;
  float skip = 0, of_stream = 1, of_embedding = 0;
};

/// What a layer gets of each token beside the stream (Gemma 4).
struct PerLayerInputWeights {
  std::int64_t width = 0;  // P
  RowTable table;
  SharedLinear projection, gate, up;
  OptionalNorm projection_norm, norm;
};

/// Of a layer with experts, whose own matrices stay in the files until they run.
struct ExpertWeights {
  const Model* model = nullptr;
  SharedLinear router;
  std::vector<float> choice_bias;                    // empty: there is none
  SharedLinear shared_gate, shared_up, shared_down;  // null: there are no shared experts
  SharedLinear shared_weight;                        // null: they count in full
  std::vector<float> factors;                        // of the weight of each expert; empty: 1
  OptionalNorm router_norm, input_norm, output_norm, shared_norm;  // see ExpertNorms
};

/// What is added to the output of DeBERTa's layer 0.
struct ConvolutionWeights {
  std::int64_t kernel = 1;
  SharedLinear taps;  // (D, D kernel): of each input its values at all places, one after the other
  OptionalNorm norm;
  Activation activation = Activation::linear;
};

/// How a layer's queries, keys and values are made of latents.
struct MlaWeights {
  SharedLinear query;  // (H d, D), or null where queries have a latent
  SharedLinear query_down, query_up;
  SharedLinear kv_down, kv_up;
  OptionalNorm query_norm;  // of the latents
  NormWeights kv_norm;
};

/// Of a layer that selects keys itself: see IndexerRule.
struct IndexerWeights {
  SharedLinear query;    // (H d, rank of the latent of queries), H and d the indexer's
  SharedLinear key;      // (d, D)
  SharedLinear weights;  // (H, D)
  NormWeights key_norm;
};

/// Of a decoder's layer: its attention to what the encoder gives, between its own and the MLP.
/// Queries are made of the stream, keys and values of that.
struct CrossWeights {
  OptionalNorm input, sum;
  SharedLinear query, output;
  SharedLinear keys_and_values;  // rows of K, then of V: (G d + G d_v, D)
  TensorMatrix stored_output;    // the matrix of `output` in the files
  HeadShape heads;
  float scale = 1;
};

struct MixerWeights;  // mixer_weights.h

struct LayerWeights {
  OptionalNorm attention_input, attention_output, attention_sum;
  OptionalNorm mlp_input, mlp_output, mlp_sum;
  OptionalNorm query_norm, key_norm, value_norm;
  /// Rows of Q, of K, of V: (H d + G d + G d_v, D), or of Q alone; null where there are latents.
  SharedLinear qkv;
  std::optional<MlaWeights> mla;
  std::optional<IndexerWeights> indexer;
  std::shared_ptr<const MixerWeights> mixer;  // in place of all attention; null: the layer attends
  SharedLinear attention_gate;                // null: none
  std::optional<CrossWeights> cross;          // none: the model has no encoder
  SharedLinear output, gate, up, down;
  std::optional<ExpertWeights> experts;  // in place of gate, up and down
  std::optional<ValueEmbedding> value_embedding;
  std::optional<LayerInput> input;
  std::optional<ConvolutionWeights> convolution;
  std::optional<PerLayerInputWeights> own_input;
  float output_factor = 1;
  std::vector<float> attention_factors, mlp_factors;  // (D,) of what they add; empty: 1
  std::vector<float> sinks;                           // (H,); empty: none
  std::vector<float> bucket_table;                    // (buckets, H), row by row; empty: none
  std::shared_ptr<const Matrix<float>> distances;     // embeddings, (2 span, D); null: none
  SharedLinear distance_query, distance_key;          // unless those of tokens make theirs
};

/// How an image becomes rows of the stream.
struct PatchWeights {
  SharedLinear projection;  // (D, channels p p)
  Matrix<float> before;     // (B, D): what stands before the patches, its positions added
  Matrix<float> positions;  // (n, D), of the patches of an image of the usual size; empty: none
};

struct AudioLayerWeights {
  SharedLinear taps;  // (out, in kernel)
  OptionalNorm norm;
};

/// How sound becomes rows of the stream.
struct AudioWeights {
  std::vector<AudioLayerWeights> convolutions;
  OptionalNorm projection_norm;
  SharedLinear projection;                       // null: there is none
  Matrix<float> position_convolution;            // (D, D / groups kernel)
  std::vector<float> position_convolution_bias;  // (D,)
  Matrix<float> positions;                       // (n, D); empty: none
};

/// Of a learned query, which sees a sequence's last states.
struct PoolingAttention {
  std::int64_t heads = 1;
  Matrix<float> query;            // (1, D), projected
  SharedLinear key_value;         // (2 D, D)
  SharedLinear output, up, down;  // (D, D), (F, D), (D, F)
  NormWeights norm;
  Activation activation = Activation::linear;
};

/// What reads a sequence as a whole: see Pooling.
struct PooledHead {
  SharedLinear weight, second;  // null: what was pooled is given as it is, there is no second row
  std::optional<PoolingAttention> attention;
};

struct HeadWeights {
  SharedLinear dense;  // of masked-language models
  OptionalNorm norm;
  SharedLinear vocabulary;  // (V, E)
  RowTable rows;            // the same, row by row
};

/// Views into the model, which must outlive it.
struct ForwardWeights {
  const Checkpoint* checkpoint = nullptr;
  RowTable tokens, positions, types;
  std::optional<PatchWeights> patches;  // in place of tokens
  std::optional<AudioWeights> audio;    // likewise
  OptionalNorm embedding_norm;
  SharedLinear projection, last_projection;
  std::vector<LayerWeights> layers;
  OptionalNorm last_norm;
  std::optional<HeadWeights> head;
  std::string no_head;  // why there are no logits; empty where there are
  std::optional<PooledHead> pooled;

  /// Reads norms and biases. Projections of float32 are laid out in memory where `copy_weights`
  /// allows it, and need no decoding then. Throws Error(unsupported) where the pass cannot be
  /// computed, Error(format) that names the first tensor that is missing or has another shape.
  /// `cross`: of a decoder, the attention of its layers to what an encoder gives; else null.
  static ForwardWeights read(const Model& model, bool copy_weights, const Compute& compute,
                             const Model* cross = nullptr);
};

/// What ForwardWeights::read() takes in memory beside the files where it copies weights, in bytes.
std::uint64_t forward_weights_bytes(const Model& model);

}  // namespace attnscope
