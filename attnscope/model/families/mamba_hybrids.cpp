// Families with Mamba in most layers or beside the attention, and Kimi Linear: their attention can
// be analysed, their forward pass is not computed.
// Source: huggingface/transformers, models/{granitemoehybrid,nemotron_h,jamba,falcon_h1,zamba2,
// kimi_linear}.
#include "attnscope/model/expert_and_mixer_rules.h"
#include "attnscope/model/families/expert_tensors.h"
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture granitemoeshared();
Architecture deepseek_v3();

namespace {

const char* const kMamba2 = "Mamba-2";

/// As files since transformers 5 name them, and as they did before.
std::vector<LayerKind> mamba_kinds(const char* mixer) {
  return {{.name = "full_attention", .attends = true},
          {.name = "attention", .attends = true},
          {.name = "linear_attention", .mixer = mixer},
          {.name = "mamba", .mixer = mixer}};
}

void set_mixers(Architecture& architecture, MixerRule rule) {
  architecture.mixers = std::make_shared<MixerRule>(std::move(rule));
}

/// Granite 4: the shared experts are the whole MLP where there are no others.
Architecture granite_hybrid(bool dense, bool rotates) {
  using enum Role;
  Architecture architecture = granitemoeshared();
  architecture.name = "granitemoehybrid";
  architecture.model_types = {"granitemoehybrid"};
  architecture.class_families = {"GraniteMoeHybrid"};
  architecture.others = {{"mixer", "layers.{layer}.mamba.*"}};
  set_mixers(architecture, {.kinds = mamba_kinds(kMamba2),
                            .list_keys = {"layer_types", "layers_block_type"},
                            .usual = "linear_attention"});
  if (!rotates) architecture.rope.reset();
  if (dense) {
    const std::string both = "layers.{layer}.shared_mlp.input_linear.weight";
    std::erase_if(architecture.weights,
                  [](const WeightRule& rule) { return is_beside_experts(rule.role); });
    for (const Role part : {gate, up}) {
      architecture.weights.push_back({.role = part, .tensor = both, .fused = {gate, up}});
    }
    architecture.weights.push_back({down, "layers.{layer}.shared_mlp.output_linear.weight"});
    architecture.experts = nullptr;
    architecture.keys.mlp_width = {"shared_intermediate_size", 1024};
    return architecture;
  }
  MoeRule rule = *architecture.experts;
  rule.shared_width = {"shared_intermediate_size", 1024};
  architecture.experts = std::make_shared<MoeRule>(std::move(rule));
  return architecture;
}

}  // namespace

Architecture granitemoehybrid() {
  const ConfigCondition no_experts = {"num_local_experts", {"0"}};
  const ConfigCondition rope = {"position_embedding_type", {"\"rope\""}};
  const ConfigCondition none = {"position_embedding_type", {"\"nope\"", "null"}};
  const auto layout = [&](bool dense, bool rotates) {
    Architecture own = granite_hybrid(dense, rotates);
    own.conditions = {rotates ? rope : none};
    if (dense) own.conditions.push_back(no_experts);
    return own;
  };
  Architecture architecture = granite_hybrid(/*dense=*/false, /*rotates=*/false);
  Architecture dense = granite_hybrid(/*dense=*/true, /*rotates=*/false);
  dense.conditions = {no_experts};
  architecture.layouts = {layout(true, true), layout(true, false), layout(false, true),
                          layout(false, false), std::move(dense)};
  return architecture;
}

/// Each layer is one block alone: Mamba, attention, an MLP or experts. Experts may read a latent of
/// the stream, which all of a layer share.
Architecture nemotron_h() {
  using enum Role;
  const std::string mixer = "layers.{layer}.mixer.";
  Architecture architecture = like_llama("nemotron_h", "NemotronH");
  architecture.prefixes = {"backbone.", "model.", ""};
  architecture.keys.kv_heads.fallback = 8;
  architecture.keys.head_dim = {"head_dim", 128, "attention_head_dim"};
  architecture.weights = {{query, mixer + "q_proj.weight"},
                          {key, mixer + "k_proj.weight"},
                          {value, mixer + "v_proj.weight"},
                          {output, mixer + "o_proj.weight"},
                          {up, mixer + "up_proj.weight"},
                          {down, mixer + "down_proj.weight"},
                          {router, mixer + "gate.weight"},
                          {shared_up, mixer + "shared_experts.up_proj.weight"},
                          {shared_down, mixer + "shared_experts.down_proj.weight"}};
  architecture.biases = {};
  architecture.embedding.tokens = "embeddings.weight";
  architecture.norm = NormRule{.kind = NormKind::rms,
                               .epsilon = {"layer_norm_epsilon", 1e-5},
                               .attention_input = "layers.{layer}.norm",
                               .last = "norm_f"};
  architecture.rope.reset();
  architecture.activation_key = "mlp_hidden_act";
  architecture.activation = "relu2";
  MoeRule rule = biased_router("layers.{layer}.mixer");
  rule.default_experts = 8;
  rule.default_chosen = 2;
  rule.width.fallback = 7688;
  rule.inputs = {"moe_latent_size"};
  rule.layers = {.by_kind = true};
  rule.tensors = {tensors_of_each_expert("layers.{layer}.mixer", "")};
  rule.normalise = {"norm_topk_prob", true};
  rule.shared_width = {"moe_shared_expert_intermediate_size", 7688};
  architecture.experts = std::make_shared<MoeRule>(std::move(rule));
  architecture.others = {{"expert.latent", mixer + "fc1_latent_proj.weight"},
                         {"expert.latent", mixer + "fc2_latent_proj.weight"},
                         {"mixer", mixer + "*"}};
  const auto alone = [](const char* name, const char* what, AfterMixer after) {
    return LayerKind{.name = name, .attends = false, .mixer = what, .after = after};
  };
  using enum AfterMixer;
  const LayerKind attention = {.name = "full_attention", .attends = true, .after = nothing};
  LayerKind star = attention, old = attention;
  star.name = "*";
  old.name = "attention";
  set_mixers(architecture, {.kinds = {attention, old, alone("linear_attention", kMamba2, nothing),
                                      alone("mamba", kMamba2, nothing), alone("mlp", "an MLP", mlp),
                                      alone("moe", "experts", experts)},
                            .list_keys = {"layers_block_type", "layer_types"},
                            .letters_key = "hybrid_override_pattern",
                            .letters = {star, alone("M", kMamba2, nothing),
                                        alone("-", "an MLP", mlp), alone("E", "experts", experts)},
                            .lists_every_layer = true});
  return architecture;
}

Architecture jamba() {
  const std::string mlp = "layers.{layer}.feed_forward";
  Architecture architecture = like_llama("jamba", "Jamba");
  architecture.keys.kv_heads.fallback = 8;
  for (WeightRule& rule : architecture.weights) {
    if (is_of_mlp(rule.role)) rule.tensor.replace(rule.tensor.find(".mlp"), 4, ".feed_forward");
  }
  architecture.weights.push_back({Role::router, mlp + ".router.weight"});
  architecture.biases = {};
  architecture.norm->mlp_input = "layers.{layer}.pre_ff_layernorm";
  architecture.norm->last = "final_layernorm";
  architecture.rope.reset();
  architecture.experts = std::make_shared<MoeRule>(
      MoeRule{.experts = {"num_experts", "num_local_experts"},
              .default_experts = 16,
              .dense_up_to = 1,
              .chosen = {"num_experts_per_tok"},
              .default_chosen = 2,
              .width = {"intermediate_size", 14336},
              .layers = {.every = {"expert_layer_period", 2}, .offset = {"expert_layer_offset", 1}},
              .tensors = usual_expert_tensors(mlp),
              .score = RouterScore::softmax});
  architecture.others = {{"mixer", "layers.{layer}.mamba.*"}};
  set_mixers(architecture, {.kinds = mamba_kinds("Mamba"),
                            .interval = {"attn_layer_period", 8},
                            .offset = {"attn_layer_offset", 4}});
  return architecture;
}

/// Mamba and attention read one norm, and both are added. Multipliers of keys and branches do not
/// change ranks.
Architecture falcon_h1() {
  Architecture architecture = like_llama("falcon_h1", "FalconH1");
  architecture.keys.kv_heads.fallback = 8;
  for (WeightRule& rule : architecture.weights) {
    if (is_of_mlp(rule.role)) rule.tensor.replace(rule.tensor.find(".mlp"), 4, ".feed_forward");
  }
  architecture.norm->epsilon.fallback = 1e-5;
  architecture.norm->mlp_input = "layers.{layer}.pre_ff_layernorm";
  architecture.norm->last = "final_layernorm";
  architecture.others = {{"mixer", "layers.{layer}.mamba.*"}};
  set_mixers(architecture,
             {.kinds = {{.name = "hybrid", .attends = true, .mixer = kMamba2}}, .usual = "hybrid"});
  return architecture;
}

/// Attention reads the stream beside the embedding, so that it is no map of the stream: there are
/// no circuits. Adapters of each layer, where there are some, are not added to the shared weights.
Architecture zamba2() {
  using enum Role;
  const std::string place = "layers.{group}.shared_transformer.";
  Architecture architecture = like_llama("zamba2", "Zamba2");
  architecture.keys.head_dim = {"attention_head_dim"};
  architecture.weights = {{query, place + "self_attn.q_proj.weight"},
                          {key, place + "self_attn.k_proj.weight"},
                          {value, place + "self_attn.v_proj.weight"},
                          {output, place + "self_attn.o_proj.weight"}};
  for (const Role part : {gate, up}) {
    architecture.weights.push_back(
        {.role = part, .tensor = place + "feed_forward.gate_up_proj.weight", .fused = {gate, up}});
  }
  architecture.weights.push_back({down, place + "feed_forward.down_proj.weight"});
  architecture.biases = {};
  architecture.norm.reset();
  architecture.rope.reset();
  architecture.tied_by_default = true;
  const char* const set_aside =
      "adapters of single layers, which are not added to the weights that layers share";
  architecture.others = {{"q.adapter", "layers.{layer}.*.linear_q_adapter_list.*", set_aside},
                         {"k.adapter", "layers.{layer}.*.linear_k_adapter_list.*", set_aside},
                         {"v.adapter", "layers.{layer}.*.linear_v_adapter_list.*", set_aside},
                         {"up.adapter", "layers.{layer}.*.gate_up_proj_adapter_list.*", set_aside},
                         {"mixer", "layers.{layer}.mamba.*"},
                         {"mixer", "layers.{layer}.mamba_decoder.mamba.*"},
                         {"norm", "*norm.weight"}};
  std::vector<LayerKind> kinds = {
      {.name = "hybrid", .attends = true, .mixer = kMamba2},
      {.name = "linear_attention", .mixer = kMamba2, .after = AfterMixer::nothing},
      {.name = "mamba", .mixer = kMamba2, .after = AfterMixer::nothing}};
  set_mixers(architecture, {.kinds = std::move(kinds),
                            .list_keys = {"layers_block_type", "layer_types"},
                            .attending_key = "hybrid_layer_ids",
                            .usual_attending = {6, 12, 18, 24, 30, 36, 42, 47, 51},
                            .lists_every_layer = true,
                            .streams = 2,
                            .shared_blocks = {"num_mem_blocks", 1}});
  return architecture;
}

/// Layers that attend have multi-head latent attention, whose shared keys do not turn. The others'
/// tensors have attention's names.
Architecture kimi_linear() {
  const std::string place = "layers.{layer}.block_sparse_moe";
  Architecture architecture = deepseek_v3();
  architecture.name = "kimi_linear";
  architecture.model_types = {"kimi_linear"};
  architecture.class_families = {"KimiLinear"};
  architecture.keys.context = {"model_max_length", {}, "max_position_embeddings"};
  architecture.latent->query_rank.fallback = {};
  architecture.norm->epsilon.fallback = 1e-5;
  architecture.rope.reset();
  std::erase_if(architecture.weights,
                [](const WeightRule& rule) { return is_beside_experts(rule.role); });
  architecture.weights.push_back({Role::router, place + ".gate.weight"});
  add_shared_experts(architecture, place + ".shared_experts");
  MoeRule rule = *architecture.experts;
  rule.experts = {"num_experts", "num_local_experts", "n_routed_experts"};
  rule.chosen = {"num_experts_per_token", "num_experts_per_tok"};
  rule.width.fallback = 1024;
  rule.layers = {.first = {"first_k_dense_replace", 1}, .types = "mlp_layer_types"};
  rule.tensors = {tensors_of_each_expert(place, "w1", "w3", "w2")};
  rule.choice_bias = {place + ".gate.e_score_correction_bias"};
  rule.groups = {"num_expert_group", 1, "n_group"};
  rule.kept_groups.fallback = 1;
  rule.normalise = {"moe_renormalize", true};
  rule.times.fallback = 2.446;
  rule.shared_count = {"num_shared_experts", 1, "n_shared_experts"};
  architecture.experts = std::make_shared<MoeRule>(std::move(rule));
  architecture.others = {{"mixer", "layers.{layer}.self_attn.*"}};
  set_mixers(architecture,
             {.kinds = {{.name = "full_attention", .attends = true},
                        {.name = "linear_attention", .mixer = "Kimi Delta Attention"}},
              .list_keys = {"layer_types"},
              .attending_key = "linear_attn_config.full_attn_layers",
              .first_layer = 1,
              .interval = {"", 4},
              .offset = {"", 0},
              .not_first = true});
  return architecture;
}

}  // namespace attnscope
