#include "attnscope/engine/item_inputs.h"

#include <utility>

#include "attnscope/rows/lossless_json.h"

namespace attnscope {

TensorMatrix as_row(const CheckpointTensor& tensor, std::int64_t size) {
  return {.tensor = tensor.view,
          .rows = 1,
          .cols = size,
          .row_stride = size,
          .col_stride = tensor.view.stride(0),
          .block_rows = 1,
          .block_stride = size};
}

ItemInputs& ItemInputs::add(std::string name, Value value) {
  facts_.add(std::move(name), std::move(value));
  return *this;
}

ItemInputs& ItemInputs::add_matrix(const Checkpoint& checkpoint, const CheckpointTensor& tensor,
                                   const TensorMatrix& matrix) {
  const auto bits = static_cast<std::uint64_t>(dtype_info(matrix.tensor.dtype).bits);
  std::uint64_t size = static_cast<std::uint64_t>(matrix.rows * matrix.cols) * bits / 8;
  std::vector<std::span<const std::byte>> bytes = byte_ranges(matrix);
  if (matrix.tensor.source != nullptr) {
    size = 0;
    for (const auto part : bytes) size += part.size();
  }
  reads_.push_back({.checkpoint = &checkpoint,
                    .tensor = &tensor,
                    .bytes = std::move(bytes),
                    .element_bytes = size,
                    .geometry = {{"dtype", storage_text(tensor.view)},
                                 {"rows", matrix.rows},
                                 {"cols", matrix.cols},
                                 {"first", matrix.first},
                                 {"row_stride", matrix.row_stride},
                                 {"col_stride", matrix.col_stride},
                                 {"block_rows", matrix.block_rows},
                                 {"block_stride", matrix.block_stride},
                                 {"not_analysed", why_not_analyzed(checkpoint, tensor)}}});
  return *this;
}

ItemInputs& ItemInputs::add_weight(const Model& model, std::int64_t layer, Role role) {
  const Weight& weight = model.weight(layer, role);
  if (weight.tensor == nullptr) return add_missing(weight.missing);
  return add_matrix(model.checkpoint(), *weight.tensor, weight.matrix);
}

ItemInputs& ItemInputs::add_role(const Model& model, std::int64_t layer, Role role) {
  bool of_queries = false, of_keys = false;
  for (const Role part : model.parts_of(role)) {
    add_weight(model, layer, part);
    of_queries = of_queries || (part == Role::query_down && part != role);
    of_keys = of_keys || (part == Role::kv_down && part != role);
  }
  if ((!of_queries && !of_keys) || model.spec().layers.empty()) return *this;
  const MlaSpec& norms = *model.spec().layers[static_cast<std::size_t>(layer)].attention.mla;
  const MlaRanks& ranks = *model.dimensions().mla;
  const auto add_norm = [&](const char* name, const NormSpec& norm, std::int64_t rank) {
    add_gain(model, name, model.norm_gain(norm, layer, {rank}), norm.gain_offset, rank);
  };
  if (of_queries) add_norm("query_latent", *norms.query_norm, ranks.query);
  if (of_keys) add_norm("kv_latent", norms.norm, ranks.key_value);
  const auto [norm, gain] = model.input_norm(layer);  // the RMS of MLA latents depends on it
  return add_gain(model, "input_norm", gain, norm ? norm->gain_offset : 0.0,
                  model.dimensions().width);
}

ItemInputs& ItemInputs::add_gain(const Model& model, const std::string& name, const Site& gain,
                                 double offset, std::int64_t size) {
  add_missing(gain.missing);
  add(name, gain.tensor != nullptr).add(name + "_offset", offset);
  if (gain.tensor == nullptr) return *this;
  return add_matrix(model.checkpoint(), *gain.tensor, as_row(*gain.tensor, size));
}

ItemInputs& ItemInputs::add_expert(const Model& model, std::int64_t layer, std::int64_t expert,
                                   Role role) {
  const Weight weight = model.expert_weight(layer, expert, role);
  if (weight.tensor == nullptr) return add_missing(weight.missing);
  return add_matrix(model.checkpoint(), *weight.tensor, weight.matrix);
}

ItemInputs& ItemInputs::add_missing(const std::string& missing) {
  missing_ += missing;
  return *this;
}

ItemInputs& ItemInputs::add_shape(const Model& model, std::int64_t layer) {
  const HeadShape& shape = model.dimensions(layer).heads;
  return add("heads", shape.heads)
      .add("kv_heads", shape.kv_heads)
      .add("head_dim", shape.head_dim)
      .add("value_dim", shape.value_dim)
      .add("width", model.dimensions().width);
}

std::string ItemInputs::identity() const {
  std::string text = missing_ + record_text(facts_);
  for (const Read& read : reads_) {
    text +=
        std::to_string(reinterpret_cast<std::uintptr_t>(read.tensor)) + record_text(read.geometry);
  }
  return text;
}

std::uint64_t ItemInputs::bytes_read() const {
  std::uint64_t total = 0;
  for (const Read& read : reads_) total += read.element_bytes;
  return total;
}

}  // namespace attnscope
