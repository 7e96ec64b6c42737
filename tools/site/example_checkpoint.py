"""Makes the fine-tuned checkpoint that examples in the help name: the example Llama with a change of low rank."""

import json
import shutil
import struct

import numpy as np

RANK, SHARE = 4, 0.05  # rank of the change, and its norm relative to the matrix's


def read_safetensors(path):
    """Return the raw header, the parsed header, and the bytes of the tensors."""
    whole = path.read_bytes()
    (length,) = struct.unpack("<Q", whole[:8])
    return whole[:8 + length], json.loads(whole[8:8 + length]), bytearray(whole[8 + length:])


def changed(values, random):
    """Return the bfloat16 bits of a matrix after adding a random change of low rank."""
    matrix = (values.astype(np.uint32) << 16).view(np.float32)
    change = random.standard_normal((matrix.shape[0], RANK)) @ random.standard_normal((RANK, matrix.shape[1]))
    matrix = (matrix + change * SHARE * np.linalg.norm(matrix) / np.linalg.norm(change)).astype(np.float32)
    return ((matrix.view(np.uint32) + 0x8000) >> 16).astype(np.uint16)


def write_fine_tune(base, folder):
    """Write `base`, a Llama in bfloat16, with changed W_Q and W_V in each layer."""
    shutil.copytree(base, folder)
    head, tensors, data = read_safetensors(base / "model.safetensors")
    random = np.random.default_rng(1)
    for name, tensor in tensors.items():
        if not name.endswith(("q_proj.weight", "v_proj.weight")):
            continue
        begin, end = tensor["data_offsets"]
        values = np.frombuffer(bytes(data[begin:end]), np.uint16).reshape(tensor["shape"])
        data[begin:end] = changed(values, random).tobytes()
    (folder / "model.safetensors").write_bytes(head + data)
