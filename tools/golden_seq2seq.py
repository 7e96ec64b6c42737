#!/usr/bin/env python3
"""Write tests/data/encoder_decoders/<case>/: tiny encoder-decoders and their expected forward pass and generation.

    python tools/golden_seq2seq.py [--only CASE] [--check]

Each folder has one weights file, model.safetensors, and one or more configs for it. golden_variants.py describes
the files. A config with spelling "old" omits keys that have transformers' default value. The main variant also has
    - generated.json   keys of generation_config.json, a source, and the output of generate()
    - measures.json    for its first pair: statistics of its cross-attention maps (attention_measures.py), and the mean
                     negative log-likelihood of its target in nats

The expected tensors of a variant, for pairs of a source and a target N = 0, 1, ...:
    - sources.N [S], targets.N [T] int32; logits.N [T, V]; hidden_states.N [L + 1, T, D]; attentions.N [L, H, T, T]
    - cross_attentions.N [L, H, T, S]; encoder_hidden_states.N [L + 1, S, D]; encoder_attentions.N [L, H, S, S]

Audio and vision models have features.N instead of sources.N: [features, frames], [samples] or [channels, rows, columns]. Whisper's
generated.json also has the prompt with which each text begins, which is not part of its tokens, and no end token.

All values come from transformers, eager and float32. `--check` also runs everything in float64 and prints the float32
errors. Needs numpy, torch, transformers and safetensors, but tests do not.
"""

import argparse
import json
import shutil
from pathlib import Path

import numpy as np
import torch
import transformers
from attention_measures import measure_across
from golden_forward import FLOAT32_ERROR, InFloat64, largest_difference, load
from golden_forward_bert_like import dense
from golden_forward_case import ABSENT, F16, Case, Variant, changed
from golden_forward_values import SEED, randomise
from golden_variants import Variants, config_of
from safetensors.torch import load_file as read_tensors
from safetensors.torch import save_file as save_tensors

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "data" / "encoder_decoders"
PAIRS = ((10, 7), (1, 1), (5, 12))  # tokens of source and target
WRITTEN, HEARD = 12, 6  # tokens
MAPS = ("attentions", "cross_attentions", "encoder_attentions")
STATES = ("hidden_states", "encoder_hidden_states")

TOKENS = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 2}
TWO_SIDES = TOKENS | dict(d_model=16, encoder_layers=2, decoder_layers=3, encoder_attention_heads=4, decoder_attention_heads=2,
                          encoder_ffn_dim=24, decoder_ffn_dim=20, vocab_size=24, max_position_embeddings=12)
LED = {key: value for key, value in TWO_SIDES.items() if key != "max_position_embeddings"} | dict(
    max_encoder_position_embeddings=16, max_decoder_position_embeddings=14, attention_window=4)
T5 = dict(vocab_size=24, d_model=16, d_kv=6, d_ff=24, num_layers=2, num_decoder_layers=3, num_heads=4, pad_token_id=0,
          eos_token_id=1, decoder_start_token_id=0)
WHISPER = {key: value for key, value in TWO_SIDES.items() if key != "max_position_embeddings"} | dict(
    num_mel_bins=4, max_source_positions=10, max_target_positions=12, suppress_tokens=None, begin_suppress_tokens=None)


MOONSHINE = TOKENS | dict(hidden_size=24, encoder_num_hidden_layers=2, decoder_num_hidden_layers=3, encoder_num_attention_heads=2,
                          decoder_num_attention_heads=2, intermediate_size=20, vocab_size=24, max_position_embeddings=12,
                          pad_head_dim_to_multiple_of=8)
IMAGES = dict(model_type="vit", hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=24, image_size=16,
              patch_size=8)
SOUNDS = dict(model_type="wav2vec2", hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=24, vocab_size=8,
              conv_dim=[4, 4], conv_stride=[2, 2], conv_kernel=[3, 3], num_conv_pos_embeddings=4, num_conv_pos_embedding_groups=2)
DECODES = TOKENS | dict(is_decoder=True, add_cross_attention=True, vocab_size=24)
TROCR = DECODES | dict(model_type="trocr", d_model=12, decoder_layers=2, decoder_attention_heads=2, decoder_ffn_dim=20,
                       max_position_embeddings=12)
GPT2 = DECODES | dict(model_type="gpt2", n_embd=16, n_layer=2, n_head=2, n_positions=12)
BERT = DECODES | dict(model_type="bert", hidden_size=12, num_hidden_layers=2, num_attention_heads=2, intermediate_size=20,
                      max_position_embeddings=16)
MBART = DECODES | dict(model_type="mbart", d_model=12, decoder_layers=2, decoder_attention_heads=2, decoder_ffn_dim=20,
                       encoder_layers=1, max_position_embeddings=12)


def two(encoder: dict, decoder: dict) -> dict:
    """The config of a model of two. Its own settings repeat those of the decoder, as in published files."""
    return TOKENS | dict(encoder=encoder, decoder=decoder)


def of_decoder(name: str, decoder: dict, **changes) -> Variant:
    return Variant(name, {"decoder": decoder | changes})


def without_defaults(config: dict) -> dict:
    """Keep only keys that differ from transformers' defaults, as in older files."""
    standard = transformers.CONFIG_MAPPING[config["model_type"]]().to_dict()
    kept = {key: value for key, value in config.items() if key in ("model_type", "architectures") or standard.get(key, ABSENT) != value}
    if kept.get("num_decoder_layers") == kept.get("num_layers"):
        kept.pop("num_decoder_layers", None)
    return kept


def main(**config) -> Variant:
    return Variant("", config, old=without_defaults)


def variant(name: str, **config) -> Variant:
    return Variant(name, config)


def mlp(name: str, said: str) -> Variant:
    return Variant(name, {"feed_forward_proj": said, "dense_act_fn": ABSENT, "is_gated_act": ABSENT})


def own_vocabularies(**changes) -> dict:
    return TWO_SIDES | dict(share_encoder_decoder_embeddings=False, decoder_vocab_size=20, vocab_size=24) | changes


def with_waves(tensors: dict) -> dict:
    """Add stored position embeddings, as in older files. Random values instead of sinusoids show that they are read."""
    generator = np.random.default_rng(SEED)
    return tensors | {f"model.{side}.embed_positions.weight": torch.from_numpy(
        0.3 * generator.standard_normal((12, 16))).to(F16) for side in ("encoder", "decoder")}


def with_final_bias(tensors: dict) -> dict:
    generator = np.random.default_rng(SEED)
    return tensors | {"final_logits_bias": torch.from_numpy(generator.standard_normal((1, 24))).float()}


SMALL_SCORES = {".q.": 0.5, ".k.": 0.5}  # without score scaling, the float32 error would exceed the tests' tolerance
CASES = [
    Case("t5", "T5ForConditionalGeneration", T5, (
        main(), variant("eps", layer_norm_epsilon=1e-2), variant("near", relative_attention_max_distance=17),
        variant("unscaled", scale_decoder_outputs=False), Variant("untied", {"tie_word_embeddings": False, "scale_decoder_outputs": ABSENT}),
        mlp("gelu", "gelu"), mlp("silu", "silu")), F16, SMALL_SCORES),
    Case("t5-gated", "T5ForConditionalGeneration", T5 | dict(feed_forward_proj="gated-gelu", num_decoder_layers=2), (
        main(), mlp("silu", "gated-silu"), mlp("relu", "gated-relu")), F16, SMALL_SCORES,
        rewrite=lambda tensors: tensors | {"lm_head.weight": torch.flip(tensors["shared.weight"], (0,)) * 3}),
    Case("mt5", "MT5ForConditionalGeneration", T5, (main(), mlp("silu", "gated-silu")), F16, SMALL_SCORES),
    Case("mt5-plain", "MT5ForConditionalGeneration", T5 | dict(feed_forward_proj="relu"), (main(),), F16, SMALL_SCORES),
    Case("umt5", "UMT5ForConditionalGeneration", T5, (main(), variant("near", relative_attention_max_distance=17)), F16, SMALL_SCORES),
    Case("bart", "BartForConditionalGeneration", TWO_SIDES, (
        main(), variant("scaled", scale_embedding=True), variant("relu", activation_function="relu")), F16),
    Case("bart-bias", "BartForConditionalGeneration", TWO_SIDES, (main(),), F16, rewrite=with_final_bias),
    Case("led", "LEDForConditionalGeneration", LED, (
        main(), variant("window", attention_window=6), variant("windows", attention_window=[4, 8]), variant(
            "relu", activation_function="relu")), F16),
    Case("mbart", "MBartForConditionalGeneration", TWO_SIDES, (
        main(), variant("scaled", scale_embedding=True), variant("relu", activation_function="relu")), F16),
    Case("marian", "MarianMTModel", TWO_SIDES, (
        main(), variant("scaled", scale_embedding=True), variant("swish", activation_function="swish")), F16),
    Case("marian-stored", "MarianMTModel", TWO_SIDES, (main(),), F16, rewrite=with_waves),
    Case("marian-apart", "MarianMTModel", own_vocabularies(), (main(),), F16),
    Case("pegasus", "PegasusForConditionalGeneration", TWO_SIDES, (
        main(), variant("scaled", scale_embedding=True), variant("relu", activation_function="relu")), F16),
    Case("m2m_100", "M2M100ForConditionalGeneration", TWO_SIDES, (
        main(), variant("unscaled", scale_embedding=False), variant("gelu", activation_function="gelu"),
        variant("other-pad", pad_token_id=3)), F16),
    Case("moonshine-padded", "MoonshineForConditionalGeneration", MOONSHINE, (
        main(), variant("fraction", rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5}),
        variant("old-fraction", rope_parameters=ABSENT, partial_rotary_factor=0.7),
        variant("theta", rope_parameters={"rope_type": "default", "rope_theta": 100.0, "partial_rotary_factor": 0.9}),
        variant("relu", encoder_hidden_act="relu"), variant("gelu", decoder_hidden_act="gelu")), F16),
    Case("moonshine-bias", "MoonshineForConditionalGeneration", MOONSHINE | dict(attention_bias=True), (Variant(""),), F16),
    Case("vision-trocr", "VisionEncoderDecoderModel", two(IMAGES, TROCR | dict(cross_attention_hidden_size=16)), (
        Variant(""), of_decoder("scaled", TROCR, cross_attention_hidden_size=16, scale_embedding=True),
        of_decoder("relu", TROCR, cross_attention_hidden_size=16, activation_function="relu")), F16),
    Case("vision-trocr-waves", "VisionEncoderDecoderModel",
         two(IMAGES | dict(model_type="deit"), TROCR | dict(use_learned_position_embeddings=False, layernorm_embedding=False)),
         (Variant(""),), F16),
    Case("vision-gpt2", "VisionEncoderDecoderModel", two(IMAGES, GPT2), (
        Variant(""), of_decoder("by-layer", GPT2, scale_attn_by_inverse_layer_idx=True),
        of_decoder("unscaled", GPT2, scale_attn_weights=False)), F16),
    Case("vision-roberta", "VisionEncoderDecoderModel", two(IMAGES | dict(model_type="beit"), BERT | dict(model_type="roberta")),
         (Variant(""),), F16),
    Case("speech-mbart", "SpeechEncoderDecoderModel", two(SOUNDS, MBART), (Variant(""),), F16),
    Case("bert-bert", "EncoderDecoderModel",
         two(BERT | dict(is_decoder=False, add_cross_attention=False), BERT), (Variant(""),), F16),
    Case("whisper", "WhisperForConditionalGeneration", WHISPER, (main(), variant("relu", activation_function="relu")), F16),
]


def generation_rules(plain: list[int]) -> list[dict]:
    """Return generation settings that change the output. `plain`: the output without them, after its start token."""
    first, others = plain[1], sorted(set(plain[1:]) - {2})
    pair = next(([a, b] for a, b in zip(plain[1:], plain[2:]) if a != b), [first, first])
    return [
        {"forced_bos_token_id": first + 1}, {"forced_eos_token_id": 2}, {"suppress_tokens": others[:2]},
        {"begin_suppress_tokens": [first, first + 1]}, {"bad_words_ids": [[others[-1]], pair]},
        {"no_repeat_ngram_size": 2}, {"repetition_penalty": 1.7}, {"min_length": 6}, {"min_new_tokens": 7},
        {"forced_bos_token_id": first, "forced_eos_token_id": 2, "no_repeat_ngram_size": 3, "bad_words_ids": [[1]], "num_beams": 4}]


def rules_of_prompts(plain: list[int]) -> list[dict]:
    """Return generation settings for audio models: the prompt tokens and suppressed tokens. `plain` has no start token."""
    languages, tasks = {"<|en|>": 5, "<|de|>": 17, "<|fr|>": 9}, {"transcribe": 11, "translate": 12}
    named = {"lang_to_id": languages, "task_to_id": tasks}
    times = {"no_timestamps_token_id": 13}
    return [
        {"suppress_tokens": [-1]}, {"suppress_tokens": plain[:2]}, {"begin_suppress_tokens": [plain[0], 2]}, {"no_repeat_ngram_size": 2},
        {"forced_decoder_ids": [[1, 5], [2, 11]]}, {"forced_decoder_ids": [[1, None], [2, 12]]}, {"forced_decoder_ids": [[2, 12]]},
        {"forced_decoder_ids": [[1, None], [2, 12]], "begin_suppress_tokens": [plain[0]]} | named | times,
        {"lang_to_id": languages}, named | times, named | {"language": "fr"}, named | {"language": "<|de|>", "task": "translate"} | times,
        {"forced_decoder_ids": [[1, 5], [2, 11], [3, 13]]} | named | times, times, named | {"language": "en", "min_new_tokens": 6}]


def hears(case: Case) -> bool:
    return case.name.startswith("whisper")


def signal_of(case: Case, config: dict, source: int, generator: np.random.Generator) -> np.ndarray | None:
    """Return the input of an audio or vision encoder with about `source` rows."""
    if hears(case):
        return generator.standard_normal((config["num_mel_bins"], 20)).astype(np.float32)
    if case.name.startswith("moonshine"):
        return generator.standard_normal(((2 * source * 3 + 6) * 64 + 127,)).astype(np.float32)
    if case.name.startswith("speech"):
        return generator.standard_normal((4 * source + 4,)).astype(np.float32)
    if case.name.startswith("vision"):
        return generator.standard_normal((3, 16, 16)).astype(np.float32)
    return None


def inputs_of(case: Case, config: dict) -> list[dict[str, np.ndarray]]:
    """Return pairs of a source and a target. The first source has padding in the middle, which affects M2M-100's positions."""
    inputs = []
    for index, (source, target) in enumerate(PAIRS):
        generator = np.random.default_rng([SEED, index, len(case.name)])
        words = config.get("decoder_vocab_size") or config.get("vocab_size") or config["decoder"]["vocab_size"]
        ids = np.concatenate([[config["decoder_start_token_id"]], generator.integers(3, words, target - 1)]).astype(np.int32)
        signal = signal_of(case, config, source, generator)
        if signal is not None:
            inputs.append({"features": signal, "targets": ids})
            continue
        given = generator.integers(3, config.get("vocab_size") or config["encoder"]["vocab_size"], source).astype(np.int32)
        if len(given) > 4:
            given[4] = config["pad_token_id"]
        if len(ids) > 4 and index == 2:
            ids[4] = config["pad_token_id"]
        inputs.append({"sources": given, "targets": ids})
    return inputs


def given_to(model: torch.nn.Module, pair: dict[str, np.ndarray]) -> dict[str, torch.Tensor]:
    if "features" in pair:
        signal = torch.from_numpy(pair["features"])[None].to(model.dtype)
        return {{2: "input_values", 3: "input_features", 4: "pixel_values"}[signal.dim()]: signal}
    ids = torch.from_numpy(pair["sources"]).long()[None]
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def outputs(model: torch.nn.Module, pair: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    with torch.no_grad():
        result = model(**given_to(model, pair), decoder_input_ids=torch.from_numpy(pair["targets"]).long()[None],
                       output_hidden_states=True, output_attentions=True, use_cache=False)
    lists = {"hidden_states": result.decoder_hidden_states, "attentions": result.decoder_attentions,
             "cross_attentions": result.cross_attentions, "encoder_hidden_states": result.encoder_hidden_states,
             "encoder_attentions": result.encoder_attentions}
    if model.config.model_type == "led":
        lists["encoder_attentions"] = [dense(band) for band in result.encoder_attentions]
    rows = {name: np.stack([each[0].numpy() for each in of_layers]) for name, of_layers in lists.items()}
    return rows | {"logits": result.logits[0].numpy()}


def loaded(case: Case, folder: Path, config: dict) -> torch.nn.Module:
    """Load the model. transformers does not compute the sinusoidal positions of TrOCR when it loads a model."""
    model = load(case, folder / "model.safetensors", config)
    for module in model.modules():
        if type(module).__name__ == "TrOCRSinusoidalPositionalEmbedding":
            module.weights = module.get_embedding(len(module.weights), module.embedding_dim, module.padding_idx)
    return model


def run(case: Case, folder: Path, config: dict, inputs: list) -> list[dict[str, np.ndarray]]:
    model = loaded(case, folder, config)
    return [outputs(model, pair) for pair in inputs]


def check_float32(case: Case, name: str, folder: Path, config: dict, inputs: list, rows: list) -> None:
    model = loaded(case, folder, config).double()
    worst: dict[str, float] = {}
    with InFloat64():
        for pair, row in zip(inputs, rows, strict=True):
            for key, exact in outputs(model, pair).items():
                parts = zip(row[key], exact) if key in MAPS + STATES else [(row[key], exact)]
                worst[key] = max(worst.get(key, 0), *(largest_difference(got, wanted, "") for got, wanted in parts))
    print(f"{case.name:16} {name:10}", "  ".join(f"{key} {value:.1e}" for key, value in worst.items()))
    assert max(worst.values()) < FLOAT32_ERROR, f"{case.name} {name}: float32 errs"


def heard(model: torch.nn.Module, pair: dict[str, np.ndarray], rules: dict, tokens: dict) -> dict:
    model.generation_config = transformers.GenerationConfig(**(tokens | rules))
    options = dict(do_sample=False, num_beams=1, use_cache=False)
    prompts = []
    whole = transformers.GenerationMixin.generate

    def noting(self, *arguments, decoder_input_ids, **others):
        prompts.append(decoder_input_ids[0].tolist())
        return whole(self, *arguments, decoder_input_ids=decoder_input_ids, **others)
    transformers.GenerationMixin.generate = noting
    try:
        ids = model.generate(**given_to(model, pair), max_new_tokens=HEARD, **options)
    finally:
        transformers.GenerationMixin.generate = whole
    return {"rules": rules | {"eos_token_id": tokens["eos_token_id"]}, "prompt": prompts[0], "tokens": ids[0].tolist()}


def generated(case: Case, folder: Path, config: dict, pair: dict[str, np.ndarray]) -> list[dict]:
    model = loaded(case, folder, config)

    def write(rules: dict, tokens: dict) -> dict:
        model.generation_config = transformers.GenerationConfig(**(tokens | rules))
        ids = model.generate(**given_to(model, pair), do_sample=False, num_beams=1, max_new_tokens=WRITTEN, use_cache=False)
        return {"rules": rules | {key: tokens[key] for key in ("eos_token_id",)}, "tokens": ids[0].tolist()}
    tokens = {key: config[key] for key in TOKENS if key in config}
    if hears(case):
        written = [heard(model, pair, {}, tokens)]
        return written + [heard(model, pair, rules, tokens) for rules in rules_of_prompts(written[0]["tokens"])]
    written = [write({}, tokens)]
    for rules in generation_rules(written[0]["tokens"]):
        # minimum lengths matter only for a text that would end early
        ends = {"eos_token_id": written[0]["tokens"][3]} if any("min" in key for key in rules) else {}
        plain = write({}, tokens | ends) if ends else written[0]
        written += [plain] if ends else []
        written.append(write(rules, tokens | ends))
        if written[-1]["tokens"] == plain["tokens"]:
            print(f"{case.name}: {rules} has no effect")
    return written


def measures(pair: dict[str, np.ndarray], row: dict[str, np.ndarray]) -> dict:
    rows = [{"layer": layer, "head": head} | measure_across(weights, 0.9)
            for layer, heads in enumerate(row["cross_attentions"]) for head, weights in enumerate(heads)]
    logits = row["logits"].astype(np.float64)
    likelihoods = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    nll = -likelihoods[np.arange(len(logits) - 1), pair["targets"][1:]].mean()
    source = pair["sources"].tolist() if "sources" in pair else None
    return {"source": source, "target": pair["targets"].tolist(), "mean_nll": nll, "rows": rows}


def make(case: Case, check: bool) -> None:
    folder = FOLDER / case.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    model_class = getattr(transformers, case.model)
    model = model_class(model_class.config_class(**changed({}, case.config)))
    randomise(model, case)
    model.to(case.dtype).save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    main_config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").unlink()
    if case.rewrite:
        path = folder / "model.safetensors"
        tensors = {name: tensor.contiguous() for name, tensor in case.rewrite(read_tensors(path)).items()}
        save_tensors(tensors, path, metadata={"format": "pt"})
    out = Variants()
    for each in case.variants:
        config = changed(main_config, each.config)
        inputs = inputs_of(case, config)
        rows = run(case, folder, config, inputs)
        tensors = {}
        for index, (pair, row) in enumerate(zip(inputs, rows, strict=True)):
            tensors |= {f"{name}.{index}": np.ascontiguousarray(value) for name, value in (pair | row).items()}
        assert all(np.isfinite(value).all() for value in tensors.values())
        if not each.name and "-" not in case.name:
            (folder / "measures.json").write_text(json.dumps(measures(inputs[0], rows[0]), indent=1) + "\n")
        out.add_tensors(each.name, tensors)
        out.add_config(each.name, config)
        if each.old:
            old = each.old(config)
            out.add_config(each.name, old, "old")
            for row, again in zip(rows, run(case, folder, old, inputs), strict=True):
                assert all(np.array_equal(value, again[name]) for name, value in row.items()), f"{case.name}: old spelling"
        if check:
            check_float32(case, each.name, folder, config, inputs, rows)
    out.write(folder)
    if "-" not in case.name:
        config = config_of(folder)
        pair = inputs_of(case, config)[0]
        text = ",\n".join(json.dumps(each) for each in generated(case, folder, config, pair))
        source, count = (None, HEARD) if hears(case) else (pair["sources"].tolist(), WRITTEN)
        (folder / "generated.json").write_text(f'{{"source": {json.dumps(source)}, "count": {count}, "written": [\n{text}]}}\n')


def make_all(only: str | None = None, check: bool = False) -> None:
    torch.set_num_threads(1)  # sums in the same order on every machine
    for case in CASES:
        if only in (None, case.name):
            make(case, check)
            print(f"encoder_decoders/{case.name}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="CASE")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    make_all(arguments.only, arguments.check)
