"""Cases of golden_forward.py with several residual streams (AltUp): Gemma 3n."""

from golden_forward_by_layer import FULL, HEAD_GAINS, WINDOWED
from golden_forward_case import ABSENT, BF16, CONTEXT, ONLY, VOCABULARY, Case, Variant, activation, changed, variant
from golden_forward_rotary import inside_model, llama_like, rope
from golden_forward_towers import nested, with_pictures


def gemma3n_like(**changes) -> dict:
    """Make a config with sparse gates in the first two layers, and with fewer per-layer embeddings than tokens."""
    return changed(llama_like(
        num_hidden_layers=4, layer_types=[WINDOWED, FULL] * 2, sliding_window=4, num_kv_shared_layers=2, intermediate_size=[40, 40, 24, 40],
        hidden_size_per_layer_input=6, vocab_size_per_layer_input=VOCABULARY - 8, laurel_rank=5, tie_word_embeddings=True,
        activation_sparsity_pattern=[0.8, 0.5, 0.0, 0.0], final_logit_softcapping=3.0,
        rope_parameters={FULL: rope(1e6), WINDOWED: rope()}), changes)


GEMMA3N_DEFAULTS = {"rms_norm_eps": 1e-6, "hidden_activation": "gelu_pytorch_tanh", "attention_bias": False, "altup_num_inputs": 4,
                    "altup_active_idx": 0, "altup_correct_scale": True, "final_logit_softcapping": 30.0, "tie_word_embeddings": True}


def as_published_gemma3n(config: dict) -> dict:
    """The keys of google/gemma-3n-E2B and E4B."""
    parameters = config["rope_parameters"]
    return {key: value for key, value in config.items()
            if key != "rope_parameters" and not (key in GEMMA3N_DEFAULTS and GEMMA3N_DEFAULTS[key] == value)} | {
                "rope_theta": parameters[FULL]["rope_theta"], "rope_local_base_freq": parameters[WINDOWED]["rope_theta"],
                "rope_scaling": None}


def published_3n(name: str, lengths: tuple = (8,), **config) -> Variant:
    return Variant(name, config, lengths, old=as_published_gemma3n)


STREAM_GAINS = HEAD_GAINS | {"gate_proj": 2.0, "modality_router": 4.0, "altup_projections": 1.5, "correct_output_scale": 3.0}
GEMMA3N = [
    Case("gemma3n", "Gemma3nForCausalLM", gemma3n_like(), (
        published_3n("", (10, 1, CONTEXT)), variant("eps", rms_norm_eps=1e-2), variant("eps-absent", rms_norm_eps=ABSENT),
        published_3n("active-2", altup_active_idx=2), variant("not-scaled", altup_correct_scale=False),
        variant("scaled-absent", altup_correct_scale=ABSENT), variant("clip-not-read", altup_coef_clip=1e-3),
        variant("dense", activation_sparsity_pattern=[0.0] * 4), variant("sparsity-absent", activation_sparsity_pattern=ABSENT),
        published_3n("cap", final_logit_softcapping=1.0), variant("cap-absent", final_logit_softcapping=ABSENT),
        variant("window-absent", sliding_window=ABSENT), variant("rope-absent", rope_parameters=ABSENT),
        published_3n("bases", rope_parameters={FULL: rope(500.0), WINDOWED: rope(300.0)}),
        *activation("hidden_activation", "gelu")), BF16, STREAM_GAINS),
    # As in gemma-3n-E2B and E4B: every fifth layer has full attention, the first ten layers have sparse gates, MLPs have one size.
    Case("gemma3n-twelve", "Gemma3nForCausalLM", gemma3n_like(
        num_hidden_layers=12, layer_types=None, hidden_size=16, vocab_size=32, vocab_size_per_layer_input=32, intermediate_size=64,
        hidden_size_per_layer_input=4, num_kv_shared_layers=5, activation_sparsity_pattern=None, laurel_rank=2, rms_norm_eps=1e-1), (
            Variant("", lengths=(5,)), Variant("types-absent", {"layer_types": ABSENT, "activation_sparsity_pattern": ABSENT}, (5,))),
         BF16, HEAD_GAINS | {"gate_proj": 8.0, "k_norm": 0.4}),
    Case("gemma3n-two", "Gemma3nForCausalLM", gemma3n_like(
        altup_num_inputs=2, num_kv_shared_layers=0, attention_bias=True, vocab_size=32, vocab_size_per_layer_input=32, hidden_size=16,
        tie_word_embeddings=False), (Variant(""),), BF16, STREAM_GAINS),
    Case("gemma3n-multimodal", "Gemma3nForCausalLM", gemma3n_like(hidden_size=16, vocab_size=32, vocab_size_per_layer_input=24), (
        ONLY,), BF16, STREAM_GAINS, rewrite=with_pictures("model.vision_tower", inside_model), rewrite_config=nested("gemma3n", "gemma3n_text"),
         loads_back=False),
]
