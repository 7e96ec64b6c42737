"""The cases of same_output.py. A case is a list of commands that run in one folder.

That folder has `data` (the tiny checkpoints of tests/data), `examples`, `shared` (other models, if they exist)
and `made` (the output of same_output_files.py).
"""

import dataclasses
import json
import shlex
import struct

MATRICES = "q,k,v,o,gate,up,down,qk,ov,kv"
EXPORTS = ["json", "csv", "table"]


@dataclasses.dataclass
class Command:
    words: list
    terminal: bool = False  # stdout is a pseudo-terminal
    by_old: bool = False  # run by the old program on both sides: the new program must be able to use its files
    environment: dict = dataclasses.field(default_factory=dict)

    def __str__(self):
        settings = [f"{name}={value}" for name, value in self.environment.items()]
        notes = " (on a terminal)" * self.terminal + " (the old program)" * self.by_old
        return shlex.join(settings + ["attnscope"] + self.words) + notes


# ---- Options of each command --------------------------------------------------------------------

# {matrices}: the model's entry in `MATRICES`; {tensor}: the name of its first matrix.
EVERY_FORMAT = {
    "info": ["", "--quiet"],
    "spectrum": [
        "", "--per-head", "--per-head --matrix {matrices}", "--values --matrix q,qk",
        "--values --per-head --matrix {matrices} --layers -1", "--energy 0.5,0.9,0.999", "--rank 3,0.1D",
        "--rank 3,0.1D --matrix qk,ov,kv --per-head --energy 0.25", "--mla", "--mla --layers 0",
        "--tensor {tensor}", "--tensor {tensor} --values --energy 0.7 --rank 2,5", "--layers 0,-1 --matrix k",
    ],
    "weights": [
        "", "--per-head", "--histogram", "--histogram --bins 7 --range -0.1,0.25 --per-head", "--histogram --bins fd",
        "--histogram --bins fd --range -0.05,0.05 --matrix q,down", "--matrix o,up --layers -1", "--bins 12",
    ],
    "similarity": [
        "", "--histogram", "--histogram --bins 9 --range -0.5,0.5", "--histogram --bins fd --matrix q", "--overlap",
        "--overlap --layers 0", "--overlap --matrix k,v", "--head-matrix 0,1", "--head-matrix -1,0 --matrix v,q",
    ],
    "matrix": ["--layer 0 --matrix q", "--layer -1 --matrix qk --head 1"],
    "predict": [
        "--tokens 1,2,3 --top 3", "--tokens 1,2,3,4 --generate 4", "--tokens 1,2,3,4,5 --perplexity",
        "--tokens 1,2,3,4,5 --perplexity --stride 2", "--tokens 1,2,3,4,5 --attribution",
    ],
    "directions": ["", "--matrix qk --head 1 --directions 2 --top 4", "--matrix up --names embedding", "--copying --layers 0",
                   "--layers 0 --head 0 --pairs 4", "--tokens 1,2,3,4,5 --directions 1"],
    "lens": ["--tokens 1,2,3,4,5", "--tokens 1,2,3,4,5 --states resid_pre,resid_mid", "--tokens 1,2,3,4,5 --grid"],
    "ablate": ["--tokens 1,2,3,4,5", "--tokens 1,2,3,4,5 --ablation zero --components layers --layers 0",
               "--induction --length 8", "--induction --length 8 --receiver L1H0"],
    "circuits": [
        "", "--circuit qk", "--circuit ov --layers -1", "--energy 0.3,0.8", "--fold-norm", "--with-bias",
        "--rope-offset -3", "--fold-norm --with-bias --rope-offset 2", "--all-eigenvalues", "--composition",
        "--composition --fold-norm", "--composition --with-bias --layers 0,1",
    ],
}

# Options for which the format does not matter. None of them may change a digit.
ONLY_JSON = {
    "spectrum": ["--per-head --matrix {matrices} " + how for how in
                 ["--threads 1", "--threads 2", "--threads 7", "--memory 100K", "--memory 1M --threads 2",
                  "--progress never --quiet"]] + ["--out rows", "--layers 0- --matrix q,q"],
    "weights": ["--histogram --per-head --threads 7", "--memory 100K", "--out rows"],
    "similarity": ["--threads 7 --histogram", "--memory 100K", "--overlap --threads 1"],
    "circuits": ["--threads 1", "--threads 7 --fold-norm", "--memory 100K", "--composition --threads 7",
                 "--composition --memory 100K", "--composition --out rows"],
    "matrix": [f"--layer {layer} --matrix {matrix}{head}" for matrix in MATRICES.split(",")
               for layer, head in [(0, ""), (-1, " --head 1")]] + ["--layer 0 --matrix v --out rows"],
}

SEVERAL_MODELS = ["data/llama data/qwen2", "data/gpt2 data/bert data/opt",
                  "examples/shakespeare-llama examples/shakespeare-gpt2 data/albert data/phi3", "data/llama data/llama"]

STORED = [
    "spectrum {model} --per-head --matrix {matrices}", "spectrum {model} --values --rank 2,0.5D --energy 0.4,0.95",
    "spectrum {model} --mla", "spectrum {model} --tensor {tensor}", "weights {model} --histogram --bins fd --per-head",
    "similarity {model} --histogram", "similarity {model} --overlap", "similarity {model} --head-matrix 0,0",
    "circuits {model} --fold-norm --with-bias --rope-offset -1", "circuits {model} --composition",
]


# Encoder-decoders, vision models and audio models.
STACKS = [
    "info data/encoder_decoders/t5", "spectrum data/encoder_decoders/t5 --per-head", "spectrum data/stacks/clip --stack vision --layers 0",
    "circuits data/encoder_decoders/bart --stack cross", "attention data/encoder_decoders/t5 --tokens 3,1,4 --target-tokens 0,5",
    "attention data/encoder_decoders/bart --tokens 5,6,7 --target-tokens 2,3 --stack cross --heatmap 1,0",
    "predict data/encoder_decoders/t5 --tokens 3,1,4 --generate 4", "predict data/encoder_decoders/t5 --tokens 3,1 --target-tokens 0,5,7 --perplexity",
    "attention data/stacks/vit --image data/images/odd.png", "attention data/stacks/vit --pixel-values data/images/pixels.npy",
    "attention data/stacks/vit --image data/images/turned6.jpg --heatmap 0,1",
    "predict data/stacks/vit --image data/images/grey.jpg",  # words: ok (the name of a file)
    "attention data/stacks/wav2vec2 --audio data/audio/steps.wav --layers 0", "predict data/stacks/wav2vec2 --audio data/audio/noise.wav",
]

# Losses and means over selected tokens.
SCORED = [
    "attention data/gpt2 --tokens 3,1,4,1,5 --score-positions last", "lens data/gpt2 --tokens 3,1,4,1,5 --score-positions 2-",
    "ablate data/gpt2 --tokens 3,1,4,1,5 --score-positions 1,3", "predict data/gpt2 --tokens 3,1,4,1,5 --perplexity --score-positions -2-",
    "predict examples/shakespeare-gpt2 --text-file examples/README.md --perplexity --lines",
    "lens examples/shakespeare-gpt2 --text-file examples/README.md --lines --sequences 4 --score-positions last",
]


class Model:
    """A path, and its placeholders in commands: its matrices and a tensor."""

    def __init__(self, path, root):
        self.path, self.extra = path, ""
        files = sorted((root / path).glob("*.safetensors")) if (root / path).is_dir() else [root / path]
        names = {}
        for file in files:
            with open(file, "rb") as stream:
                names.update(json.loads(stream.read(struct.unpack("<Q", stream.read(8))[0])))
        names.pop("__metadata__", None)
        self.tensor = next((name for name in sorted(names) if len(names[name]["shape"]) == 2), "none")
        gated = any("gate" in name for name in names)
        self.matrices = MATRICES if gated else MATRICES.replace("gate,", "")
        layout = root / (path + ".layout.json")
        if layout.exists():
            self.extra = f" --layout {path}.layout.json"
            self.matrices = "q,k,v,o,qk,ov,kv" if '"o"' in layout.read_text() else "q"

    def fill(self, text):
        return text.format(model=self.path + self.extra, matrices=self.matrices, tensor=shlex.quote(self.tensor))


def in_every_format(text):
    """Yield one case per output format, and one on a terminal."""
    for form in EXPORTS:
        yield [Command(shlex.split(f"{text} --format {form}"))]
    yield [Command(shlex.split(text), terminal=True)]


def of_model(model):
    for command, variants in EVERY_FORMAT.items():
        for variant in variants:
            yield from in_every_format(model.fill(f"{command} {{model}} {variant}"))
    for command, variants in ONLY_JSON.items():
        for variant in variants:
            yield [Command(shlex.split(model.fill(f"{command} {{model}} {variant} --format json")))]
    for matrix in ("q", "k --head 0", "qk --head 1", "ov", "kv"):
        yield [Command(shlex.split(model.fill(f"matrix {{model}} --layer -1 --matrix {matrix} --out saved.npy")))]


def stored(model, formats):
    """Yield runs with a store: a first run, a second run from the store, and exports; then with a store of the old program."""
    for text in STORED:
        run = shlex.split(model.fill(text)) + ["--store", "rows.sqlite"]
        export = [["export", "rows.sqlite", "--format", form] for form in formats]
        for old in (False, True) if formats == EXPORTS else (False,):
            yield [Command(run + ["--threads", "2", "--format", "csv"], by_old=old),
                   Command(run + ["--threads", "1", "--format", formats[0]])] + [Command(words) for words in export]


def shared_stores():
    """Yield cases with several commands, models and parameters in one store."""
    runs = ["spectrum data/llama data/gpt2 --per-head", "spectrum data/llama --energy 0.5", "weights data/bert",
            "circuits data/opt", "circuits data/opt --composition", "spectrum data/llama --layers 1 --matrix q"]
    exports = ["", "--list", "--list --format csv", "--list --format json", "--list --set 1", "--format csv",
               "--command spectrum", "--command spectrum --set 1", "--command spectrum --set 1 --model llama",
               "--command weights --format csv", "--command circuits", "--command circuits --set 3 --format json",
               "--set 99", "--set x", "--command info", "--command none", "--model none",
               "--command weights --model llama", "--command weights --out rows.csv", "--command weights --quiet",
               "--command weights --out none/rows"]
    for old in (False, True):
        yield ([Command(shlex.split(run) + ["--store", "rows.sqlite"], by_old=old) for run in runs] +
               [Command(["export", "rows.sqlite"] + shlex.split(export)) for export in exports])
    for length in (0, 50, 100, 4096, 9000):  # damaged stores, by the number of remaining bytes
        yield [Command(shlex.split("spectrum data/llama --store rows.sqlite")), length] + [
            Command(shlex.split(words)) for words in ("export rows.sqlite", "spectrum data/llama --store rows.sqlite")]
    for store in ("none.sqlite", "made/other.sqlite", "made/text", "data", "none/rows.sqlite",
                  "data/llama/config.json"):
        yield [Command(["export", store])]
        yield [Command(["weights", "data/llama", "--store", store])]
    yield [Command(shlex.split("info data/llama --store rows.sqlite"))]
    yield [Command(shlex.split("spectrum data/llama --store rows.sqlite --out rows.sqlite"))]


# ---- Compressed models --------------------------------------------------------------------------

FITTED = "--calibration-file examples/README.md --length 64 --sequences 8 --eval-sequences 2 --probe-tokens 64"
TARGETS = ["--set remove-layers=1,4", "--set mlp=300", "--set hidden-size=144", "--set head-dim=16", "--set kv-heads=1",
           "--set heads=4", "--set mla=32+32", "--set low-rank=0.q:20,3.up:40", "--method low-rank --keep 0.8 --round 8",
           "--method low-rank --keep 0.7 --rank-allocation energy", "--method low-rank --keep 0.7 --rank-allocation uniform --ridge 0.1",
           "--method low-rank --keep 0.7 --rank-allocation plain --matrix q,up --layers 1-3", "--method mla --kv-bytes 0.3",
           "--method mlp --keep 0.9 --score-positions last", "--method mlp --keep 0.9 --lines",
           "--method mlp --max-perplexity +5%", "--method mlp --keep 0.9 --seed 3", "--method hidden-size,mlp --keep 0.9",
           "--method kv-heads,depth --kv-bytes 0.5"]
REFUSED_PLANS = ["--method mlp", "--keep 0.5", "--method heads --keep 2", "--method mlp --keep 0.01", "--set heads=5",
                 "--set low-rank=0.q:150", "--set low-rank=9.q:1", "--set x=1", "--method experts --keep 0.5",
                 "--method mlp,low-rank --keep 0.5", "--method mlp --keep 0.9 --calibration-target-file examples/README.md"]


def planned():
    """Yield plans, each with its compressed model; and a diff, with its adapter."""
    model = "examples/shakespeare-llama"
    for path in (model, "examples/shakespeare-gpt2"):
        yield from in_every_format(f"plan {path} {FITTED}")
    for target in TARGETS + REFUSED_PLANS:
        run = shlex.split(f"plan {model} {FITTED} {target}")
        shrink = shlex.split(f"shrink {model} plan.json --calibration-file examples/README.md -o smaller")
        yield [Command(run), Command(run + ["-o", "plan.json", "--quiet"]), Command(shrink + ["--format", "json"]),
               Command(shlex.split(f"diff {model} smaller --lora lora --per-head --format csv")),
               Command(shlex.split(f"diff {model} lora"))]


# ---- Errors -------------------------------------------------------------------------------------

REFUSED = """
--versoin|--hlep|-x|spectrm data/llama|ifno data/llama|zzzzzzzz|''|--quiet spectrum data/llama|info
spectrum --per-head|matrix --layer 0 --matrix q|weights|similarity|circuits|export|completion|completion zsj|info ''
info openai/gpt2|info none|spectrum data/llama none|info data|info data/llama/config.json/model
spectrum data/llama --enrgy 0.9|info data/llama --quite|spectrum data/llama --thread=2|info data/llama --energy 0.9
spectrum data/llama --energy|spectrum data/llama --threads 1 --threads 2|spectrum data/llama --per-head --per-head
spectrum data/llama --matrix gat|spectrum data/llama --matrix q,x|spectrum data/llama --matrix q,
weights data/llama --matrix qk|spectrum data/bert --matrix gate|spectrum data/bert data/gpt2 --matrix q,gate
spectrum data/bert data/llama --matrix gate|spectrum data/llama --matrix ''|similarity data/llama --matrix o
circuits data/llama --circuit q|circuits data/llama --circuit vo|spectrum data/llama --format jsn
info data/llama --format xml|spectrum data/llama --progress sometimes|spectrum data/llama --layers x
spectrum data/llama --layers 0x1|spectrum data/llama --layers 0-x|spectrum data/llama --layers 0,,1
spectrum data/llama --layers 1-0|spectrum data/llama --layers 2|spectrum data/llama --layers 0-2
spectrum data/llama --layers -3|spectrum data/llama --layers 99999999999999999999
spectrum data/albert data/gpt2 --layers 3|spectrum data/llama --layers ''|spectrum data/llama --energy 0
spectrum data/llama --energy 1|spectrum data/llama --energy nan|spectrum data/llama --energy inf
spectrum data/llama --energy -0.5|spectrum data/llama --energy 0.9,90|spectrum data/llama --energy 0.9x
spectrum data/llama --energy 0.9,|spectrum data/llama --energy 0.9,0.9|circuits data/llama --energy 2
spectrum data/llama --threads 0|spectrum data/llama --threads -2|spectrum data/llama --threads 1.5
spectrum data/llama --threads all|spectrum data/llama --threads 99999999999999999999|spectrum data/llama --memory 0G
spectrum data/llama --memory 2|weights data/llama --memory lots|circuits data/llama --memory 2GBs
spectrum data/llama --memory 99999999999G|matrix data/llama --matrix q|matrix data/llama --layer 0
matrix data/llama data/gpt2 --layer 0 --matrix q --out both.npy|matrix data/llama --layer 0 --matrix q,k
matrix data/llama --layer 2 --matrix q|matrix data/llama --layer -3 --matrix q|matrix data/llama --layer x --matrix q
matrix data/llama --layer 0 --matrix q --head 4|matrix data/llama --layer 0 --matrix k --head 2
matrix data/llama --layer 0 --matrix ov --head 4|matrix data/llama --layer 0 --matrix q --head -1
matrix data/llama --layer 0 --matrix up --head 0|matrix data/gpt2 --layer 0 --matrix gate
matrix data/llama --layer 0 --matrix dwon|matrix data/llama --layer 0 --matrix q --out w.npy --format csv
matrix data/llama --layer 0 --matrix q --head x|info data/llama --system|info --system|info --system --format json
info --system --format csv|spectrum data/gpt2 --tensor transformer.wte.weigth|spectrum data/gpt2 --tensor x
spectrum data/gpt2 --tensor transformer.ln_f.weight|spectrum data/llama --tensor x --matrix q
spectrum data/llama --tensor x --layers 0|spectrum data/llama --tensor x --per-head|spectrum data/llama --rank 0
spectrum data/llama --rank -3|spectrum data/llama --rank 2.5|spectrum data/llama --rank many
spectrum data/llama --rank 8,,9|spectrum data/llama --rank 99999999999999999999|spectrum data/llama --rank D
spectrum data/llama --rank 0D|spectrum data/llama --rank 1.5D|spectrum data/llama --rank 0.1F
spectrum data/llama --rank 3,3|spectrum data/gpt2 --tensor transformer.wte.weight --rank 0.1D
spectrum data/llama --mla --matrix q|spectrum data/llama --mla --per-head|spectrum data/llama --mla --rank 3
spectrum data/llama --mla --values|spectrum data/llama --mla --tensor x|spectrum data/llama --mla --energy 0.5
matrix data/llama --layer 0 --matrix kv --head 2|weights data/llama --bins many|weights data/llama --bins 0
weights data/llama --bins 65537|weights data/llama --bins -3|weights data/llama --histogram --range 1
weights data/llama --histogram --range 1,1|weights data/llama --histogram --range 2,1
weights data/llama --histogram --range a,b|weights data/llama --histogram --range 0,inf
weights data/llama --histogram --range 0,1,2|weights data/llama --range 0,1|similarity data/llama --bins 5
similarity data/llama --overlap --histogram|similarity data/llama --overlap --head-matrix 0,0
similarity data/llama --head-matrix 0|similarity data/llama --head-matrix 0,9|similarity data/llama --head-matrix 9,0
similarity data/llama --head-matrix x,0|similarity data/llama --head-matrix 0,0 --layers 0
similarity data/llama --head-matrix 0,2 --matrix k|similarity data/llama --overlap --bins 4
similarity data/llama --head-matrix 0,0 --histogram|circuits data/gpt2 --rope-offset 1
circuits data/llama --rope-offset x|circuits data/llama --rope-offset 1.5
circuits data/llama --composition --circuit qk|circuits data/llama --composition --rope-offset 1
circuits data/llama --composition --energy 0.5|circuits data/llama --composition --layers 0
circuits data/llama --composition --all-eigenvalues|circuits data/opt-projected --composition
circuits data/bert --fold-norm|circuits data/bert-old --composition --fold-norm
circuits data/llama --rope-offset 99999999999999999999|circuits data/opt --fold-norm|circuits data/albert --fold-norm
spectrum data/llama --out none/rows|info data/llama --out data
matrix data/llama --layer 0 --matrix q --out data/llama/config.json/x|spectrum data/llama --out /dev/full
info data/llama --format csv --out /dev/full|spectrum data/llama --store rows.sqlite --store b
info data/llama --layout none.json|info data/llama --layout data
info data/llama data/bert --layout made/float32-wide.layout.json|info data/llama --layout data/llama/config.json
export data/llama|export rows.sqlite more|help|completion bash zsh|spectrum data/llama --matrix 'evil\x1b[31m'
spectrum data/llama --layers '0 - 1'|spectrum data/llama -- --quiet|spectrum data/llama/model.safetensors.index.json
info data/bert/model.safetensors|info data/llama/model-00001-of-00002.safetensors
info shared/stories260K/stories260K.gguf|info shared/daisy-tiny|info shared/rxnmapper-albert
spectrum shared/daisy-tiny/checkpoint.pt|spectrum data/llama examples/shakespeare-llama --matrix q,k --per-head
info data/llama data/bert data/gpt2 data/opt data/phi data/phi3 data/qwen2
spectrum data/llama --out rows.npy|spectrum data/llama --format csv --out rows.json|spectrum data/llama --store rows.csv
predict data/gpt2 --tokens 1,2 --save run.npz|attention data/gpt2 --tokens 1,2 --maps maps.npy|report data/gpt2 -o r.pdf
spectrum data/llama --out rows.csv|info data/llama --out rows.JSON|matrix data/llama --layer 0 --matrix q --out q.csv
attention data/encoder_decoders/t5 --stack cross --tokens 1,2|predict data/stacks/vit --image data/images/four-inks.jpeg
predict data/stacks/vit --audio data/audio/steps.wav|attention data/stacks/wav2vec2 --features data/images/pixels.npy
predict data/stacks/clip --pixel-values data/images/pixels.npy|predict data/gpt2 --tokens 1 --target-tokens 2
spectrum data/llama --out -|matrix data/llama --layer 0 --matrix q -o - --format csv|circuits data/llama --fold-norm gain
spectrum data/llama --matrix 'q, k' --energy '0.5, 0.9' --layers '0, 1'|spectrum data/llama --matrix q --remote
"""

HELP = ("--version|--help|-h|info --help|spectrum --help|weights --help|similarity --help|matrix --help|"
        "circuits --help|export --help|completion --help|completion bash|completion zsh|completion fish|completion man")


def refused():
    yield [Command([])]
    for text in REFUSED.strip().replace("\n", "|").split("|"):
        yield [Command(shlex.split(text))]
    for wish in ("AVX2", "avx512", "avx2", "none", ""):
        yield [Command(["spectrum", "data/llama", "--format", "json"], environment={"ATTNSCOPE_KERNELS": wish})]
    for settings in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        yield [Command(["spectrum", "data/llama"], terminal=True, environment=settings)]


# ---- All cases ----------------------------------------------------------------------------------

# Every format of every option takes long. For some models, one format is enough.
STORED_IN_EVERY_FORMAT = ("data/llama", "data/gpt2", "made/nan", "data/albert")


def models(root):
    """Return the models that can be analyzed, sorted, so that the order is the same on every machine."""
    paths = []
    for folder in ("examples", "data", "shared", "made"):
        for path in sorted((root / folder).iterdir()) if (root / folder).is_dir() else []:
            inside = path.is_dir() and (path / "config.json").exists() and list(path.glob("*.safetensors"))
            if inside or path.name.endswith(".safetensors"):
                paths.append(f"{folder}/{path.name}")
    return [Model(path, root) for path in paths]


def all_cases(root, with_help):
    """Yield each case: a list of commands, and numbers between them: the bytes to which rows.sqlite is truncated."""
    for model in models(root):
        yield from of_model(model)
        yield from stored(model, EXPORTS if model.path in STORED_IN_EVERY_FORMAT else EXPORTS[:1])
    for paths in SEVERAL_MODELS:
        for text in ("info", "spectrum --per-head", "weights", "similarity", "similarity --overlap", "circuits",
                     "circuits --composition", "matrix --layer 0 --matrix q", "spectrum --mla"):
            yield from in_every_format(f"{text} {paths}")
    for text in STACKS + SCORED:
        yield from in_every_format(text)
    yield from shared_stores()
    yield from planned()
    yield from refused()
    for path in sorted((root / "made/broken").iterdir()):
        for command in ("info", "spectrum", "circuits"):
            yield [Command([command, f"made/broken/{path.name}"])]
    if with_help:
        yield from ([Command(shlex.split(text))] for text in HELP.split("|"))
