// A model with other numbers, other shapes or fewer layers than the files say: opened in memory to
// be run, or written as a folder (features/plan/writing/checkpoint_writer.h).
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

/// The matrix in canonical orientation. Throws Error(io) where the file was cut, Error(unsupported)
/// for a dtype that holds no real numbers, Error(format) where it is missing.
Matrix<double> canonical_matrix(const Model& model, std::int64_t layer, Role role);

/// Its bias, (rows,); empty where there is none.
std::vector<double> canonical_bias(const Model& model, std::int64_t layer, Role role);

/// What a method of compression makes of the matrices of one layer.
struct LayerMatrices {
  std::map<Role, Matrix<double>> weights;      // in canonical orientation
  std::map<Role, std::vector<double>> biases;  // of roles whose rows change
};

/// Starts as the model is. Copies are cheap: they share what they do not change.
class ChangedModel {
 public:
  /// The model must be one that a config.json describes; else throws Error(unsupported). `dtype`
  /// is what numbers that change are rounded to: where none is given that of the model's
  /// projections; of one that cannot be written (quantised ones), bf16.
  explicit ChangedModel(const Model& model, std::optional<DType> dtype = std::nullopt);

  const Model& source() const { return model_; }

  /// Of numbers that change.
  DType dtype() const { return dtype_; }

  /// The value of a key, as JSON, in place of what config.json says, in the object that holds the
  /// model's sizes. Other keys stay as they are.
  void set_config(const std::string& key, std::string json);
  void set_config(const std::string& key, std::int64_t number);
  void drop_config(const std::string& key);
  /// The value as JSON; nothing where there is none.
  std::optional<std::string> config(const std::string& key) const;
  std::vector<std::string> config_keys() const;
  /// The name by which this file, or a new one, says a number of the architecture.
  std::string key_of(const ConfigKey& key) const;
  /// The text of the config.json: keys sorted, two spaces a level.
  std::string config_text() const;

  /// A tensor, new or in place of another, rounded to dtype().
  void put(const std::string& name, MatrixView<const double> matrix);
  void put(const std::string& name, std::span<const double> vector);
  /// Elements that encode() made, for dtype() where none is given.
  void put(const std::string& name, Shape shape, std::vector<std::byte> elements,
           std::optional<DType> dtype = std::nullopt);
  /// The elements of a file of the model under this name.
  void put(const std::string& name, const TensorView& view);
  void remove(const std::string& name) { tensors_.erase(name); }
  /// Tensors that another change of a model of the same files gave other elements.
  void take(const ChangedModel& other);
  bool has(const std::string& name) const { return tensors_.contains(name); }

  /// Replaces matrices, with biases where their rows change, in the tensors that hold them, which
  /// may hold others too: all changes of one layer come in one call. Throws Error(unsupported) for
  /// tensors that hold those of several layers.
  void set_layer(std::int64_t layer, const LayerMatrices& matrices);

  /// By name.
  const std::map<std::string, TensorView>& tensors() const { return tensors_; }

  /// The changed model. Shares the files and what was changed.
  Model open() const;

 private:
  void set_tensor(std::int64_t layer, const WeightRule& rule, const LayerMatrices& matrices);

  Model model_;
  DType dtype_ = DType::f32;
  std::map<std::string, std::string> config_;  // the keys of the object with the sizes, as JSON
  std::map<std::string, TensorView> tensors_;
  std::vector<std::shared_ptr<const std::vector<std::byte>>> changed_;  // what views point into
};

}  // namespace attnscope
