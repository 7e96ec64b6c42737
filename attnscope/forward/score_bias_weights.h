// What a layer's scores are biased by, as a forward pass reads it of a checkpoint.
#pragma once

#include <memory>

#include "attnscope/forward/tensor_reader.h"

namespace attnscope {

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
