#!/usr/bin/env python3
"""Write tests/data/foreign/<case>/: tiny checkpoints as other programs than transformers write them, and golden.json.

    python tools/golden_foreign.py [CASE...]

golden.json has the logits of the last token, or of the image in pixels.npy. They come from the program's own code or from
transformers, in float32. The singular values of some matrices are in float64. Needs numpy, torch, transformers, onnx, openai-whisper, timm,
open_clip_torch and litgpt, but tests do not.
"""

import argparse
import json
import os
import sys
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import torch
import transformers as hf

DATA = Path(__file__).resolve().parent.parent / "tests/data/foreign"
TOKENS = [3, 7, 1, 9, 4]


def randomize(model):
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.3) if parameter.dim() > 1 else parameter.uniform_(0.5, 1.5)
    return model.eval()


def spectrum(weight):
    return np.linalg.svd(weight.detach().double().numpy(), compute_uv=False).tolist()


def write_golden(folder, logits=None, **spectra):
    golden = {"logits": None if logits is None else logits.tolist(), "spectra": spectra}
    (folder / "golden.json").write_text(json.dumps(golden) + "\n")


def nanogpt(folder, bias=False):
    config = hf.GPT2Config(vocab_size=40, n_embd=16, n_layer=2, n_head=2, n_positions=12, activation_function="gelu",
                           bos_token_id=0, eos_token_id=0)
    model = randomize(hf.GPT2LMHeadModel(config))
    state = {}
    for name, value in model.state_dict().items():
        if name.endswith(".bias") and not bias:
            value.zero_()
            continue
        linear = name.endswith(("c_attn.weight", "c_proj.weight", "c_fc.weight"))
        state["_orig_mod." + name] = value.t().contiguous() if linear else value
    state["_orig_mod.lm_head.weight"] = state["_orig_mod.transformer.wte.weight"]
    sizes = dict(n_layer=2, n_head=2, n_embd=16, block_size=12, bias=bias, vocab_size=40, dropout=0.0)
    torch.save({"model": state, "optimizer": {"state": {}}, "model_args": sizes, "iter_num": 1, "config": {}}, folder / "ckpt.pt")
    key = model.transformer.h[1].attn.c_attn.weight[:, 16:32]
    write_golden(folder, model(torch.tensor([TOKENS])).logits[0, -1], k=spectrum(key))


def tiny_llama():
    return randomize(hf.LlamaForCausalLM(hf.LlamaConfig(
        vocab_size=40, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        max_position_embeddings=64, rms_norm_eps=1e-5, tie_word_embeddings=False)))


def write_llama_golden(folder, model):
    write_golden(folder, model(torch.tensor([TOKENS])).logits[0, -1], k=spectrum(model.model.layers[1].self_attn.k_proj.weight))


def consolidated(folder, parts=2, table_axis=0):
    model = tiny_llama()

    def neighbors(weight, heads):  # the reverse of transformers' conversion
        return weight.view(heads, 2, -1, weight.shape[1]).transpose(1, 2).reshape(weight.shape)

    out = {"tok_embeddings.weight": model.model.embed_tokens.weight, "norm.weight": model.model.norm.weight,
           "output.weight": model.lm_head.weight}
    for number, layer in enumerate(model.model.layers):
        place, attention, mlp = f"layers.{number}.", layer.self_attn, layer.mlp
        out |= {place + "attention.wq.weight": neighbors(attention.q_proj.weight, 4),
                place + "attention.wk.weight": neighbors(attention.k_proj.weight, 2),
                place + "attention.wv.weight": attention.v_proj.weight, place + "attention.wo.weight": attention.o_proj.weight,
                place + "feed_forward.w1.weight": mlp.gate_proj.weight, place + "feed_forward.w2.weight": mlp.down_proj.weight,
                place + "feed_forward.w3.weight": mlp.up_proj.weight, place + "attention_norm.weight": layer.input_layernorm.weight,
                place + "ffn_norm.weight": layer.post_attention_layernorm.weight}
    for part in range(parts):
        shard = {"rope.freqs": torch.ones(2)}
        for name, value in out.items():
            columns = ".wo." in name or ".w2." in name or (name.startswith("tok") and table_axis == 1)
            shard[name] = value.detach().clone() if value.dim() == 1 else \
                value.detach().chunk(parts, int(columns))[part].contiguous().clone()
        torch.save(shard, folder / f"consolidated.{part:02}.pth")
    sizes = dict(dim=16, n_layers=2, n_heads=4, n_kv_heads=2, vocab_size=-1, multiple_of=8, norm_eps=1e-5)
    (folder / "params.json").write_text(json.dumps(sizes) + "\n")
    write_llama_golden(folder, model)


def npz(folder, compressed=True):
    model = tiny_llama()
    arrays = {name: value.numpy() for name, value in model.state_dict().items()}
    if compressed:
        arrays = {name: np.asfortranarray(value) if at % 2 else value for at, (name, value) in enumerate(arrays.items())}
    (np.savez_compressed if compressed else np.savez)(folder / "weights.npz", **arrays)
    (folder / "config.json").write_text(model.config.to_json_string())
    write_llama_golden(folder, model)


def litgpt(folder, pythia=False):
    from litgpt import Config
    from litgpt.model import GPT
    from litgpt.utils import save_config

    sizes = dict(block_size=24, n_layer=2, n_embd=16, n_head=2 if pythia else 4, vocab_size=40, padded_vocab_size=40, intermediate_size=24)
    if not pythia:
        sizes |= dict(n_query_groups=2, rotary_percentage=1.0, parallel_residual=False, bias=False, norm_class_name="RMSNorm",
                      mlp_class_name="LLaMAMLP", rope_base=5000)
    config = Config(name="tiny", hf_config={"org": "o", "name": "tiny"}, **sizes)
    model = randomize(GPT(config))
    torch.save(model.state_dict(), folder / "lit_model.pth")
    save_config(config, folder)
    fused = model.transformer.h[1].attn.qkv.weight
    write_golden(folder, model(torch.tensor([TOKENS]))[0, -1], k=spectrum(fused[16:32] if pythia else fused[16:24]))


def distributed_rank(rank, folder):
    import torch.distributed as dist
    import torch.distributed.checkpoint as dcp
    from torch.distributed.tensor import Shard, distribute_tensor, init_device_mesh

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29517", RANK=str(rank), WORLD_SIZE="2")
    dist.init_process_group("gloo", rank=rank, world_size=2)
    mesh = init_device_mesh("cpu", (2,))
    state = {}
    for name, value in tiny_llama().state_dict().items():
        by_columns = name.endswith(("o_proj.weight", "down_proj.weight"))
        state[name] = distribute_tensor(value, mesh, [Shard(1 if by_columns else 0)])
    dcp.save({"model": state, "step": 3, "optimizer": {"state": {"exp_avg": torch.ones(3)}}}, checkpoint_id=folder)
    dist.destroy_process_group()


def distributed(folder):
    """Two ranks of FSDP and tensor parallelism: rows, or columns of o_proj and down_proj."""
    torch.multiprocessing.spawn(distributed_rank, args=(folder,), nprocs=2)
    model = tiny_llama()
    model.config.save_pretrained(folder)
    write_llama_golden(folder, model)


def fairseq_layers(state, renames):
    """Rename tensors of transformers as transformers' conversion scripts of fairseq's models do, in reverse."""
    out = {}
    for name, value in state.items():
        for own, theirs in renames:
            name = name.replace(own, theirs)
        out[name] = value.detach().clone()
    return out


def fairseq_roberta(folder):
    """A file of 2019: the model is called decoder, and Q, K and V are one tensor."""
    config = hf.RobertaConfig(vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
                              max_position_embeddings=14, type_vocab_size=1, layer_norm_eps=1e-5, pad_token_id=1)
    model = randomize(hf.RobertaForMaskedLM(config))
    model.roberta.embeddings.token_type_embeddings.weight.data.zero_()  # fairseq has none
    skipped = ("token_type", "position_ids", "token_type_ids", "lm_head.decoder")
    state = {name: value for name, value in model.state_dict().items() if not any(part in name for part in skipped)}
    state = fairseq_layers(state, [
        ("roberta.embeddings.word_embeddings", "decoder.sentence_encoder.embed_tokens"),
        ("roberta.embeddings.position_embeddings", "decoder.sentence_encoder.embed_positions"),
        ("roberta.embeddings.LayerNorm", "decoder.sentence_encoder.emb_layer_norm"), ("roberta.encoder.layer.", "decoder.sentence_encoder.layers."),
        ("attention.output.dense", "self_attn.out_proj"), ("attention.output.LayerNorm", "self_attn_layer_norm"),
        ("intermediate.dense", "fc1"), ("output.dense", "fc2"), ("output.LayerNorm", "final_layer_norm"), ("lm_head", "decoder.lm_head")])
    for number in range(2):
        for kind in ("weight", "bias"):
            place = f"decoder.sentence_encoder.layers.{number}."
            parts = [state.pop(f"{place}attention.self.{part}.{kind}") for part in ("query", "key", "value")]
            state[f"{place}self_attn.in_proj_{kind}"] = torch.cat(parts)
    state["decoder.lm_head.weight"] = state["decoder.sentence_encoder.embed_tokens.weight"]
    args = argparse.Namespace(arch="roberta_base", encoder_embed_dim=16, encoder_attention_heads=2, encoder_ffn_embed_dim=24,
                              activation_fn="gelu", max_positions=12, best_checkpoint=float("inf"))
    torch.save({"args": args, "model": state, "extra_state": {"epoch": 1}, "last_optimizer_state": None}, folder / "model.pt")
    write_golden(folder, model(torch.tensor([TOKENS])).logits[0, -1],
                 k=spectrum(model.roberta.encoder.layer[1].attention.self.key.weight))


def fairseq_bart(folder):
    """A file since fairseq 0.10.2: the options are in `cfg`."""
    config = hf.BartConfig(vocab_size=40, d_model=16, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2,
                           encoder_ffn_dim=24, decoder_ffn_dim=24, max_position_embeddings=12, activation_function="gelu",
                           scale_embedding=False, tie_word_embeddings=True)
    model = randomize(hf.BartForConditionalGeneration(config))
    state = {name.removeprefix("model."): value.detach() for name, value in model.state_dict().items()}
    tokens = state.pop("shared.weight")
    state = {name: value for name, value in state.items() if name not in ("final_logits_bias", "lm_head.weight")}
    state |= {"encoder.embed_tokens.weight": tokens, "decoder.embed_tokens.weight": tokens, "decoder.output_projection.weight": tokens,
              "encoder.version": torch.tensor([3.0]), "decoder.version": torch.tensor([3.0])}
    options = dict(arch="bart_base", encoder_embed_dim=16, encoder_attention_heads=2, encoder_ffn_embed_dim=24, decoder_attention_heads=2,
                   decoder_ffn_embed_dim=24, encoder_normalize_before=False, decoder_normalize_before=False, no_scale_embedding=True,
                   activation_fn="gelu")
    torch.save({"args": None, "cfg": {"model": argparse.Namespace(**options)}, "model": state}, folder / "checkpoint_best.pt")
    output = model(input_ids=torch.tensor([TOKENS]), decoder_input_ids=torch.tensor([TOKENS])).logits[0, -1]
    write_golden(folder, output, k=spectrum(model.model.decoder.layers[1].encoder_attn.k_proj.weight))


def whisper(folder):
    from whisper.model import ModelDimensions, Whisper
    sizes = dict(n_mels=8, n_audio_ctx=10, n_audio_state=16, n_audio_head=2, n_audio_layer=1, n_vocab=30, n_text_ctx=8,
                 n_text_state=16, n_text_head=2, n_text_layer=1)
    model = randomize(Whisper(ModelDimensions(**sizes)))
    torch.save({"dims": sizes, "model_state_dict": model.state_dict()}, folder / "tiny.pt")
    torch.manual_seed(2)
    features = torch.randn(8, 20)
    np.save(folder / "features.npy", features.numpy())
    block = model.decoder.blocks[0]
    write_golden(folder, model(features[None], torch.tensor([TOKENS]))[0, -1], k=spectrum(block.attn.key.weight),
                 cross_q=spectrum(block.cross_attn.query.weight))


def pixels(folder):
    torch.manual_seed(2)
    values = torch.randn(3, 16, 16)
    np.save(folder / "pixels.npy", values.numpy())
    return values[None]


def timm(folder):
    import timm as library
    from safetensors.torch import save_file
    sizes = dict(depth=1, embed_dim=16, num_heads=2)
    model = randomize(library.create_model("vit_tiny_patch16_224", img_size=16, patch_size=8, num_classes=3, **sizes))
    save_file({name: value.contiguous() for name, value in model.state_dict().items()}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({"architecture": "vit_tiny_patch16_224", "num_classes": 3, "model_args": sizes}) + "\n")
    write_golden(folder, model(pixels(folder))[0], k=spectrum(model.blocks[0].attn.qkv.weight[16:32]))


def open_clip(folder, quick=True):
    from open_clip.model import CLIP
    vision = dict(layers=1, width=16, head_width=8, patch_size=8, image_size=16)
    text = dict(context_length=8, vocab_size=30, width=16, heads=2, layers=1)
    model = randomize(CLIP(embed_dim=8, vision_cfg=vision, text_cfg=text, quick_gelu=quick))
    torch.save(model.state_dict(), folder / "open_clip_pytorch_model.bin")
    sizes = dict(embed_dim=8, vision_cfg=vision, text_cfg=text) | ({"quick_gelu": True} if quick else {})
    (folder / "open_clip_config.json").write_text(json.dumps({"model_cfg": sizes, "preprocess_cfg": {}}) + "\n")
    block = model.transformer.resblocks[0].attn
    write_golden(folder, model.encode_image(pixels(folder))[0], k=spectrum(block.in_proj_weight[16:32]),
                 vision_v=spectrum(model.visual.transformer.resblocks[0].attn.in_proj_weight[32:]))


def onnx(folder):
    config = hf.BertConfig(vocab_size=40, hidden_size=16, intermediate_size=24, num_hidden_layers=1, num_attention_heads=2,
                           max_position_embeddings=16)
    model = randomize(hf.BertModel(config))

    class Exported(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bert = model

        def forward(self, tokens, mask):
            return self.bert(input_ids=tokens, attention_mask=mask)[0]

    tokens = torch.tensor([TOKENS])
    torch.onnx.export(Exported(), (tokens, torch.ones_like(tokens)), folder / "model.onnx", dynamo=False, opset_version=17)
    (folder / "config.json").write_text(model.config.to_json_string())
    layer = model.encoder.layer[0]
    write_golden(folder, None, k=spectrum(layer.attention.self.key.weight), up=spectrum(layer.intermediate.dense.weight))


CASES = {"nanogpt": nanogpt, "consolidated-2": consolidated, "npz-compressed": npz, "whisper": whisper, "timm": timm,
         "open_clip": open_clip, "onnx": onnx, "litgpt": litgpt, "litgpt-pythia": lambda folder: litgpt(folder, pythia=True),
         "distributed": distributed, "fairseq-roberta": fairseq_roberta, "fairseq-bart": fairseq_bart}

if __name__ == "__main__":
    hf.logging.set_verbosity_error()
    for case in sys.argv[1:] or CASES:
        (DATA / case).mkdir(parents=True, exist_ok=True)
        with torch.no_grad():
            CASES[case](DATA / case)
        print(case)
