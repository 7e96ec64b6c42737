"""Modules of transformers' models whose inputs or outputs golden_interventions.py replaces."""

# Per model type: paths of the attention's output projection, the mixer and the MLP in a layer, and of the final norm.
PATHS = {
    "gpt2": ("attn.c_proj", "", "mlp", "transformer.ln_f"),
    "gpt_neox": ("attention.dense", "", "mlp", "gpt_neox.final_layer_norm"),
    "bamba": ("self_attn.o_proj", "mamba", "feed_forward", "model.final_layernorm"),
    "falcon_h1": ("self_attn.o_proj", "mamba", "feed_forward", "model.final_layernorm"),
    "granitemoehybrid": ("self_attn.o_proj", "mamba", "shared_mlp", "model.norm"),
    "jamba": ("self_attn.o_proj", "mamba", "feed_forward", "model.final_layernorm"),
    "kimi_linear": ("self_attn.o_proj", "self_attn", "mlp", "model.norm"),
    "lfm2": ("self_attn.out_proj", "conv", "feed_forward", "model.embedding_norm"),
    "lfm2_moe": ("self_attn.out_proj", "conv", "feed_forward", "model.embedding_norm"),
    "nemotron_h": ("mixer.o_proj", "mixer", "mixer", "model.norm_f"),
    "qwen3_5_text": ("self_attn.o_proj", "linear_attn", "mlp", "model.norm"),
    "qwen3_next": ("self_attn.o_proj", "linear_attn", "mlp", "model.norm"),
    "recurrent_gemma": ("temporal_block.o_proj", "temporal_block", "mlp_block", "model.final_norm"),
}
LAYERS = {"gpt2": "transformer.h", "gpt_neox": "gpt_neox.layers"}
HYBRIDS = [kind.removesuffix("_text") for kind, paths in PATHS.items() if paths[1]]
MIXER = "linear_attention"


def found(layer, path):
    """Return the module, or None if the layer does not have it."""
    try:
        return layer.get_submodule(path) if path else None
    except AttributeError:
        return None


class Places:
    """Modules of a model, per layer: output projections, mixers and MLPs. None: the layer does not have one."""

    def __init__(self, model):
        config = model.config
        output, mixer, mlp, norm = PATHS.get(config.model_type, ("self_attn.o_proj", "", "mlp", "model.norm"))
        self.layers = list(model.get_submodule(LAYERS.get(config.model_type, "model.layers")))
        self.outputs, self.mixers, self.mlps = ([found(layer, path) for layer in self.layers] for path in (output, mixer, mlp))
        if config.model_type in ("kimi_linear", "nemotron_h", "recurrent_gemma"):  # one module name for several kinds of modules
            kinds = getattr(config, "layers_block_type", None) or config.layer_types
            self.kinds = [MIXER if kind == "recurrent" else kind for kind in kinds]
            self.keep(self.mixers, lambda kind: kind == MIXER)
            self.keep(self.outputs, lambda kind: kind != MIXER)
        if config.model_type == "nemotron_h":
            self.keep(self.mlps, lambda kind: kind in ("mlp", "moe"))
        self.norm, self.head = model.get_submodule(norm), model.get_output_embeddings()

    def keep(self, modules, has):
        for n, kind in enumerate(self.kinds):
            if not has(kind):
                modules[n] = None

    def components(self, layer, heads):
        """Return the components of a layer, in the order of attnscope: names with the head or None."""
        attends = self.outputs[layer] is not None
        has = {"attention": attends, "mixer": self.mixers[layer] is not None, "mlp": self.mlps[layer] is not None}
        return [*((name, None) for name in has if has[name]), *(("head", head) for head in range(heads if attends else 0))]
