// BEiT and data2vec-vision: vision encoders with relative position biases between patches. Source:
// huggingface/transformers, models/{beit,data2vec}.
#include "attnscope/model/architecture.h"

namespace attnscope {

Architecture vit();

namespace {

constexpr const char* kOwnBias = "use_relative_position_bias";
constexpr const char* kSharedBias = "use_shared_relative_position_bias";

Architecture like_beit(const std::string& name, const std::string& family) {
  using enum Role;
  const std::string layer = "encoder.layer.{layer}.";
  Architecture plain = vit();
  plain.name = name;
  plain.model_types = {name};
  plain.class_families = {family};
  plain.biases = {{{query, value, output, up, down}}};
  plain.patches->has_positions = {"use_absolute_position_embeddings", false};
  plain.multipliers = {.attention = layer + "lambda_1",
                       .mlp = layer + "lambda_2",
                       .initial = {"layer_scale_init_value", 0.1}};
  plain.buffers = {"*.relative_position_index"};
  return plain;
}

/// Variants by the place of the biases, and by what the head reads: the class token, or the mean of
/// all patches. That mean has a norm, and the last hidden state then has none.
Architecture of_variants(const Architecture& plain, const std::string& prefix) {
  const std::string table = "relative_position_bias.relative_position_bias_table";
  Architecture out = plain;
  const auto add = [&](const std::vector<ConfigCondition>& biases, const std::string& place,
                       const std::string& refused) {
    Architecture own = plain;
    if (!place.empty()) own.scores.grid = GridBias{.table = place + table};
    own.not_run = refused;
    for (const bool mean : {false, true}) {
      Architecture pooled = own;
      pooled.conditions = biases;
      if (!mean) pooled.conditions.push_back({"use_mean_pooling", {"false"}});
      if (mean) {
        pooled.norm->without_last = {"", true};
        pooled.head.pooling = Pooling::patches;
        pooled.head.norm = prefix + ".pooler.layernorm";
      }
      pooled.prefixes = {prefix + ".", ""};
      out.layouts.push_back(std::move(pooled));
    }
  };
  const std::vector<std::string> on = {"true"};
  add({{kOwnBias, on}, {kSharedBias, on}}, "",
      std::string("'") + kOwnBias + "' and '" + kSharedBias +
          "' are both true, which is not supported");
  add({{kOwnBias, on}}, "encoder.layer.{layer}.attention.attention.", "");
  add({{kSharedBias, on}}, "encoder.", "");
  add({}, "", "");
  return out;
}

}  // namespace

Architecture beit() { return of_variants(like_beit("beit", "Beit"), "beit"); }

Architecture data2vec_vision() {
  return of_variants(like_beit("data2vec-vision", "Data2VecVision"), "data2vec_vision");
}

}  // namespace attnscope
