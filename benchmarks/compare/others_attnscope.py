"""The jobs of others_jobs.py as attnscope commands, and their results under the same names."""

import json
from pathlib import Path

import numpy as np

COMMANDS = {
    "ranks": ["spectrum", "MODEL", "--matrix", "q,k,v,o,up,down", "--energy", "0.9", "--out", "ANSWER.json"],
    "symmetry": ["circuits", "MODEL", "--circuit", "qk", "--out", "ANSWER.json"],
    "ablation": ["ablate", "MODEL", "--tokens", "IDS", "--components", "heads", "--ablation", "zero", "--out", "ANSWER.json"],
    "maps": ["attention", "MODEL", "--tokens", "IDS", "--out", "ANSWER.json"],
    "page": ["report", "MODEL", "--tokens", "IDS", "--out", "ANSWER.html"],
}
OF_HEADS = {"symmetry": ["symmetry"], "ablation": ["loss_increase"], "maps": ["entropy", "sink_mass", "mean_distance"]}


def command(program, job, model, answer, threads):
    ids = ",".join(map(str, json.loads((model / "tokens.json").read_text())))
    words = [word.replace("ANSWER", str(answer)) for word in COMMANDS[job]]
    words = [{"MODEL": str(model), "IDS": ids}.get(word, word) for word in words]
    return [str(program), *words, "--threads", str(threads), "--quiet"]


def answers(job, answer):
    if job == "page":
        return {}
    rows = json.loads(Path(f"{answer}.json").read_text())["rows"]
    if job == "ranks":
        of_role = {role: [row for row in rows if row["matrix"] == role] for role in ("q", "k", "v", "o", "up", "down")}
        return {f"{name} {role}": np.array([row[name]["0.9"] if name == "energy_rank" else row[name] for row in found])
                for role, found in of_role.items() for name in ("energy_rank", "spectral_norm")}
    of_heads = [row for row in rows if row.get("head") is not None]
    return {name: np.array([row[name] for row in of_heads]) for name in OF_HEADS[job]}
