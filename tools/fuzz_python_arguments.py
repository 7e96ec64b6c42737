"""Random calls of the package for fuzz_python.py."""

import copy
import json
import pickle
from concurrent.futures import Executor, Future, ThreadPoolExecutor

import numpy as np

import attnscope as asc
from attnscope import _core, _describe
from attnscope._worker import compute
from fuzz_python_values import STRINGS, Hostile, array, hostile, mutated, mutated_json, simple, strange

MODELS = ["gpt2", "llama", "bert", "opt", "gemma2", "mistral"]  # in tests/data
COMMANDS = [command for command in _core.commands()]


def tensors_of(folder):
    """Return the float32 tensors of a folder of tests/data."""
    found = {}
    for file in folder.glob("*.safetensors"):
        whole = file.read_bytes()
        size = int.from_bytes(whole[:8], "little")
        header = json.loads(whole[8 : 8 + size])
        header.pop("__metadata__", None)
        for name, entry in header.items():
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            if entry["dtype"] == "F32":
                values = np.frombuffer(whole[begin:end], "<f4")
            elif entry["dtype"] == "BF16":
                values = (np.frombuffer(whole[begin:end], "<u2").astype("u4") << 16).view("f4")
            else:
                continue
            found[name] = values.reshape(entry["shape"]).copy()
    return found


class Faulty(Executor):
    """An executor that returns invalid outcomes, or a changed copy of a worker's outcome."""

    def __init__(self, chance):
        self.chance = chance

    def submit(self, _, *given):
        if self.chance.random() < 0.1:
            raise Hostile
        future = Future()
        if self.chance.random() < 0.1:
            future.set_exception(Hostile())
        elif self.chance.random() < 0.2:
            future.set_result(simple(self.chance))
        else:
            outcome = compute(*given)
            future.set_result(mutated(self.chance, outcome) if isinstance(outcome, str) else outcome)
        return future if self.chance.random() < 0.95 else simple(self.chance)


class Asked:
    """Makes random calls, each with a description."""

    def __init__(self, root):
        self.paths = [str(root / "tests/data" / name) for name in MODELS if (root / "tests/data" / name).is_dir()]
        self.paths += [str(root / "examples/shakespeare-gpt2")]
        self.open = [asc.open(path) for path in self.paths]
        self.layouts = [str(path) for path in (root / "tests/data/layouts").glob("*.json")]
        self.folders = [root / "tests/data" / name for name in MODELS]
        self.items = []
        self.open[0].circuits(executor=self._collecting(), layers=0)

    def _collecting(self):
        items = self.items

        class Collecting(Executor):
            def submit(self, _, run, files, threads, item):
                items.append(item)
                future = Future()
                future.set_result(compute(run, files, threads, item))
                return future

        return Collecting()

    def model(self, chance):
        kind = chance.randrange(10)
        if kind < 6:
            return chance.choice(self.open)
        if kind < 8:
            return chance.choice(self.paths)
        if kind == 8:
            return [chance.choice(self.open), chance.choice(self.paths)]
        return hostile(chance)

    def value(self, chance, parameter):
        """Return a plausible value of a parameter, or any value."""
        if chance.random() < 0.25:
            return hostile(chance)
        kind, name = parameter["type"], parameter["name"]
        small = chance.choice([0, 1, 2, 3, 5, -1])
        if parameter["choices"]:
            return chance.choice(parameter["choices"]) if chance.random() < 0.6 else chance.choices(parameter["choices"], k=2)
        if kind == "flag":
            return True
        if kind == "file":
            files = {"layout": self.layouts, "store": ["rows.sqlite", "other.sqlite", ":memory:"], "maps": [True, "maps.out"],
                     "save": [True, "run.out"], "charts": ["charts"], "file": ["rows.sqlite", "other.sqlite"]}
            return chance.choice(files.get(name, self.layouts + self.paths))
        return {
            "integer": small,
            "bytes": chance.choice(["1G", 1 << 28, "1K", 1]),
            "layers": chance.choice([0, [0, -1], range(2), slice(0, 1), "1-"]),
            "head": chance.choice([(0, 0), (1, 1), (small, small)]),
            "receiver": chance.choice([(1, 0), "L1H0", "L1H0.k", (small, small)]),
            "shares": chance.choice([0.5, [0.5, 0.9], 0.999999]),
            "ranks": chance.choice([1, [1, "0.5D"], 64]),
            "bins": chance.choice([3, "fd", 1000]),
            "range": chance.choice([(-1, 1), (0, 1e-9)]),
            "text": chance.choice(["To be, or not to be", [1, 2, 3], "1,2,3,4", list(range(40)), "x" * 5000]),
        }.get(kind, small)

    def keywords(self, chance, command):
        parameters = [one for one in _describe.parameters(command["name"]).values() if one["type"] != "models"]
        chosen = [one for one in parameters if one["needed"] and chance.random() < 0.95]
        chosen += chance.sample(parameters, min(len(parameters), chance.choice([0, 0, 1, 1, 2, 3, 5])))
        if command["name"] in ("attention", "predict") and chance.random() < 0.7:
            chosen += [one for one in parameters if one["name"] == "tokens"]
        found = {one["name"]: self.value(chance, one) for one in chosen}
        if "generate" in found and isinstance(found["generate"], int) and found["generate"] > 10:
            found["generate"] = 10  # keeps the call short
        if command["has_items"] and chance.random() < 0.1:
            found["executor"] = chance.choice([ThreadPoolExecutor(2), Faulty(chance), Faulty(chance), strange(chance)])
        if chance.random() < 0.1:
            found["progress"] = chance.choice([True, False, hostile(chance)])
        return found

    def command(self, chance):
        command = chance.choice(COMMANDS)
        name, keywords = command["name"], self.keywords(chance, command)
        has_models = any(parameter["type"] == "models" for parameter in command["parameters"])
        models = [self.model(chance)] if has_models else []
        shown = chance.random() < 0.5
        seed = chance.randrange(1000)

        def call():
            found = getattr(asc, name)(*models, **keywords)
            if shown:
                self.show(type(chance)(seed), found)

        return call, f"{name}({_words(models)}, {_words(keywords)})" + (f", shown by {seed}" if shown else "")

    def array(self, chance):
        given = array(chance, chance.choice([2, 2, None])) if chance.random() < 0.8 else hostile(chance)
        keywords = self.keywords(chance, _describe.command("spectrum")) if chance.random() < 0.3 else {}
        return lambda: self.show(chance, asc.spectrum(given, **keywords)), f"spectrum({_words(given)}, {_words(keywords)})"

    def maps(self, chance):
        given = array(chance) if chance.random() < 0.8 else hostile(chance)
        energy = chance.choice([0.9, 0.5, hostile(chance)])
        return lambda: asc.attention_rank(given, energy), f"attention_rank({_words(given)}, {_words(energy)})"

    def opening(self, chance):
        """Open a model in memory that has an error."""
        if chance.random() < 0.3:
            names = ["layout", "config", "tokenizer", "name", "remote", "progress"]
            given = {name: hostile(chance) for name in chance.sample(names, 2)}
            model = self.model(chance) if chance.random() < 0.5 else {"wte.weight": array(chance)}
            return lambda: asc.open(model, **given), f"open({_words(model)}, {_words(given)})"
        folder = chance.choice(self.folders)
        arrays, config = tensors_of(folder), (folder / "config.json").read_text()
        changed = chance.sample(sorted(arrays), min(len(arrays), chance.choice([0, 1, 1, 3])))
        for name in changed:
            kind = chance.randrange(4)
            if kind == 0:
                del arrays[name]
            else:
                arrays[name] = [array(chance), arrays[name].T, hostile(chance), arrays[name] * np.nan][kind]
        if chance.random() < 0.7:
            config = mutated_json(chance, config)
        command = chance.choice([one for one in COMMANDS if callable(getattr(asc.Model, one["name"], None))])
        keywords = self.keywords(chance, command)
        keywords.pop("layout", None)
        seed = chance.randrange(1000)

        def call():
            model = asc.open(arrays, config=config)
            repr(model), model._repr_html_(), model.info
            self.show(type(chance)(seed), getattr(model, command["name"])(**{
                name: value for name, value in keywords.items() if name != "remote"}))

        given = _words({name: arrays.get(name) for name in changed})
        return call, f"{folder.name} with {given} {config} {command['name']}({_words(keywords)})"

    def table(self, chance):
        """Use a table in all possible ways."""
        model, command = chance.choice(self.open), chance.choice(["spectrum", "info", "weights", "circuits", "similarity"])
        key = hostile(chance)
        whats = ["getitem", "text", "row", "column", "plot", "pickle", "copy", "new", "save"]
        what = chance.choice(whats)
        format_ = chance.choice(["table", "csv", "json", hostile(chance)])
        width = chance.choice([100, 1, 0, -5, 2**31 - 1, hostile(chance)])

        def call():
            found = getattr(model, command)(layers=0) if command != "info" else asc.info(model)
            if what == "getitem":
                found[key]
            elif what == "text":
                found._report.text(format_, width)
            elif what == "row":
                found._report.row(key)
            elif what == "column":
                found._report.column(key)
            elif what == "plot":
                found.plot(key)
            elif what == "pickle":
                pickle.loads(pickle.dumps(chance.choice([found, found._report, model, model._core])))
            elif what == "copy":
                self.show(chance, copy.deepcopy(found))
            elif what == "new":
                made = chance.choice([_core.Report, _core.OpenModel])
                hollow = made.__new__(made)
                chance.choice([lambda: asc.Table(hollow, {}), lambda: asc.Model(hollow).spectrum(),
                               lambda: asc.Table(key, {})._repr_html_(), lambda: hollow.text("table"),
                               lambda: asc.Model(hollow).info, lambda: _core.charts(hollow)])()
            else:
                asc.Page(found["name"] if command == "info" else key, []).save(key if isinstance(key, int) else "page")

        return self._of_the_core(call), f"{what} of {command}: {_words([key, format_, width])}"

    def core(self, chance):
        """Call the extension module with arguments that the package never passes."""
        name = chance.choice(["run", "run", "compute_item", "compute_item", "spectrum_of", "attention_rank", "open_model", "open_in_memory",
                              "charts"])
        core = chance.choice(self.open)._core
        texts = [(chance.choice(["models", "layers", "matrix", "threads", "out", "x"]), chance.choice(STRINGS))
                 for _ in range(chance.randrange(4))]
        arguments = {
            "run": [chance.choice([one["name"] for one in COMMANDS] + ["x"]), [("models", core.name), *texts], {core.name: core},
                    chance.choice([None, strange(chance)]), chance.choice([None, None, strange(chance), lambda *_: simple(chance)])],
            "compute_item": [mutated(chance, chance.choice(self.items)), core, chance.choice([1, 2, 0, -1, 2**31 - 1, 10**6])],
            "spectrum_of": [array(chance), texts],
            "attention_rank": [array(chance, 3), chance.choice([0.9, 0, 1, -1, float("nan")])],
            "open_model": [chance.choice(self.paths), chance.choice(["", *STRINGS]), False, None],
            "open_in_memory": [chance.choice(STRINGS), [(chance.choice(STRINGS), array(chance)) for _ in range(3)],
                               chance.choice([None, *STRINGS]), chance.choice([None, *STRINGS]), ""],
            "charts": [hostile(chance)],
        }[name]
        if chance.random() < 0.3:
            arguments[chance.randrange(len(arguments))] = hostile(chance)
        return self._of_the_core(lambda: getattr(_core, name)(*arguments)), f"_core.{name}({_words(arguments)})"

    @staticmethod
    def _of_the_core(call):
        def quiet():
            try:
                call()
            except (AttributeError, RuntimeError, TypeError) as error:  # errors that the package prevents
                raise TypeError(f"in core: {error}") from None

        return quiet

    def show(self, chance, found):
        """Display a table or a page in some ways."""
        if isinstance(found, asc.Page):
            repr(found), found._repr_html_(), found.notes
            return
        ways = [lambda: repr(found), lambda: found._repr_html_(), lambda: list(found), lambda: found[::-2], lambda: found.to_json(),
                lambda: found.to_csv(), lambda: [found[name] for name in found.columns], lambda: found.charts,
                lambda: (found.skipped, found.notes, found.parameters, found.models),
                lambda: found._report.text("table", chance.choice([1, 20, 300])),
                lambda: found.__arrow_c_schema__(), lambda: found.__arrow_c_stream__()]
        for way in chance.sample(ways, chance.choice([1, 3, len(ways)])):
            way()


def _words(value):
    """Return a short description of any value."""
    try:
        if isinstance(value, np.ndarray):
            return f"array {value.dtype} {value.shape} {value.strides}"
        if isinstance(value, dict):
            return "{" + ", ".join(f"{name}: {_words(one)}" for name, one in value.items()) + "}"
        if isinstance(value, list):
            return "[" + ", ".join(map(_words, value[:8])) + "]"
        text = repr(value)
    except BaseException:
        text = f"<{type(value).__name__}>"
    return text if len(text) < 400 else text[:300] + f"… {len(text)} letters"
