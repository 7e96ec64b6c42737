// Position biases: terms added to attention scores depending on the positions of query and key.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "attnscope/forward/forward_pass.h"
#include "attnscope/forward/weights/tensor_reader.h"
#include "attnscope/model/layer_spec.h"

namespace attnscope {

/// Returns the ALiBi slopes (heads,), in float32. Reference: transformers, build_alibi_tensor() of
/// modeling_bloom.py and modeling_falcon.py, build_mpt_alibi_tensor() of modeling_mpt.py.
std::vector<float> alibi_slopes(const Alibi& alibi, std::int64_t heads);

/// Returns the ALiBi bias, before scaling. `place`: tokens from the query to the key, or in
/// bfloat16 the position of the key.
float alibi_bias(const Alibi& alibi, float slope, std::int64_t place);

/// Returns the row of the table for a key `distance` tokens after the query. Reference:
/// transformers, T5Attention._relative_position_bucket(), in float32.
std::int64_t bucket_of(const BucketBias& buckets, std::int64_t distance, bool causal);

/// Returns the row of the relative position embeddings for a key `distance` tokens after the query.
/// Reference: transformers, make_log_bucket_position() of modeling_deberta_v2.py, in float32.
std::int64_t disentangled_row(const DisentangledSpec& spec, std::int64_t distance);

/// Position biases of a pass. Keeps tables that layers share.
class ScoreBiases {
 public:
  /// All arguments must outlive this object.
  ScoreBiases(const ModelSpec& spec, const ForwardWeights& weights, const SequenceRows& rows,
              const Compute& compute);

  /// Prepares the tables of a layer. Must be called before of(). `input`: of its attention, (rows,
  /// D).
  void enter(std::int64_t layer, MatrixView<const float> input);

  /// Buffers of a thread, reused between heads.
  struct Scratch {
    Matrix<float> of_queries, of_keys, of_columns, bias;
  };
  /// Returns the bias of a head for a sequence (AttentionRule::bias) with queries q and keys k. No
  /// data if the layer has none. Valid until enter() or the next call with this scratch.
  MatrixView<const float> of(std::size_t sequence, std::int64_t head, MatrixView<const float> q,
                             MatrixView<const float> k, Scratch& scratch) const;

 private:
  void make_alibi(const Alibi& alibi);
  void make_buckets(const BucketBias& buckets, const std::vector<float>& table, bool causal);
  void make_gates(const BucketGateWeights& gate, MatrixView<const float> input);
  MatrixView<const float> gated(std::size_t sequence, std::int64_t head,
                                MatrixView<const float> bias, Scratch& scratch) const;
  void make_disentangled(const DisentangledSpec& spec, const LayerWeights& weights);
  void make_relative(const RelativeWaveSpec& spec, const LayerWeights& weights);
  MatrixView<const float> by_distance(std::size_t sequence, MatrixView<const float> q,
                                      Scratch& scratch) const;
  MatrixView<const float> grid(std::int64_t head, Scratch& scratch) const;
  MatrixView<const float> relative(std::size_t sequence, std::int64_t head,
                                   MatrixView<const float> q, Scratch& scratch) const;
  MatrixView<const float> between_patches(std::size_t sequence, std::int64_t head,
                                          MatrixView<const float> q, Scratch& scratch) const;
  MatrixView<const float> disentangled(std::int64_t head, MatrixView<const float> q,
                                       MatrixView<const float> k, Scratch& scratch) const;

  const ModelSpec& spec_;
  const ForwardWeights& weights_;
  const SequenceRows& rows_;
  const Compute& compute_;
  std::int64_t tokens_ = 0;  // tokens of the longest sequence
  const AttentionSpec* layer_ = nullptr;
  std::int64_t heads_ = 0;             // of the layer
  std::span<const float> grid_table_;  // of the layer, see LayerWeights
  MatrixView<const float> distance_table_;
  const Matrix<float>*row_offsets_ = nullptr, *column_offsets_ = nullptr;
  /// One row per head, indexed by distance from −(tokens − 1) on, or by key.
  Matrix<float> table_;
  std::optional<Alibi> known_alibi_;  // source of table_
  std::optional<BucketBias> known_buckets_;
  std::vector<float> known_bucket_table_;
  Matrix<float> gates_;                       // (rows, H), factors of bucket biases; empty: 1
  std::vector<std::int64_t> embedding_rows_;  // embedding row of each distance
  std::int64_t first_row_ = 0;                // first row among distances within the sequences
  Matrix<float> distances_;                   // projected embeddings of these rows
  MatrixView<const float> queries_, keys_;    // views, (rows, H d); no data: term not used
  Matrix<float> other_distances_;
  Matrix<float> waves_;                   // sinusoids of the distances, the longest first
  std::span<const float> relative_bias_;  // of the layer, see LayerWeights
};

// Reader of the position biases of a layer.

class ScoreBiasReader : TensorReader {
 public:
  using TensorReader::TensorReader;

  /// Reads attention sinks, tables of biases and relative position embeddings. Throws like
  /// TensorReader.
  void read(std::int64_t layer, LayerWeights& out);

 private:
  std::string name_of(const std::string& pattern, std::int64_t layer) const;
  std::vector<float> first_rows(const RowTable& table, std::int64_t count,
                                std::int64_t layer) const;
  BucketGateWeights read_gate(const BucketGate& gate, std::int64_t layer) const;
  Matrix<float> read_distances(const DistanceBias& distances, std::int64_t layer) const;
  std::vector<float> read_grid(const GridBias& grid, std::int64_t layer) const;
  std::vector<float> read_grid_mlp(const GridMlp& mlp, std::int64_t layer) const;
  std::shared_ptr<const Matrix<float>> read_offsets(const std::string& pattern,
                                                    std::int64_t patches, std::int64_t layer) const;
  /// Returns the grid of the patches between which the layer attends.
  PatchGrid attended_grid(std::int64_t layer) const;
  void read_disentangled(const DisentangledSpec& spec, std::int64_t layer, LayerWeights& out);
  std::vector<float> read_buckets(const AttentionSpec& spec, std::int64_t layer) const;
  void read_relative(const RelativeWaveSpec& spec, std::int64_t layer, LayerWeights& out) const;

  std::shared_ptr<const Matrix<float>> distances_;  // shared by all layers
};

}  // namespace attnscope
