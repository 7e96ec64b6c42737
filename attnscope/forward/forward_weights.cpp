#include "attnscope/forward/forward_weights.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "attnscope/core/error.h"
#include "attnscope/forward/score_bias_weights.h"
#include "attnscope/forward/tensor_reader.h"
#include "attnscope/model/bias_names.h"
#include "attnscope/tensor/decode.h"

namespace attnscope {
namespace {

constexpr std::string_view kHeadMark = "{head}";

class Reader : TensorReader {
 public:
  Reader(const Model& model, bool copy_weights, const Compute& compute)
      : TensorReader(model, copy_weights, compute), score_biases_(model, copy_weights, compute) {}

  ForwardWeights read() {
    if (!spec_.not_run.empty()) {
      throw Error(ErrorKind::unsupported, {.file = spec_.source, .problem = spec_.not_run});
    }
    const bool describes_mlp = model_.describes(Role::up) || model_.describes(Role::down) ||
                               model_.describes_of_expert(Role::up);
    if (spec_.architecture.has_mlp && !describes_mlp) {
      throw Error(ErrorKind::format, {.file = spec_.source,
                                      .problem = "describes no MLP",
                                      .hint = "say \"mlp\": false of layers that have none"});
    }
    ForwardWeights out;
    read_stream(out);
    for (std::int64_t layer = 0; layer < spec_.dimensions.layers; ++layer) {
      compute_.check_stop();
      out.layers.push_back(read_layer(layer));
    }
    out.last_norm = norm(spec_.stream.last_norm, 0, spec_.dimensions.width);
    read_head(out);
    return out;
  }

 private:
  /// Of projections stacked by rows. Null where the architecture has none of them.
  SharedLinear projections(std::int64_t layer, std::span<const Role> roles) {
    if (!model_.describes(roles.front())) {
      if (roles.front() == Role::gate) return nullptr;  // most MLPs have none
      refuse(model_.weight(layer, roles.front()).missing, layer);
    }
    std::vector<const CheckpointTensor*> key;
    for (const Role role : roles) key.push_back(model_.weight(layer, role).tensor);
    key.push_back(nullptr);
    for (const Role role : roles) key.push_back(model_.weight(layer, role).bias);
    auto& shared = shared_[{key, roles.front()}];
    if (shared != nullptr) return shared;

    std::vector<TensorMatrix> parts;
    std::vector<float> bias;
    for (const Role role : roles) {
      const Weight& weight = model_.weight(layer, role);
      if (weight.tensor == nullptr) refuse(weight.missing, layer);
      check_dtype(*weight.tensor);
      parts.push_back(weight.matrix);
      const auto rows = static_cast<std::size_t>(weight.matrix.rows);
      const std::size_t before = bias.size();
      if (weight.bias != nullptr) {
        check_dtype(*weight.bias);
        const std::vector<float> own = values(weight.bias_column);
        bias.insert(bias.end(), own.begin(), own.end());
      } else {
        require_none(layer, role, weight);
        bias.resize(before + rows, 0.0F);
      }
    }
    if (std::all_of(roles.begin(), roles.end(),
                    [&](Role role) { return model_.weight(layer, role).bias == nullptr; })) {
      bias.clear();
    }
    const bool copied = copies(parts);
    shared = make_linear(std::move(parts), std::move(bias), copied);
    for (const Role role : roles) {
      const CheckpointTensor& tensor = *model_.weight(layer, role).tensor;
      model_.checkpoint().check_intact(tensor);
      if (copied) model_.checkpoint().release(tensor);
    }
    return shared;
  }

  /// A layer whose architecture has biases is not computed without them.
  void require_none(std::int64_t layer, Role role, const Weight& weight) const {
    const auto& biased = spec_.layers[static_cast<std::size_t>(layer)].biased;
    if (std::find(biased.begin(), biased.end(), role) == biased.end()) return;
    const std::string& name = weight.tensor->name;
    refuse("the bias of '" + name + "' is missing", layer);
  }

  /// The norm of a layer's queries or keys: gains of all heads, one after another, where each head
  /// has its own.
  OptionalNorm head_norm(std::int64_t layer, Role role) const {
    const AttentionSpec& spec = spec_.layers[static_cast<std::size_t>(layer)].attention;
    const std::optional<NormSpec>& of = role == Role::query ? spec.query_norm : spec.key_norm;
    const HeadShape& heads = spec_.dimensions.heads;
    if (spec.norm_axis == HeadNormAxis::head) return norm(of, layer, heads.head_dim);
    if (spec.norm_axis == HeadNormAxis::all_heads) return norm(of, layer, heads.total_dim(role));
    if (!of) return std::nullopt;
    const auto mark = of->tensor.find(kHeadMark);
    if (mark == std::string::npos) {
      return norm_of_shape(*of, layer, {heads.count(role), heads.head_dim});
    }
    NormWeights all{.spec = *of};
    for (std::int64_t head = 0; head < heads.count(role); ++head) {
      NormSpec own = *of;
      own.tensor.replace(mark, kHeadMark.size(), std::to_string(head));
      const OptionalNorm found = norm(own, layer, heads.head_dim);
      all.gain.insert(all.gain.end(), found->gain.begin(), found->gain.end());
      all.bias.insert(all.bias.end(), found->bias.begin(), found->bias.end());
    }
    return all;
  }

  /// Their own matrices are only located: each must be there.
  ExpertWeights read_experts_of(std::int64_t layer, const ExpertSpec& spec) {
    for (std::int64_t expert = 0; expert < spec_.dimensions.experts; ++expert) {
      compute_.check_stop();
      for (const Role role : {Role::gate, Role::up, Role::down}) {
        if (role == Role::gate && !model_.describes_of_expert(role)) continue;
        const Weight weight = model_.expert_weight(layer, expert, role);
        if (weight.tensor == nullptr) refuse(weight.missing, layer);
        check_dtype(*weight.tensor);
        if (weight.bias == nullptr) require_none(layer, role, weight);
      }
    }
    const auto one = [&](Role role) { return projections(layer, std::span(&role, 1)); };
    ExpertWeights out{.model = &model_, .router = one(Role::router)};
    const Dimensions& dimensions = spec_.dimensions;
    if (!spec.choice_bias.empty()) out.choice_bias = choice_bias(layer, spec);
    if (dimensions.shared_width == 0) return out;
    if (model_.describes(Role::shared_gate)) out.shared_gate = one(Role::shared_gate);
    out.shared_up = one(Role::shared_up);
    out.shared_down = one(Role::shared_down);
    if (!spec.shared_weight.empty()) {
      out.shared_weight = linear(name_in(layer, spec.shared_weight), 1, dimensions.width);
    }
    return out;
  }

  LatentWeights read_latent_weights(std::int64_t layer, const LatentSpec& spec) {
    const LatentRanks& ranks = *spec_.dimensions.latent;
    const auto one = [&](Role role) { return projections(layer, std::span(&role, 1)); };
    LatentWeights out{.kv_down = one(Role::kv_down),
                      .kv_up = one(Role::kv_up),
                      .query_norm = norm(spec.query_norm, layer, ranks.query),
                      .kv_norm = norm_of_shape(spec.norm, layer, {ranks.key_value})};
    if (ranks.query == 0) {
      out.query = one(Role::query);
    } else {
      out.query_down = one(Role::query_down);
      out.query_up = one(Role::query_up);
    }
    return out;
  }

  std::string name_in(std::int64_t layer, const std::string& pattern) const {
    return model_.prefix() + fill_pattern(pattern, layer_numbers(spec_.dimensions, layer));
  }

  /// Of any shape with as many values as there are experts: Ernie's is (1, E).
  std::vector<float> choice_bias(std::int64_t layer, const ExpertSpec& spec) const {
    std::vector<std::string> names;
    for (const std::string& pattern : spec.choice_bias) names.push_back(name_in(layer, pattern));
    const CheckpointTensor* found = model_.checkpoint().find_first(names);
    const CheckpointTensor& tensor =
        need(model_.find(found == nullptr ? names.front() : found->name), layer);
    const std::int64_t experts = spec_.dimensions.experts;
    if (tensor.view.element_count() != experts) {
      refuse("'" + tensor.name + "' has " + std::to_string(tensor.view.element_count()) +
                 " values for " + std::to_string(experts) + " experts",
             layer);
    }
    return values(tensor);
  }

  LayerWeights read_layer(std::int64_t layer) {
    const LayerSpec& spec = spec_.layers[static_cast<std::size_t>(layer)];
    const auto own = [&](const std::optional<NormSpec>& of) {
      return norm(of, layer, spec_.dimensions.width);
    };
    LayerWeights out{
        .attention_input = own(spec.attention_input),
        .attention_output = own(spec.attention_output),
        .attention_sum = own(spec.attention_sum),
        .mlp_input = own(spec.mlp_input),
        .mlp_output = own(spec.mlp_output),
        .mlp_sum = own(spec.mlp_sum),
        .query_norm = head_norm(layer, Role::query),
        .key_norm = head_norm(layer, Role::key),
        .value_norm = norm(spec.attention.value_norm, layer, spec_.dimensions.heads.value_dim)};
    if (spec.attention.latent) {
      out.latent = read_latent_weights(layer, *spec.attention.latent);
    } else {
      constexpr std::array kQkv = {Role::query, Role::key, Role::value};
      out.qkv = projections(layer, kQkv);
    }
    const auto one = [&](Role role) { return projections(layer, std::span(&role, 1)); };
    out.output = one(Role::output);
    if (spec.experts) {
      out.experts = read_experts_of(layer, *spec.experts);
    } else if (spec_.architecture.has_mlp) {
      out.gate = one(Role::gate);
      out.up = one(Role::up);
      out.down = one(Role::down);
    }
    if (spec.attention.value_embedding) {
      const ValueEmbeddingSpec& value = *spec.attention.value_embedding;
      out.value_embedding =
          ValueEmbedding{.of_value = scalar(value.of_value),
                         .of_table = scalar(value.of_table),
                         .table = table_under_prefix(value.table, spec_.dimensions.width)};
      const RowTable& table = out.value_embedding->table;
      if (table.tensor != nullptr && table.rows < tokens_) {
        refuse("'" + table.tensor->name + "' has fewer rows than there are tokens", layer);
      }
    }
    if (spec.input) {
      out.input = LayerInput{.skip_from = spec.input->skip_from,
                             .skip = scalar(spec.input->skip),
                             .of_stream = scalar(spec.input->of_stream),
                             .of_embedding = scalar(spec.input->of_embedding)};
    }
    score_biases_.read(layer, out);
    if (spec.convolution) out.convolution = read_convolution(*spec.convolution, layer);
    return out;
  }

  ConvolutionWeights read_convolution(const ConvolutionSpec& spec, std::int64_t layer) const {
    const std::int64_t width = spec_.dimensions.width;
    const std::string name = model_.prefix() + spec.tensor;
    const CheckpointTensor& tensor =
        need(model_.find(name, Shape{width, width, spec.kernel}), layer);
    TensorMatrix taps{.tensor = tensor.view,
                      .rows = width,
                      .cols = width * spec.kernel,
                      .row_stride = tensor.view.stride(0),
                      .col_stride = tensor.view.stride(2),
                      .block_rows = width};
    if (tensor.view.stride(1) != spec.kernel * taps.col_stride) {
      refuse("'" + name + "' is not stored row by row", layer);
    }
    const CheckpointTensor* bias = model_.checkpoint().find_first(bias_names(name));
    std::vector<float> of_outputs;
    if (bias != nullptr) of_outputs = values(need(model_.find(bias->name, Shape{width}), layer));
    return {.kernel = spec.kernel,
            .taps = make_linear({std::move(taps)}, std::move(of_outputs), /*copied=*/false),
            .norm = norm(spec.norm, layer, width),
            .activation = spec.activation};
  }

  void read_stream(ForwardWeights& out) {
    const StreamSpec& stream = spec_.stream;
    const EmbeddingRule& rule = stream.embedding;
    const std::int64_t width = spec_.dimensions.width, own_width = stream.embedding_width;
    // OPT's positions are added after the projection, ALBERT's before it.
    const std::int64_t sum_width = rule.projects_tokens ? width : own_width;
    if (rule.tokens.empty()) {
      throw Error(ErrorKind::unsupported,
                  {.file = spec_.source, .problem = "does not say which tensor is the embedding"});
    }
    out.tokens = token_table(own_width);
    if (out.tokens.rows == 0) {
      refuse("'" + out.tokens.tensor->name + "' has no rows", std::nullopt);
    }
    tokens_ = out.tokens.rows;
    out.positions = table_under_prefix(rule.positions, sum_width);
    out.types = table_under_prefix(rule.types, sum_width);
    if (out.types.tensor != nullptr && out.types.rows == 0) {
      refuse("'" + out.types.tensor->name + "' has no rows", std::nullopt);
    }
    const std::int64_t normed = rule.norms_projected && stream.has_projection ? width : sum_width;
    out.embedding_norm = norm(stream.embedding_norm, 0, normed);
    if (!stream.has_projection) return;
    out.projection = linear(model_.prefix() + rule.projection, width, own_width);
    if (!rule.last_projection.empty()) {
      out.last_projection = linear(model_.prefix() + rule.last_projection, own_width, width);
    }
  }

  /// Where only the output head is stored and both are tied, it is the embedding too.
  RowTable token_table(std::int64_t width) const {
    const std::string name = model_.prefix() + spec_.stream.embedding.tokens;
    if (model_.checkpoint().find(name) != nullptr || !spec_.tied) return table(name, width);
    const CheckpointTensor* head = model_.checkpoint().find_first(spec_.head.rule.weight);
    return table(head == nullptr ? name : head->name, width);
  }

  /// What a masked-language model has before its vocabulary, or the reason why it is not there.
  std::string head_transform(HeadWeights& head, std::int64_t width) {
    const HeadRule& rule = spec_.head.rule;
    if (rule.dense.empty()) {
      head.norm = norm(spec_.head.norm, std::nullopt, width);
      return "";
    }
    std::string name = rule.dense;
    NormSpec norm_spec = *spec_.head.norm;
    if (model_.find(name).tensor == nullptr && !rule.other_dense.empty() &&
        model_.find(rule.other_dense).tensor != nullptr) {
      name = rule.other_dense;
      norm_spec.tensor = rule.other_norm;
    }
    const Site dense = model_.find(name);
    if (dense.tensor == nullptr) return dense.missing;
    const std::int64_t outputs = spec_.stream.embedding_width;
    head.dense = linear(name, outputs, width);
    const Site gain = model_.norm_gain(norm_spec, std::nullopt, {outputs});
    if (gain.tensor == nullptr) return gain.missing;
    head.norm = norm(norm_spec, std::nullopt, outputs);
    return "";
  }

  void read_head(ForwardWeights& out) {
    const HeadRule& rule = spec_.head.rule;
    const CheckpointTensor* weight = model_.checkpoint().find_first(rule.weight);
    if (weight == nullptr && spec_.tied) weight = out.tokens.tensor;
    HeadWeights head;
    if (weight == nullptr && rule.needed && !rule.weight.empty()) {
      out.no_head = model_.find(rule.weight.front()).missing;
    } else if (weight == nullptr) {
      out.no_head = "the files hold no output head, and none is tied to the embedding";
    } else {
      out.no_head = head_transform(head, spec_.dimensions.width);
    }
    if (!out.no_head.empty()) return;

    // With OPT's last projection, the head reads E numbers; with ALBERT's transform, too.
    const bool narrow = head.dense != nullptr || out.last_projection != nullptr;
    const std::int64_t inputs = narrow ? spec_.stream.embedding_width : spec_.dimensions.width;
    const RowTable rows = table(weight->name, inputs);
    check_dtype(*weight);
    if (rows.rows == 0) {
      out.no_head = "'" + weight->name + "' has no rows";
      return;
    }
    TensorMatrix matrix = whole_matrix(weight->view);
    // Some heads are padded to more rows than there are tokens.
    matrix.rows = std::min(rows.rows, spec_.dimensions.vocabulary.value_or(rows.rows));
    matrix.block_rows = matrix.rows;
    // Few passes want logits: the head is decoded where they do.
    auto bias = head_bias(matrix.rows, out.no_head);
    if (!out.no_head.empty()) return;
    head.vocabulary = make_linear({matrix}, std::move(bias), /*copied=*/false);
    out.head = std::move(head);
  }

  /// `missing`: set to the reason where one is needed and not there.
  std::vector<float> head_bias(std::int64_t rows, std::string& missing) const {
    const HeadRule& rule = spec_.head.rule;
    if (const CheckpointTensor* bias = model_.checkpoint().find_first(rule.bias)) {
      return values(need(model_.find(bias->name, Shape{rows})));
    }
    if (rule.needs_bias) missing = model_.find(rule.bias.back()).missing;
    return {};
  }

  ScoreBiasReader score_biases_;
  std::int64_t tokens_ = 0;  // that the embedding has rows for
  std::map<std::pair<std::vector<const CheckpointTensor*>, Role>, SharedLinear> shared_;
};

}  // namespace

void RowTable::read(std::int64_t row, std::span<float> out) const {
  TensorMatrix matrix = whole_matrix(tensor->view);
  matrix.first = matrix.row_start(row);
  matrix.rows = 1;
  checkpoint->need(byte_ranges(matrix));
  decode_block<float>(matrix, 0, 0, {out.data(), 1, cols, cols, 1});
}

ForwardWeights ForwardWeights::read(const Model& model, bool copy_weights, const Compute& compute) {
  return Reader(model, copy_weights, compute).read();
}

std::uint64_t forward_weights_bytes(const Model& model) {
  std::map<std::pair<const CheckpointTensor*, Role>, std::uint64_t> bytes_of;  // shared ones once
  for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
    for (const Role role : kProjections) {
      const Weight& weight = model.weight(layer, role);
      if (weight.tensor == nullptr) continue;
      const DType dtype = weight.tensor->view.dtype;
      if (dtype != DType::f32 && dtype != DType::f64) continue;
      bytes_of[{weight.tensor, role}] =
          static_cast<std::uint64_t>(weight.matrix.rows * weight.matrix.cols) * sizeof(float);
    }
  }
  std::uint64_t total = 0;
  for (const auto& [tensor, bytes] : bytes_of) total += bytes;
  return total;
}

}  // namespace attnscope
