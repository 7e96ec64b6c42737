"""Cases of golden_forward.py: decoders and encoders with layers, norms or positions that no other model has."""

from contextlib import contextmanager

import numpy as np
import torch
from golden_forward_bert_like import TEXTS as PADDED
from golden_forward_case import ABSENT, BF16, F32, ONLY, SMALL, Case, Variant, activation, changed, variant
from golden_forward_learned import roberta_like
from golden_forward_mamba import LINEAR
from golden_forward_rotary import LLAMA3, inside_language_model, llama_like, rope
from golden_forward_towers import nested, with_pictures
from transformers.integrations import bitnet

TEXTS = Variant("", lengths=(10, 1, 16))
EPS = variant("eps", rms_norm_eps=1e-2)
FULL = "full_attention"


# As in Llama 3.2 Vision: layers 1 and 3 only attend to images.
def mllama(**changes) -> dict:
    return changed(llama_like(vocab_size=32, intermediate_size=20, num_hidden_layers=5, cross_attention_layers=[1, 3],
                              rope_parameters=LLAMA3 | {"rope_theta": 500.0}), {"head_dim": ABSENT} | changes)


MLLAMAS = [
    Case("mllama", "MllamaForCausalLM", mllama(), (TEXTS, EPS, variant("eps-absent", rms_norm_eps=ABSENT), variant(
        "base-absent", rope_parameters=ABSENT), *activation("hidden_act", "gelu")), BF16),
    # Without a list of layers, every fifth layer from layer 3 on.
    Case("mllama-multimodal", "MllamaForCausalLM",
         mllama(hidden_size=16, intermediate_size=12, cross_attention_layers=[3], tie_word_embeddings=True), (
             ONLY, variant("layers-absent", cross_attention_layers=ABSENT)), BF16,
         rewrite=with_pictures("vision_model", inside_language_model), rewrite_config=nested("mllama", "mllama_text_model"),
         loads_back=False),
]


# As in Zamba2-1.2B (one block with adapters and RoPE) and Zamba2-2.7B and 7B (two blocks).
def zamba2(**changes) -> dict:
    config = llama_like(vocab_size=32, hidden_size=24, intermediate_size=20, num_hidden_layers=4, num_key_value_heads=4,
                        layers_block_type=["hybrid", LINEAR, "hybrid", "hybrid"], num_mem_blocks=2, adapter_rank=3,
                        use_shared_attention_adapter=True, n_mamba_heads=6, mamba_ngroups=2, mamba_d_state=5, chunk_size=4)
    return changed(config, {"head_dim": ABSENT, "rope_parameters": ABSENT} | changes)


# The block has no residual connection, so that larger values would amplify the errors of float32.
ZAMBA_GAINS = {"embed": 10.0, "gate_up": 0.5, "down_proj": 0.5, "q_proj": 0.6, "k_proj": 0.6, "linear_q": 0.5, "linear_k": 0.5}
ZAMBAS = [
    Case("zamba2", "Zamba2ForCausalLM", zamba2(), (
        TEXTS, EPS, variant("least-step", time_step_min=0.8), *activation("hidden_act", "silu"),
        variant("published-types", layers_block_type=["hybrid", "mamba", "hybrid", "hybrid"], layer_types=ABSENT),
        variant("rope", use_mem_rope=True, rope_parameters=rope(500.0))), BF16, ZAMBA_GAINS),
    Case("zamba2-bias", "Zamba2ForCausalLM",
         zamba2(num_hidden_layers=3, layers_block_type=["hybrid", LINEAR, "hybrid"], num_mem_blocks=1, add_bias_linear=True,
                use_shared_attention_adapter=False, mamba_d_conv=2), (ONLY,), BF16, {"embed": 10.0, "q_proj": 0.7, "k_proj": 0.7}),
]


def bitnet_like(**changes) -> dict:
    return changed(llama_like(vocab_size=32, intermediate_size=20), {"head_dim": ABSENT} | changes)


SCALE = 0.25


def ternary(name: str, values: np.ndarray) -> np.ndarray:
    if not name.endswith("proj.weight"):
        return values
    return SCALE * np.clip(np.round(values / np.abs(values).mean()), -1, 1)


def packed(scale: float):
    """Pack the weights as in the files on the hub. `scale`: the stored scale."""
    def rewrite(tensors: dict) -> dict:
        out = dict(tensors)
        for name in [name for name in tensors if name.endswith("proj.weight")]:
            out[name] = bitnet.pack_weights((tensors[name].float() / SCALE).round())
            out[name + "_scale"] = torch.tensor([scale], dtype=BF16)
        return out
    return rewrite


def quantised(linear_class: str):
    def rewrite(config: dict) -> dict:
        return config | {"quantization_config": {"quant_method": "bitnet", "linear_class": linear_class,
                                                 "quantization_mode": "offline", "modules_to_not_convert": None}}
    return rewrite


@contextmanager
def rounded_inputs():
    """Round the inputs of all matrices but the LM head as transformers' BitLinear and AutoBitLinear do."""
    forward = torch.nn.Linear.forward

    def with_rounding(self, values):
        if self.out_features == 32:
            return forward(self, values)
        return torch.nn.functional.linear(bitnet.ActQuant.apply(values), self.weight, self.bias)

    torch.nn.Linear.forward = with_rounding
    try:
        with torch.compiler.set_stance("force_eager"):
            yield
    finally:
        torch.nn.Linear.forward = forward


# As in bitnet-b1.58-2B-4T: bfloat16 weights, and packed ones; and in Llama3-8B-1.58.
BITNETS = [
    Case("bitnet", "BitNetForCausalLM", bitnet_like(), (TEXTS, EPS, variant("eps-absent", rms_norm_eps=ABSENT), variant(
        "act-absent", hidden_act=ABSENT), *activation("hidden_act", "silu")), BF16),
    Case("bitnet-bias", "BitNetForCausalLM", bitnet_like(hidden_size=16, attention_bias=True, tie_word_embeddings=True), (ONLY,), BF16),
    Case("bitnet-packed", "BitNetForCausalLM", bitnet_like(), (Variant("", lengths=(8,)),), F32, snapped=ternary,
         rewrite=packed(SCALE), rewrite_config=quantised("autobitlinear"), loads_back=False, altered=rounded_inputs),
    Case("llama-bitnet", "LlamaForCausalLM", bitnet_like(hidden_size=16, intermediate_size=24), (Variant("", lengths=(8,)),), F32,
         snapped=ternary, rewrite=packed(1 / SCALE), rewrite_config=quantised("bitlinear"), loads_back=False, altered=rounded_inputs),
]


def minimax(**changes) -> dict:
    return llama_like(vocab_size=32, hidden_size=16, intermediate_size=12, num_hidden_layers=3, layer_types=[LINEAR, FULL, LINEAR],
                      num_local_experts=6, num_experts_per_tok=3, block_size=4, full_attn_alpha_factor=1.7, full_attn_beta_factor=0.8,
                      linear_attn_alpha_factor=1.4, linear_attn_beta_factor=1.2, mlp_alpha_factor=1.6, mlp_beta_factor=0.7) | changes


# As in MiniMax-Text-01. Float32, because transformers stores decays in the files, where bfloat16 would round them.
MINIMAX = [
    Case("minimax", "MiniMaxForCausalLM", minimax(), (
        TEXTS, EPS, variant("window", sliding_window=3), variant("base-absent", rope_parameters=ABSENT),
        variant("factors-absent", **{f"{part}_factor": ABSENT for part in (
            "full_attn_alpha", "full_attn_beta", "linear_attn_alpha", "linear_attn_beta", "mlp_alpha", "mlp_beta")}),
        *activation("hidden_act", "gelu")), F32, {"qkv_proj": 0.8}, routes=True),
    Case("minimax-alternate", "MiniMaxForCausalLM", minimax(layer_types=ABSENT, head_dim=4), (ONLY,)),
]


def xlnet(**changes) -> dict:
    return {"vocab_size": 32, "d_model": 24, "n_layer": 2, "n_head": 3, "d_inner": 20, "pad_token_id": 5, "bos_token_id": 1,
            "eos_token_id": 2} | changes


XLNETS = [
    Case("xlnet", "XLNetModel", xlnet(), (PADDED, variant("eps", layer_norm_eps=1e-2), variant("clamp", clamp_len=3),
                                          *activation("ff_activation", "relu")), BF16),
]


def layoutlmv3(**changes) -> dict:
    return roberta_like(**SMALL, coordinate_size=3, shape_size=2, max_2d_position_embeddings=8, rel_pos_bins=8, max_rel_pos=12,
                        rel_2d_pos_bins=6, max_rel_2d_pos=8, input_size=8, patch_size=4) | changes


LAYOUTLMS = [
    Case("layoutlmv3", "LayoutLMv3Model", layoutlmv3(), (
        PADDED, variant("eps", layer_norm_eps=1e-2), variant("no-spatial-bias", has_spatial_attention_bias=False),
        variant("near", max_rel_pos=6), variant("no-bias", has_relative_attention_bias=False, has_spatial_attention_bias=False)), BF16,
        {"rel_pos": 3.0}),
]

UNUSUAL = MLLAMAS + ZAMBAS + BITNETS + MINIMAX + XLNETS + LAYOUTLMS
