"""The cases of golden_forward.py: every architecture, and every variant of it that changes the forward pass."""

import torch
from golden_forward_case import ABSENT, Case, Variant
from golden_forward_spelling import old_spelling

F16, BF16 = torch.float16, torch.bfloat16
TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
VOCABULARY, WIDTH, HEADS, MLP_WIDTH, CONTEXT = 48, 24, 3, 40, 16
MAIN = Variant("", lengths=(10, 1, CONTEXT), old=old_spelling)
MAIN_ENCODER = Variant("", lengths=(10, 1, CONTEXT, (5, 9)), old=old_spelling)


def short(name: str, **config) -> Variant:
    return Variant(name, config, lengths=(7,))


def variant(name: str, **config) -> Variant:
    return Variant(name, config, lengths=(10,))


def both(name: str, *lengths: int, **config) -> Variant:
    """A variant that older files spell otherwise."""
    return Variant(name, config, lengths=lengths or (10,), old=old_spelling)


# ---- Encoders -----------------------------------------------------------------------------------------------------

def bert_like(**changes) -> dict:
    return TOKENS | {"vocab_size": VOCABULARY, "hidden_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": HEADS,
                     "intermediate_size": MLP_WIDTH, "max_position_embeddings": CONTEXT, "type_vocab_size": 2} | changes


ENCODERS = [
    Case("bert", "BertForMaskedLM", bert_like(), (
        MAIN_ENCODER, variant("eps", layer_norm_eps=1e-2), variant("gelu_new", hidden_act="gelu_new"),
        short("gelu_fast", hidden_act="gelu_fast"), short("quick_gelu", hidden_act="quick_gelu"),
        short("tanh", hidden_act="tanh"))),
    Case("roberta", "RobertaForMaskedLM",
         # Positions start at pad + 1 = 2, so two more rows serve as many tokens, as 514 serve 512 in the real one.
         bert_like(pad_token_id=1, bos_token_id=0, max_position_embeddings=CONTEXT + 2, type_vocab_size=1,
                   layer_norm_eps=1e-5), (
        MAIN_ENCODER, variant("relu", hidden_act="relu"), variant("eps", layer_norm_eps=1e-2)), F16),
    Case("distilbert", "DistilBertForMaskedLM",
         {"vocab_size": VOCABULARY, "dim": WIDTH, "hidden_dim": MLP_WIDTH, "n_layers": 2, "n_heads": HEADS,
          "max_position_embeddings": CONTEXT, "pad_token_id": 0}, (
        MAIN_ENCODER, variant("relu", activation="relu")), BF16),
    Case("albert", "AlbertForMaskedLM",
         bert_like(num_hidden_layers=3, num_hidden_groups=2, inner_group_num=2, embedding_size=16), (
        MAIN_ENCODER, variant("gelu", hidden_act="gelu"), variant("eps", layer_norm_eps=1e-2)), F16),
]


# ---- Decoders with learned positions ------------------------------------------------------------------------------

def gpt2_like(**changes) -> dict:
    return {"vocab_size": VOCABULARY, "n_embd": WIDTH, "n_layer": 3, "n_head": HEADS, "n_positions": CONTEXT,
            "n_inner": MLP_WIDTH, "bos_token_id": 47, "eos_token_id": 47} | changes


def gpt_neo_like(**changes) -> dict:
    return {"vocab_size": VOCABULARY, "hidden_size": WIDTH, "num_layers": 4, "num_heads": HEADS,
            "attention_types": [[["global", "local"], 2]], "window_size": 4, "max_position_embeddings": CONTEXT,
            "intermediate_size": MLP_WIDTH, "bos_token_id": 47, "eos_token_id": 47} | changes


def opt_like(**changes) -> dict:
    return {"vocab_size": VOCABULARY, "hidden_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": HEADS,
            "ffn_dim": MLP_WIDTH, "max_position_embeddings": CONTEXT, "pad_token_id": 1, "bos_token_id": 2,
            "eos_token_id": 2} | changes


LEARNED = [
    Case("gpt2", "GPT2LMHeadModel", gpt2_like(), (
        MAIN, both("inverse-layer", scale_attn_by_inverse_layer_idx=True), both("unscaled", scale_attn_weights=False),
        variant("upcast", reorder_and_upcast_attn=True), variant("eps", layer_norm_epsilon=1e-2),
        variant("gelu", activation_function="gelu"), short("gelu_accurate", activation_function="gelu_accurate"),
        short("relu2", activation_function="relu2"), short("mish", activation_function="mish"))),
    Case("gpt_neo", "GPTNeoForCausalLM", gpt_neo_like(), (
        MAIN, variant("window-1", window_size=1),
        variant("order", attention_types=[[["local"], 1], [["global", "global", "local"], 1]],
                attention_layers=["local", "global", "global", "local"]),
        variant("eps", layer_norm_epsilon=1e-2)), F16, gains={"q_proj": 0.6, "k_proj": 0.6}),
    Case("opt", "OPTForCausalLM", opt_like(), (
        MAIN, both("post-norm", do_layer_norm_before=False), both("no-final-norm", _remove_final_layer_norm=True),
        variant("gelu", activation_function="gelu")), F16),
]

# ---- Decoders with rotary positions -------------------------------------------------------------------------------

def rope(theta: float = 10000.0, **more) -> dict:
    return {"rope_type": "default", "rope_theta": theta} | more


def llama_like(**changes) -> dict:
    return TOKENS | {"vocab_size": VOCABULARY, "hidden_size": WIDTH, "intermediate_size": MLP_WIDTH,
                     "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
                     "max_position_embeddings": CONTEXT, "rope_parameters": rope()} | changes


ROTARY = [
    Case("llama", "LlamaForCausalLM", llama_like(), (MAIN, variant("eps", rms_norm_eps=1e-2)), BF16),
    Case("mistral", "MistralForCausalLM", llama_like(sliding_window=4), (MAIN,), BF16),
    Case("qwen2", "Qwen2ForCausalLM", llama_like(head_dim=ABSENT, hidden_size=32, num_hidden_layers=3, rope_parameters=rope(1e6)), (MAIN,), BF16),
    Case("qwen3", "Qwen3ForCausalLM", llama_like(head_dim=12, num_hidden_layers=3, rope_parameters=rope(1e6)), (MAIN,), BF16),
    Case("gemma", "GemmaForCausalLM", llama_like(num_key_value_heads=1), (MAIN,), BF16),
    Case("gemma2", "Gemma2ForCausalLM", llama_like(sliding_window=4, query_pre_attn_scalar=20), (MAIN,), BF16),
    Case("gemma3", "Gemma3ForCausalLM",
         llama_like(sliding_window=4, query_pre_attn_scalar=20, num_hidden_layers=3,
                    layer_types=["sliding_attention", "full_attention", "sliding_attention"],
                    rope_parameters={"sliding_attention": rope(10000.0),
                                     "full_attention": rope(1e6, rope_type="linear", factor=8.0)}), (MAIN,), BF16),
    Case("gpt_neox", "GPTNeoXForCausalLM",
         TOKENS | {"vocab_size": VOCABULARY, "hidden_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": HEADS,
                   "intermediate_size": MLP_WIDTH, "max_position_embeddings": CONTEXT,
                   "rope_parameters": rope(partial_rotary_factor=0.5)}, (MAIN, both("sequential", use_parallel_residual=False)), F16),
    Case("phi", "PhiForCausalLM",
         llama_like(head_dim=ABSENT, hidden_size=32, rope_parameters=rope(partial_rotary_factor=0.5)), (MAIN,), F16),
    Case("phi3", "Phi3ForCausalLM", llama_like(head_dim=ABSENT, hidden_size=32, original_max_position_embeddings=CONTEXT), (MAIN,), BF16),
]

CASES = ENCODERS + LEARNED + ROTARY
