"""Cases of golden_forward.py with learned positions: encoders, GPT-2, GPT-Neo, OPT."""

import torch
from golden_forward_case import (BF16, BOTH_WAYS, CONTEXT, F16, HEADS, MAIN, MAIN_ENCODER, MLP_WIDTH, ONLY, SMALL,
                                 TOKENS, VOCABULARY, WIDTH, Case, Variant, activation, both, variant)

# ---- Encoders -----------------------------------------------------------------------------------------------------

def bert_like(**changes) -> dict:
    return TOKENS | {"vocab_size": VOCABULARY, "hidden_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": HEADS,
                     "intermediate_size": MLP_WIDTH, "max_position_embeddings": CONTEXT, "type_vocab_size": 2} | changes


def roberta_like(**changes) -> dict:
    # Positions start at pad + 1 = 2, so two more rows than tokens are needed, like 514 for 512 in the original model.
    return bert_like(pad_token_id=1, bos_token_id=0, max_position_embeddings=CONTEXT + 2, type_vocab_size=1,
                     layer_norm_eps=1e-5) | changes


def distilbert_like(**changes) -> dict:
    return {"vocab_size": VOCABULARY, "dim": WIDTH, "hidden_dim": MLP_WIDTH, "n_layers": 2, "n_heads": HEADS,
            "max_position_embeddings": CONTEXT, "pad_token_id": 0} | changes


def albert_like(**changes) -> dict:
    # Three layers over two groups: layer N runs both inner layers of group int(N / 1.5).
    return bert_like(num_hidden_layers=3, num_hidden_groups=2, inner_group_num=2, embedding_size=16) | changes


def with_gamma_and_beta(tensors: dict) -> dict:
    """Convert to the original bert-base-uncased format."""
    renamed = {name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): tensor
               for name, tensor in tensors.items()}
    return renamed | {"embeddings.position_ids": torch.arange(CONTEXT)[None]}


UNTIED_HEAD = (ONLY, variant("tied", tie_word_embeddings=True))  # the stored head takes precedence in both cases
ENCODERS = [
    Case("bert", "BertForMaskedLM", bert_like(), (
        MAIN_ENCODER, variant("eps", layer_norm_eps=1e-2),
        *activation("hidden_act", "gelu_new", "gelu_fast", "quick_gelu", "tanh"))),
    Case("bert-causal", "BertLMHeadModel", bert_like(**SMALL, is_decoder=True), (ONLY, BOTH_WAYS), BF16),
    Case("bert-untied", "BertForMaskedLM", bert_like(**SMALL, tie_word_embeddings=False), UNTIED_HEAD, BF16),
    Case("bert-body", "BertModel", bert_like(**SMALL), (MAIN_ENCODER,), BF16, rewrite=with_gamma_and_beta),
    Case("roberta", "RobertaForMaskedLM", roberta_like(), (
        MAIN_ENCODER, variant("relu", hidden_act="relu"), variant("eps", layer_norm_eps=1e-2)), F16),
    Case("roberta-causal", "RobertaForCausalLM", roberta_like(**SMALL, is_decoder=True), (ONLY, BOTH_WAYS), BF16),
    Case("roberta-untied", "RobertaForMaskedLM", roberta_like(**SMALL, tie_word_embeddings=False), UNTIED_HEAD, BF16),
    Case("roberta-body", "RobertaModel", roberta_like(**SMALL), (ONLY,), BF16),
    Case("distilbert", "DistilBertForMaskedLM", distilbert_like(), (
        MAIN_ENCODER, *activation("activation", "relu", "gelu_python")), BF16),
    Case("distilbert-untied", "DistilBertForMaskedLM",
         distilbert_like(vocab_size=32, dim=16, n_heads=2, tie_word_embeddings=False), UNTIED_HEAD, BF16),
    Case("distilbert-body", "DistilBertModel", distilbert_like(vocab_size=32, dim=16, n_heads=2), (ONLY,), BF16),
    Case("albert", "AlbertForMaskedLM", albert_like(), (
        MAIN_ENCODER, variant("gelu", hidden_act="gelu"), variant("eps", layer_norm_eps=1e-2)), F16),
    Case("albert-untied", "AlbertForMaskedLM",
         albert_like(**SMALL, embedding_size=12, tie_word_embeddings=False, num_hidden_groups=1, inner_group_num=1),
         UNTIED_HEAD, BF16),
    Case("albert-body", "AlbertModel", albert_like(**SMALL, embedding_size=12, inner_group_num=1), (ONLY,), BF16),
]


# ---- Decoders -----------------------------------------------------------------------------------------------------

def gpt2_like(**changes) -> dict:
    return {"vocab_size": VOCABULARY, "n_embd": WIDTH, "n_layer": 3, "n_head": HEADS, "n_positions": CONTEXT,
            "n_inner": MLP_WIDTH, "bos_token_id": 30, "eos_token_id": 30} | changes


def gpt_neo_like(**changes) -> dict:
    return {"vocab_size": VOCABULARY, "hidden_size": WIDTH, "num_layers": 4, "num_heads": HEADS,
            "attention_types": [[["global", "local"], 2]], "window_size": 4, "max_position_embeddings": CONTEXT,
            "intermediate_size": MLP_WIDTH, "bos_token_id": 30, "eos_token_id": 30} | changes


def opt_like(**changes) -> dict:
    return {"vocab_size": VOCABULARY, "hidden_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": HEADS,
            "ffn_dim": MLP_WIDTH, "max_position_embeddings": CONTEXT, "pad_token_id": 1, "bos_token_id": 2,
            "eos_token_id": 2} | changes


def as_the_first_files(tensors: dict) -> dict:
    """Remove the prefix, and store the causal mask with every layer."""
    tensors = {name.removeprefix("transformer."): tensor for name, tensor in tensors.items()}
    for layer in range(2):
        tensors[f"h.{layer}.attn.bias"] = torch.tril(torch.ones(CONTEXT, CONTEXT)).view(1, 1, CONTEXT, CONTEXT)
        tensors[f"h.{layer}.attn.masked_bias"] = torch.tensor(-1e4)
    return tensors


def without_model(tensors: dict) -> dict:
    return {name.removeprefix("model."): tensor for name, tensor in tensors.items()}


# The norm after the first attention has small inputs, so that its epsilon matters. The attention is far from uniform.
SMALL_STREAM = {"out_proj": 0.03, "layers.0.self_attn.q_proj": 8.0, "layers.0.self_attn.k_proj": 8.0}
GENTLE = {"q_proj": 0.6, "k_proj": 0.6}  # GPT-Neo does not scale its scores
DECODERS = [
    Case("gpt2", "GPT2LMHeadModel", gpt2_like(), (
        MAIN, BOTH_WAYS, both("inverse-layer", scale_attn_by_inverse_layer_idx=True),
        both("unscaled", scale_attn_weights=False),
        variant("upcast", reorder_and_upcast_attn=True, scale_attn_by_inverse_layer_idx=True),
        variant("eps", layer_norm_epsilon=1e-2),
        *activation("activation_function", "gelu", "gelu_accurate", "relu2", "mish")), F16),
    # No n_inner: the MLP size is four times the hidden size.
    Case("gpt2-body", "GPT2LMHeadModel", gpt2_like(vocab_size=32, n_embd=16, n_layer=2, n_head=2, n_inner=None), (
        Variant("", old=lambda config: MAIN.old(config) | {"n_ctx": CONTEXT}),), BF16, rewrite=as_the_first_files),
    Case("gpt2-untied", "GPT2LMHeadModel",
         gpt2_like(vocab_size=32, n_embd=16, n_layer=2, n_head=2, tie_word_embeddings=False), UNTIED_HEAD, BF16),
    Case("gpt_neo", "GPTNeoForCausalLM", gpt_neo_like(), (
        MAIN, variant("flag-not-read", is_causal=False), variant("window-1", window_size=1),
        variant("order", attention_types=[[["local"], 1], [["global", "global", "local"], 1]],
                attention_layers=["local", "global", "global", "local"]),
        variant("eps", layer_norm_epsilon=1e-2)), F16, gains=GENTLE),
    # An MLP of four times the hidden size, with values above 10, the upper limit of gelu_10.
    Case("gpt_neo-wide", "GPTNeoForCausalLM",
         gpt_neo_like(vocab_size=32, hidden_size=16, num_heads=2, num_layers=2, attention_types=[[["global", "local"], 1]],
                      intermediate_size=None, activation_function="gelu_10", tie_word_embeddings=False),
         (ONLY, *activation("activation_function", "gelu_python_tanh")), BF16, gains=GENTLE | {"c_fc": 5.0}),
    Case("opt", "OPTForCausalLM", opt_like(), (
        MAIN, BOTH_WAYS, both("post-norm", do_layer_norm_before=False),
        both("no-final-norm", _remove_final_layer_norm=True),
        *activation("activation_function", "gelu", "linear")), F16),
    # As in opt-350m: post-norm, and embeddings narrower than the layers.
    Case("opt-projected", "OPTForCausalLM", opt_like(**SMALL, word_embed_proj_dim=12, do_layer_norm_before=False), (
        Variant("", lengths=(8, CONTEXT), old=MAIN.old),), BF16, gains=SMALL_STREAM),
    Case("opt-projected-pre-norm", "OPTForCausalLM", opt_like(**SMALL, word_embed_proj_dim=12), (
        ONLY, variant("no-final-norm", _remove_final_layer_norm=True)), BF16),
    Case("opt-no-bias", "OPTForCausalLM", opt_like(**SMALL, enable_bias=False), (ONLY,), BF16, rewrite=without_model),
    Case("opt-no-affine", "OPTForCausalLM",
         opt_like(**SMALL, layer_norm_elementwise_affine=False, tie_word_embeddings=False),
         (ONLY, variant("post-norm", do_layer_norm_before=False)), BF16, gains=SMALL_STREAM),
]
