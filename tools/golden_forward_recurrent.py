"""Cases of golden_forward.py whose layers keep states: Kimi Delta Attention and RG-LRU."""

from golden_forward_case import ABSENT, BF16, TOKENS, Case, Variant, activation, changed, variant
from golden_forward_rotary import rope

# ---- Kimi Linear --------------------------------------------------------------------------------------------------

LINEAR, FULL = "linear_attention", "full_attention"


def kimi(**changes) -> dict:
    """Make a config with distinct sizes: heads of 6 in linear layers, and MLA with 6 + 4 dimensions for keys and 5 for values."""
    return changed(TOKENS | {
        "vocab_size": 32, "hidden_size": 24, "intermediate_size": 20, "num_hidden_layers": 3, "num_attention_heads": 4,
        "num_key_value_heads": 4, "linear_head_dim": 6, "linear_num_heads": 3, "linear_conv_kernel_dim": 4, "kv_lora_rank": 8,
        "q_lora_rank": None, "qk_rope_head_dim": 4, "qk_nope_head_dim": 6, "v_head_dim": 5, "moe_intermediate_size": 8,
        "num_local_experts": 6, "num_experts_per_tok": 2, "layer_types": [LINEAR, FULL, LINEAR]}, changes)


def as_published_kimi(config: dict) -> dict:
    """The names and values of moonshotai/Kimi-Linear-48B-A3B-Instruct, whose layers are counted from 1."""
    kinds = config["layer_types"]
    lists = {name: [at + 1 for at, own in enumerate(kinds) if own == kind]
             for name, kind in (("full_attn_layers", FULL), ("kda_layers", LINEAR))}
    dropped = {"layer_types", "mlp_layer_types", "linear_head_dim", "linear_num_heads", "linear_conv_kernel_dim", "qk_head_dim"}
    return {key: value for key, value in config.items() if key not in dropped} | {
        "first_k_dense_replace": config["mlp_layer_types"].count("dense"), "mla_use_nope": True, "moe_layer_freq": 1,
        "moe_router_activation_func": "sigmoid", "use_grouped_topk": True, "num_nextn_predict_layers": 0,
        "rope_scaling": None, "rope_theta": 10000.0, "linear_attn_config": lists | {
            "head_dim": config["linear_head_dim"], "num_heads": config["linear_num_heads"],
            "short_conv_kernel_size": config["linear_conv_kernel_dim"]}}


def published_kimi(name: str, lengths: tuple = (8,), **config) -> Variant:
    return Variant(name, config, lengths, old=as_published_kimi)


def with_published_names(tensors: dict) -> dict:
    """MLPs of layers without experts are in `mlp`, as in files of the authors."""
    return {name.replace("block_sparse_moe", "mlp") if name.count(".") == 5 and "_proj" in name else name: tensor
            for name, tensor in tensors.items()}


KIMI_GAINS = {"kv_b_proj": 1.5, "kv_a_proj": 1.5, "f_b_proj": 1.5}
KIMI = [
    Case("kimi_linear", "KimiLinearForCausalLM", kimi(), (
        published_kimi("", (10, 1, 16)), variant("eps", rms_norm_eps=1e-2), variant("eps-absent", rms_norm_eps=ABSENT),
        variant("not-normalised", moe_renormalize=False), published_kimi("three", num_experts_per_token=3),
        published_kimi("groups", num_expert_group=2), variant("times", routed_scaling_factor=1.5),
        variant("times-absent", routed_scaling_factor=ABSENT), *activation("hidden_act", "gelu")),
         BF16, KIMI_GAINS, rewrite=with_published_names, routes=True),
    # As transformers saves them.
    Case("kimi_linear-saved", "KimiLinearForCausalLM", kimi(num_hidden_layers=2, layer_types=[FULL, LINEAR], linear_conv_kernel_dim=2,
                                                           q_lora_rank=7, mlp_layer_types=["dense", "dense"]), (
        Variant(""),), BF16, KIMI_GAINS),
    # Longer than the chunks of 64 tokens that other implementations use.
    Case("kimi_linear-long", "KimiLinearForCausalLM",
         kimi(hidden_size=16, num_hidden_layers=2, rms_norm_eps=1e-2, layer_types=[LINEAR, FULL], mlp_layer_types=["dense"] * 2), (
             Variant("", lengths=(70,)),), BF16),
    # Every fourth layer has attention, except the first.
    Case("kimi_linear-fourth", "KimiLinearForCausalLM",
         kimi(hidden_size=16, num_hidden_layers=5, layer_types=[LINEAR] * 4 + [FULL], mlp_layer_types=["dense"] * 5), (
             Variant(""), variant("types-absent", layer_types=ABSENT)), BF16),
]


# ---- RecurrentGemma -----------------------------------------------------------------------------------------------

def griffin(**changes) -> dict:
    """Make a config with heads of 8, half of whose dimensions are rotated."""
    return changed(TOKENS | {
        "vocab_size": 32, "hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 3, "num_attention_heads": 3,
        "num_key_value_heads": 1, "lru_width": 24, "attention_window_size": 4, "logits_soft_cap": 3.0,
        "rope_parameters": rope(partial_rotary_factor=0.5)}, changes)


GRIFFIN_DEFAULTS = {"rms_norm_eps": 1e-6, "hidden_activation": "gelu_pytorch_tanh", "conv1d_width": 4, "tie_word_embeddings": True,
                    "attention_bias": False, "attention_window_size": 2048}


def as_published_griffin(config: dict) -> dict:
    """The keys of google/recurrentgemma-2b."""
    parameters = config["rope_parameters"]
    return {key: value for key, value in config.items()
            if key != "rope_parameters" and not (key in GRIFFIN_DEFAULTS and GRIFFIN_DEFAULTS[key] == value)} | {
                "rope_theta": parameters["rope_theta"], "partial_rotary_factor": parameters["partial_rotary_factor"],
                "embeddings_scale_by_sqrt_dim": True, "_block_types": config["block_types"], "torch_dtype": config["dtype"]}


def published_griffin(name: str, lengths: tuple = (8,), **config) -> Variant:
    return Variant(name, config, lengths, old=as_published_griffin)


# Without the last one, 1 - a² would be a difference of nearly equal numbers in some channels, with a large rounding error.
GRIFFIN_GAINS = {"linear_x": 2.0, "gate_weight": 2.0, "recurrent_param": 0.3}
RECURRENT_GEMMA = [
    Case("recurrent_gemma", "RecurrentGemmaForCausalLM", griffin(), (
        published_griffin("", (10, 1, 16)), variant("eps", rms_norm_eps=1e-2), variant("eps-absent", rms_norm_eps=ABSENT),
        published_griffin("cap", logits_soft_cap=1.0), variant("cap-absent", logits_soft_cap=ABSENT),
        published_griffin("window-2", attention_window_size=2), variant("window-absent", attention_window_size=ABSENT),
        variant("types-absent", block_types=ABSENT), published_griffin("share", rope_parameters=rope(500.0, partial_rotary_factor=0.25)),
        variant("share-absent", rope_parameters=rope(500.0)), variant("rope-absent", rope_parameters=ABSENT),
        *activation("hidden_activation", "gelu")), BF16, GRIFFIN_GAINS),
    # The pattern does not divide the number of layers, as in recurrentgemma-2b and 9b.
    Case("recurrent_gemma-pattern", "RecurrentGemmaForCausalLM", griffin(
        hidden_size=16, num_attention_heads=2, num_key_value_heads=2, num_hidden_layers=5, block_types=["recurrent", "attention"],
        lru_width=None, conv1d_width=2, attention_bias=True, tie_word_embeddings=False), (
            Variant(""), variant("width-absent", lru_width=ABSENT)), BF16, GRIFFIN_GAINS),
    # RG-LRU has fewer channels than the residual stream. √D = 9.165 is rounded to 9.1875.
    Case("recurrent_gemma-wide", "RecurrentGemmaForCausalLM", griffin(
        hidden_size=84, num_attention_heads=2, num_key_value_heads=1, num_hidden_layers=2, block_types=["recurrent", "attention"],
        intermediate_size=8, lru_width=6), (Variant(""),), BF16, GRIFFIN_GAINS),
]

RECURRENT = KIMI + RECURRENT_GEMMA
