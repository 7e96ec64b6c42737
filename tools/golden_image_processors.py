#!/usr/bin/env python3
"""Write tests/data/images/: ten images, processor configs, and the expected outputs of transformers' processors.

    python tools/golden_image_processors.py [PROCESSOR...]

    - NAME.png, NAME.jpg               the images: odd sizes, gray, alpha, 16 bits, a palette, EXIF rotation
    - PROCESSOR/preprocessor_config.json
    - PROCESSOR/expected.safetensors   pil.NAME and torchvision.NAME [3, H, W]: for both kinds of processors, if both exist
    - pixels.safetensors               NAME [H, W, 3]: the output of load_image()
    - pixels.npy                       [2, 3, 16, 16]: preprocessed images

Needs numpy, pillow, torch, torchvision, transformers and safetensors, but tests do not.
"""

import json
import os
import sys
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import transformers as hf
from PIL import Image
from safetensors.numpy import save_file
from transformers.image_utils import load_image

FOLDER = Path(__file__).resolve().parent.parent / "tests/data/images"
SMALL = {"size": {"height": 12, "width": 9}}
CASES = {
    "vit": ("ViT", SMALL), "vit-nearest": ("ViT", SMALL | {"resample": 0}), "vit-lanczos": ("ViT", SMALL | {"resample": 1}),
    "vit-box": ("ViT", SMALL | {"resample": 4}), "vit-hamming": ("ViT", SMALL | {"resample": 5}),
    "vit-plain": ("ViT", {"size": {"height": 30, "width": 40}, "do_normalize": False}),
    "deit": ("DeiT", {"size": {"height": 14, "width": 14}, "crop_size": {"height": 9, "width": 11}}),
    "dinov2": ("Bit", {"size": {"shortest_edge": 11}, "crop_size": {"height": 8, "width": 8}}),
    "clip": ("CLIP", {"size": {"shortest_edge": 7}, "crop_size": {"height": 10, "width": 8}}),
    "siglip": ("Siglip", SMALL), "dinov3": ("DINOv3ViT", SMALL), "beit": ("Beit", SMALL), "blip": ("Blip", SMALL),
    "siglip2": ("Siglip2", {"patch_size": 4, "max_num_patches": 12}),
    "sam": ("Sam", {"size": {"longest_edge": 12}, "pad_size": {"height": 12, "width": 14}}),
}
ONLY_TORCHVISION = {"clip", "dinov3"}  # pil pads small images differently, or does not exist
ONLY_PIL = {"beit", "blip", "sam", "siglip2", "vit-nearest", "vit-lanczos", "vit-box", "vit-hamming"}  # torchvision's filter differs, or does not exist


def smooth(rows, cols, channels, seed):
    """Make an image with edges and gradients in addition to noise, because both reveal rounding differences."""
    generator = np.random.default_rng(seed)
    y, x = np.mgrid[0:rows, 0:cols]
    waves = [128 + 100 * np.sin(generator.uniform(0.05, 0.9) * x + generator.uniform(0.05, 0.9) * y + at)
             + generator.normal(0, 20, (rows, cols)) for at in range(channels)]
    return np.clip(np.stack(waves, -1), 0, 255).astype(np.uint8)


def make_pictures():
    FOLDER.mkdir(parents=True, exist_ok=True)
    rgb = smooth(23, 37, 3, 1)
    Image.fromarray(rgb).save(FOLDER / "odd.png")
    Image.fromarray(smooth(41, 17, 3, 2)).save(FOLDER / "tall.jpg", quality=92)
    Image.fromarray(smooth(16, 24, 3, 3)).save(FOLDER / "chroma.jpg", quality=75, subsampling=2)
    Image.fromarray(smooth(19, 28, 1, 4)[..., 0]).save(FOLDER / "grey.png")
    Image.fromarray(smooth(20, 13, 1, 5)[..., 0]).save(FOLDER / "grey.jpg", quality=90)
    Image.fromarray(smooth(18, 21, 4, 6), "RGBA").save(FOLDER / "alpha.png")
    Image.fromarray(smooth(15, 15, 1, 7)[..., 0].astype(np.uint16) * 257 - 3).save(FOLDER / "grey16.png")
    Image.fromarray(smooth(14, 26, 3, 8)).quantize(31).save(FOLDER / "palette.png", transparency=3)
    np.save(FOLDER / "pixels.npy", np.random.default_rng(3).normal(size=(2, 3, 16, 16)).astype(np.float32))
    Image.fromarray(smooth(9, 8, 4, 10), "CMYK").save(FOLDER / "four-inks.jpeg", quality=80)  # an unsupported format
    exif = Image.Exif()
    for turn in (6, 7):
        exif[0x0112] = turn
        Image.fromarray(smooth(13, 22, 3, 9)).save(FOLDER / f"turned{turn}.jpg", quality=95, exif=exif)


def pixels_of(prepared):
    """Return (3, H, W), also if the processor cut the image into patches."""
    values = np.asarray(prepared["pixel_values"][0], np.float32)
    if "spatial_shapes" in prepared:
        rows, cols = prepared["spatial_shapes"][0]
        side = round((values.shape[1] / 3) ** 0.5)
        patches = values[:rows * cols].reshape(rows, cols, side, side, 3)
        values = patches.transpose(4, 0, 2, 1, 3).reshape(3, rows * side, cols * side)
    return values.copy()


def main():
    if not sys.argv[1:]:
        make_pictures()
    pictures = sorted(path for path in FOLDER.iterdir() if path.suffix in (".png", ".jpg"))
    # Convert to arrays: some processors choose the background from an image's transparent color.
    loaded = {path.name: Image.fromarray(np.asarray(load_image(str(path)))) for path in pictures}
    save_file({name: np.asarray(picture).copy() for name, picture in loaded.items()}, FOLDER / "pixels.safetensors")
    for case in sys.argv[1:] or CASES:
        name, options = CASES[case]
        folder = FOLDER / case
        folder.mkdir(exist_ok=True)
        config = {"image_processor_type": name + "ImageProcessor"} | options
        (folder / "preprocessor_config.json").write_text(json.dumps(config) + "\n")
        out = {}
        for kind, ending in (("pil", "ImageProcessorPil"), ("torchvision", "ImageProcessor")):
            if (kind == "torchvision" and case in ONLY_PIL) or (kind == "pil" and case in ONLY_TORCHVISION):
                continue
            processor = getattr(hf, name + ending)(**options)
            for picture, pixels in loaded.items():
                out[f"{kind}.{picture}"] = pixels_of(processor(images=pixels, return_tensors="np"))
        both = [np.abs(out[f"pil.{name}"] - out[f"torchvision.{name}"]).max() for name in loaded if f"torchvision.{name}" in out
                and f"pil.{name}" in out]
        print(case, len(out), "largest difference between the two kinds:", max(both, default=0))
        save_file(out, folder / "expected.safetensors")


if __name__ == "__main__":
    main()
