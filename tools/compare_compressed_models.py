#!/usr/bin/env python3
"""Compare perplexities of compressed models: attnscope's methods, SVD-LLM, and magnitude pruning at the same size.

    tools/compare_compressed_models.py BINARY MODEL (--text FILE | --own-text TOKENS) [--keep 0.8] [--width SIZE]

The last tenth of the text is held out. --own-text uses samples of the model itself, which are reproducible. All methods are
calibrated on the rest and evaluated on the same windows with the same program. SVD-LLM uses a Cholesky factor of the second
moments and the same rank share for every matrix. It is implemented here in NumPy, with the model's inputs from transformers.
Magnitude pruning sets the smallest weights of each matrix to zero until as many remain as the factors would have. Needs
numpy, torch, transformers and tokenizers.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import numpy as np
import torch
from transformers import AutoModelForCausalLM
from transformers.pytorch_utils import Conv1D



class Ways:
    def __init__(self, arguments, scratch):
        self.arguments, self.scratch = arguments, scratch
        self.file = pathlib.Path(arguments.text) if arguments.text else self.own_text()
        self.text = ["--calibration-file", self.file, "--quiet"]

    def own_text(self):
        from tokenizers import Tokenizer

        torch.manual_seed(0)
        model = AutoModelForCausalLM.from_pretrained(self.arguments.model, dtype=torch.float32)
        length = min(model.config.max_position_embeddings, 256)
        start = torch.full((-(-self.arguments.own_text // length), 1), model.config.bos_token_id or 1)
        ids = model.generate(start, do_sample=True, max_length=length, min_length=length, pad_token_id=0)
        tokenizer = Tokenizer.from_file(str(pathlib.Path(self.arguments.model) / "tokenizer.json"))
        file = self.scratch / "samples.txt"
        file.write_text("\n".join(tokenizer.decode(each[1:].tolist()) for each in ids))
        return file

    def run(self, *words):
        ran = subprocess.run([self.arguments.binary, *map(str, words)], capture_output=True, text=True, check=False)
        if ran.returncode:
            raise SystemExit(ran.stderr.strip())
        return ran.stdout

    def planned(self, *words):
        report = json.loads(self.run("plan", self.arguments.model, *self.text, *words, "--format", "json"))
        self.parameters = report["parameters"]
        return report["models"][0]["plan"]

    def measured(self, folder):
        """Evaluate a model with a plan that changes nothing."""
        report = json.loads(self.run("plan", folder, *self.text, "--method", "mlp", "--keep", 1, "--format", "json"))
        return report["models"][0]["plan"]["perplexity_before"]


def projections(model):
    for name, module in model.named_modules():
        in_layers = any(part.isdigit() for part in name.split("."))
        if in_layers and isinstance(module, (torch.nn.Linear, Conv1D)):
            yield name, module


def second_moments(model, windows):
    sums = {}
    for name, module in projections(model):
        def add(_, inputs, name=name):
            x = inputs[0].reshape(-1, inputs[0].shape[-1]).double().numpy()
            sums[name] = sums.get(name, 0) + x.T @ x
        module.register_forward_pre_hook(add)
    for window in windows:
        model(torch.tensor([window]))
    return sums


def svd_llm(weight, moments, rank):
    """Truncate the singular values of W S, with S Sᵀ = G, and multiply by the inverse of S."""
    ridge = 1e-6 * np.trace(moments) / len(moments)
    root = np.linalg.cholesky(moments + ridge * np.eye(len(moments)))
    left, values, right = np.linalg.svd(weight @ root, full_matrices=False)
    return np.linalg.solve(root.T, ((left[:, :rank] * values[:rank]) @ right[:rank]).T).T


def pruned(weight, count):
    cut = np.partition(np.abs(weight).ravel(), weight.size - count)[weight.size - count]
    return np.where(np.abs(weight) >= cut, weight, 0)


def changed(ways, name, make):
    """Copy the model and replace its projections by make(name, W)."""
    source, folder = pathlib.Path(ways.arguments.model), ways.scratch / name
    model = AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32)
    for place, module in projections(model):
        turned = isinstance(module, Conv1D)
        weight = module.weight.detach().double().numpy()
        new = torch.tensor(make(place, weight.T if turned else weight)).float()
        module.weight.copy_(new.T if turned else new)
    model.save_pretrained(folder)
    for beside in source.glob("*token*"):
        (folder / beside.name).write_bytes(beside.read_bytes())
    return ways.measured(folder)


def windows_of(ways):
    from tokenizers import Tokenizer

    text = ways.file.read_text()
    ids = Tokenizer.from_file(str(pathlib.Path(ways.arguments.model) / "tokenizer.json")).encode(text, add_special_tokens=False).ids
    length = ways.parameters["length"]
    return [ids[at * length:(at + 1) * length] for at in range(ways.parameters["sequences"])]


@torch.no_grad()
def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("model")
    parser.add_argument("--text")
    parser.add_argument("--own-text", type=int)
    parser.add_argument("--keep", type=float, default=0.8)
    parser.add_argument("--width", type=int)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as scratch:
        ways = Ways(arguments, pathlib.Path(scratch))
        rows, keep = [], arguments.keep
        plans = {method: ways.planned("--method", "low-rank", "--keep", keep, "--rank-allocation", method)
                 for method in ("kl", "energy", "uniform", "plain")}
        rows.append(("original", plans["kl"]["perplexity_before"]))
        rows += [(f"low-rank, --rank-allocation {method}", plan["perplexity_after"]) for method, plan in plans.items()]
        if arguments.width:
            rows.append((f"mlp {arguments.width}", ways.planned("--set", f"mlp={arguments.width}")["perplexity_after"]))
        model = AutoModelForCausalLM.from_pretrained(arguments.model, dtype=torch.float32)
        moments = second_moments(model, windows_of(ways))
        rows.append(("SVD-LLM: Cholesky, same share for all matrices", changed(
            ways, "svd", lambda name, w: svd_llm(w, moments[name], max(1, int(keep * w.size / sum(w.shape)))))))
        rows.append(("magnitude pruning", changed(ways, "pruned", lambda _, w: pruned(w, int(keep * w.size)))))
        print(f"{pathlib.Path(arguments.model).name}, {keep:.0%} of the parameters of projections")
        for name, perplexity in rows:
            print(f"{name:45} {perplexity:10.3f} {np.log(perplexity / rows[0][1]):+8.4f} nats")


if __name__ == "__main__":
    main()
