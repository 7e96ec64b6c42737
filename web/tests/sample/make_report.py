#!/usr/bin/env python3
"""Makes a report for development and tests from the program's own JSON, as `attnscope report` does.

usage: make_report.py --binary ATTNSCOPE --text-file TEXT [--without ID,…] -o OUT.html MODEL…

The template is dist/report.html. It needs nothing but Python."""
import argparse
import array
import base64
import datetime
import gzip
import json
import math
import pathlib
import struct
import subprocess
import tempfile
import time

WEB = pathlib.Path(__file__).resolve().parents[2]
THRESHOLDS = "0.6,0.8,0.9,0.99"
MATRICES = ["q", "k", "v", "o", "gate", "up", "down", "qk", "ov", "kv"]


class Blocks:
    """The blocks of numbers and of maps, and slices of them."""

    def __init__(self):
        self.values = array.array("f")
        self.maps = bytearray()
        self.known = {}

    def slice(self, numbers):
        at = len(self.values)
        self.values.extend(numbers)
        return {"at": at, "length": len(numbers)}

    def shared_slice(self, numbers):
        """Equal arrays are kept once."""
        key = tuple(numbers)
        if key not in self.known:
            self.known[key] = self.slice(numbers)
        return self.known[key]


def run(binary, *arguments):
    done = subprocess.run([binary, *arguments, "--format", "json", "--quiet"], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"attnscope {' '.join(arguments)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def packed_row(row, blocks):
    if "singular_values" in row:
        row["singular_values"] = blocks.slice(row["singular_values"])
        row.pop("cumulative_energy", None)
    if "null_singular_values" in row:
        null = row["null_singular_values"]
        scale = math.sqrt(sum(value * value for value in null)) or 1.0
        # Rounded, so that rows of a shape share one array although each was scaled by its own norm.
        row["null_singular_values"] = {
            **blocks.shared_slice([float(f"{value / scale:.5e}") for value in null]), "scale": scale}
    if "histogram" in row:
        histogram = row["histogram"]
        row["histogram"] = {"edges": blocks.shared_slice(histogram["edges"]),
                            "counts": histogram["counts"], "outside": histogram["outside"]}
    return row


def safetensors(path):
    data = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    kinds = {"F32": "f", "I64": "q"}
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        start, end = (8 + length + offset for offset in entry["data_offsets"])
        numbers = array.array(kinds[entry["dtype"]])
        numbers.frombytes(data[start:end])
        tensors[name] = (entry["shape"], numbers)
    return tensors


def byte_of(weight):
    if weight <= 0:
        return 0
    return 1 + max(0, min(254, round(254 * (math.log2(weight) + 16) / 16)))


def pack_maps(path, model, causal, blocks):
    tensors = safetensors(path)
    shape, weights = tensors["attentions"]
    layers, heads, tokens = shape[0], shape[1], shape[2]
    places = []
    for layer in range(layers):
        for head in range(heads):
            at = len(blocks.maps)
            start = (layer * heads + head) * tokens * tokens
            for query in range(tokens):
                row = start + query * tokens
                blocks.maps.extend(byte_of(w) for w in weights[row:row + (query + 1 if causal else tokens)])
            places.append({"model": model, "layer": tensors["layers"][1][layer], "head": head,
                           "tokens": tokens, "causal": causal, "side": tokens, "at": at})
    return places


def kept_fields(binary):
    kept = {}
    for entry in json.loads(subprocess.run([binary, "explain", "--format", "json"], capture_output=True, text=True,
                                           check=True).stdout)["fields"]:
        if entry["part"] == "rows" and entry["kind"]:
            kept.setdefault(entry["kind"], []).append({
                "name": entry["path"], "type": entry["type"], "unit": entry["unit"], "heading": entry["heading"],
                "meaning": entry["meaning"], "where": entry["where"]})
    return kept


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--text-file")
    parser.add_argument("--sequences", default="8")
    parser.add_argument("--without", default="", help="ids of analyses to leave out")
    parser.add_argument("--template", default=WEB / "dist" / "report.html", type=pathlib.Path)
    parser.add_argument("-o", "--out", required=True)
    parser.add_argument("models", nargs="+")
    args = parser.parse_args()
    started = time.time()
    blocks = Blocks()
    without = set(filter(None, args.without.split(",")))
    info = run(args.binary, "info", *args.models)
    models = info["models"]
    there = {row["role"] for row in info["rows"] if row["role"]}
    roles = {part for role in there for part in role.replace("+", " ").split()}
    matrices = ",".join(m for m in MATRICES if m in roles or len(m) == 2 and m not in ("up",))
    analyses = {
        "spectrum": ["spectrum", "--values", "--per-head", "--energy", THRESHOLDS, "--matrix", matrices],
        "mla": ["spectrum", "--mla"],
        "weights": ["weights", "--histogram", "--per-head"],
        "similarity": ["similarity", "--histogram"],
        "overlap": ["similarity", "--overlap"],
        "circuits": ["circuits", "--energy", THRESHOLDS],
        "composition": ["circuits", "--composition"],
    }
    text = ["--text-file", args.text_file] if args.text_file else []
    if text:
        analyses["attention"] = ["attention", *text, "--sequences", args.sequences]
        analyses["attention_without_first"] = ["attention", *text, "--sequences", args.sequences, "--without-first"]
        analyses["induction"] = ["attention", "--induction"]
    reports = []
    for name, arguments in analyses.items():
        if name in without:
            continue
        try:
            result = run(args.binary, *arguments, *args.models)
        except RuntimeError as error:
            print(error)
            continue
        reports.append({
            "id": name, "again": " ".join(["attnscope", *arguments[:1], *(m["name"] for m in models), *arguments[1:]]),
            "command": result["command"], "parameters": result["parameters"],
            "rows": [packed_row(row, blocks) for row in result["rows"]], "skipped": result["skipped"],
            "notes": result.get("notes", [])})
    texts, maps = [], []
    if text and "maps" not in without:
        for path, model in zip(args.models, models):
            model["causal"] = True
            with tempfile.TemporaryDirectory() as folder:
                try:
                    file = f"{folder}/maps.safetensors"
                    run(args.binary, "attention", path, *text, "--sequences", "1", "--maps", file)
                    rows = run(args.binary, "attention", path, *text, "--heatmap", "0,0")["rows"]
                except RuntimeError as error:
                    print(error)
                    continue
                model["causal"] = all(not any(row["weights"][row["query"] + 1:]) for row in rows)
                maps += pack_maps(file, model["name"], model["causal"], blocks)
            texts.append({"model": model["name"], "tokens": [
                {"id": row["token"], "text": row.get("text") or str(row["token"])} for row in rows]})
    report = {
        "schema": "attnscope-report/1", "version": "0.6.0",
        "created": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "seconds": round(time.time() - started, 2),
        "command": f"attnscope report {' '.join(m['name'] for m in models)} -o report.html",
        "thresholds": [float(each) for each in THRESHOLDS.split(",")],
        "models": models, "reports": reports, "fields": kept_fields(args.binary),
        "left_out": [], "texts": texts, "maps": maps, "matrices": []}
    page = args.template.read_text()
    parts = {"results": json.dumps(report, separators=(",", ":")).encode(), "values": blocks.values.tobytes(),
             "maps": bytes(blocks.maps)}
    for name, data in parts.items():
        page = page.replace(f"@@{name}@@", base64.b64encode(gzip.compress(data, 9, mtime=0)).decode())
    pathlib.Path(args.out).write_text(page)
    print(f"{args.out}: {len(page):,} bytes")


if __name__ == "__main__":
    main()
