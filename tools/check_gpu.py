#!/usr/bin/env python3
"""Print the speed of a live model as ratios of times, on a GPU or on the CPU.

    tools/check_gpu.py [--device cuda] [--layers 4] [--tiny]

The model has random weights in the shape of Llama-3-8B (--tiny: a small one, to test the script without a GPU). Each live run is compared
with what it needs at least: a loop of PyTorch hooks, products of matrices with the same number of operations, or forward passes. The
package is imported from build/packages, if it is not installed. Losses of the loop and of the live run must agree within 1e-2 relative.
"""

import argparse
import os
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
sys.path.append(str(ROOT / f"build/packages/lib/python3.{sys.version_info.minor}/site-packages"))

import torch  # noqa: E402
import transformers  # noqa: E402

import attnscope as asc  # noqa: E402

SHAPE = {"hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256}
TINY = {"hidden_size": 256, "intermediate_size": 896, "num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": 4096}


class Bench:
    def __init__(self, device, layers, tiny):
        config = transformers.LlamaConfig(**(TINY if tiny else SHAPE), num_hidden_layers=layers, max_position_embeddings=4096)
        self.device, self.dtype = torch.device(device), torch.bfloat16 if device != "cpu" else torch.float32
        torch.manual_seed(0)
        torch.set_default_dtype(self.dtype)
        with self.device:
            self.module = transformers.LlamaForCausalLM(config).eval()
        torch.set_default_dtype(torch.float32)
        self.live, self.config = asc.live(self.module, name="random"), config
        self.rows = []

    def tokens(self, sequences, length):
        generator = torch.Generator().manual_seed(length)
        return torch.randint(3, self.config.vocab_size, (sequences, length), generator=generator)

    def timed(self, run, repeats=2):
        """Return the shortest time, and the result of the last run."""
        best = float("inf")
        for _ in range(repeats + 1):  # the first one warms up
            start = time.perf_counter()
            found = run()
            if self.device.type == "cuda":
                torch.cuda.synchronize()
            best = min(best, time.perf_counter() - start)
        return best, found

    def row(self, work, seconds, other, of_other, limit):
        ratio = seconds / of_other
        self.rows.append((work, seconds, other, of_other, ratio, limit))
        print(f"| {work} | {seconds:.3f} s | {other} | {of_other:.3f} s | {ratio:.2f} | {limit} |", flush=True)

    @torch.no_grad()
    def loop_of_hooks(self, ids):
        """Ablate every head by a hook and a whole pass, as notebooks do. Return the mean loss increases."""
        size = self.config.hidden_size // self.config.num_attention_heads
        ids = ids.to(self.device)

        def loss():
            scores = self.module(input_ids=ids, use_cache=False).logits[:, :-1].float().log_softmax(-1)
            return -scores.gather(-1, ids[:, 1:, None]).mean()

        clean, out = loss(), []
        for layer in self.module.model.layers:
            for head in range(self.config.num_attention_heads):
                def zero(_, args, head=head):
                    z = args[0].clone()
                    z[..., head * size:(head + 1) * size] = 0
                    return (z,)
                handle = layer.self_attn.o_proj.register_forward_pre_hook(zero)
                out.append(loss() - clean)
                handle.remove()
        return torch.stack(out).cpu()

    @torch.no_grad()
    def forward(self, ids):
        return self.module(input_ids=ids.to(self.device), use_cache=False, logits_to_keep=1).logits

    @torch.no_grad()
    def matmul_seconds(self, flops):
        size = 8192 if self.device.type == "cuda" else 1024
        a = torch.randn(size, size, device=self.device, dtype=self.dtype)
        return self.timed(lambda: a @ a)[0] * flops / (2 * size**3)

    def run(self, tiny):
        print("| work | live | compared with | time | ratio | target |\n|---|---|---|---|---|---|")
        ids = self.tokens(4, 32 if tiny else 256)
        ablate = lambda: self.live.ablate(tokens=ids, components="heads", ablation="zero", progress=False)  # noqa: E731
        seconds, table = self.timed(ablate, 1)
        loop, expected = self.timed(lambda: self.loop_of_hooks(ids), 1)
        found = torch.tensor(table["loss_increase"].tolist())
        if not torch.allclose(found, expected.float(), atol=1e-2 * table[0]["loss"]):
            sys.exit("the loss increases of the live run and of the loop differ")
        self.row("ablate all heads", seconds, "loop of hooks", loop, "≤ 0.67 (CPU: ≤ 1.2)")
        parameters = sum(one.numel() for one in self.module.parameters())
        self.row("ablate all heads", seconds, "products with the same operations",
                 self.matmul_seconds(2 * parameters * ids.numel() * len(found)), "≤ 2")
        ids = self.tokens(1, 64 if tiny else 2048)
        forward, _ = self.timed(lambda: self.forward(ids))
        self.row("attention with ranks", self.timed(lambda: self.live.attention(tokens=ids, progress=False), 1)[0], "forward pass",
                 forward, "≤ 3 without ranks")
        self.row("lens", self.timed(lambda: self.live.lens(tokens=ids, progress=False), 1)[0], "forward pass", forward, "≤ 1.3")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--tiny", action="store_true")
    given = parser.parse_args()
    Bench(given.device, given.layers, given.tiny).run(given.tiny)


if __name__ == "__main__":
    main()
