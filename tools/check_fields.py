#!/usr/bin/env python3
"""Check the output of attnscope and docs/ against the descriptions of fields.

    tools/check_fields.py BINARY

- docs/schema/attnscope-2.schema.json is up to date with the program;
- every command's JSON, with every option, is valid in that schema, and a field that is not described is invalid;
- rows have the fields that are described for the request, in that order;
- each field is named in the section of docs/ to which its description links.

Needs Debian's python3-jsonschema. Exits with 77 (skipped) if it is missing or older than draft 2020-12. Exits with 1 and prints
a line for each error.
"""

import copy
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

try:
    from jsonschema import Draft202012Validator
except ImportError:
    print("python3-jsonschema (4.0 or later) is not installed: nothing was checked")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "docs/schema/attnscope-2.schema.json"
DATA = ROOT / "tests/data"
MODELS = sorted(path.parent.name for path in DATA.glob("*/config.json"))

# Run on each tiny checkpoint.
EVERYWHERE = ["info", "spectrum --per-head", "spectrum --mla", "weights", "similarity", "circuits"]

# Run on a few checkpoints, with every option that changes the output.
OPTIONS = [
    "info --system",
    "info {llama} {bert}",
    "spectrum {llama} --values --rank 2,0.1D --energy 0.5,0.9 --matrix q,kv,ov --layers 0 --per-head",
    "spectrum {llama} {gpt2} --mla --energy 0.8 --layers 1",
    "spectrum {gpt2} --tensor transformer.wte.weight",
    "spectrum {gpt2} --tensor transformer.wte.weight --values --rank 3,5 --energy 0.7",
    "weights {llama} --per-head --histogram",
    "weights {llama} --histogram --bins 5 --range=-1,1 --matrix q,down --layers 0",
    "weights {llama} --histogram --bins fd",
    "similarity {llama} --histogram --bins 7 --range=-1,1 --matrix q",
    "similarity {llama} --histogram --bins fd --layers 0",
    "similarity {llama} --overlap --matrix k",
    "similarity {llama} --head-matrix 0,1",
    "circuits {llama} --energy 0.5 --circuit qk --layers 0 --fold-norm --rope-offset -2",
    "circuits {gpt2} --with-bias --all-eigenvalues",
    "circuits {gpt2} --composition",
    "circuits {llama} --composition --fold-norm --rope-offset 3",
    "attention {llama} --tokens 1,2,3,4,5",
    "attention {gpt2} --tokens 1,2,3 --layers 1 --energy 0.5 --exclude-first-token",
    "attention {classifiers/bert} --text Who --text-pair king --text good --text-pair bad",
    "attention {classifiers/bert} --tokens 2,7,3,8,3 --token-types 0,0,0,1,1",
    "predict {shakespeare-gpt2} --text To --text be",
    "predict {classifiers/bert} --text Who --text king",
    "predict {classifiers/bert-tokens} --tokens 2,7,3 --top 1",
    "predict {classifiers/bert-answers} --tokens 2,7,3,8,3 --token-types 0,0,0,1,1",
    "lens {classifiers/bert} --label positive --text Who --text king --states resid_pre,resid_mid",
    "ablate {classifiers/bert} --label positive --text Who --text king",
    "predict {classifiers/llama} --attribution --label positive --tokens 2,7,3",
    "attention {llama} {gpt2} --induction --sequences 2 --length 8",
    "matrix {llama} --layer 1 --matrix q",
    "matrix {llama} --layer 0 --matrix qk --head 2",
    "spectrum {shakespeare-llama} --activations {text} --matrix q --layers 0",
    "diff {llama} {llama-old}",
    "diff {llama} {llama-old} --per-head --energy 0.5 --matrix q,down --layers 0",
    "plan {llama} --calibration-token-file {shard} --length 16 --sequences 4",
    "plan {llama} --calibration-token-file {shard} --length 16 --sequences 4 --set remove-layers=0",
    "plan {llama} --calibration-token-file {shard} --length 16 --method low-rank --keep 0.8 --matrix q,up --layers 1",
    "plan {llama} --calibration-token-file {shard} --length 16 --sequences 4 --method kv-heads,mlp --keep 0.95",
    "plan {llama} --calibration-token-file {shard} --length 16 --method mlp --keep 0.9 --rank-allocation plain --seed 3",
    "plan {llama} --calibration-token-file {shard} --length 16 --score-positions last",
    "plan {shakespeare-llama} --calibration-file {text} --lines --length 32 --sequences 4 --method depth --keep 0.999",
    "predict {llama} --tokens 1,2,3,4,5 --perplexity --score-positions 2-",
    "predict {shakespeare-gpt2} --text-file {text} --lines --perplexity",
    "attention {llama} --tokens 1,2,3,4,5 --score-positions last",
    "lens {shakespeare-gpt2} --text-file {text} --lines --sequences 4 --score-positions last",
    "ablate {llama} --token-file {shard} --length 4 --sequences 4 --score-positions 1,3",
    "experts {forward/phimoe} --tokens 3,1,4,1,5 --score-positions 3-",
    "directions {shakespeare-gpt2} --layers 0 --head 1 --text-file {text} --lines --sequences 4",
    "predict {llama} --tokens 1,2,3 --top 3",
    "predict {stacks/vit} --image {odd} --top 1",
    "predict {stacks/clip} --image {odd}",
    "attention {stacks/vit} --image {odd} --heatmap 1,2",
    "attention {stacks/vit} --pixel-values {pixels}",
    "attention {stacks/wav2vec2} --audio {steps}",
    "predict {stacks/wav2vec2} --audio {steps}",
    "attention {stacks/vit} {stacks/clip} --image {turned6} --layers 0",
    "attention {encoder_decoders/t5} --tokens 3,1,4 --target-tokens 0,5",
    "attention {encoder_decoders/t5} --tokens 3,1,4 --target-tokens 0,5 --stack cross --heatmap 0,1",
    "predict {encoder_decoders/t5} --tokens 3,1,4 --generate 3",
    "predict {encoder_decoders/t5} --tokens 3,1,4 --target-tokens 0,5,7 --perplexity",
    "circuits {encoder_decoders/t5} --stack cross",
    "spectrum {encoder_decoders/t5} --stack decoder --per-head --layers 0",
    "attention {encoder_decoders/whisper} --features {features} --target-tokens 2,5,7",
    "predict {encoder_decoders/whisper} --features {features} --generate 3 --top 2",
    "predict {llama} {gpt2} --tokens 1,2,3 --generate 3",
    "predict {llama} --tokens 1,2,3,4,5 --perplexity --stride 2",
    "predict {llama} {gpt2} --tokens 1,2,3,4,5 --attribution",
    "predict {shakespeare-gpt2} --text Hello --attribution --token e",
    "predict {shakespeare-gpt2} --text Hello --attribution --token e --against a",
    "lens {llama} {gpt2} --tokens 1,2,3,4,5 --states resid_pre,resid_mid",
    "lens {forward/gpt_neox} --tokens 1,2,3",
    "lens {llama} {shakespeare-gpt2} --tokens 1,2,3 --grid --states resid_pre,resid_mid",
    "lens {forward/bert} --tokens 1,2,3 --grid",
    "ablate {llama} {gpt2} --tokens 1,2,3,4,5",
    "directions {shakespeare-gpt2} --layers 0,5 --head 1 --top 3",
    "directions {forward/llama} --matrix qk --directions 9",
    "directions {shakespeare-gpt2} --layers 0 --head 1 --pairs 3",
    "directions {forward/llama} --layers 1 --copying",
    "directions {forward/llama} --matrix down --directions 1",
    "directions {forward/gpt_neox} --matrix up --directions 1 --tokens 1,2,3,4",
    "directions {forward/bert} --matrix up --all-tokens",
    "directions {nan} --matrix qk",
    "ablate {forward/gemma2} --tokens 1,2,3,4,5 --layers 1 --ablation zero",
    "ablate {forward/falcon_h1} --tokens 1,2,3,4,5 --layers 1",
    "ablate {forward/gpt2} --induction --length 8 --sequences 2",
    "ablate {forward/gpt2} --tokens 1,2,3,4,5 --heads L0H1,L1H0",
    "ablate {forward/gpt2} --tokens 1,2,3,4,5 --pairs 3",
    "ablate {forward/gpt2} --tokens 1,2,3,4,5 --cumulative --layers 1",
    "lens {llama} --tokens 1,2,3,4,5 --states attn_out,mlp_out",
    "ablate {shakespeare-gpt2} --prompts {prompts} --layers 0",
    "ablate {shakespeare-gpt2} --prompts {prompts} --ablation zero --layers 1",
    "ablate {shakespeare-gpt2} --prompts {prompts} --patch-positions last --layers 0",
    "ablate {shakespeare-gpt2} --prompts {prompts} --metric kl --patching noising --score-positions -2- --layers 1",
    "ablate {shakespeare-gpt2} --prompts {prompts} --sender L0H1 --receiver L1H0.q --through-mlps",
    "ablate {shakespeare-gpt2} --prompts {prompts} --sender each-layer --freeze-norms",
    "lens {shakespeare-gpt2} --prompts {prompts} --states resid_pre,resid_mid",
    "predict {shakespeare-gpt2} --attribution --prompts {prompts}",
    "predict {shakespeare-gpt2} --attribution --prompts {prompts} --edits {edits}",
    "lens {shakespeare-gpt2} --prompts {prompts} --edits {edits}",
    "lens {llama} --tokens 1,2,3,4,5 --edits {edits}",
    "attention {llama} --tokens 1,2,3,4,5 --edits {edits}",
    "predict {llama} --tokens 1,2,3,4,5 --edits {edits}",
    "ablate {forward/gpt2} --induction --length 8 --sequences 1 --receiver L1H0",
    "attention {forward/gpt2} {forward/bert} --tokens 3,1,4,1,5",
    "attention {forward/llama} --tokens 3,1,4 --exclude-first-token --energy 0.5 --layers 1",
    "attention {forward/gpt2} --tokens 3",
    "attention {forward/llama} --induction --length 8 --sequences 3",
    "attention {forward/llama} --induction --length 8 --sequences 1 --layers 0",
    "attention {forward/gpt2} --tokens 3,1,4 --heatmap 1,2 --log",
    "attention {shakespeare-gpt2} --text Hello --heatmap 0,0",
    "info {forward/qwen2_moe-dense}",
    "info {undescribed}",
    "spectrum {forward/qwen2_moe-dense} --per-head",
    "spectrum {forward/dots1} --experts 0-2,7 --values --matrix up,router,shared_up",
    "weights {forward/phimoe} --experts all --histogram",
    "experts {forward/dots1} {forward/mixtral}",
    "experts {forward/qwen2_moe-dense} --experts 0 --energy 0.5",
    "experts {forward/phimoe} --tokens 3,1,4,1,5",
    "experts {forward/mixtral} --tokens 3 --layers 1",
    # NaN weights are skipped. For zero weights many measures are null.
    "spectrum {nan} --per-head --values --rank 2",
    "spectrum {nan} --mla",
    "weights {nan} --histogram",
    "similarity {nan} --overlap",
    "circuits {nan}",
    "circuits {nan} --composition",
    "matrix {nan} --layer 0 --matrix q",
    "spectrum {zero} --per-head --values --rank 2",
    "spectrum {zero} --mla",
    "weights {zero} --histogram --bins fd",
    "similarity {zero} --histogram",
    "similarity {zero} --overlap",
    "similarity {zero} --head-matrix 0,0",
    "circuits {zero}",
    "circuits {zero} --composition",
]

# Stored, then exported: parameters that differ between the runs of a set are null.
KEPT = [
    ["spectrum {llama} --layers 0", "spectrum {gpt2} --matrix q"],
    ["spectrum {llama} --mla --layers 0", "spectrum {llama} --mla"],
    ["circuits {llama} --circuit qk", "circuits {llama} --layers 1"],
    ["circuits {gpt2} --composition", "circuits {gpt2} --composition --layers 0-1"],
    ["weights {llama} --histogram", "weights {llama} --histogram --matrix q"],
    ["similarity {llama}", "similarity {llama} --matrix q"],
    ["similarity {llama} --head-matrix 0,0", "similarity {llama} --head-matrix 1,0"],
    ["spectrum {forward/dots1} --experts 0-2", "spectrum {forward/dots1} --matrix up --experts 0-2"],
    ["experts {forward/dots1}", "experts {forward/mixtral} --layers 0"],
    ["experts {forward/mixtral} --tokens 3,1,4"],
    ["attention {forward/gpt2} --tokens 3,1,4", "attention {forward/bert} --tokens 3,1,4"],
    ["ablate {forward/gpt2} --induction --length 8", "ablate {forward/llama} --induction --length 8"],
    ["ablate {forward/llama} --tokens 3,1,4", "ablate {forward/gpt2} --tokens 3,1,4"],
    ["attention {stacks/vit} --image {odd}"],
    ["attention {encoder_decoders/t5} --tokens 3,1,4 --target-tokens 0,5"],
    ["attention {encoder_decoders/whisper} --features {features} --target-tokens 2,5,7"],
    ["attention {forward/llama} --induction --length 8", "attention {forward/gpt2} --induction --length 8"],
]


def model_with(value, folder):
    """Copy a float32 checkpoint and set every query weight to `value`."""
    shutil.copytree(DATA / "bert", folder)
    path = folder / "model.safetensors"
    content = bytearray(path.read_bytes())
    (length,) = struct.unpack_from("<Q", content)
    for name, tensor in json.loads(content[8 : 8 + length]).items():
        if name.endswith("query.weight"):
            assert tensor["dtype"] == "F32"
            begin, end = (8 + length + offset for offset in tensor["data_offsets"])
            content[begin:end] = struct.pack("<f", value) * ((end - begin) // 4)
    path.write_bytes(content)
    return folder


class Program:
    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder
        self.names = {name: str(DATA / name) for name in MODELS}
        for name in ("gpt2", "llama", "falcon_h1", "bert", "dots1", "gemma2", "gpt_neox", "mixtral", "phimoe", "qwen2_moe-dense"):
            self.names[f"forward/{name}"] = str(DATA / "forward" / name)
        for name in ("vit", "clip", "wav2vec2"):
            self.names[f"stacks/{name}"] = str(DATA / "stacks" / name)
        for name in ("bert", "bert-tokens", "bert-answers", "llama"):
            self.names[f"classifiers/{name}"] = str(DATA / "classifiers" / name)
        for name in ("t5", "whisper"):
            self.names[f"encoder_decoders/{name}"] = str(DATA / "encoder_decoders" / name)
        header = "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 20), }".ljust(117) + "\n"
        (folder / "features.npy").write_bytes(b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header.encode()
                                              + struct.pack("<80f", *[number % 7 - 3 for number in range(80)]))
        self.names["features"] = str(folder / "features.npy")
        for name in ("images/odd.png", "images/turned6.jpg", "images/pixels.npy", "audio/steps.wav"):
            self.names[pathlib.Path(name).stem] = str(DATA / name)
        self.names["undescribed"] = str(ROOT / "fuzz/corpus/npz/two-orders.npz")
        self.names["shakespeare-gpt2"] = str(ROOT / "examples/shakespeare-gpt2")
        self.names["prompts"] = str(ROOT / "examples/prompts.jsonl")
        (folder / "edits.json").write_text('[{"name": "z", "layer": 0, "head": 1, "scale": 0.5}]')
        self.names["edits"] = str(folder / "edits.json")
        shard = folder / "shard.bin"
        shard.write_bytes(struct.pack("<256i", 20240520, 1, 600, *[0] * 253)
                          + struct.pack("<600H", *[number * number % 37 for number in range(600)]))
        self.names["shard"] = str(shard)
        (folder / "text.txt").write_text("To be, or not to be, that is the question.\n" * 60)
        self.names["text"] = str(folder / "text.txt")
        self.names["shakespeare-llama"] = str(ROOT / "examples/shakespeare-llama")
        self.names["nan"] = str(model_with(float("nan"), folder / "nan"))
        self.names["zero"] = str(model_with(0.0, folder / "zero"))

    def text_of(self, line, *more):
        words = [word.format(**self.names) for word in line.split()]
        run = subprocess.run([self.binary, *words, *more], capture_output=True, text=True, check=False)
        if run.returncode not in (0, 6) or not run.stdout:
            raise RuntimeError(f"attnscope {line}: exit code {run.returncode}: {run.stderr.strip()}")
        return run.stdout

    def reports_of_all_models(self):
        """Run each command once for all cases, because starting the program takes longer than reading a model."""
        for command in EVERYWHERE:
            line = f"{command} {' '.join(f'{{{name}}}' for name in MODELS)} --quiet"
            yield command, json.loads(self.text_of(line, "--format", "json"))

    def reports(self):
        """Yield each command line with its output."""
        for line in OPTIONS:
            yield line, json.loads(self.text_of(line + " --quiet", "--format", "json"))
        plan = self.folder / "plan.json"
        words = "{llama} --calibration-token-file {shard}"
        plan.write_text(self.text_of(f"plan {words} --length 16 --set mla=8+8 --quiet", "--format", "json"))
        line = f"shrink {words} --folder {self.folder / 'smaller'} --quiet"
        yield line, json.loads(self.text_of(line, str(plan), "--format", "json"))
        for number, lines in enumerate(KEPT):
            store = str(self.folder / f"{number}.sqlite")
            for line in lines:
                self.text_of(line + " --quiet", "--store", store)
            line = "export after " + ", ".join(lines)
            yield line, json.loads(self.text_of(f"export {store}", "--format", "json"))
            yield line + ", listed", json.loads(self.text_of(f"export {store} --list", "--format", "json"))


def asked_for(report, parameter):
    return report["parameters"].get(parameter, False) is not False


def kind_of(report, fields):
    """Return the kind of row whose option is among the parameters, or else the command's default kind."""
    usual = None
    for field in fields:
        if field["command"] == report["command"]:
            if field["option"] is None:
                usual = field["kind"]
            elif asked_for(report, field["option"]):
                return field["kind"]
    return usual


def faults_of_order(report, fields):
    kind = kind_of(report, fields)
    described = [
        field
        for field in fields
        if field["kind"] == kind
        and field["part"] == "rows"
        and field["path"] == field["name"]
        and (field["with"] is None or asked_for(report, field["with"]))
    ]
    for row in report["rows"]:
        # Optional fields that no parameter adds belong to only some rows of the kind.
        order = [
            field["name"]
            for field in described
            if field["name"] in row or field["with"] is not None or not field["optional"]
        ]
        if list(row) != order:
            yield f"a row of kind {kind} has the fields {' '.join(row)}, expected {' '.join(order)}"
            return


def faults_of_undescribed(report, validator):
    """Check that a field without a description is invalid."""
    for part in ("models", "rows", "skipped"):
        if report[part]:
            changed = copy.deepcopy(report)
            changed[part][0]["undescribed"] = 1
            if validator.is_valid(changed):
                yield f"the schema accepts a field of {part} without a description"
    changed = copy.deepcopy(report)
    changed["parameters"]["undescribed"] = True
    if validator.is_valid(changed):
        yield "the schema accepts a parameter without a description"


def branch_error(report, schema, fields):
    """Return the first error in the schema branch of the report's kind, which is more specific, or None."""
    branch = {"$ref": f"#/$defs/{kind_of(report, fields)}", "$defs": schema["$defs"]}
    for error in Draft202012Validator(branch).iter_errors(report):
        return f"{error.json_path}: {error.message[:300]}"
    return None


def first_error(report, schema, fields):
    return branch_error(report, schema, fields) or "valid in its own branch of the schema and in another one"


def words_of_sections(path):
    """Map each anchor, as GitHub generates it, to the words in code spans below its heading."""
    sections, anchor, fenced = {}, None, False
    text = {}
    for line in path.read_text().splitlines():
        fenced ^= line.startswith("```")
        heading = None if fenced else re.match(r"#+ (.*)", line)
        if heading:
            anchor = re.sub(r"[^\w\- ]", "", heading.group(1).strip().lower()).replace(" ", "-")
        text.setdefault(anchor, []).append(line)
    for name, lines in text.items():
        spans = re.findall(r"`([^`]+)`", "\n".join(lines))
        sections[name] = set(re.findall(r"[a-z0-9_]+", " ".join(spans)))
    return sections


def faults_of_docs(fields):
    sections = {name: words_of_sections(ROOT / "docs" / name) for name in ("metrics.md", "formats.md", "plan.md")}
    for file, anchor, name in sorted({(*field["where"].split("#"), field["name"]) for field in fields}):
        if anchor not in sections.get(file, {}):
            yield f"docs/{file} has no section #{anchor}, to which '{name}' links"
        elif name not in sections[file][anchor]:
            yield f"docs/{file}#{anchor} does not name '{name}'"


def main():
    binary = sys.argv[1]
    faults, count = [], 0
    with tempfile.TemporaryDirectory() as folder:
        program = Program(binary, pathlib.Path(folder))
        fields = json.loads(program.text_of("explain --format json"))["fields"]
        schema_text = program.text_of("explain --schema")
        if not SCHEMA.is_file() or SCHEMA.read_text() != schema_text:
            faults.append(f"{SCHEMA.relative_to(ROOT)} is outdated: write the output of `attnscope explain --schema` to it")
        schema = json.loads(schema_text)
        Draft202012Validator.check_schema(schema)
        validator = Draft202012Validator(schema)
        faults += faults_of_docs(fields)
        seen = set()
        for line, report in program.reports():
            count += 1
            found = [] if validator.is_valid(report) else [first_error(report, schema, fields)]
            found += faults_of_order(report, fields)
            kind = kind_of(report, fields)
            if kind not in seen:
                found += faults_of_undescribed(report, validator)
            seen.add(kind)
            faults += [f"attnscope {line}: {fault}" for fault in found]
        for command, report in program.reports_of_all_models():
            count += 1
            error = branch_error(report, schema, fields)  # checking all branches would take a minute
            found = [error] if error else []
            found += faults_of_order(report, fields)
            faults += [f"attnscope {command}, all models: {fault}" for fault in found]
        for kind in sorted({field["kind"] for field in fields if field["kind"]} - seen):
            faults.append(f"no report of kind {kind} was checked")
    for fault in faults:
        print(fault)
    print(f"{count} reports checked, {len(faults)} errors")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
