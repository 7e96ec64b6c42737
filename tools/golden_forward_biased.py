"""Cases of golden_forward.py whose attention scores have a distance bias: ALiBi, relative position buckets."""

from contextlib import contextmanager

from golden_forward_case import (ABSENT, BF16, CONTEXT, F16, F32, HEADS, MAIN, MAIN_ENCODER, MLP_WIDTH, ONLY, SMALL, TOKENS,
                                 VOCABULARY, WIDTH, Case, Variant, activation, both, changed, variant)
from golden_forward_learned import roberta_like
from golden_forward_rotary import rope
from golden_forward_spelling import old_spelling
from transformers.models.falcon import modeling_falcon

LONG = 40  # tokens: ALiBi has no maximum length
MAIN_LONG = Variant("", lengths=(10, 1, LONG), old=old_spelling)


# ---- ALiBi --------------------------------------------------------------------------------------------------------

def bloom_like(**changes) -> dict:
    return TOKENS | {"vocab_size": VOCABULARY, "hidden_size": WIDTH, "n_layer": 2, "n_head": HEADS} | changes


def mpt_like(**changes) -> dict:
    return TOKENS | {"vocab_size": VOCABULARY, "d_model": WIDTH, "n_layers": 2, "n_heads": HEADS,
                     "max_seq_len": 64} | changes


def falcon_like(**changes) -> dict:
    return TOKENS | {"vocab_size": VOCABULARY, "hidden_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": HEADS,
                     "ffn_hidden_size": MLP_WIDTH, "max_position_embeddings": CONTEXT} | changes


def without_transformer(tensors: dict) -> dict:
    """Convert to the format of the BLOOM files on the Hugging Face hub."""
    return {name.removeprefix("transformer."): tensor for name, tensor in tensors.items()}


@contextmanager
def alibi_once():
    """Halve ALiBi: Falcon's eager attention adds it both to the scores and to the mask, which is added too. Halving is exact."""
    whole = modeling_falcon.build_alibi_tensor
    modeling_falcon.build_alibi_tensor = lambda *arguments, **keywords: whole(*arguments, **keywords) / 2
    try:
        yield
    finally:
        modeling_falcon.build_alibi_tensor = whole


def attention(**config) -> dict:
    return {"attn_config": config}


GROUPS = {"num_attention_heads": 4, "num_kv_heads": 2, "hidden_size": 32, "new_decoder_architecture": True}
PER_HEAD = {"multi_query": False, "parallel_attn": False}
ALIBI = [
    Case("bloom", "BloomForCausalLM", bloom_like(), (
        MAIN_LONG, variant("residual-of-norm", apply_residual_connection_post_layernorm=True),
        variant("eps", layer_norm_epsilon=1e-2)), F16),
    Case("bloom-8-heads", "BloomForCausalLM", bloom_like(vocab_size=32, hidden_size=32, n_head=8), (
        Variant("", lengths=(LONG,)),), BF16, rewrite=without_transformer),
    Case("bloom-untied", "BloomForCausalLM", bloom_like(vocab_size=32, hidden_size=16, n_head=1, tie_word_embeddings=False),
         (ONLY, variant("tied", tie_word_embeddings=True)), BF16),
    Case("mpt", "MptForCausalLM", mpt_like(), (
        MAIN_LONG, variant("eps", layer_norm_epsilon=1e-2), variant("scale", **attention(softmax_scale=0.9)),
        variant("clip", **attention(clip_qkv=0.8)), variant("clip-0", **attention(clip_qkv=0.0)),
        variant("not-read", learned_pos_emb=False, expansion_ratio=2, **attention(alibi=False, alibi_bias_max=4, qk_ln=True))),
         F16),
    Case("mpt-4-heads", "MptForCausalLM", mpt_like(vocab_size=32, d_model=16, n_heads=4, tie_word_embeddings=False), (
        Variant("", lengths=(LONG,)),), BF16, rewrite=without_transformer),
    # Falcon 7B: one key/value head, attention and MLP in parallel, rotary positions.
    Case("falcon", "FalconForCausalLM", falcon_like(), (
        MAIN, variant("eps", layer_norm_epsilon=1e-2), both("base", rope_parameters=rope(500.0)),
        both("linear", rope_parameters=rope(rope_type="linear", factor=4.0)), both("alibi", alibi=True),
        *activation("activation", "gelu_new")), F16, corrected=alibi_once),
    Case("falcon-sequential", "FalconForCausalLM", falcon_like(parallel_attn=False, bias=True), (
        Variant("", old=old_spelling), both("alibi", alibi=True)), BF16, corrected=alibi_once),
    # Falcon RW: one key/value head per query head, sequential norms, ALiBi.
    Case("falcon-rw", "FalconForCausalLM", falcon_like(**PER_HEAD, alibi=True, bias=True), (
        Variant("", lengths=(10, 1, LONG), old=old_spelling), both("rotary", alibi=False)), BF16, corrected=alibi_once),
    Case("falcon-per-head", "FalconForCausalLM", falcon_like(multi_query=False, ffn_hidden_size=None), (
        Variant("", old=old_spelling), both("alibi", alibi=True)), BF16, corrected=alibi_once),
    # Falcon 40B: groups of heads, and two norms.
    Case("falcon-groups", "FalconForCausalLM", falcon_like(**GROUPS), (
        MAIN, both("alibi", alibi=True), variant("flags-not-read", multi_query=False)), F16, corrected=alibi_once),
    Case("falcon-groups-one-norm", "FalconForCausalLM",
         falcon_like(**GROUPS, num_ln_in_parallel_attn=1, tie_word_embeddings=False), (
             Variant("", old=old_spelling), both("alibi", alibi=True)), BF16, corrected=alibi_once),
    Case("falcon-groups-all", "FalconForCausalLM",
         falcon_like(**changed(GROUPS, {"num_kv_heads": ABSENT, "hidden_size": 24, "num_attention_heads": 3})), (
             Variant("", old=old_spelling),), BF16),
]


# ---- Encoders -----------------------------------------------------------------------------------------------------

def esm_like(**changes) -> dict:
    return changed(roberta_like(mask_token_id=5, position_embedding_type="rotary", token_dropout=False,
                                emb_layer_norm_before=False, layer_norm_eps=1e-5), {"type_vocab_size": ABSENT} | changes)


UNTIED = (ONLY, variant("tied", tie_word_embeddings=True))
BUCKETS = {"relative_attention_bias": 3.0}
ENCODERS = [
    Case("mpnet", "MPNetForMaskedLM", roberta_like(max_position_embeddings=LONG + 2), (
        Variant("", lengths=(10, 1, LONG, (5, 9)), old=old_spelling), variant("relu", hidden_act="relu"),
        variant("eps", layer_norm_eps=1e-2)), F16, gains=BUCKETS),
    Case("mpnet-untied", "MPNetForMaskedLM",
         roberta_like(**SMALL, tie_word_embeddings=False, relative_attention_num_buckets=40), UNTIED, BF16, gains=BUCKETS),
    Case("mpnet-body", "MPNetModel", roberta_like(**SMALL), (ONLY,), BF16, gains=BUCKETS),
    Case("xlm-roberta", "XLMRobertaForMaskedLM", roberta_like(type_vocab_size=2, layer_norm_eps=1e-12), (
        MAIN_ENCODER, variant("eps", layer_norm_eps=1e-5), variant("relu", hidden_act="relu")), F16),
    Case("xlm-roberta-causal", "XLMRobertaForCausalLM", roberta_like(**SMALL, is_decoder=True), (ONLY,), BF16),
    Case("camembert", "CamembertForMaskedLM", roberta_like(**SMALL), (Variant("", old=old_spelling),), BF16),
    Case("electra", "ElectraForMaskedLM", roberta_like(embedding_size=12, pad_token_id=0, layer_norm_eps=1e-12), (
        MAIN_ENCODER, variant("eps", layer_norm_eps=1e-2), *activation("hidden_act", "relu")), F16),
    Case("electra-wide", "ElectraForMaskedLM",
         roberta_like(**SMALL, embedding_size=16, pad_token_id=0, tie_word_embeddings=False), UNTIED, BF16),
    Case("electra-discriminator", "ElectraForPreTraining", roberta_like(**SMALL, embedding_size=12, pad_token_id=0), (
        ONLY,), BF16),
    # In float32: transformers 5.23 takes the frequencies from the file, and float16 would round them.
    Case("esm", "EsmForMaskedLM", esm_like(), (
        Variant("", lengths=(10, 1, LONG), old=old_spelling), variant("eps", layer_norm_eps=1e-2),
        variant("dropout", token_dropout=True), variant("dropout-none", token_dropout=True, mask_token_id=47),
        variant("activation-not-read", hidden_act="relu"))),
    Case("esm-absolute", "EsmForMaskedLM", esm_like(**SMALL, position_embedding_type="absolute", emb_layer_norm_before=True,
                                                    token_dropout=True, tie_word_embeddings=False), (
        Variant("", lengths=(10, (5, 9)), old=old_spelling), variant("tied", tie_word_embeddings=True)), BF16),
]



# ---- Rotary encoders ----------------------------------------------------------------------------------------------

def nomic_like(**changes) -> dict:
    return changed(roberta_like(pad_token_id=0, type_vocab_size=2, layer_norm_eps=1e-12, rope_parameters=rope(1000.0)), changes)


def modernbert_like(**changes) -> dict:
    return changed(roberta_like(pad_token_id=0, num_hidden_layers=4, local_attention=8, max_position_embeddings=64),
                   {"layer_norm_eps": ABSENT, "type_vocab_size": ABSENT} | changes)


def thetas(full: float, local: float) -> dict:
    return {"rope_parameters": {"full_attention": rope(full), "sliding_attention": rope(local)}}


LINEAR = {"rope_type": "linear", "factor": 4.0}
TYPES = ["sliding_attention", "full_attention"]
ROTARY_ENCODERS = [
    Case("nomic_bert", "NomicBertForMaskedLM", nomic_like(), (
        MAIN_ENCODER, variant("eps", layer_norm_eps=1e-2), both("base", rope_parameters=rope(50.0)),
        *activation("hidden_act", "gelu")), F16),
    Case("nomic_bert-untied", "NomicBertForMaskedLM", nomic_like(**SMALL, head_dim=12, tie_word_embeddings=False), UNTIED,
         BF16),
    Case("modernbert", "ModernBertForMaskedLM", modernbert_like(), (
        Variant("", lengths=(20, 1, (5, 12)), old=old_spelling), variant("eps", norm_eps=1e-2),
        Variant("window-odd", {"local_attention": 5}, (12,)),
        Variant("bases", thetas(500.0, 30.0), (12,), old=old_spelling),
        Variant("scaled", {"rope_parameters": {"full_attention": LINEAR | {"rope_theta": 500.0},
                                               "sliding_attention": LINEAR | {"rope_theta": 30.0}}}, (12,), old=old_spelling),
        Variant("types", {"layer_types": TYPES * 2}, (12,)),
        variant("head-relu", classifier_activation="relu"), *activation("hidden_activation", "gelu_new")), F16),
    Case("modernbert-biased", "ModernBertForMaskedLM",
         modernbert_like(**SMALL, num_hidden_layers=3, norm_bias=True, attention_bias=True, mlp_bias=True,
                         classifier_bias=True, decoder_bias=False, layer_types=["full_attention", "sliding_attention", "full_attention"],
                         tie_word_embeddings=False), (Variant("", lengths=(12,), old=old_spelling),), BF16),
]


# ---- Disentangled attention ---------------------------------------------------------------------------------------

def deberta_like(**changes) -> dict:
    """Convert to the format of DeBERTa-v3's files."""
    return changed(roberta_like(
        pad_token_id=0, type_vocab_size=0, layer_norm_eps=1e-7, relative_attention=True, position_buckets=6,
        max_relative_positions=-1, norm_rel_ebd="layer_norm", share_att_key=True, pos_att_type=["p2c", "c2p"],
        position_biased_input=False, max_position_embeddings=24, legacy=False), changes)


EMBEDDED = {"rel_embeddings": 30.0}
CONVOLVED = {"conv_kernel_size": 3, "conv_act": "gelu"}
DISENTANGLED = [
    Case("deberta-v2", "DebertaV2ForMaskedLM", deberta_like(), (
        Variant("", lengths=(10, 1, LONG), old=old_spelling), variant("eps", layer_norm_eps=1e-2),
        both("one-text", pos_att_type="c2p|p2c"), variant("c2p", pos_att_type=["c2p"]), variant("p2c", pos_att_type="p2c"),
        variant("none", pos_att_type=None), variant("scaled-only", relative_attention=False),
        Variant("distant", {"max_relative_positions": 12}, (LONG,)), variant("relu", hidden_act="relu")),
         F16, gains=EMBEDDED),
    # DeBERTa-v2: convolution, positions and token types added to the embeddings, the older head.
    Case("deberta-v2-convolved", "DebertaV2ForMaskedLM",
         deberta_like(**SMALL, **CONVOLVED, type_vocab_size=2, position_biased_input=True, legacy=True,
                      max_position_embeddings=CONTEXT), (
             Variant("", lengths=(10, 1), old=old_spelling), variant("tanh", conv_act=ABSENT)), BF16, gains=EMBEDDED),
    Case("deberta-v2-own-projections", "DebertaV2ForMaskedLM",
         deberta_like(**SMALL, share_att_key=False, position_buckets=-1, norm_rel_ebd="none", max_relative_positions=5,
                      tie_word_embeddings=False, legacy=True), (ONLY, variant("tied", tie_word_embeddings=True)), BF16,
         gains=EMBEDDED),
    Case("deberta-v2-narrow", "DebertaV2Model",
         deberta_like(**SMALL, embedding_size=12, position_biased_input=True, type_vocab_size=2), (ONLY,), BF16,
         gains=EMBEDDED),
]

BIASED = ALIBI + ENCODERS + ROTARY_ENCODERS + DISENTANGLED
