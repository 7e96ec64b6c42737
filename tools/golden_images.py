#!/usr/bin/env python3
"""Write tests/data/stacks/<case>/images.safetensors: expected outputs of image encoders, in float32.

    python tools/golden_images.py [CASE...]

The checkpoints are made by tools/golden_encoder_decoders_towers.py. If the model supports it, some inputs have a different size.
A file has, for inputs N = 0, 1, ...:
    - pixel_values.N   [C, H, W]
    - hidden_states.N  [L + 1, T, D], as returned by transformers: the last one is before the final norm
    - attentions.N     [L, H, T, T], after the softmax
    - patch_distance.N [L, H], of those maps (attention_measures.py)
    - last.N           [T, D], after the final norm
    - pooled.N         [V]: label logits, or the image embedding; absent if the model has neither
Models with attention in windows have instead, for each layer L:
    - hidden_states.N.L [T, D]: the input of layer 0, then the output of each layer, after patch merging
    - attentions.N.L    [H, T, T]: the maps of all windows, and 0 between windows
    - windows.N.L       [H, 4]: means over windows of entropy, sink_mass, current_token and learned_sink_mass
Models that compare images with texts, and text towers, also have, for texts without padding:
    - tokens.N         [T], text_states.N [L + 1, T, D], text_pooled.N [V]
    - scores           [images, texts]; absent if the towers' sizes differ
The decoder of Donut has target.safetensors instead: pixel_values, tokens [T], logits [T, V], cross_attentions [L, H, T, S].
All values come from transformers, eager and float32. Needs numpy, torch, transformers and safetensors, but tests do not.
"""

import json
import sys

import golden_encoder_decoders_towers
import numpy as np
import torch
import transformers as hf
from attention_measures import patch_distance
from safetensors.numpy import save_file

SIZES = {"siglip2": [(16, 16), (24, 16), (8, 40)], "dinov2": [(16, 16), (24, 32), (19, 40)], "dinov3": [(16, 16), (24, 40)]}
PREPARED = {"vit": {"image_processor_type": "ViTImageProcessor", "size": {"height": 16, "width": 16}},
            "clip": {"image_processor_type": "CLIPImageProcessor", "size": {"shortest_edge": 16}, "crop_size": 16}}
TEXTS = [[1, 5, 9, 2], [1, 7, 4, 11, 3, 2], [1, 2]]
CASES = [case for case in golden_encoder_decoders_towers.CASES if case.split("-")[0].split("_")[0] in
         ("vit", "deit", "dinov2", "dinov3", "clip", "siglip", "beit", "data2vec", "swin", "swinv2", "donut", "sam")
         or case.startswith(("siglip2_", "blip_"))]


def inputs_of(tower, pixels):
    """Return the inputs of a tower. MAE sees all patches, in order; SigLIP 2 reads them with their number of rows and columns."""
    kind = tower.config.model_type
    if kind == "vit_mae":
        tower.config.mask_ratio = 0.0
        return {"pixel_values": pixels[None], "noise": torch.arange(float(tower.embeddings.patch_embeddings.num_patches))[None]}
    if kind != "siglip2_vision_model":
        return {"pixel_values": pixels[None]}
    patch = tower.config.patch_size
    shape = [side // patch for side in pixels.shape[1:]]
    rows, cols = shape
    patches = pixels.reshape(3, rows, patch, cols, patch).permute(1, 3, 2, 4, 0).reshape(1, rows * cols, -1)
    return {"pixel_values": patches, "pixel_attention_mask": torch.ones(patches.shape[:2]), "spatial_shapes": torch.tensor([shape])}


def rows_of(tower, pixels):
    with torch.no_grad():
        result = tower(**inputs_of(tower, torch.from_numpy(pixels)), output_hidden_states=True, output_attentions=True)
    hidden = torch.cat(result.hidden_states)
    last = result.last_hidden_state if "last_hidden_state" in result else None
    return result, hidden.numpy(), torch.cat(result.attentions).numpy(), last


def windows_of(layer, grid):
    """Return the patches of a layer's windows in their order, [windows, W * W]. -1: padding."""
    height, width = grid
    patches = torch.arange(1.0, height * width + 1).reshape(1, height, width, 1)
    if isinstance(layer, hf.models.sam.modeling_sam.SamVisionLayer):
        windows = layer.window_partition(patches, layer.window_size)[0] if layer.window_size else patches
        return windows.flatten(1).long() - 1 if layer.window_size else patches.reshape(1, -1).long() - 1
    padded, _ = layer.maybe_pad(patches, height, width)
    rolled = torch.roll(padded, (-layer.shift_size, -layer.shift_size), dims=(1, 2))
    partition = sys.modules[type(layer).__module__].window_partition
    return partition(rolled, layer.window_size).flatten(1).long() - 1


def measures_of(maps):
    """Return the means over windows of some measures of their maps, which do not have padding."""
    rows = [[-(m * np.log(np.where(m > 0, m, 1))).sum(), m[:, 0].sum(), np.trace(m), (1 - m.sum(axis=1)).sum()] for m in maps]
    return np.mean([np.array(row) / len(m) for row, m in zip(rows, maps)], axis=0)


def windowed_rows(case, model, pixels):
    """Return the outputs of a model with attention in windows, layer by layer."""
    path = next(iter(golden_encoder_decoders_towers.CASES[case][3].values()))[0]
    layers, states, attentions = golden_encoder_decoders_towers.layers_of(model, path), [], []
    first = lambda value: value[0] if isinstance(value, tuple) else value
    hooks = [layers[0].register_forward_pre_hook(lambda _, inputs: states.append(inputs[0]))]
    merging = {layers[sum(model.config.depths[:stage + 1]) - 1]: found for stage in range(len(getattr(model.config, "depths", [])))
               if (found := model.get_submodule(path.split(".*")[0])[stage].downsample) is not None}
    for layer in layers:
        attention = layer.attn if hasattr(layer, "attn") else layer.attention
        hooks += [attention.register_forward_hook(lambda *seen: attentions.append(seen[2][1])),
                  merging.get(layer, layer).register_forward_hook(lambda *seen: states.append(first(seen[2])))]
    with torch.no_grad():
        result = model(torch.from_numpy(pixels)[None], output_attentions=True)
    for hook in hooks:
        hook.remove()
    out, grid = {}, [side // model.config.patch_size for side in pixels.shape[1:]]
    for at, (layer, weights) in enumerate(zip(layers, attentions)):
        heads = model.config.num_heads[layer_stage(model, at)] if hasattr(model.config, "depths") else model.config.num_attention_heads
        places = windows_of(layer, grid)
        weights = weights.reshape(len(places), heads, *weights.shape[-2:])
        whole = np.zeros((heads, grid[0] * grid[1], grid[0] * grid[1]), np.float32)
        cropped = [[] for _ in range(heads)]
        for patches, maps in zip(places.numpy(), weights.numpy()):
            real = patches >= 0
            for head in range(heads):
                cropped[head].append(maps[head][np.ix_(real, real)].astype(np.float64))
                whole[head][np.ix_(patches[real], patches[real])] = cropped[head][-1]
        out |= {f"attentions.{at}": whole, f"windows.{at}": np.array([measures_of(maps) for maps in cropped], np.float32)}
        if layer in merging:
            grid = [(side + 1) // 2 for side in grid]
    out |= {f"hidden_states.{at}": value.reshape(-1, value.shape[-1]).numpy() for at, value in enumerate(states)}
    if "last_hidden_state" in result and "sam" not in case:  # SAM's has passed its neck
        out["last"] = result.last_hidden_state[0].numpy()
    if "logits" in result:
        out["pooled"] = result.logits[0].numpy()
    return out


def layer_stage(model, number):
    """Return the stage of a layer."""
    return int(np.searchsorted(np.cumsum(model.config.depths), number, side="right"))


def make_windowed(case, model, folder, generator):
    size = model.config.image_size
    out = {}
    for at in range(2):
        pixels = generator.normal(size=(3, *(size if isinstance(size, (list, tuple)) else (size, size)))).astype(np.float32)
        out[f"pixel_values.{at}"] = pixels
        for name, value in windowed_rows(case, model, pixels).items():
            kind, *layer = name.split(".")
            out[".".join([kind, str(at), *layer])] = value
    save_file({name: np.ascontiguousarray(value) for name, value in sorted(out.items())}, folder / "images.safetensors")
    print(f"{case}: {len(out)} tensors")


def texts_of(case, model):
    """The rows of a text tower that is a model of its own."""
    out = {}
    for at, text in enumerate(TEXTS):
        with torch.no_grad():
            result = model(input_ids=torch.tensor([text]), output_hidden_states=True)
        out |= {f"tokens.{at}": np.array(text, np.float32), f"text_states.{at}": torch.cat(result.hidden_states).numpy()}
        if (pooled := pooled_by(case, result)) is not None:
            out[f"text_pooled.{at}"] = pooled
    return out


def pooled_by(case, result):
    """Labels, embeddings, or what SigLIP pools; CLIP's towers without a projection only pick a row."""
    if "logits" in result:
        return result.logits[0].numpy()
    for name in ("text_embeds", "image_embeds"):
        if name in result:
            return result[name][0].numpy()
    return result.pooler_output[0].numpy() if case.startswith("siglip") else None


def make_decoded(model, folder, generator):
    """Write target.safetensors: a decoder after an encoder of images. `logits` [T, V], `cross_attentions` [L, H, T, S]."""
    pixels = generator.normal(size=(3, 16, 16)).astype(np.float32)
    with torch.no_grad():
        result = model(pixel_values=torch.from_numpy(pixels)[None], decoder_input_ids=torch.tensor([TEXTS[0]]), output_attentions=True)
    save_file({"pixel_values": pixels, "tokens": np.array(TEXTS[0], np.float32), "logits": result.logits[0].numpy(),
               "cross_attentions": torch.cat(result.cross_attentions).numpy()}, folder / "target.safetensors")
    print(f"{folder.name}: {len(TEXTS[0])} tokens")


def make(case):
    model_class = golden_encoder_decoders_towers.CASES[case][0]
    folder = golden_encoder_decoders_towers.DATA / case
    model = model_class.from_pretrained(folder, attn_implementation="eager").float().eval()
    generator = np.random.default_rng(len(case))
    if case == "donut":
        return make_decoded(model, folder, generator)
    if case.startswith(("swin", "donut", "sam")):
        return make_windowed(case, model, folder, generator)
    two_towers = hasattr(model, "vision_model") and hasattr(model, "text_model")
    out, seen = {}, []
    if "text_model" in case:
        out = texts_of(case, model)
        save_file({name: np.ascontiguousarray(value) for name, value in sorted(out.items())}, folder / "images.safetensors")
        print(f"{case}: {list(out)}")
        return
    for at, size in enumerate(SIZES.get(case.split("-")[0].split("_")[0], [(16, 16), (16, 16)])):
        pixels = generator.normal(size=(3, *size)).astype(np.float32)
        seen.append(pixels)
        tower = model.vision_model if two_towers else model
        result, hidden, attentions, last = rows_of(tower, pixels)
        out |= {f"pixel_values.{at}": pixels, f"hidden_states.{at}": hidden, f"attentions.{at}": attentions}
        grid = [side // tower.config.patch_size for side in size]
        out[f"patch_distance.{at}"] = np.array([[patch_distance(head, *grid) for head in layer] for layer in attentions], np.float32)
        if last is not None and not two_towers and "clip" not in case:  # CLIP returns it before the final norm
            out[f"last.{at}"] = last[0].numpy()
        if not two_towers and (pooled := pooled_by(case, result)) is not None:
            out[f"pooled.{at}"] = pooled
    if two_towers:
        images = torch.from_numpy(np.stack(seen))
        with torch.no_grad():
            for at, values in enumerate(model.get_image_features(pixel_values=images).pooler_output):
                out[f"pooled.{at}"] = values.numpy()
            scores = []
            for at, text in enumerate(TEXTS):
                ids = torch.tensor([text])
                states = model.text_model(input_ids=ids, output_hidden_states=True).hidden_states
                out |= {f"tokens.{at}": np.array(text, np.float32), f"text_states.{at}": torch.cat(states).numpy(),
                        f"text_pooled.{at}": model.get_text_features(input_ids=ids).pooler_output[0].numpy()}
                if out["pooled.0"].shape == out["text_pooled.0"].shape:
                    scores.append(model(input_ids=ids, pixel_values=images).logits_per_image[:, 0].numpy())
            if scores:
                out["scores"] = np.stack(scores, 1)
    if case in PREPARED:
        (folder / "preprocessor_config.json").write_text(json.dumps(PREPARED[case]) + "\n")
    save_file({name: np.ascontiguousarray(value) for name, value in sorted(out.items())}, folder / "images.safetensors")
    print(f"{case}: {[name for name in out]}")


if __name__ == "__main__":
    hf.logging.set_verbosity_error()
    for case in sys.argv[1:] or CASES:
        make(case)
