// Translators of a tuned lens (Belrose et al. 2023). They are in the format of the Python package
// tuned-lens: a folder with config.json and params.pt.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "attnscope/base/matrix_view.h"
#include "attnscope/model/model.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

class Checkpoint;
struct CheckpointTensor;

class TunedLens {
 public:
  /// Reads the folder's files. Throws Error(io), and Error(format) for another format.
  explicit TunedLens(const std::filesystem::path& folder);
  ~TunedLens();
  TunedLens(TunedLens&&) noexcept;

  /// Throws Error(usage) with the parameter `tuned_lens` if the lens is for a model with another
  /// width or number of layers.
  void check_fits(const Model& model) const;

  /// Returns state + W state + b with the translator of the layer that reads the states: (rows, D).
  Matrix<float> translated(std::int64_t layer, MatrixView<const float> states,
                           const Compute& compute) const;

 private:
  const CheckpointTensor& tensor(std::int64_t layer, const char* name) const;
  [[noreturn]] void refuse(const std::string& problem) const;

  std::filesystem::path folder_;
  std::unique_ptr<Checkpoint> checkpoint_;
  std::int64_t width_ = 0, layers_ = 0;
  bool bias_ = true;
};

}  // namespace attnscope
