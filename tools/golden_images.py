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
Models that compare images with texts, and text towers, also have, for texts without padding:
    - tokens.N         [T], text_states.N [L + 1, T, D], text_pooled.N [V]
    - scores           [images, texts]; absent if the towers' sizes differ
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
         ("vit", "deit", "dinov2", "dinov3", "clip", "siglip", "beit", "data2vec") or case.startswith(("siglip2_", "blip_"))]


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


def make(case):
    model_class = golden_encoder_decoders_towers.CASES[case][0]
    folder = golden_encoder_decoders_towers.DATA / case
    model = model_class.from_pretrained(folder, attn_implementation="eager").float().eval()
    generator = np.random.default_rng(len(case))
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
