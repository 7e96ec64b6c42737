#include "attnscope/engine/summary_rows.h"

namespace attnscope {
namespace {

Value::List shared_value(const std::vector<SharedWeights>& all) {
  Value::List list;
  for (const SharedWeights& shared : all) {
    Value::List matrices;
    for (const Role role : shared.roles) matrices.emplace_back(role_name(role));
    list.emplace_back(Record{{"matrices", std::move(matrices)}, {"layers", shared.layers}});
  }
  return list;
}

}  // namespace

Record facts_record(const ModelSummary& facts) {
  Record record = {{"name", facts.name},
                   {"architecture", facts.architecture},
                   {"parameters", facts.parameters},
                   {"attention_parameters", facts.attention_parameters},
                   {"layers", facts.layers},
                   {"heads", facts.heads},
                   {"kv_heads", facts.kv_heads},
                   {"head_dim", facts.head_dim},
                   {"hidden_size", facts.width},
                   {"intermediate_size", facts.mlp_width},
                   {"vocab_size", facts.vocabulary},
                   {"context_length", facts.context},
                   {"dtype", facts.dtype},
                   {"bytes", facts.bytes},
                   {"kv_cache_bytes_per_token", facts.kv_cache_bytes_per_token},
                   {"tied_embedding", facts.tied_embedding},
                   {"causal", facts.causal},
                   {"rotary", facts.rotary}};
  if (!facts.stack.empty()) record.add("stack", facts.stack);
  if (facts.experts) {
    const ExpertSummary& experts = *facts.experts;
    record.add("experts", experts.count)
        .add("expert_layers", experts.layers)
        .add("moe_intermediate_size", experts.width)
        .add("shared_expert_intermediate_size", experts.shared_width);
    if (experts.chosen) {
      record.add("experts_per_token", *experts.chosen)
          .add("active_parameters", experts.active_parameters);
    }
  }
  if (!facts.mixer.empty()) {
    record.add("attention_layers", facts.attention_layers).add("mixer", facts.mixer);
  }
  if (facts.mla) {
    record.add("q_lora_rank", facts.mla->query_rank)
        .add("kv_lora_rank", facts.mla->rank)
        .add("qk_rope_head_dim", facts.mla->rotary_dim)
        .add("mha_kv_cache_bytes_per_token", facts.mla->kv_cache_bytes_of_heads);
  }
  if (!facts.shared_weights.empty()) {
    record.add("shared_weights", shared_value(facts.shared_weights));
  }
  return record;
}

}  // namespace attnscope
