"""Adapters saved by PEFT, one per type and per option that affects merged weights, and PEFT's merged weights.

golden_adapters.py keeps some of them as test data. check_adapters.py makes all of them from scratch.
"""

import json
import pathlib
import tempfile

import torch
import peft
from peft import PeftModel, VeloraConfig, get_peft_model
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForMaskedLM

SIZES = dict(vocab_size=11, num_hidden_layers=2, hidden_size=8, intermediate_size=12, num_attention_heads=2, num_key_value_heads=1,
             head_dim=4, max_position_embeddings=16, bos_token_id=0, eos_token_id=0, pad_token_id=None)
BASES = {
    "llama": ("llama", dict(SIZES, attention_bias=True, mlp_bias=True, tie_word_embeddings=False)),
    "tied": ("llama", dict(SIZES, tie_word_embeddings=True)),
    "gpt2": ("gpt2", dict(vocab_size=11, n_layer=2, n_embd=8, n_head=2, n_positions=16, bos_token_id=0, eos_token_id=0)),
    "bert": ("bert", dict(vocab_size=11, num_hidden_layers=1, hidden_size=8, intermediate_size=12, num_attention_heads=2,
                          max_position_embeddings=16)),
    "gpt_neox": ("gpt_neox", dict(vocab_size=11, num_hidden_layers=1, hidden_size=8, intermediate_size=12, num_attention_heads=2,
                                  max_position_embeddings=16)),
    "mixtral": ("mixtral", dict(SIZES, num_hidden_layers=1, num_local_experts=3, num_experts_per_tok=2)),
    "qwen3_moe": ("qwen3_moe", dict(SIZES, num_hidden_layers=1, num_experts=3, num_experts_per_tok=2, moe_intermediate_size=4,
                                    mlp_only_layers=[], decoder_sparse_step=1)),
    "gpt_oss": ("gpt_oss", dict(SIZES, num_hidden_layers=1, num_local_experts=3, num_experts_per_tok=2)),
}
WITH_EXPERTS = {"mixtral", "qwen3_moe", "gpt_oss"}
SOME = dict(r=2, lora_alpha=3, target_modules=["q_proj", "down_proj"])
GPT2 = dict(SOME, target_modules=["c_attn", "c_proj", "c_fc"], fan_in_fan_out=True)
ORTHOGONAL = dict(SOME, init_lora_weights="orthogonal")
# name: (base, options of LoraConfig, changes of the saved adapter_config.json)
CASES = {
    "plain": ("llama", SOME, {}),
    "alternatives": ("llama", dict(SOME, alpha_pattern={"q_proj|v_proj": 8}, rank_pattern={"k_proj|q_proj": 3}), {}),
    "anchored": ("llama", dict(SOME, alpha_pattern={r"^model\.layers\.1\.self_attn\.q_proj": 9}), {}),
    "dots": ("llama", dict(SOME, alpha_pattern={r"layers\.0\.self_attn\.q_proj": 9}, rank_pattern={r"layers\.[1-9]\..*": 4}), {}),
    "suffix": ("llama", dict(SOME, alpha_pattern={r".*\.1\..*q_proj": 8, "proj": 100, "own_proj": 50}), {}),
    # PEFT sorts patterns when it saves them. When it loads them, the first match wins.
    "first_of_two": ("llama", SOME, {"alpha_pattern": {"q_proj": 5, r".*layers\.0.*": 7}}),
    "looks_ahead": ("llama", dict(SOME, alpha_pattern={r"(?!.*layers\.1)(?P<all>.*)(?<!down)_proj": 11}), {}),
    "counts": ("llama", dict(SOME, alpha_pattern={r"(?:\w{4,6}\.){1,2}\d+?\.[^.]+\.\S*": 6}), {}),
    "rank_stabilized": ("llama", dict(SOME, use_rslora=True, rank_pattern={"down_proj": 5}), {}),
    "scaled_by_half": ("llama", dict(SOME, lora_alpha=1.5), {}),
    "lora_bias": ("llama", dict(SOME, lora_bias=True), {}),
    "bias_all": ("llama", dict(SOME, bias="all"), {}),
    "bias_lora_only": ("llama", dict(SOME, bias="lora_only"), {}),
    "pissa": ("llama", dict(SOME, init_lora_weights="pissa"), {}),
    "pissa_all_directions": ("llama", dict(SOME, r=6, target_modules=["k_proj"], init_lora_weights="pissa"), {}),
    "pissa_patterns": ("llama", dict(SOME, init_lora_weights="pissa", use_rslora=True, rank_pattern={"q_proj": 4}), {}),
    "olora": ("llama", dict(SOME, init_lora_weights="olora"), {}),
    "olora_wide": ("llama", dict(SOME, r=3, target_modules=["k_proj", "up_proj", "down_proj"], init_lora_weights="olora"), {}),
    "orthogonal": ("llama", ORTHOGONAL, {}),
    "gaussian": ("llama", dict(SOME, init_lora_weights="gaussian"), {}),
    "mica": ("llama", dict(SOME, init_lora_weights="mica"), {}),
    "eva": ("llama", dict(SOME, init_lora_weights="eva"), {}),
    "lora_ga": ("llama", dict(SOME, init_lora_weights="lora_ga"), {}),
    "some_layers": ("llama", dict(SOME, layers_to_transform=[1]), {}),
    "some_layers_named": ("llama", dict(SOME, layers_to_transform=0, layers_pattern="layers"), {}),
    "regex_targets": ("llama", dict(SOME, target_modules=r".*layers\.1\..*(?:q|v)_proj|.*0\.mlp\.up_proj"), {}),
    "excluded": ("llama", dict(SOME, exclude_modules=["layers.0.mlp.down_proj"]), {}),
    "excluded_by_regex": ("llama", dict(SOME, exclude_modules=r".*\.0\..*"), {}),
    "all_linear": ("llama", dict(SOME, target_modules="all-linear"), {}),
    "saved_modules": ("llama", dict(SOME, modules_to_save=["embed_tokens", "lm_head", "input_layernorm"]), {}),
    "saved_beside_targets": ("llama", dict(SOME, target_modules=["q_proj", "v_proj"], modules_to_save=["k_proj"]), {}),
    "embedding": ("llama", dict(SOME, target_modules=["embed_tokens", "q_proj"]), {}),
    "embedding_pissa": ("llama", dict(SOME, target_modules=["embed_tokens", "q_proj"], init_lora_weights="pissa"), {}),
    "tokens": ("llama", dict(SOME, trainable_token_indices=[7, 2]), {}),
    "tokens_by_name": ("llama", dict(SOME, trainable_token_indices={"embed_tokens": [3], "lm_head": [1, 4]}), {}),
    "velora": ("llama", dict(SOME, velora_config=VeloraConfig(num_groups=2)), {}),
    "said_to_be_transposed": ("llama", SOME, {"fan_in_fan_out": True}),
    "head": ("tied", dict(SOME, target_modules=["lm_head", "q_proj"]), {}),
    "head_pissa": ("tied", dict(SOME, target_modules=["lm_head", "q_proj"], init_lora_weights="pissa"), {}),
    "head_and_embedding": ("tied", dict(SOME, target_modules=["lm_head", "embed_tokens"]), {}),
    "saved_head": ("tied", dict(SOME, modules_to_save=["lm_head"]), {}),
    "saved_embedding": ("tied", dict(SOME, modules_to_save=["embed_tokens"]), {}),
    "saved_embedding_and_head": ("tied", dict(SOME, modules_to_save=["embed_tokens", "lm_head"]), {}),
    "saved_tie": ("tied", dict(SOME, modules_to_save=["embed_tokens"], ensure_weight_tying=True), {}),
    "tied_tokens": ("tied", dict(SOME, trainable_token_indices=[5]), {}),
    "transposed": ("gpt2", GPT2, {}),
    "not_said_to_be_transposed": ("gpt2", GPT2, {"fan_in_fan_out": False}),
    "transposed_pissa": ("gpt2", dict(GPT2, init_lora_weights="pissa"), {}),
    "transposed_olora": ("gpt2", dict(GPT2, target_modules=r".*attn\.c_proj", init_lora_weights="olora"), {}),
}

BOTH = ["q_proj", "down_proj"]
EXPERTS = ["experts.gate_up_proj", "experts.down_proj"]
QKV = ["query_key_value", "dense_h_to_4h"]
BERT = ["query", "output.dense"]
# name: (base, type of PEFT, options, changes of the saved adapter_config.json)
TYPE_CASES = {
    "dora": ("llama", "Lora", dict(SOME, use_dora=True), {}),
    "dora_rank_stabilized": ("llama", "Lora", dict(SOME, use_dora=True, use_rslora=True), {}),
    "dora_embedding": ("llama", "Lora", dict(SOME, use_dora=True, target_modules=["embed_tokens", "k_proj"]), {}),
    "dora_pissa": ("llama", "Lora", dict(SOME, use_dora=True, init_lora_weights="pissa"), {}),
    "dora_transposed": ("gpt2", "Lora", dict(GPT2, use_dora=True), {}),
    "dora_bert": ("bert", "Lora", dict(SOME, use_dora=True, target_modules=BERT), {}),
    "dora_fused": ("gpt_neox", "Lora", dict(SOME, use_dora=True, target_modules=QKV), {}),
    "lora_bert": ("bert", "Lora", dict(SOME, target_modules=BERT, bias="all", modules_to_save=["decoder"]), {}),
    "lora_fused": ("gpt_neox", "Lora", dict(SOME, target_modules=QKV, use_rslora=True), {}),
    "parameters": ("llama", "Lora", dict(SOME, target_modules=[], target_parameters=["q_proj.weight", "1.mlp.up_proj.weight"]), {}),
    "experts": ("mixtral", "Lora", dict(SOME, target_modules=["q_proj"], target_parameters=EXPERTS, rank_pattern={r".*down_proj": 3}), {}),
    "experts_down": ("mixtral", "Lora", dict(SOME, target_modules=[], target_parameters=EXPERTS[1:]), {}),
    "experts_v4": ("mixtral", "Lora", dict(SOME, target_modules=["q_proj", "w1", "w2", "w3", "gate"]), {}),
    "experts_qwen": ("qwen3_moe", "Lora", dict(SOME, target_modules=["q_proj"], target_parameters=EXPERTS + ["gate.weight"]), {}),
    "experts_transposed": ("gpt_oss", "Lora", dict(SOME, target_modules=["q_proj"], target_parameters=EXPERTS), {}),
    "adalora": ("llama", "AdaLora", dict(init_r=3, target_r=2, total_step=9, lora_alpha=5, target_modules=BOTH), {}),
    "adalora_reduced": ("llama", "AdaLora", dict(init_r=3, target_r=2, total_step=9, target_modules=["q_proj"], rank_pattern={
        f"model.layers.{layer}.self_attn.q_proj.lora_E": [layer == 0, True, False] for layer in range(2)}), {}),
    "adalora_transposed": ("gpt2", "AdaLora", dict(init_r=3, target_r=2, total_step=9, target_modules=["c_attn"]), {}),
    "loha": ("llama", "LoHa", dict(r=2, alpha=3, target_modules=BOTH, rank_pattern={"down_proj": 3}, alpha_pattern={r".*0.*q_proj": 7}), {}),
    "loha_fused": ("gpt_neox", "LoHa", dict(r=2, target_modules=QKV), {}),
    "loha_bert": ("bert", "LoHa", dict(r=2, target_modules=BERT), {}),
    "lokr": ("llama", "LoKr", dict(r=2, alpha=3, target_modules=BOTH, layers_to_transform=[1]), {}),
    "lokr_both": ("llama", "LoKr", dict(r=1, target_modules=BOTH, decompose_both=True, decompose_factor=4), {}),
    "lokr_wide": ("llama", "LoKr", dict(r=1, target_modules=BOTH, decompose_factor=2), {}),
    "lokr_fused": ("gpt_neox", "LoKr", dict(r=2, target_modules=QKV), {}),
    "ia3": ("llama", "IA3", dict(target_modules=BOTH, feedforward_modules=["down_proj"], modules_to_save=["lm_head"]), {}),
    "ia3_transposed": ("gpt2", "IA3", dict(target_modules=["c_attn", "c_proj"], feedforward_modules=["c_proj"]), {}),
    "ia3_bert": ("bert", "IA3", dict(target_modules=BERT, feedforward_modules=["output.dense"]), {}),
    "vera": ("llama", "Vera", dict(r=3, target_modules=BOTH, projection_prng_key=7), {}),
    "vera_not_saved": ("llama", "Vera", dict(r=3, target_modules=BOTH, projection_prng_key=7, save_projection=False), {}),
    "vera_transposed": ("gpt2", "Vera", dict(r=3, target_modules=["c_attn", "c_proj"], bias="vera_only"), {}),
    "oft": ("llama", "OFT", dict(oft_block_size=4, target_modules=BOTH, bias="oft_only"), {}),
    "oft_cayley": ("llama", "OFT", dict(oft_block_size=0, r=2, target_modules=BOTH, use_cayley_neumann=False), {}),
    "oft_constrained": ("llama", "OFT", dict(oft_block_size=4, target_modules=BOTH, coft=True, eps=0.1, num_cayley_neumann_terms=3), {}),
    "oft_shared": ("llama", "OFT", dict(oft_block_size=4, target_modules=BOTH, block_share=True), {}),
    "oft_embedding": ("llama", "OFT", dict(oft_block_size=4, target_modules=["embed_tokens", "v_proj"], use_cayley_neumann=False), {}),
    "oft_fused": ("gpt_neox", "OFT", dict(oft_block_size=4, target_modules=QKV), {}),
    "boft": ("llama", "BOFT", dict(boft_block_size=4, target_modules=BOTH), {}),
    "boft_blocks": ("llama", "BOFT", dict(boft_block_size=0, boft_block_num=2, target_modules=["q_proj"], bias="boft_only"), {}),
    "boft_bert": ("bert", "BOFT", dict(boft_block_size=4, target_modules=BERT), {}),
    "norms": ("llama", "LNTuning", dict(target_modules=["input_layernorm", "norm"]), {}),
    "norms_transposed": ("gpt2", "LNTuning", dict(target_modules=["ln_1", "ln_f"]), {}),
    "norms_bert": ("bert", "LNTuning", dict(target_modules=["LayerNorm"]), {}),
    "only_tokens": ("llama", "TrainableTokens", dict(token_indices=[7, 2]), {}),
    "only_tied_tokens": ("tied", "TrainableTokens", dict(token_indices=[5]), {}),
    "only_tied_tokens_transposed": ("gpt2", "TrainableTokens", dict(token_indices=[3], target_modules=["wte"]), {}),
}
CASES = {name: (base, "Lora", options, changes) for name, (base, options, changes) in CASES.items()} | TYPE_CASES


def class_of(kind):
    return AutoModelForMaskedLM if kind == "bert" else AutoModelForCausalLM


@torch.no_grad()
def make_base(name, folder, seed=0):
    kind, values = BASES[name]
    config = AutoConfig.for_model(kind, **values)
    config.dtype = "float32"
    torch.manual_seed(seed)
    model = class_of(kind).from_config(config)
    for weight in model.parameters():
        weight.copy_(torch.randn_like(weight) / 2)
    model.save_pretrained(folder)


def load_base(folder):
    kind = AutoConfig.from_pretrained(folder).model_type
    return class_of(kind).from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()


@torch.no_grad()
def make_adapter(case, base, folder, seed=0):
    """Make an adapter without training: add noise to every parameter that PEFT would train."""
    kind, method, options, changes = CASES[case]
    torch.manual_seed(seed)
    task = None if kind == "bert" else "CAUSAL_LM"
    model = get_peft_model(load_base(base), getattr(peft, method + "Config")(task_type=task, **options))
    for weight in model.parameters():
        if weight.requires_grad:
            weight.add_(torch.randn_like(weight) / 4)
    model.save_pretrained(folder)
    path = folder / "adapter_config.json"
    config = {key: value for key, value in json.loads(path.read_text()).items() if value is not None}
    config |= {"base_model_name_or_path": "base"} | changes
    path.write_text(json.dumps(config, indent=1, sort_keys=False) + "\n")
    (folder / "README.md").unlink(missing_ok=True)


@torch.no_grad()
def merged_tensors(base, adapter):
    """Return all tensors of the base and its head before and after PEFT merges the adapter."""
    model = load_base(base)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    return before, merged_model(model, adapter).state_dict()


def merged_model(model, adapter):
    return PeftModel.from_pretrained(model, adapter).merge_and_unload()


@torch.no_grad()
def merged_files(base, adapter):
    """Return the same under the names of files, in which each expert has its own tensors."""
    with tempfile.TemporaryDirectory() as folder:
        merged_model(load_base(base), adapter).save_pretrained(folder)
        return load_file(base / "model.safetensors"), load_file(pathlib.Path(folder) / "model.safetensors")
