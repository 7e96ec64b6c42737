"""The tiny random checkpoints under tests/data, and how they are written.

Each case is a transformers model of a few tens of kB. Its shapes exercise the special features of its family (head_dim that
is not hidden_size / heads, fewer key/value heads, fused tensors, transposed storage, shared layers).
The `-old` cases are converted by hand to the format of older files on the Hugging Face hub.
"""

import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers.pytorch_utils import Conv1D

SEED = 10  # a seed for which no expected rank depends on rounding; make_golden.py checks this
VOCABULARY = 40
CONTEXT = 64
WIDTH = 32
MLP_WIDTH = 48
PLAIN_MLP_WIDTH = 56  # MLP size without a gate; both sizes are not multiples of the hidden size, and fit into the probe's 64 numbers
# Set every value whose default could change in transformers. Special tokens must also be within the vocabulary.
TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


@dataclass(frozen=True)
class Case:
    name: str
    model: str  # class name in transformers
    config: dict
    dtype: torch.dtype = torch.float32
    shard_size: str | None = None
    rewrite: Callable[[Path], None] | None = None  # converts the saved files to an older format
    loads_back: bool = True  # whether transformers can still read the converted files


# ---- Values -------------------------------------------------------------------------------------------------------

def random_matrix(generator: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """Fill with random values. Columns decay, so that the spectrum decays, and blocks of rows differ, so that heads differ."""
    decay = 1.0 / (1.0 + 0.08 * np.arange(columns))
    scale = 0.2 + 0.05 * ((np.arange(rows) // 4 + generator.integers(5)) % 5)
    return generator.standard_normal((rows, columns)) * decay * scale[:, None]


def random_vector(generator: np.random.Generator, name: str, size: int, current: torch.Tensor) -> np.ndarray:
    """Keep norm gains close to their initial value (1, or 0 if the model computes 1 + gain)."""
    noise = 0.1 * generator.standard_normal(size)
    return noise if name.endswith("bias") else current.numpy() + noise


def randomise(model: torch.nn.Module, seed: list[int]) -> None:
    """Replace every parameter. NumPy's random numbers are the same on every machine."""
    generator = np.random.default_rng(seed)
    transposed = {id(module.weight) for module in model.modules() if isinstance(module, Conv1D)}
    for name, parameter in model.named_parameters():
        if parameter.dim() == 1:
            values = random_vector(generator, name, parameter.numel(), parameter.detach())
        elif id(parameter) in transposed:
            values = random_matrix(generator, *reversed(parameter.shape)).T
        else:
            values = random_matrix(generator, *parameter.shape)
        with torch.no_grad():
            parameter.copy_(torch.from_numpy(np.ascontiguousarray(values)))


def build(case: Case) -> torch.nn.Module:
    model_class = getattr(transformers, case.model)
    model = model_class(model_class.config_class(**case.config))
    randomise(model, [SEED, zlib.crc32(case.name.encode())])
    return model.to(case.dtype)


def save(case: Case, model: torch.nn.Module, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    shards = {"max_shard_size": case.shard_size} if case.shard_size else {}
    model.save_pretrained(folder, **shards)
    (folder / "generation_config.json").unlink(missing_ok=True)


# ---- Older formats of the same files ------------------------------------------------------------------------------

def write_config(folder: Path, config: dict) -> None:
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def read_config(folder: Path) -> dict:
    return json.loads((folder / "config.json").read_text())


def rewrite_tensors(folder: Path, change: Callable[[dict], dict]) -> None:
    path = folder / "model.safetensors"
    tensors = change(load_file(path))
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, path, metadata={"format": "pt"})


def make_bert_old(folder: Path) -> None:
    """Convert to the original bert-base-uncased format: LayerNorm.gamma/beta, and a config without a dtype."""
    def rename(tensors: dict) -> dict:
        return {name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): tensor
                for name, tensor in tensors.items()}
    rewrite_tensors(folder, rename)
    write_config(folder, {
        "architectures": ["BertModel"], "attention_probs_dropout_prob": 0.1, "hidden_act": "gelu",
        "hidden_dropout_prob": 0.1, "hidden_size": WIDTH, "initializer_range": 0.02,
        "intermediate_size": PLAIN_MLP_WIDTH, "layer_norm_eps": 1e-12, "max_position_embeddings": CONTEXT,
        "model_type": "bert", "num_attention_heads": 4, "num_hidden_layers": 2, "pad_token_id": 0,
        "type_vocab_size": 2, "vocab_size": VOCABULARY})


def make_gpt2_old(folder: Path) -> None:
    """Convert to the format of the first GPT-2 files: no prefix, no LM head, and the causal mask stored with every layer."""
    def add_masks(tensors: dict) -> dict:
        for layer in range(2):
            mask = torch.tril(torch.ones(CONTEXT, CONTEXT)).view(1, 1, CONTEXT, CONTEXT)
            tensors[f"h.{layer}.attn.bias"] = mask
            tensors[f"h.{layer}.attn.masked_bias"] = torch.tensor(-1e4)
        return tensors
    rewrite_tensors(folder, add_masks)
    write_config(folder, {
        "activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1, "bos_token_id": 39,
        "embd_pdrop": 0.1, "eos_token_id": 39, "initializer_range": 0.02, "layer_norm_epsilon": 1e-05,
        "model_type": "gpt2", "n_ctx": CONTEXT, "n_embd": 16, "n_head": 4, "n_layer": 2, "n_positions": CONTEXT,
        "resid_pdrop": 0.1, "torch_dtype": "float32", "transformers_version": "4.30.0", "vocab_size": VOCABULARY})


def make_llama_old(folder: Path) -> None:
    """Use the keys of transformers 4, as in the Llama 3.2 files, without head_dim, which must be derived."""
    config = read_config(folder)
    for key in ("dtype", "head_dim", "rope_parameters"):
        config.pop(key, None)
    config |= {
        "rope_theta": 500000.0,
        "rope_scaling": {"factor": 8.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
                         "original_max_position_embeddings": 16, "rope_type": "llama3"},
        "tie_word_embeddings": True, "torch_dtype": "float16", "transformers_version": "4.43.0"}
    write_config(folder, config)


def vision_tensors(generator: np.random.Generator, dtype: torch.dtype) -> dict:
    """Add names that look like attention projections but belong to the image tower, which must be ignored."""
    layer = "vision_tower.vision_model.encoder.layers.0."
    shapes = {
        "multi_modal_projector.mm_input_projection_weight": (16, WIDTH),
        "multi_modal_projector.mm_soft_emb_norm.weight": (16,),
        "vision_tower.vision_model.embeddings.patch_embedding.bias": (16,),
        "vision_tower.vision_model.embeddings.patch_embedding.weight": (16, 3, 2, 2),
        "vision_tower.vision_model.embeddings.position_embedding.weight": (4, 16),
        layer + "self_attn.q_proj.weight": (16, 16), layer + "self_attn.q_proj.bias": (16,),
        layer + "self_attn.k_proj.weight": (16, 16), layer + "self_attn.k_proj.bias": (16,),
        layer + "self_attn.v_proj.weight": (16, 16), layer + "self_attn.v_proj.bias": (16,),
        layer + "self_attn.out_proj.weight": (16, 16), layer + "self_attn.out_proj.bias": (16,),
        layer + "mlp.fc1.weight": (24, 16), layer + "mlp.fc1.bias": (24,),
        layer + "mlp.fc2.weight": (16, 24), layer + "mlp.fc2.bias": (16,),
        layer + "layer_norm1.weight": (16,), layer + "layer_norm1.bias": (16,),
        layer + "layer_norm2.weight": (16,), layer + "layer_norm2.bias": (16,),
        "vision_tower.vision_model.post_layernorm.weight": (16,),
        "vision_tower.vision_model.post_layernorm.bias": (16,),
    }
    return {name: torch.from_numpy(0.1 * generator.standard_normal(shape)).to(dtype) for name, shape in shapes.items()}


def make_gemma3_multimodal(folder: Path) -> None:
    """Convert to the Gemma 3 format of 2025-03: the text model below `language_model.`, its config below `text_config`."""
    def wrap(tensors: dict) -> dict:
        vision = vision_tensors(np.random.default_rng([SEED, 3]), torch.bfloat16)
        return {"language_model." + name: tensor for name, tensor in tensors.items()} | vision
    rewrite_tensors(folder, wrap)
    text = read_config(folder)
    for key in ("_sliding_window_pattern", "architectures", "dtype", "layer_types", "rope_parameters",
                "transformers_version"):
        text.pop(key, None)
    text |= {"rope_local_base_freq": 10000.0, "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
             "rope_theta": 1000000.0, "sliding_window_pattern": 2}
    write_config(folder, {
        "architectures": ["Gemma3ForConditionalGeneration"], "boi_token_index": 36, "eoi_token_index": 37,
        "eos_token_id": [2], "image_token_index": 38, "initializer_range": 0.02, "mm_tokens_per_image": 4,
        "model_type": "gemma3", "text_config": text, "torch_dtype": "bfloat16", "transformers_version": "4.50.0",
        "vision_config": {"hidden_size": 16, "image_size": 4, "intermediate_size": 24,
                          "model_type": "siglip_vision_model", "num_attention_heads": 2, "num_hidden_layers": 1,
                          "patch_size": 2, "vision_use_head": False}})


# ---- Cases --------------------------------------------------------------------------------------------------------

def bert_like(**changes) -> dict:
    return TOKENS | {"vocab_size": VOCABULARY, "hidden_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": 4,
                     "intermediate_size": PLAIN_MLP_WIDTH, "max_position_embeddings": CONTEXT,
                     "type_vocab_size": 2} | changes


def roberta_like(**changes) -> dict:
    # Positions start at pad + 1 = 2, so 66 rows are needed for 64 tokens, like 514 for 512 in the original model.
    return bert_like(pad_token_id=1, bos_token_id=0, max_position_embeddings=CONTEXT + 2, type_vocab_size=1,
                     layer_norm_eps=1e-5) | changes


def falcon_like(**changes) -> dict:
    return TOKENS | {"vocab_size": VOCABULARY, "hidden_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": 4,
                     "ffn_hidden_size": PLAIN_MLP_WIDTH, "max_position_embeddings": CONTEXT} | changes


def gpt2_like(**changes) -> dict:
    return {"vocab_size": VOCABULARY, "n_embd": WIDTH, "n_layer": 2, "n_head": 4, "n_positions": CONTEXT,
            "bos_token_id": 39, "eos_token_id": 39} | changes


def opt_like(**changes) -> dict:
    return {"vocab_size": VOCABULARY, "hidden_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": 4,
            "ffn_dim": PLAIN_MLP_WIDTH, "max_position_embeddings": CONTEXT,
            "pad_token_id": 1, "bos_token_id": 2, "eos_token_id": 2} | changes


def rope(theta: float = 10000.0, **more) -> dict:
    return {"rope_type": "default", "rope_theta": theta} | more


def llama_like(**changes) -> dict:
    return TOKENS | {"vocab_size": VOCABULARY, "hidden_size": WIDTH, "intermediate_size": MLP_WIDTH,
                     "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                     "max_position_embeddings": CONTEXT, "rope_parameters": rope()} | changes


def gemma3_text() -> dict:
    return llama_like(head_dim=16, sliding_window=8, query_pre_attn_scalar=20,
                      layer_types=["sliding_attention", "full_attention"],
                      rope_parameters={"sliding_attention": rope(10000.0),
                                       "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6}})


F16, BF16 = torch.float16, torch.bfloat16
GEMMA2 = {"head_dim": 16, "sliding_window": 8, "query_pre_attn_scalar": 20}

CASES = [
    Case("bert", "BertForMaskedLM", bert_like()),
    Case("bert-old", "BertModel", bert_like(), rewrite=make_bert_old),
    Case("roberta", "RobertaForMaskedLM", roberta_like()),
    Case("distilbert", "DistilBertForMaskedLM",
         {"vocab_size": VOCABULARY, "dim": WIDTH, "hidden_dim": PLAIN_MLP_WIDTH, "n_layers": 2, "n_heads": 4,
          "max_position_embeddings": CONTEXT, "pad_token_id": 0}, F16),
    Case("albert", "AlbertForMaskedLM",
         bert_like(num_hidden_layers=4, num_hidden_groups=2, embedding_size=16)),
    Case("gpt2", "GPT2LMHeadModel", gpt2_like(n_inner=PLAIN_MLP_WIDTH)),
    # No n_inner, as in the original model: the MLP size is four times the hidden size, here 64.
    Case("gpt2-old", "GPT2Model", gpt2_like(n_embd=16), rewrite=make_gpt2_old),
    Case("gpt_neox", "GPTNeoXForCausalLM",
         TOKENS | {"vocab_size": VOCABULARY, "hidden_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": 4,
                   "intermediate_size": PLAIN_MLP_WIDTH, "max_position_embeddings": CONTEXT,
                   "rope_parameters": rope(partial_rotary_factor=0.25)}, F16),
    Case("gpt_neo", "GPTNeoForCausalLM",
         {"vocab_size": VOCABULARY, "hidden_size": WIDTH, "num_layers": 2, "num_heads": 4,
          "intermediate_size": PLAIN_MLP_WIDTH,
          "attention_types": [[["global", "local"], 1]], "window_size": 8, "max_position_embeddings": CONTEXT,
          "bos_token_id": 39, "eos_token_id": 39}),
    Case("opt", "OPTForCausalLM", opt_like(), F16),
    Case("opt-projected", "OPTForCausalLM", opt_like(word_embed_proj_dim=16, do_layer_norm_before=False)),
    Case("llama", "LlamaForCausalLM", llama_like(), BF16, shard_size="24KB"),
    Case("llama-old", "LlamaForCausalLM", llama_like(tie_word_embeddings=True), F16, rewrite=make_llama_old),
    Case("mistral", "MistralForCausalLM", llama_like(head_dim=12, sliding_window=16), BF16),
    Case("qwen2", "Qwen2ForCausalLM", llama_like(rope_parameters=rope(1e6)), BF16),
    Case("qwen3", "Qwen3ForCausalLM", llama_like(head_dim=12, tie_word_embeddings=True, rope_parameters=rope(1e6)),
         BF16),
    Case("gemma", "GemmaForCausalLM", llama_like(head_dim=16, num_key_value_heads=1), BF16),
    Case("gemma2", "Gemma2ForCausalLM", llama_like(**GEMMA2)),
    Case("gemma3", "Gemma3ForCausalLM", gemma3_text(), BF16),
    Case("gemma3-multimodal", "Gemma3ForCausalLM", gemma3_text(), BF16, rewrite=make_gemma3_multimodal,
         loads_back=False),
    Case("phi", "PhiForCausalLM",
         llama_like(num_key_value_heads=4, intermediate_size=PLAIN_MLP_WIDTH,
                    rope_parameters=rope(partial_rotary_factor=0.5)), F16),
    Case("phi3", "Phi3ForCausalLM", llama_like(original_max_position_embeddings=CONTEXT), BF16),
    Case("bloom", "BloomForCausalLM",
         TOKENS | {"vocab_size": VOCABULARY, "hidden_size": 16, "n_layer": 2, "n_head": 4, "seq_length": CONTEXT}, F16),
    Case("mpt", "MptForCausalLM",
         TOKENS | {"vocab_size": VOCABULARY, "d_model": 16, "n_layers": 2, "n_heads": 4, "max_seq_len": CONTEXT}, BF16),
    # One key/value head, one per query head, or groups.
    Case("falcon", "FalconForCausalLM", falcon_like(), BF16),
    Case("falcon-per-head", "FalconForCausalLM", falcon_like(multi_query=False, alibi=True, parallel_attn=False), BF16),
    Case("falcon-groups", "FalconForCausalLM", falcon_like(new_decoder_architecture=True, num_kv_heads=2), BF16),
    Case("mpnet", "MPNetForMaskedLM", roberta_like(), F16),
    Case("xlm-roberta", "XLMRobertaForMaskedLM", roberta_like(), F16),
    Case("camembert", "CamembertForMaskedLM", roberta_like(), F16),
    Case("electra", "ElectraForMaskedLM", bert_like(embedding_size=16), F16),
    Case("esm", "EsmForMaskedLM", roberta_like(mask_token_id=5, position_embedding_type="rotary")),
    Case("nomic_bert", "NomicBertForMaskedLM", bert_like(intermediate_size=MLP_WIDTH, rope_parameters=rope(1000.0)), F16),
    Case("modernbert", "ModernBertForMaskedLM",
         TOKENS | {"vocab_size": VOCABULARY, "hidden_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": 4,
                   "intermediate_size": MLP_WIDTH, "max_position_embeddings": CONTEXT}, F16),
    Case("deberta-v2", "DebertaV2ForMaskedLM",
         bert_like(type_vocab_size=0, relative_attention=True, position_buckets=8, norm_rel_ebd="layer_norm",
                   share_att_key=True, pos_att_type=["p2c", "c2p"], position_biased_input=False, legacy=False), F16),
]
