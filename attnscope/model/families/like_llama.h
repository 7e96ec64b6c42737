// Building blocks for families that use Llama's tensor names.
#pragma once

#include <vector>

#include "attnscope/model/architecture.h"

namespace attnscope {

Architecture llama();

/// Llama under another name: `class_family` as in Architecture::class_families.
inline Architecture like_llama(const char* name, const char* class_family) {
  Architecture architecture = llama();
  architecture.name = name;
  architecture.model_types = {name};
  architecture.class_families = {class_family};
  return architecture;
}

/// A norm of the attention and MLP outputs, and none of their inputs (OLMo 2).
inline void norm_branches_only(Architecture& architecture) {
  architecture.norm->attention_input.clear();
  architecture.norm->mlp_input.clear();
  architecture.norm->attention_output = "layers.{layer}.post_attention_layernorm";
  architecture.norm->mlp_output = "layers.{layer}.post_feedforward_layernorm";
}

/// Norms of queries and keys under their usual names.
inline void norm_heads(Architecture& architecture, HeadNormAxis axis) {
  architecture.norm->query = "layers.{layer}.self_attn.q_norm";
  architecture.norm->key = "layers.{layer}.self_attn.k_norm";
  architecture.norm->head_axis = axis;
}

/// An MLP with two matrices instead of three (no gate).
inline void remove_gate(Architecture& architecture) {
  std::erase_if(architecture.weights,
                [](const WeightRule& rule) { return rule.role == Role::gate; });
}

/// The MLP matrices under `feed_forward` instead of `mlp`.
inline void rename_mlp_to_feed_forward(Architecture& architecture) {
  for (WeightRule& rule : architecture.weights) {
    if (is_of_mlp(rule.role)) rule.tensor.replace(rule.tensor.find(".mlp"), 4, ".feed_forward");
  }
}

/// For families with experts in all layers.
inline void remove_mlp(Architecture& architecture) {
  std::erase_if(architecture.weights, [](const WeightRule& rule) { return is_of_mlp(rule.role); });
}

}  // namespace attnscope
