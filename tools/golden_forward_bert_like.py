"""Cases of golden_forward.py: encoders that differ from BERT or RoBERTa in one or two features."""

from golden_forward_case import ABSENT, BF16, F16, ONLY, SMALL, Case, Variant, activation, changed, variant
from golden_forward_learned import bert_like, roberta_like
from golden_forward_rotary import llama_like, rope

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
    Case("eurobert", "EuroBertForMaskedLM", llama_like(mask_token_id=3), (
        TEXTS, variant("eps", rms_norm_eps=1e-2), variant("eps-absent", rms_norm_eps=ABSENT),
        variant("base", rope_parameters=rope(500.0))), BF16),
    Case("eurobert-body", "EuroBertModel", llama_like(mask_token_id=3, attention_bias=True, mlp_bias=True, vocab_size=32), (ONLY,),
         BF16),
]
