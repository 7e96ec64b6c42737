#!/usr/bin/env python3
"""One job with one tool, as its own documentation would do it: others_jobs.py TOOL JOB MODEL ANSWER, or TOOL JOB --knows.

--knows: exits 0 where the tool has the job. Numbers go to ANSWER.npy, pages to ANSWER.html. Of a GPT-2 by transformers.
"""

import sys
from pathlib import Path

TEXT = "But, soft! what light through yonder window breaks? It is the east, and Juliet is the sun."


def model_of(path, **options):
    from transformers import GPT2LMHeadModel
    return GPT2LMHeadModel.from_pretrained(path, dtype="float32", **options).eval()


def tokens_of(path):
    from transformers import AutoTokenizer
    tokenizer = AutoTokenizer.from_pretrained(path)
    return tokenizer, tokenizer(TEXT, return_tensors="pt")["input_ids"]


def heads_of(model):
    """W_Q and W_K of each layer: (H, d, D)."""
    for block in model.transformer.h:
        q, k, _ = block.attn.c_attn.weight.detach().T.split(model.config.n_embd)
        yield q.unflatten(0, (model.config.n_head, -1)), k.unflatten(0, (model.config.n_head, -1))


def notebook_ranks(path):
    import torch
    model, values = model_of(path), []
    for block in model.transformer.h:
        q, k, v = block.attn.c_attn.weight.detach().T.split(model.config.n_embd)
        values += [torch.linalg.svdvals(weight.double()) for weight in (q, k, v, block.attn.c_proj.weight.detach().T)]
    return torch.cat(values).numpy()


def notebook_circuits(path):
    import torch
    return torch.cat([torch.linalg.svdvals(q.double().mT @ k.double())[:, 0] for q, k in heads_of(model_of(path))]).numpy()


def notebook_maps(path):
    import torch
    _, ids = tokens_of(path)
    with torch.no_grad():
        maps = model_of(path, attn_implementation="eager")(ids, output_attentions=True).attentions
    return torch.cat(maps).numpy().ravel()


def lens_of(path):
    """A model of TransformerLens without the hub: its own conversion of GPT-2's weights."""
    from transformer_lens import HookedTransformer, HookedTransformerConfig
    from transformer_lens.pretrained.weight_conversions import convert_gpt2_weights
    model = model_of(path)
    ours = model.config
    config = HookedTransformerConfig(n_layers=ours.n_layer, d_model=ours.n_embd, n_ctx=ours.n_positions, n_heads=ours.n_head,
                                     d_head=ours.n_embd // ours.n_head, d_mlp=4 * ours.n_embd, d_vocab=ours.vocab_size,
                                     act_fn="gelu_new", normalization_type="LN", device="cpu")
    lens = HookedTransformer(config)
    lens.load_and_process_state_dict(convert_gpt2_weights(model, config), fold_ln=False, center_writing_weights=False,
                                     center_unembed=False, fold_value_biases=False)
    return lens


def lens_circuits(path):
    return lens_of(path).QK.S[..., 0].flatten().detach().double().numpy()


def lens_composition(path):
    return lens_of(path).all_composition_scores("Q").detach().double().numpy()


def lens_maps(path):
    import torch
    _, ids = tokens_of(path)
    lens = lens_of(path)
    with torch.no_grad():
        _, cache = lens.run_with_cache(ids, names_filter=lambda name: name.endswith("hook_pattern"))
    return torch.cat([cache["pattern", layer] for layer in range(lens.cfg.n_layers)]).numpy().ravel()


def weightwatcher_ranks(path):
    import weightwatcher
    weightwatcher.WeightWatcher(model=model_of(path)).analyze()


def maps_and_tokens(path):
    import torch
    tokenizer, ids = tokens_of(path)
    with torch.no_grad():
        maps = model_of(path, attn_implementation="eager")(ids, output_attentions=True).attentions
    return maps, tokenizer.convert_ids_to_tokens(ids[0])


def bertviz_page(path):
    import bertviz
    maps, tokens = maps_and_tokens(path)
    return bertviz.model_view(maps, tokens, html_action="return").data


def circuitsvis_page(path):
    import circuitsvis
    maps, tokens = maps_and_tokens(path)
    return "".join(str(circuitsvis.attention.attention_heads(layer[0], tokens)) for layer in maps)


def main():
    tool, job, *rest = sys.argv[1:]
    work = globals().get(f"{tool}_{job}")
    if rest == ["--knows"]:
        sys.exit(work is None)
    path, answer = rest
    result = work(path)
    if isinstance(result, str):
        Path(f"{answer}.html").write_text(result)
    elif result is not None:
        import numpy
        numpy.save(f"{answer}.npy", result)


if __name__ == "__main__":
    main()
