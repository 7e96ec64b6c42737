#include "attnscope/forward/pooled_head.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "attnscope/forward/forward_pass.h"
#include "attnscope/forward/layer_run.h"
#include "attnscope/forward/matrix_buffers.h"
#include "attnscope/numerics/inference/attention.h"

namespace attnscope {
namespace {

/// Reads an attention pooling. Reference: PyTorch, MultiheadAttention; transformers,
/// SiglipMultiheadAttentionPoolingHead.
PoolingAttention read_attention(const TensorReader& reader, const std::string& name) {
  const Model& model = reader.model();
  const std::int64_t width = model.dimensions().width, wide = model.dimensions().mlp_width;
  const CheckpointTensor& in =
      reader.need(model.find(name + ".attention.in_proj_weight", Shape{3 * width, width}));
  const std::vector<float> bias =
      reader.values(reader.need(model.find(name + ".attention.in_proj_bias", Shape{3 * width})));
  const auto rows = [&](std::int64_t first, std::int64_t count) {
    TensorMatrix matrix = whole_matrix(in.view);
    matrix.first = matrix.row_start(first);
    matrix.rows = matrix.block_rows = count;
    return reader.make_linear({std::move(matrix)},
                              {bias.begin() + first, bias.begin() + first + count},
                              /*copied=*/false);
  };
  NormSpec norm = *model.spec().layers.front().attention_input;
  norm.tensor = name + ".layernorm";
  PoolingAttention out{.heads = model.dimensions().heads.heads,
                       .key_value = rows(width, 2 * width),
                       .output = reader.linear(name + ".attention.out_proj.weight", width, width),
                       .up = reader.linear(name + ".mlp.fc1.weight", wide, width),
                       .down = reader.linear(name + ".mlp.fc2.weight", width, wide),
                       .norm = *reader.norm(norm, std::nullopt, width),
                       .activation = model.spec().layers.front().activation};
  const Matrix<float> probe =
      reader.rows_of_width(reader.need(model.find(name + ".probe", Shape{1, 1, width})), width);
  out.query = Matrix<float>(1, width);
  apply(*rows(0, width), probe.view(), {}, out.query.view(), reader.compute());
  return out;
}

Matrix<float> attend_to(const PoolingAttention& head, MatrixView<const float> states,
                        const Compute& compute) {
  const std::int64_t width = states.cols, dim = width / head.heads;
  Matrix<float> key_value(states.rows, 2 * width), seen(1, width), out(1, width), normed(1, width);
  apply(*head.key_value, states, {}, key_value.view(), compute);
  AttentionScratch scratch;
  const AttentionRule rule{
      .scale = static_cast<float>(1 / std::sqrt(static_cast<double>(dim))),
      .mask = {.keys_before = AttentionMask::kAll, .keys_after = AttentionMask::kAll}};
  for (std::int64_t at = 0; at < head.heads; ++at) {
    attend(head.query.view().col_block(at * dim, dim), key_value.view().col_block(at * dim, dim),
           key_value.view().col_block(width + at * dim, dim), rule, {},
           seen.view().col_block(at * dim, dim), scratch, compute);
  }
  apply(*head.output, seen.view(), {}, out.view(), compute);
  apply_norm(head.norm, out.view(), normed.view(), compute);
  Matrix<float> wide(1, head.up->weights.outputs());
  apply(*head.up, normed.view(), {.activation = head.activation}, wide.view(), compute);
  apply(*head.down, wide.view(), {.add = out.view()}, out.view(), compute);
  return out;
}

Matrix<float> copy_of_row(MatrixView<const float> rows, std::int64_t row) {
  Matrix<float> out(1, rows.cols);
  std::copy_n(&rows(row, 0), rows.cols, out.data());
  return out;
}

Matrix<float> side_by_side(const Matrix<float>& left, const Matrix<float>& right) {
  Matrix<float> out(1, left.cols() + right.cols());
  std::copy_n(right.data(), right.cols(), std::copy_n(left.data(), left.cols(), out.data()));
  return out;
}

/// Returns the position of the first end-of-text token. Old files name id 2 in their config; for
/// them, the position of the largest id. Reference: transformers, CLIPTextModel.
std::int64_t end_of_text(std::optional<std::int64_t> end, std::span<const std::int64_t> tokens) {
  constexpr std::int64_t kOld = 2;
  const auto found = !end || *end == kOld ? std::max_element(tokens.begin(), tokens.end())
                                          : std::find(tokens.begin(), tokens.end(), *end);
  return found == tokens.end() ? 0 : found - tokens.begin();  // like argmax of zeros
}

}  // namespace

std::optional<PooledHead> read_pooled_head(const TensorReader& reader) {
  const Model& model = reader.model();
  const HeadRule& rule = model.spec().head.rule;
  PooledHead out;
  if (rule.pooling == Pooling::attention) {
    const std::string place = model.prefix() + rule.attention;
    if (model.find(place + ".probe").tensor == nullptr) return std::nullopt;
    out.attention = read_attention(reader, place);
    return out;
  }
  if (rule.weight.empty()) return out;
  const std::int64_t width = model.dimensions().width;
  const bool wide =
      rule.pooling == Pooling::first_and_mean || rule.pooling == Pooling::first_and_patches;
  const auto linear = [&](std::span<const std::string> names) -> SharedLinear {
    const CheckpointTensor* found = model.checkpoint().find_first(names);
    if (found == nullptr || found->view.shape.size() != 2) return nullptr;
    return reader.linear(found->name, found->view.shape.front(), wide ? 2 * width : width);
  };
  out.weight = linear(rule.weight);
  if (out.weight == nullptr) return std::nullopt;
  if (rule.pooling == Pooling::patches) {
    out.norm = reader.norm(model.spec().head.norm, std::nullopt, width);
  }
  if (!rule.second.empty()) {
    out.second = linear({&rule.second, 1});
    if (out.second == nullptr || out.second->weights.outputs() != out.weight->weights.outputs()) {
      reader.refuse("'" + rule.second + "' is missing or has the wrong shape", std::nullopt);
    }
  }
  return out;
}

std::int64_t ForwardPass::pooled_width() const {
  if (!weights_.pooled) return 0;
  const SharedLinear& weight = weights_.pooled->weight;
  return weight == nullptr ? model_.dimensions().width : weight->weights.outputs();
}

std::vector<float> ForwardPass::pooled(MatrixView<const float> states,
                                       std::span<const std::int64_t> tokens,
                                       const Compute& compute) const {
  if (!weights_.pooled) throw std::logic_error("the model has no pooled head");
  const PooledHead& head = *weights_.pooled;
  const HeadSpec& spec = model_.spec().head;
  const std::int64_t before = weights_.patches ? weights_.patches->before.rows() : 0;
  const auto rest = [&](std::int64_t first) {
    return mean_row(states.row_block(first, states.rows - first));
  };
  Matrix<float> row;
  switch (spec.rule.pooling) {
    case Pooling::none: throw std::logic_error("a pooled head without a pooling method");
    case Pooling::first:
    case Pooling::first_two: row = copy_of_row(states, 0); break;
    case Pooling::first_and_mean: row = side_by_side(copy_of_row(states, 0), rest(1)); break;
    case Pooling::first_and_patches:
      row = side_by_side(copy_of_row(states, 0), rest(before));
      break;
    case Pooling::patches: row = rest(before); break;
    case Pooling::attention: row = attend_to(*head.attention, states, compute); break;
    case Pooling::last: row = copy_of_row(states, states.rows - 1); break;
    case Pooling::end_token: row = copy_of_row(states, end_of_text(spec.end_token, tokens)); break;
  }
  if (head.norm) apply_norm(*head.norm, row.view(), row.view(), compute);
  if (head.weight != nullptr) {
    Matrix<float> out(1, head.weight->weights.outputs());
    apply(*head.weight, row.view(), {}, out.view(), compute);
    row = std::move(out);
  }
  if (head.second != nullptr) {
    apply(*head.second, copy_of_row(states, 1).view(), {.add = row.view()}, row.view(), compute);
    for (std::int64_t col = 0; col < row.cols(); ++col) row(0, col) /= 2;
  }
  return {row.data(), row.data() + row.cols()};
}

}  // namespace attnscope
