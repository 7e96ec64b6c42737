#include "attnscope/model/layout/suggested_layout.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/strict_json.h"
#include "attnscope/base/text.h"
#include "attnscope/model/config/parse_config.h"
#include "attnscope/model/layout/layout_file.h"
#include "attnscope/model/layout/layout_writer.h"
#include "attnscope/model/layout/suggested_keys.h"
#include "attnscope/model/layout/suggested_templates.h"
#include "attnscope/model/model.h"
#include "attnscope/model/summary.h"
#include "attnscope/tensor/tensor_matrix.h"

namespace attnscope {
namespace {

using nlohmann::json;

constexpr const char* kWhere = "config.json";

/// "tensors 'a', 'b' and 3 more".
std::string listed(const std::vector<std::string>& names, const char* one, const char* many) {
  constexpr std::size_t kShown = 5;
  std::vector<std::string> shown;
  for (const std::string& name : names) {
    if (shown.size() < kShown) shown.push_back("'" + name + "'");
  }
  const std::string rest =
      names.size() > kShown ? " and " + std::to_string(names.size() - kShown) + " more" : "";
  return std::string(names.size() == 1 ? one : many) + " " + join(shown) + rest;
}

TensorMatrix row_of(const TensorView& vector) {
  const std::int64_t size = vector.element_count();
  return {.tensor = vector,
          .rows = 1,
          .cols = size,
          .row_stride = size,
          .col_stride = vector.stride(0),
          .block_rows = 1};
}

enum class Direction { unknown, one_way, bidirectional };

/// What the class names in a config imply: language models are causal, masked-language models
/// bidirectional.
Direction direction_of(const json& config) {
  std::string classes;
  if (const auto found = config.find("architectures"); found != config.end()) {
    classes += found->dump(-1, ' ', true);
  }
  if (const auto found = config.find("auto_map"); found != config.end() && found->is_object()) {
    for (const auto& [name, value] : found->items()) classes += " " + name;
  }
  const auto names = [&](const char* use) { return classes.find(use) != std::string::npos; };
  const bool one_way = names("ForCausalLM") || names("LMHeadModel");
  const bool bidirectional = names("ForMaskedLM");
  if (one_way == bidirectional) return Direction::unknown;
  return one_way ? Direction::one_way : Direction::bidirectional;
}

class Offer {
 public:
  Offer(std::shared_ptr<const Checkpoint> checkpoint, OfferTemplate fitting, const json& whole,
        std::string_view text)
      : checkpoint_(std::move(checkpoint)), fitting_(std::move(fitting)), text_(text) {
    doubts_ = fitting_.doubts;
    const auto nested = whole.find("text_config");
    config_ = nested != whole.end() && nested->is_object() ? *nested : whole;
    if (config_ != whole) doubt("it is part of a multimodal model");
    for (std::string& open : use_usual_names(fitting_, config_)) doubt(std::move(open));
    take_sizes();
    set_direction();
    if (whole.contains("model_type") && whole["model_type"].is_string()) {
      fitting_.architecture.name = printable(whole["model_type"].get<std::string>());
    }
  }

  LayoutOffer make() {
    std::set<std::string> asked;
    const ModelSpec spec = spec_by(fitting_.architecture, config_, config_, text_, kWhere, &asked);
    const Model model(checkpoint_, spec, "offer");
    inspect_config(spec, asked);
    inspect_tensors(model);
    if (doubts_.empty()) {
      const std::string written =
          layout_of_forward(spec, config_["hidden_act"].get<std::string>()).dump(2);
      if (computes_the_same(spec, parse_layout(written, "layout"))) {
        return {.text = written + "\n", .like = fitting_.like};
      }
      doubt("a layout file cannot express the settings of this config");
    }
    const std::string written = layout_of_weights(spec).dump(2);
    parse_layout(written, "layout");  // the suggested layout must be readable
    return {.text = written + "\n", .like = fitting_.like, .doubts = std::move(doubts_)};
  }

 private:
  void doubt(std::string why) { doubts_.push_back(std::move(why)); }

  bool is(const char* key) const { return config_.value(key, json()) == true; }
  bool says(const char* key) const {
    const auto found = config_.find(key);
    return found != config_.end() && !found->is_null();
  }

  /// Derives the head sizes from the shapes of Llama's projections, if the config omits them.
  void take_sizes() {
    const json heads = config_.value("num_attention_heads", json());
    if (fitting_.like != "Llama" || !heads.is_number_unsigned() || heads == 0) return;
    const std::string place = fitting_.architecture.prefixes.front() + "layers.0.self_attn.";
    const auto rows = [&](const char* name) -> std::int64_t {
      const CheckpointTensor* found = checkpoint_->find(place + name);
      return found == nullptr || found->view.shape.size() != 2 ? 0 : found->view.shape.front();
    };
    const std::int64_t head_dim = rows("q_proj.weight") / heads.get<std::int64_t>();
    if (head_dim == 0) return;
    if (!says("head_dim")) config_["head_dim"] = head_dim;
    if (!says("num_key_value_heads")) {
      config_["num_key_value_heads"] = std::max<std::int64_t>(1, rows("k_proj.weight") / head_dim);
    }
  }

  void set_direction() {
    const Direction direction = direction_of(config_);
    Architecture& architecture = fitting_.architecture;
    const bool decodes = is("is_decoder");
    if (!architecture.causal.name.empty()) {  // BERT's is_decoder
      const bool by_class = direction == Direction::one_way;
      const bool open = direction == Direction::unknown && !says("is_decoder");
      if (open || (direction != Direction::unknown && by_class != decodes)) {
        doubt("'architectures' and 'is_decoder' do not determine whether attention is causal");
      }
      return;
    }
    if (direction == Direction::bidirectional) {
      if (decodes) doubt("it is a masked-language model whose 'is_decoder' is true");
      architecture.causal = {"", false};
    } else if (direction == Direction::unknown && !says("is_causal")) {
      doubt("neither 'architectures' nor 'is_causal' determines whether attention is causal");
    }
  }

  void inspect_config(const ModelSpec& spec, std::set<std::string> asked) {
    asked.insert({"is_decoder", "architectures"});
    const std::vector<std::string> unknown = unknown_keys(config_, asked);
    if (!unknown.empty()) {
      doubt(listed(unknown, "the config key", "the config keys") +
            (unknown.size() == 1 ? " is" : " are") + " not understood");
    }
    if (!spec.not_run.empty()) return doubt(spec.not_run);
    for (const LayerSpec& layer : spec.layers) {
      const std::optional<Rope>& rope = layer.attention.rope;
      if (!rope || rope->scaling != RopeScaling::unknown) continue;
      doubt("rotary scaling '" + printable(rope->scaling_name) + "' is not known");
      break;
    }
    if (is("add_cross_attention")) doubt("its layers have cross-attention");
    if (fitting_.like == "Llama") inspect_similar_families(spec);
    const bool windowed = std::any_of(spec.layers.begin(), spec.layers.end(), [](const auto& own) {
      return own.attention.mask.reach.has_value();
    });
    if (!windowed) return;
    if (!spec.architecture.causal.fallback && spec.architecture.causal.name.empty()) {
      doubt(
          "bidirectional models define the sliding window in different ways, so its extent is "
          "uncertain");
    }
    if (is("use_sliding_window") && !says("max_window_layers") && !says("layer_types")) {
      doubt("it is not specified which layers have a sliding window");
    }
    if (says("max_window_layers") && !says("use_sliding_window") && !says("layer_types")) {
      doubt("'sliding_window' is set, but 'use_sliding_window' is missing");
    }
  }

  /// Models that have Llama's tensor names, but whose layers compute something else that no key
  /// reveals.
  void inspect_similar_families(const ModelSpec& spec) {
    const Activation activation = spec.layers.front().activation;
    const auto& weights = spec.architecture.weights;
    const bool gated = std::any_of(weights.begin(), weights.end(),
                                   [](const WeightRule& rule) { return rule.role == Role::gate; });
    const NormKind kind = spec.architecture.norm->kind;
    if (kind == NormKind::rms && gated && activation != Activation::silu) {
      doubt(
          "'hidden_act' is not 'silu': Gemma's layers have the same tensor names but store gains "
          "minus 1");
    }
    if (kind == NormKind::layer && !gated) {
      doubt(
          "the MLP has no gate: Nemotron's layers have the same tensor names but store gains "
          "minus 1");
    }
    if (kind == NormKind::rms && spec.layers.front().attention_input->epsilon == 1e-8) {
      doubt(
          "'rms_norm_eps' is 1e-8: Helium's layers have the same tensor names but rotate other "
          "pairs");
    }
    const bool scaled =
        says("embedding_multiplier") || says("residual_multiplier") || says("logits_scaling");
    if (scaled && !says("attention_multiplier")) {
      doubt("Granite scales attention scores differently, and 'attention_multiplier' is missing");
    }
    if (spec.architecture.norm->mlp_input.empty() && spec.layers.front().parallel) {
      doubt("its attention and MLP share one norm");
    }
  }

  void inspect_tensors(const Model& model) {
    std::vector<std::string> left;
    for (const TensorSummary& tensor : take_inventory(model, {}).tensors) {
      if (tensor.role == "other") left.push_back(tensor.name);
    }
    if (!left.empty()) {
      doubt(listed(left, "the tensor", "the tensors") + (left.size() == 1 ? " has" : " have") +
            " no role in the layout");
    }
    if (fitting_.like == "Llama") inspect_gains(model);
    const std::vector<std::string> missing = missing_tensors(model);
    if (!missing.empty()) {
      doubt(listed(missing, "the tensor", "the tensors") + (missing.size() == 1 ? " is" : " are") +
            " missing");
    }
    if (is("attention_bias") && model.weight(0, Role::query).bias == nullptr) {
      doubt("'attention_bias' is true, but the files contain no such biases");
    }
    if (is("mlp_bias") && model.weight(0, Role::up).bias == nullptr) {
      doubt("'mlp_bias' is true, but the files contain no such biases");
    }
  }

  /// Gemma stores gains minus 1, so that many stored values are negative. Other models store few
  /// negative gains.
  void inspect_gains(const Model& model) {
    std::size_t negative = 0, all = 0;
    for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
      const auto& norm = model.spec().layers[static_cast<std::size_t>(layer)].attention_input;
      if (!norm) continue;
      const Site gain = model.norm_gain(*norm, layer, {model.dimensions().width});
      if (gain.tensor == nullptr || why_not_analyzed(*checkpoint_, *gain.tensor)) continue;
      checkpoint_->need(*gain.tensor);
      const Matrix<float> values = decode<float>(row_of(gain.tensor->view));
      checkpoint_->check_intact(*gain.tensor);
      for (std::int64_t at = 0; at < values.cols(); ++at) negative += values(0, at) < 0 ? 1 : 0;
      all += static_cast<std::size_t>(values.cols());
    }
    if (20 * negative > all) {
      doubt(std::to_string(negative) + " of " + std::to_string(all) +
            " gains are negative, as in models that store gains minus 1");
    }
  }

  static std::vector<std::string> missing_tensors(const Model& model) {
    std::vector<std::string> missing;
    const ModelSpec& spec = model.spec();
    const auto need = [&](const std::string& name) {
      if (model.find(name).tensor == nullptr) missing.push_back(name);
    };
    need(model.prefix() + spec.stream.embedding.tokens);
    const auto need_norm = [&](const std::optional<NormSpec>& norm, std::int64_t layer) {
      if (!norm || !norm->has_gain()) return;
      const std::string place =
          model.prefix() + fill_pattern(norm->tensor, layer_numbers(spec.dimensions, layer));
      if (model.find(place + ".gamma").tensor == nullptr) need(place + ".weight");
      if (norm->has_bias() && model.find(place + ".beta").tensor == nullptr) need(place + ".bias");
    };
    need_norm(spec.stream.embedding_norm, 0);
    need_norm(spec.stream.last_norm, 0);
    for (std::int64_t layer = 0; layer < spec.dimensions.layers; ++layer) {
      const LayerSpec& own = spec.layers[static_cast<std::size_t>(layer)];
      for (const auto& norm :
           {own.attention_input, own.attention_output, own.attention_sum, own.mlp_input,
            own.mlp_output, own.mlp_sum, own.attention.query_norm, own.attention.key_norm}) {
        need_norm(norm, layer);
      }
      for (const WeightRule& rule : spec.architecture.weights) {
        const Weight& weight = model.weight(layer, rule.role);
        if (weight.tensor == nullptr) {
          missing.push_back(model.prefix() +
                            fill_pattern(rule.tensor, layer_numbers(spec.dimensions, layer)));
          continue;
        }
        const bool biased = std::count(own.biased.begin(), own.biased.end(), rule.role) > 0;
        if (biased && weight.bias == nullptr) missing.push_back("bias of " + weight.tensor->name);
      }
    }
    return missing;
  }

  std::shared_ptr<const Checkpoint> checkpoint_;
  OfferTemplate fitting_;
  json config_;
  std::string_view text_;
  std::vector<std::string> doubts_;
};

}  // namespace

std::optional<LayoutOffer> offered_layout(std::shared_ptr<const Checkpoint> checkpoint,
                                          std::string_view config) {
  auto fitting = fitting_template(*checkpoint);
  if (!fitting) return std::nullopt;
  try {
    const json parsed = parse_python_json(config, kWhere);
    if (!parsed.is_object()) return std::nullopt;
    return Offer(std::move(checkpoint), *std::move(fitting), parsed, config).make();
  } catch (const Error&) {
    return std::nullopt;  // not JSON, or invalid numbers, or numbers that contradict the tensors
  }
}

}  // namespace attnscope
