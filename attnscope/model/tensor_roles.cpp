#include "attnscope/model/tensor_roles.h"

#include <algorithm>

#include "attnscope/base/text.h"
#include "attnscope/model/expert_and_mixer_rules.h"
#include "attnscope/model/tensor_names.h"

namespace attnscope {
namespace {

/// Returns the roles of everything in the tensor: "q+k+v" for a fused one.
std::string weight_label(const WeightRule& rule) {
  if (rule.fused.empty()) return std::string(role_name(rule.role));
  std::vector<std::string> names;
  for (const Role part : rule.fused) names.emplace_back(role_name(part));
  return join(names, "+");
}

/// Several rules name a stacked tensor: "q+k+v+o".
void add_label(std::map<const CheckpointTensor*, RoleOfTensor>& roles,
               const CheckpointTensor* tensor, const std::string& label, std::int64_t layer,
               bool stacked) {
  const auto [found, fresh] = roles.emplace(tensor, RoleOfTensor{label, layer});
  if (fresh) return;
  if (stacked && found->second.layer == layer) found->second.role += "+" + label;
  if (found->second.layer != layer) found->second.layer = std::nullopt;
}

bool matches_any(const std::vector<std::string>& patterns, std::string_view name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return match_pattern(pattern, name); });
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Returns "lm_head" or its bias; empty for tensors outside of heads.
std::string role_in_head(const Architecture& architecture, const std::string& name) {
  const HeadRule& head = architecture.head;
  if (contains(head.weight, name)) return "lm_head";
  for (const std::string& weight : head.weight) {
    if (contains(bias_names(weight), name)) return "lm_head.bias";
  }
  if (!architecture.head_marker.empty() && match_pattern(architecture.head_marker, name)) {
    return "lm_head";
  }
  if (contains(head.bias, name)) return "lm_head.bias";
  const auto is_before = [&](const std::string& dense, const std::string& norm) {
    return !dense.empty() &&
           (name == dense || contains(bias_names(dense), name) || name.starts_with(norm + "."));
  };
  const bool before =
      is_before(head.dense, head.norm) || is_before(head.other_dense, head.other_norm);
  return before ? "lm_head" : "";
}

}  // namespace

std::map<const CheckpointTensor*, RoleOfTensor> projection_roles(const Model& model) {
  std::map<const CheckpointTensor*, RoleOfTensor> roles;
  for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
    for (const WeightRule& rule : model.spec().architecture.weights) {
      const Weight& weight = model.weight(layer, rule.role);
      if (weight.tensor == nullptr) continue;
      const std::string label = weight_label(rule);
      const bool of_keys =
          rule.role == Role::value && model.spec().sharing_of(layer).values_are_keys;
      add_label(roles, weight.tensor, label, layer, rule.index.has_value() || of_keys);
      if (weight.bias != nullptr) add_label(roles, weight.bias, label + ".bias", layer, false);
    }
  }
  return roles;
}

std::vector<TensorRule> sites_of(const Architecture& architecture, bool with_optional) {
  std::vector<TensorRule> sites;
  const auto add = [&](const char* role, const std::string& tensor, const char* ending = "") {
    if (!tensor.empty()) sites.push_back({role, tensor + ending});
  };
  const auto add_optional = [&](const char* role, const std::string& tensor) {
    if (with_optional) add(role, tensor);
  };
  const auto add_linear = [&](const char* role, const std::string& tensor) {
    if (tensor.empty()) return;
    add(role, tensor);
    for (const std::string& bias : bias_names(tensor)) add_optional(role, bias);
  };
  const EmbeddingRule& embedding = architecture.embedding;
  add("position_embedding", embedding.positions);
  add("token_type_embedding", embedding.types);
  for (const std::string& table : embedding.added) add("added_embedding", table);
  for (const std::string& table : embedding.joined) add("added_embedding", table);
  add_linear("embedding_projection", embedding.projection);
  add_linear("embedding_projection", embedding.last_projection);
  add("norm", embedding.norm, ".*");
  if (architecture.norm) {
    const NormRule& norm = *architecture.norm;
    for (const std::string& tensor :
         {norm.attention_input, norm.attention_heads, norm.attention_output, norm.attention_sum,
          norm.mlp_input, norm.mlp_hidden, norm.mlp_output, norm.mlp_sum, norm.last}) {
      add("norm", tensor, ".*");
    }
    add("q.norm", norm.query, ".*");
    add("k.norm", norm.key, ".*");
  }
  if (architecture.experts != nullptr) {
    for (const std::string& bias : architecture.experts->choice_bias) add("choice_bias", bias);
    add("shared_weight", architecture.experts->shared_weight);
    add("expert_factors", architecture.experts->expert_factors);
    add_linear("expert.latent", architecture.experts->latent_down);
    add_linear("expert.latent", architecture.experts->latent_up);
    if (const auto& norms = architecture.experts->norms) {
      for (const std::string& norm : {norms->input, norms->output, norms->shared_output}) {
        add("norm", norm, ".*");
      }
      add("router_gain", norms->router_gain);
    }
    for (const ExpertTensors& tensors : architecture.experts->tensors) {
      for (const WeightRule& rule : tensors.weights) {
        const std::string label = std::string(kOfExpert) + weight_label(rule);
        add(label.c_str(), rule.tensor);
        const std::string of_bias = label + ".bias";
        for (const std::string& bias : bias_names(rule.tensor)) {
          add_optional(of_bias.c_str(), bias);
        }
      }
    }
  }
  const ScoreRule& scores = architecture.scores;
  add("sinks", scores.sinks);
  if (scores.buckets) add("position_bias", scores.buckets->table);
  if (scores.buckets && scores.buckets->gate) {
    add_linear("position_bias", scores.buckets->gate->linear);
    add("position_bias", scores.buckets->gate->factors);
  }
  if (scores.grid) add("position_bias", scores.grid->table);
  if (scores.relative) {
    add("position_projection", scores.relative->projection);
    add("position_bias", scores.relative->position_bias);
  }
  if (scores.distances) add("distance_embedding", scores.distances->table);
  if (scores.grid_mlp) add("position_bias", scores.grid_mlp->mlp, ".*");
  if (scores.axes) {
    add("position_bias", scores.axes->rows);
    add("position_bias", scores.axes->columns);
  }
  add("score_scale", scores.cosine_scales);
  if (architecture.stages && architecture.stages->merging) {
    const PatchMergingRule& rule = *architecture.stages->merging;
    add_linear("patch_merging", rule.projection);
    add("norm", rule.norm, ".*");
  }
  if (scores.disentangled) {
    const DisentangledRule& rule = *scores.disentangled;
    add("distance_embedding", rule.table);
    add("norm", rule.norm, ".*");
    add_linear("distance_q", rule.query);
    add_linear("distance_k", rule.key);
  }
  if (architecture.convolution) {
    add_linear("convolution", architecture.convolution->tensor);
    add("norm", architecture.convolution->norm, ".*");
  }
  if (architecture.per_layer_input) {
    const PerLayerInputRule& rule = *architecture.per_layer_input;
    add("layer_embedding", rule.table);
    add_linear("layer_projection", rule.projection);
    add_linear("layer_gate", rule.gate);
    add_linear("layer_up", rule.up);
    add("norm", rule.projection_norm, ".*");
    add("norm", rule.norm, ".*");
  }
  if (architecture.altup) {
    const AltUpRule& rule = *architecture.altup;
    add("streams", rule.place, ".*");
    add("streams", rule.projection);
    add("streams", rule.last_projection);
  }
  if (architecture.laurel) {
    add("laurel", architecture.laurel->left);
    add("laurel", architecture.laurel->right);
    add("laurel", architecture.laurel->norm, ".*");
  }
  if (architecture.conformer) {
    const ConformerRule& rule = *architecture.conformer;
    for (const std::string& norm : {rule.first_norm, rule.norm, rule.inner_norm}) {
      add("norm", norm, ".*");
    }
    add_linear("first_mlp", rule.first_up);
    add_linear("first_mlp", rule.first_down);
    for (const std::string& tensor : {rule.expand, rule.taps, rule.project}) {
      add("convolution", tensor);
    }
  }
  add_optional("layer_factor", architecture.multipliers.layer_output);
  add("branch_factors", architecture.multipliers.attention);
  add("branch_factors", architecture.multipliers.mlp);
  if (architecture.patches) {
    const PatchRule& rule = *architecture.patches;
    add_linear("patch_embedding", rule.projection);
    add("position_embedding", rule.positions);
    add("register_tokens", rule.registers);
  }
  if (architecture.audio) {
    add_linear("feature_projection", architecture.audio->projection);
    add("norm", architecture.audio->projection_norm, ".*");
    add("norm", architecture.audio->norm_of_first, ".*");
  }
  if (architecture.mla) {
    add("q_a.norm", architecture.mla->query_norm, ".*");
    add("kv_a.norm", architecture.mla->norm, ".*");
  }
  if (architecture.indexer) {
    const IndexerRule& rule = *architecture.indexer;
    for (const std::string& tensor : {rule.query, rule.key, rule.weights}) {
      add_linear("indexer", tensor);
    }
    add("indexer", rule.key_norm, ".*");
  }
  if (architecture.mixers != nullptr) {
    const MixerRule& rule = *architecture.mixers;
    if (rule.delta_net) add("mixer", rule.delta_net->place, ".*");
    if (rule.short_convolution) add("mixer", rule.short_convolution->place, ".*");
    if (rule.kimi_delta) add("mixer", rule.kimi_delta->place, ".*");
    if (rule.rg_lru) add("mixer", rule.rg_lru->place, ".*");
    if (rule.mamba) add("mixer", rule.mamba->place, ".*");
    if (rule.mamba2) add("mixer", rule.mamba2->place, ".*");
    if (rule.lightning) add("mixer", rule.lightning->place, ".*");
    if (rule.block) {
      add("mixer", rule.block->mixer_place, ".*");
      add("block.projection", rule.block->projection);
      add("norm", rule.block->mixer_norm, ".*");
      add("norm", rule.block->other_norm, ".*");
    }
  }
  if (architecture.daisy) {
    add("scalars", architecture.daisy->scalars);
    add("value_embedding", architecture.daisy->value_tables);
  }
  sites.insert(sites.end(), architecture.others.begin(), architecture.others.end());
  return sites;
}

RoleOfTensor other_role(const Model& model, const std::vector<TensorRule>& sites,
                        const std::string& name) {
  const Architecture& architecture = model.spec().architecture;
  if (matches_any(architecture.buffers, name)) return {"buffer", std::nullopt};
  const std::string& projection = architecture.source_projection;
  if (!projection.empty() && name.starts_with(projection + ".")) {
    return {"source_projection", std::nullopt};
  }
  if (std::string role = role_in_head(architecture, name); !role.empty()) {
    return {std::move(role), std::nullopt};
  }
  if (name.starts_with(model.prefix())) {
    const std::string_view rest = std::string_view(name).substr(model.prefix().size());
    if (!architecture.embedding.tokens.empty() && rest == architecture.embedding.tokens) {
      return {"embedding", std::nullopt};
    }
    for (const TensorRule& rule : sites) {
      if (const auto match = match_pattern(rule.tensor, rest)) {
        return {rule.role, match->layer, match->expert};
      }
    }
  }
  return {"other", std::nullopt};
}

std::set<std::string> named_tensors(const Model& model) {
  const Checkpoint& checkpoint = model.checkpoint();
  const auto projections = projection_roles(model);
  const std::vector<TensorRule> sites = sites_of(model.spec().architecture);
  std::set<std::string> named;
  const auto inspect = [&](const std::string& name, const CheckpointTensor* tensor) {
    if (projections.contains(tensor) || other_role(model, sites, name).role != "other") {
      named.insert(name);
    }
  };
  for (const CheckpointTensor& tensor : checkpoint.tensors()) inspect(tensor.name, &tensor);
  for (const auto& [alias, name] : checkpoint.aliases()) inspect(alias, checkpoint.find(name));
  return named;
}

}  // namespace attnscope
