#include "attnscope/features/common/changed_model.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/strict_json.h"
#include "attnscope/tensor/decode.h"
#include "attnscope/tensor/encode.h"

namespace attnscope {
namespace {

constexpr const char* kNested = "text_config";

/// Returns the object of config.json that contains the model's sizes.
nlohmann::json& sizes_of(nlohmann::json& config, const ModelSpec& spec) {
  const ConfigKey& layers = spec.architecture.keys.layers;
  const bool at_top = config.contains(layers.name) || config.contains(layers.other_name);
  const bool nested = !at_top && config.contains(kNested) && config[kNested].is_object();
  return nested ? config[kNested] : config;
}

[[noreturn]] void refuse_change(const Model& model, const std::string& problem) {
  throw Error(ErrorKind::unsupported, {.file = model.spec().source, .problem = problem});
}

/// One part of a fused tensor: its rows, and its number of rows per run.
struct FusedPart {
  Matrix<double> matrix;
  std::int64_t rows_of_run = 0;
};

/// Interleaves the rows of all parts in the order of the tensor's output axis.
Matrix<double> fused(const std::vector<FusedPart>& parts, std::int64_t runs) {
  std::int64_t rows = 0;
  for (const FusedPart& part : parts) rows += part.matrix.rows();
  Matrix<double> out(rows, parts.front().matrix.cols());
  std::int64_t row = 0;
  for (std::int64_t run = 0; run < runs; ++run) {
    for (const FusedPart& part : parts) {
      for (std::int64_t at = 0; at < part.rows_of_run; ++at, ++row) {
        std::copy_n(&part.matrix(run * part.rows_of_run + at, 0), out.cols(), &out(row, 0));
      }
    }
  }
  return out;
}

Matrix<double> column_of(const std::vector<double>& values) {
  Matrix<double> out(std::ssize(values), 1);
  std::copy(values.begin(), values.end(), out.data());
  return out;
}

std::int64_t runs_of(const WeightRule& rule, const HeadShape& heads, std::int64_t rows) {
  switch (rule.groups) {
    case kPerKvHead: return heads.kv_heads;
    case kPerHead: return heads.heads;
    case kPerRow: return rows;
    default: return rule.groups;
  }
}

const Weight& present(const Model& model, std::int64_t layer, Role role) {
  const Weight& weight = model.weight(layer, role);
  if (weight.tensor != nullptr) return weight;
  throw Error(ErrorKind::format, {.file = model.checkpoint().main_file().string(),
                                  .layer = layer,
                                  .problem = verbatim(weight.missing)});
}

/// The dtype of the first projection; bf16 if that dtype cannot be written.
DType dtype_of_projections(const Model& model) {
  for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
    for (const Role role : kProjections) {
      const CheckpointTensor* tensor = model.weight(layer, role).tensor;
      if (tensor == nullptr) continue;
      return plain_dtype(tensor->view).value_or(DType::bf16);
    }
  }
  return DType::f32;
}

}  // namespace

Matrix<double> canonical_matrix(const Model& model, std::int64_t layer, Role role) {
  const Weight& weight = present(model, layer, role);
  const Checkpoint& checkpoint = model.checkpoint();
  if (const auto reason = why_not_analyzed(checkpoint, *weight.tensor)) {
    throw Error(ErrorKind::unsupported, checkpoint.parts_of(*weight.tensor, *reason));
  }
  checkpoint.need(byte_ranges(weight.matrix));
  Matrix<double> out = decode<double>(weight.matrix);
  checkpoint.check_intact(*weight.tensor);
  return out;
}

std::vector<double> canonical_bias(const Model& model, std::int64_t layer, Role role) {
  const Weight& weight = present(model, layer, role);
  if (weight.bias == nullptr) return {};
  model.checkpoint().need(byte_ranges(weight.bias_column));
  const Matrix<double> column = decode<double>(weight.bias_column);
  model.checkpoint().check_intact(*weight.bias);
  return {column.data(), column.data() + column.rows()};
}

ChangedModel::ChangedModel(const Model& model, std::optional<DType> dtype) : model_(model) {
  const ModelSpec& spec = model_.spec();
  nlohmann::json config = parse_python_json(spec.text, spec.source);
  if (!config.is_object() || config.contains("schema")) {
    refuse_change(model, "is described by a layout, and such models cannot be changed");
  }
  const bool decodes = model.stack() == "encoder" || model.stack() == "decoder";
  if (!model.stack().empty() && !decodes) {
    refuse_change(model, "only the encoder and decoder of this model can be changed");
  }
  for (const auto& [key, value] : sizes_of(config, spec).items())
    config_[key] = python_json_text(value);
  for (const CheckpointTensor& tensor : model.checkpoint().tensors()) {
    tensors_.emplace(tensor.name, tensor.view);
  }
  dtype_ = dtype.value_or(dtype_of_projections(model));
}

void ChangedModel::set_config(const std::string& key, std::string json) {
  config_[key] = std::move(json);
}

void ChangedModel::set_config(const std::string& key, std::int64_t number) {
  config_[key] = std::to_string(number);
}

void ChangedModel::drop_config(const std::string& key) { config_.erase(key); }

std::optional<std::string> ChangedModel::config(const std::string& key) const {
  const auto found = config_.find(key);
  return found == config_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> ChangedModel::config_keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : config_) keys.push_back(key);
  return keys;
}

std::string ChangedModel::key_of(const ConfigKey& key) const {
  return config_.contains(key.other_name) ? key.other_name : key.name;
}

std::string ChangedModel::config_text() const {
  const ModelSpec& spec = model_.spec();
  nlohmann::json config = parse_python_json(spec.text, spec.source);
  nlohmann::json& sizes = sizes_of(config, spec);
  sizes = nlohmann::json::object();
  for (const auto& [key, value] : config_) sizes[key] = parse_python_json(value, spec.source);
  config.erase("quantization_config");
  return python_json_text(config, 2) + "\n";
}

void ChangedModel::put(const std::string& name, Shape shape, std::vector<std::byte> elements,
                       std::optional<DType> dtype) {
  auto bytes = std::make_shared<const std::vector<std::byte>>(std::move(elements));
  changed_.push_back(bytes);
  tensors_[name] =
      TensorView{.dtype = dtype.value_or(dtype_), .shape = std::move(shape), .bytes = *bytes};
}

void ChangedModel::put(const std::string& name, MatrixView<const double> matrix) {
  Matrix<double> copy(matrix.rows, matrix.cols);
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (std::int64_t col = 0; col < matrix.cols; ++col) copy(row, col) = matrix(row, col);
  }
  const std::span values(copy.data(), static_cast<std::size_t>(matrix.rows * matrix.cols));
  put(name, {matrix.rows, matrix.cols}, encode(values, dtype_));
}

void ChangedModel::put(const std::string& name, std::span<const double> vector) {
  put(name, {std::ssize(vector)}, encode(vector, dtype_));
}

void ChangedModel::put(const std::string& name, const TensorView& view) { tensors_[name] = view; }

void ChangedModel::take(const ChangedModel& other) {
  changed_.insert(changed_.end(), other.changed_.begin(), other.changed_.end());
  for (const auto& [name, view] : other.tensors_) {
    const CheckpointTensor* own = model_.checkpoint().find(name);
    if (own == nullptr || own->view.bytes.data() != view.bytes.data()) tensors_[name] = view;
  }
}

void ChangedModel::set_tensor(std::int64_t layer, const WeightRule& rule,
                              const LayerMatrices& matrices) {
  if (rule.index)
    refuse_change(model_, "keeps several matrices in slices of '" + rule.tensor + "'");
  if (rule.own_bias) refuse_change(model_, "keeps the biases of '" + rule.tensor + "' apart");
  const std::vector<Role> roles = rule.fused.empty() ? std::vector{rule.role} : rule.fused;
  const Weight& weight = present(model_, layer, rule.role);
  std::vector<FusedPart> parts, biases;
  for (const Role role : roles) {
    const auto changed = matrices.weights.find(role);
    FusedPart part{.matrix = canonical_matrix(model_, layer, role)};
    const std::int64_t before = part.matrix.rows();
    if (changed != matrices.weights.end()) {
      part.matrix = Matrix<double>(changed->second.rows(), changed->second.cols());
      std::copy_n(changed->second.data(), part.matrix.rows() * part.matrix.cols(),
                  part.matrix.data());
    }
    const std::int64_t runs =
        rule.fused.empty() ? 1 : runs_of(rule, model_.dimensions(layer).heads, before);
    part.rows_of_run = part.matrix.rows() / runs;
    if (weight.bias != nullptr) {
      const auto own = matrices.biases.find(role);
      FusedPart bias{.matrix = column_of(own != matrices.biases.end()
                                             ? own->second
                                             : canonical_bias(model_, layer, role))};
      bias.rows_of_run = part.rows_of_run;
      biases.push_back(std::move(bias));
    }
    parts.push_back(std::move(part));
  }
  const std::int64_t runs = parts.front().matrix.rows() / parts.front().rows_of_run;
  const Matrix<double> whole = fused(parts, runs);
  const bool transposed = rule.storage == Storage::in_by_out && !weight.tensor->is_linear;
  put(weight.tensor->name, transposed ? whole.view().transposed() : whole.view());
  if (weight.bias == nullptr) return;
  const Matrix<double> bias = fused(biases, runs);
  put(weight.bias->name, std::span(bias.data(), static_cast<std::size_t>(bias.rows())));
}

void ChangedModel::set_layer(std::int64_t layer, const LayerMatrices& matrices) {
  std::set<std::string> done;
  for (const WeightRule& rule : model_.spec().architecture.weights) {
    if (!matrices.weights.contains(rule.role)) continue;
    const std::string& name = present(model_, layer, rule.role).tensor->name;
    if (done.insert(name).second) set_tensor(layer, rule, matrices);
  }
}

Model ChangedModel::open() const {
  using Owner = std::pair<std::shared_ptr<const Checkpoint>,
                          std::vector<std::shared_ptr<const std::vector<std::byte>>>>;
  TensorsInMemory memory{
      .name = model_.name(),
      .tensors = {},
      .owner = std::make_shared<const Owner>(model_.shared_checkpoint(), changed_),
      .config = config_text(),
      .tokenizer = std::nullopt};
  for (const auto& [name, view] : tensors_) memory.tensors.push_back({name, view});
  const std::string stack = model_.stack().empty() ? "" : ":" + model_.stack();
  const std::string name = model_.name();
  return Model::open_stack(
      Checkpoint::in_memory(std::move(memory)),
      name.ends_with(stack) ? name.substr(0, name.size() - stack.size()) : name, model_.stack());
}

}  // namespace attnscope
