#!/usr/bin/env python3
"""Time how much the analysis of a live model's attention adds to the model's own time.

Runs alternate between the model with output_attentions=True and asc.attention(model, …). Their medians
are compared in wall-clock seconds, in CPU seconds, and in seconds of the model's own thread. On a busy
machine, the last one estimates the wall-clock time of an idle machine. The load is printed too.
`--threads 1,1`: threads of the model and of the analysis. Needs the package, torch and transformers.
"""

import argparse
import os
import resource
import statistics
import time

import torch
import transformers

import attnscope as asc

MODELS = {
    # GPT-2 small, and a wider model of four layers.
    "gpt2": {},
    "wide": {"n_embd": 2048, "n_head": 16, "n_layer": 4},
}


def model_of(name: str, sharpness: float) -> torch.nn.Module:
    """Make a model with random weights. `sharpness` scales queries and keys, for peaked, high-rank maps."""
    torch.manual_seed(0)
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**MODELS[name])).eval()
    model.set_attn_implementation("eager")
    for block in model.transformer.h:
        width = model.config.n_embd
        block.attn.c_attn.weight.data[:, : 2 * width] *= sharpness
    return model


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def timed(run) -> tuple[float, float, float]:
    own, cpu, start = time.thread_time(), cpu_seconds(), time.perf_counter()
    run()
    return time.perf_counter() - start, cpu_seconds() - cpu, time.thread_time() - own


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", choices=MODELS, default="gpt2")
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--sharpness", type=float, default=1.0)
    parser.add_argument("--threads", default="1,1")
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    of_model, measuring = (int(part) for part in given.threads.split(","))
    torch.set_num_threads(of_model)
    model = model_of(given.model, given.sharpness)
    ids = torch.randint(0, 50000, (1, given.tokens))

    def alone() -> None:
        with torch.no_grad():
            model(ids, output_attentions=True)

    def live() -> asc.Table:
        return asc.attention(model, ids, threads=measuring)

    # First check the result against the maps that the model itself returns.
    with torch.no_grad():
        maps = model(ids, output_attentions=True).attentions
    table = live()
    if table["entropy"].tolist()[:2] != asc.attention(maps=enumerate(maps))["entropy"].tolist()[:2]:
        raise SystemExit("the two results differ")
    ranks = [row["energy_rank"] for row in table if row["head"] is not None]
    alone_times, live_times = [], []
    for _ in range(given.runs):
        alone_times.append(timed(alone))
        live_times.append(timed(live))
    for index, what in enumerate(("wall", "CPU", "own")):
        before = statistics.median(each[index] for each in alone_times)
        after = statistics.median(each[index] for each in live_times)
        print(f"{what:8}{before:8.3f} s alone {after:8.3f} s analyzed {100 * (after / before - 1):+7.1f}%")
    print(f"{given.model}, {given.tokens} tokens, mean rank {statistics.mean(ranks):.0f}, threads "
          f"{of_model} + {measuring}; {table.notes[-1]}; load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
