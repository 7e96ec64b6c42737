"""The models that make_gguf_files.py writes, and the names of their tensors in GGUF files."""

from dataclasses import dataclass, field

LLAMA = {"input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
         "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "self_attn.qkv_proj": "attn_qkv",
         "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
         "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
         "mlp.down_proj": "ffn_down", "mlp.gate_up_proj": "ffn_up", "self_attn.dense": "attn_output",
         "mlp.fc1": "ffn_up", "mlp.fc2": "ffn_down"}
GEMMA2 = LLAMA | {"post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
                  "post_feedforward_layernorm": "post_ffw_norm"}
GPT2 = {"ln_1": "attn_norm", "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "ln_2": "ffn_norm",
        "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"}
NEOX = {"input_layernorm": "attn_norm", "attention.query_key_value": "attn_qkv", "attention.dense": "attn_output",
        "post_attention_layernorm": "ffn_norm", "mlp.dense_h_to_4h": "ffn_up", "mlp.dense_4h_to_h": "ffn_down"}
BERT = {"attention.self.query": "attn_q", "attention.self.key": "attn_k", "attention.self.value": "attn_v",
        "attention.output.dense": "attn_output", "attention.output.LayerNorm": "attn_output_norm",
        "intermediate.dense": "ffn_up", "output.dense": "ffn_down", "output.LayerNorm": "layer_output_norm"}
WHOLE = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "model.final_layernorm": "output_norm",
         "lm_head": "output", "transformer.wte": "token_embd", "transformer.wpe": "position_embd",
         "transformer.ln_f": "output_norm", "gpt_neox.embed_in": "token_embd",
         "gpt_neox.final_layer_norm": "output_norm", "embed_out": "output",
         "embeddings.word_embeddings": "token_embd", "embeddings.position_embeddings": "position_embd",
         "embeddings.token_type_embeddings": "token_types", "embeddings.LayerNorm": "token_embd_norm"}


@dataclass
class Case:
    name: str
    architecture: str
    weights: str = ""  # a folder of tests/data/forward; empty: `name`
    variant: str = ""  # a variant of its config
    layers: str = "model.layers."
    names: dict = field(default_factory=lambda: LLAMA)
    changed: dict = field(default_factory=dict)  # keys of config.json that a GGUF file cannot store
    types: tuple = ("f32", "f16")


CASES = [
    Case("llama", "llama"),
    Case("llama-tied", "llama", types=("f16",)),
    Case("llama-bias", "llama"),
    Case("llama-linear", "llama", "llama-tied", types=("f16",),
         changed={"rope_parameters": {"rope_type": "linear", "rope_theta": 5000.0, "factor": 4.0}}),
    Case("llama-yarn", "llama", "llama-tied", types=("f16",),
         changed={"rope_parameters": {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0,
                                      "original_max_position_embeddings": 8}}),
    Case("llama-llama3", "llama", "llama-tied", types=("f16",),
         changed={"rope_parameters": {"rope_type": "llama3", "rope_theta": 10000.0, "factor": 4.0,
                                      "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                      "original_max_position_embeddings": 16}}),
    Case("mistral", "llama", variant="no-window", types=("f16",)),
    Case("qwen2", "qwen2", "qwen2-tied"),
    Case("qwen3", "qwen3"),
    Case("gemma", "gemma"),
    Case("gemma2", "gemma2", names=GEMMA2, changed={"query_pre_attn_scalar": 8}),
    Case("gemma3", "gemma3", names=GEMMA2, changed={"query_pre_attn_scalar": 8}),
    Case("phi", "phi2"),
    Case("phi3", "phi3"),
    Case("phi3-longrope", "phi3", "phi3", variant="longrope", types=("f16",)),
    Case("gpt2", "gpt2", layers="transformer.h.", names=GPT2),
    Case("gpt_neox", "gptneox", layers="gpt_neox.layers.", names=NEOX),
    Case("gpt_neox-sequential", "gptneox", "gpt_neox", "sequential", "gpt_neox.layers.", NEOX,
         types=("f16",)),
    Case("bert", "bert", layers="encoder.layer.", names=BERT),
]
