"""LoRA adapters saved by PEFT, one per option of LoraConfig that affects merged weights, and PEFT's merged weights.

golden_adapters.py keeps some of them as test data. check_adapters.py makes all of them from scratch.
"""

import json

import torch
from peft import LoraConfig, PeftModel, VeloraConfig, get_peft_model
from transformers import AutoConfig, AutoModelForCausalLM

SIZES = dict(vocab_size=11, num_hidden_layers=2, hidden_size=8, intermediate_size=12, num_attention_heads=2, num_key_value_heads=1,
             head_dim=4, max_position_embeddings=16, bos_token_id=0, eos_token_id=0, pad_token_id=None)
BASES = {
    "llama": ("llama", dict(SIZES, attention_bias=True, mlp_bias=True, tie_word_embeddings=False)),
    "tied": ("llama", dict(SIZES, tie_word_embeddings=True)),
    "gpt2": ("gpt2", dict(vocab_size=11, n_layer=2, n_embd=8, n_head=2, n_positions=16, bos_token_id=0, eos_token_id=0)),
}
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


@torch.no_grad()
def make_base(name, folder, seed=0):
    kind, values = BASES[name]
    config = AutoConfig.for_model(kind, **values)
    config.dtype = "float32"
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(config)
    for weight in model.parameters():
        weight.copy_(torch.randn_like(weight) / 2)
    model.save_pretrained(folder)


def load_base(folder):
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


@torch.no_grad()
def make_adapter(case, base, folder, seed=0):
    """Make an adapter without training: add noise to every parameter that PEFT would train."""
    _, options, changes = CASES[case]
    torch.manual_seed(seed)
    model = get_peft_model(load_base(base), LoraConfig(task_type="CAUSAL_LM", **options))
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
    after = PeftModel.from_pretrained(model, adapter).merge_and_unload().state_dict()
    return before, after
