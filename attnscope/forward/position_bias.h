// What is added to the scores of a layer's heads by the places of query and key.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "attnscope/forward/forward_pass.h"
#include "attnscope/forward/weights/tensor_reader.h"
#include "attnscope/model/layer_spec.h"

namespace attnscope {

/// (heads,), in float32. Source: transformers, build_alibi_tensor() of modeling_bloom.py and
/// modeling_falcon.py, build_mpt_alibi_tensor() of modeling_mpt.py.
std::vector<float> alibi_slopes(const Alibi& alibi, std::int64_t heads);

/// What is added for a key `place` tokens after the query or, in bfloat16, at that place; then it
/// is still to be scaled.
float alibi_bias(const Alibi& alibi, float slope, std::int64_t place);

/// The row of the table for a key so many tokens after the query. Source: transformers,
/// T5Attention._relative_position_bucket(), in float32.
std::int64_t bucket_of(const BucketBias& buckets, std::int64_t distance, bool causal);

/// The row of the distances' embeddings for a key so many tokens after the query. Source:
/// transformers, make_log_bucket_position() of modeling_deberta_v2.py, in float32.
std::int64_t disentangled_row(const DisentangledSpec& spec, std::int64_t distance);

/// Keeps what layers have in common from one to the next.
class ScoreBiases {
 public:
  /// All must outlive it.
  ScoreBiases(const ModelSpec& spec, const ForwardWeights& weights, const SequenceRows& rows,
              const Compute& compute);

  /// Computes what the heads of a layer share, before of() is asked for them.
  void enter(std::int64_t layer);

  /// A thread's memory, reused from one head to the next.
  struct Scratch {
    Matrix<float> of_queries, of_keys, bias;
  };
  /// The bias of a head of a sequence (AttentionRule::bias), whose queries and keys are q and k;
  /// no data where the layer has none. Valid until enter() or the next call with that scratch.
  MatrixView<const float> of(std::size_t sequence, std::int64_t head, MatrixView<const float> q,
                             MatrixView<const float> k, Scratch& scratch) const;

 private:
  void make_alibi(const Alibi& alibi);
  void make_buckets(const BucketBias& buckets, const std::vector<float>& table, bool causal);
  void make_disentangled(const DisentangledSpec& spec, const LayerWeights& weights);
  MatrixView<const float> disentangled(std::int64_t head, MatrixView<const float> q,
                                       MatrixView<const float> k, Scratch& scratch) const;

  const ModelSpec& spec_;
  const ForwardWeights& weights_;
  const SequenceRows& rows_;
  const Compute& compute_;
  std::int64_t tokens_ = 0;  // of the longest sequence
  const AttentionSpec* layer_ = nullptr;
  /// Of each head: by distance from −(tokens − 1) on, or by key.
  Matrix<float> table_;
  std::optional<Alibi> known_alibi_;  // what table_ was made of
  std::optional<BucketBias> known_buckets_;
  std::vector<float> known_bucket_table_;
  std::vector<std::int64_t> embedding_rows_;  // of each distance
  std::int64_t first_row_ = 0;                // of those of distances within the sequences
  Matrix<float> distances_;                   // what linear layers make of their embeddings
  MatrixView<const float> queries_, keys_;    // in these, (rows, H d); no data: the term is not
  Matrix<float> other_distances_;
};

// What a layer's scores are biased by, as a forward pass reads it of a checkpoint.

class ScoreBiasReader : TensorReader {
 public:
  using TensorReader::TensorReader;

  /// Sinks, buckets' table and embeddings of distances. Throws as TensorReader does.
  void read(std::int64_t layer, LayerWeights& out);

 private:
  std::string name_of(const std::string& pattern, std::int64_t layer) const;
  std::vector<float> first_rows(const RowTable& table, std::int64_t count,
                                std::int64_t layer) const;
  void read_disentangled(const DisentangledSpec& spec, std::int64_t layer, LayerWeights& out);

  std::shared_ptr<const Matrix<float>> distances_;  // which all layers share
};

}  // namespace attnscope
