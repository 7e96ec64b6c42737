"""Cases of golden_forward.py: encoders that differ from BERT or RoBERTa in one or two features."""

from contextlib import contextmanager

import torch
from golden_forward_case import ABSENT, BF16, F16, ONLY, SMALL, Case, Variant, activation, changed, variant
from golden_forward_learned import bert_like, roberta_like
from golden_forward_rotary import llama_like, rope
from transformers.models.longformer import modeling_longformer

TEXTS = Variant("", lengths=(10, 1, (5, 9)))
EPS, EPS_ABSENT = variant("eps", layer_norm_eps=1e-2), variant("eps-absent", layer_norm_eps=ABSENT)
RELU = activation("hidden_act", "relu")


def rotary(theta: float, **changes) -> dict:
    return changed(roberta_like(**SMALL, rope_parameters=rope(theta)), changes)


def as_the_authors_write(tensors: dict) -> dict:
    """Rename to the format of GTE's files on the hub."""
    return {name.replace("gte.", "new."): tensor for name, tensor in tensors.items()}


def with_the_authors_keys(config: dict) -> dict:
    theta = config.pop("rope_parameters")["rope_theta"]
    return config | {"model_type": "new", "architectures": ["NewForMaskedLM"], "rope_theta": theta, "rope_scaling": None,
                     "position_embedding_type": "rope", "layer_norm_type": "layer_norm", "logn_attention_scale": False,
                     "logn_attention_clip1": False, "pack_qkv": True, "unpad_inputs": False}


def deberta_like(**changes) -> dict:
    return roberta_like(**SMALL, pad_token_id=0, type_vocab_size=0, layer_norm_eps=1e-7, relative_attention=True,
                        pos_att_type=["c2p", "p2c"], max_position_embeddings=16, position_biased_input=False) | changes


def with_blocks(config: dict) -> dict:
    return config | {"attention_type": "block_sparse", "block_size": 2, "num_random_blocks": 0}


def dense(band: torch.Tensor) -> torch.Tensor:
    """Give Longformer's maps one column per token. It returns a band: column j of row t is token t + j - W / 2."""
    tokens, width = band.shape[-2:]
    whole = torch.zeros(*band.shape[:-1], tokens + width, dtype=band.dtype)
    columns = (torch.arange(tokens)[:, None] + torch.arange(width)[None]).expand(band.shape)
    return whole.scatter(-1, columns, band)[..., width // 2:width // 2 + tokens]


@contextmanager
def dense_maps():
    """Make `dense` the maps of Longformer's encoder."""
    forward = modeling_longformer.LongformerEncoder.forward

    def with_dense_maps(self, *arguments, **keywords):
        result = forward(self, *arguments, **keywords)
        result.attentions = tuple(map(dense, result.attentions))
        return result

    modeling_longformer.LongformerEncoder.forward = with_dense_maps
    try:
        yield
    finally:
        modeling_longformer.LongformerEncoder.forward = forward


EMBEDDED = {"rel_embeddings": 30.0}
BERT_LIKE = [
    Case("ernie", "ErnieForMaskedLM", bert_like(**SMALL, use_task_id=True), (TEXTS, EPS, EPS_ABSENT, *RELU), BF16),
    Case("ernie-no-task", "ErnieModel", bert_like(**SMALL), (ONLY, variant("absent", use_task_id=ABSENT)), BF16),
    Case("megatron-bert", "MegatronBertForMaskedLM", bert_like(**SMALL), (TEXTS, EPS, EPS_ABSENT, *RELU), BF16),
    Case("megatron-bert-causal", "MegatronBertForCausalLM", bert_like(**SMALL, is_decoder=True), (ONLY,), BF16),
    Case("data2vec-text", "Data2VecTextForMaskedLM", roberta_like(**SMALL), (TEXTS, EPS, EPS_ABSENT), BF16),
    Case("roberta-prelayernorm", "RobertaPreLayerNormForMaskedLM", roberta_like(**SMALL), (TEXTS, EPS, EPS_ABSENT, *RELU), BF16),
    Case("xlm-roberta-xl", "XLMRobertaXLForMaskedLM", roberta_like(**SMALL), (TEXTS, EPS, EPS_ABSENT, *RELU), F16),
    # Text 0 has no padding, which these models mask by themselves.
    Case("dpr", "DPRContextEncoder", bert_like(**SMALL), (Variant("", lengths=(4, 10)), Variant("eps", {"layer_norm_eps": 1e-2}, (4,))), BF16),
    Case("dpr-question", "DPRQuestionEncoder", bert_like(**SMALL, projection_dim=8), (Variant("", lengths=(4, 10)),), BF16),
    Case("dpr-reader", "DPRReader", bert_like(**SMALL), (ONLY,), BF16),
    Case("gte", "GteForMaskedLM", rotary(160000.0), (
        TEXTS, EPS, EPS_ABSENT, variant("base", rope_parameters=rope(500.0)), variant("rope-absent", rope_parameters=ABSENT),
        *RELU), BF16),
    Case("gte-new", "GteForMaskedLM", rotary(500.0), (ONLY,), BF16, rewrite=as_the_authors_write,
         rewrite_config=with_the_authors_keys, loads_back=False),
    Case("jina_embeddings_v3", "JinaEmbeddingsV3ForMaskedLM", rotary(20000.0), (
        TEXTS, EPS, EPS_ABSENT, variant("base", rope_parameters=rope(500.0)), variant("rope-absent", rope_parameters=ABSENT),
        *RELU), BF16),
    # In float32: the file contains the table of sinusoids, and bfloat16 would round it.
    Case("roformer", "RoFormerForMaskedLM", bert_like(**SMALL, embedding_size=12), (TEXTS, EPS, *RELU)),
    Case("roformer-wide", "RoFormerForMaskedLM", bert_like(**SMALL), (ONLY,)),
    Case("rembert", "RemBertForMaskedLM", bert_like(**SMALL, input_embedding_size=12, output_embedding_size=20), (TEXTS, EPS, *RELU), BF16),
    Case("layoutlm", "LayoutLMForMaskedLM", bert_like(**SMALL, max_2d_position_embeddings=8), (TEXTS, EPS), BF16),
    # Texts of up to five blocks have full attention, whatever the config says. transformers then returns no maps.
    Case("big_bird", "BigBirdForMaskedLM", bert_like(**SMALL, attention_type="original_full"), (
        Variant("", lengths=(10, 1)), EPS, *RELU), BF16, rewrite_config=with_blocks, loads_back=False),
    Case("big_bird-full", "BigBirdForMaskedLM",
         bert_like(**SMALL, attention_type="original_full", use_bias=False, rescale_embeddings=True), (Variant("", lengths=(16,)),), BF16),
    Case("longformer", "LongformerForMaskedLM", roberta_like(**SMALL, attention_window=[4, 8], max_position_embeddings=22), (
        Variant("", lengths=(14, 1, 8)), variant("one", attention_window=4), EPS, *RELU), BF16, corrected=dense_maps),
    Case("deberta", "DebertaForMaskedLM", deberta_like(max_relative_positions=-1), (
        Variant("", lengths=(10, 1)), EPS, variant("none", relative_attention=False),
        Variant("near", {"max_relative_positions": 16}, (10,))), F16, gains=EMBEDDED),
    Case("deberta-c2p", "DebertaForMaskedLM", deberta_like(pos_att_type=["c2p"], max_relative_positions=5, type_vocab_size=2), (
        Variant("", lengths=(4, 14)),), BF16, gains=EMBEDDED),
    Case("eurobert", "EuroBertForMaskedLM", llama_like(mask_token_id=3), (
        TEXTS, variant("eps", rms_norm_eps=1e-2), variant("eps-absent", rms_norm_eps=ABSENT),
        variant("base", rope_parameters=rope(500.0))), BF16),
    Case("eurobert-body", "EuroBertModel", llama_like(mask_token_id=3, attention_bias=True, mlp_bias=True, vocab_size=32), (ONLY,),
         BF16),
]
