// A copy of a model with changed values, shapes or number of layers. It is opened in memory to be
// run, or written as a folder (features/plan/writing/checkpoint_writer.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/model/model.h"

namespace attnscope {

/// Returns the matrix in canonical orientation. Throws Error(io) if the file was truncated,
/// Error(unsupported) for a dtype without real numbers, Error(format) if the matrix is missing.
Matrix<double> canonical_matrix(const Model& model, std::int64_t layer, Role role);

/// Returns the bias of the matrix, (rows,); empty if it has none.
std::vector<double> canonical_bias(const Model& model, std::int64_t layer, Role role);

/// The new matrices of one layer, as produced by a compression method.
struct LayerMatrices {
  std::map<Role, Matrix<double>> weights;      // in canonical orientation
  std::map<Role, std::vector<double>> biases;  // for roles whose number of rows changes
};

/// Starts as an unchanged model. Copies are cheap: they share all unchanged data.
class ChangedModel {
 public:
  /// Throws Error(unsupported) unless a config.json describes the model. `dtype`: dtype of changed
  /// values; by default the dtype of the model's projections, or bf16 if that cannot be written
  /// (quantized dtypes).
  explicit ChangedModel(const Model& model, std::optional<DType> dtype = std::nullopt);

  const Model& source() const { return model_; }

  /// The dtype of changed values.
  DType dtype() const { return dtype_; }

  /// Sets a key (value as JSON) in the config.json object that contains the model's sizes. Other
  /// keys stay unchanged.
  void set_config(const std::string& key, std::string json);
  void set_config(const std::string& key, std::int64_t number);
  void drop_config(const std::string& key);
  /// Returns the value as JSON; empty if the key is missing.
  std::optional<std::string> config(const std::string& key) const;
  std::vector<std::string> config_keys() const;
  /// Returns the name of this key in the config.json of the model.
  std::string key_of(const ConfigKey& key) const;
  /// Returns the text of config.json: sorted keys, two spaces per level.
  std::string config_text() const;

  /// Adds or replaces a tensor, rounded to dtype().
  void put(const std::string& name, MatrixView<const double> matrix);
  void put(const std::string& name, std::span<const double> vector);
  /// Adds or replaces a tensor with elements from encode(); `dtype` defaults to dtype().
  void put(const std::string& name, Shape shape, std::vector<std::byte> elements,
           std::optional<DType> dtype = std::nullopt);
  /// Adds or replaces a tensor with the elements of a file of the model.
  void put(const std::string& name, const TensorView& view);
  void remove(const std::string& name) { tensors_.erase(name); }
  /// Copies the tensors that `other`, a change of the same model, has changed.
  void take(const ChangedModel& other);
  bool has(const std::string& name) const { return tensors_.contains(name); }

  /// Replaces matrices, and biases if their rows change, in the tensors that contain them. A tensor
  /// may contain several matrices, so pass all changes of a layer in one call. Throws
  /// Error(unsupported) for tensors that contain matrices of several layers.
  void set_layer(std::int64_t layer, const LayerMatrices& matrices);

  /// All tensors by name.
  const std::map<std::string, TensorView>& tensors() const { return tensors_; }

  /// Opens the changed model. It shares the files and the changed tensors.
  Model open() const;

 private:
  void set_tensor(std::int64_t layer, const WeightRule& rule, const LayerMatrices& matrices);

  Model model_;
  DType dtype_ = DType::f32;
  std::map<std::string, std::string> config_;  // the keys of the object with the sizes, as JSON
  std::map<std::string, TensorView> tensors_;
  std::vector<std::shared_ptr<const std::vector<std::byte>>>
      changed_;  // data that the views refer to
};

}  // namespace attnscope
