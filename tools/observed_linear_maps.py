"""The linear maps of a transformers model's layers, one per head and matrix, observed in its own modules.

Nothing depends on how a tensor is stored. The model's own attention code is run on unit vectors, and its per-head inputs of the
attention function are recorded.
"""

import inspect
from dataclasses import dataclass

import golden_forward
import numpy as np
import torch
from torch.overrides import TorchFunctionMode
from transformers import AttentionInterface
from transformers.models.deberta_v2 import modeling_deberta_v2


# ---- Module paths of each family ----------------------------------------------------------------------------------

@dataclass(frozen=True)
class Places:
    """Module paths inside one layer. `attention` is the module whose forward splits heads and calls attention."""
    layer: str  # class name
    attention: str
    output: str
    up: str
    down: str
    gate: str | None = None
    mlp: str = "mlp"


def like_llama(layer: str) -> Places:
    return Places(layer, "self_attn", "self_attn.o_proj", "mlp.up_proj", "mlp.down_proj", "mlp.gate_proj")


def like_bert(layer: str) -> Places:
    return Places(layer, "attention", "attention.output.dense", "intermediate.dense", "output.dense")


PLACES = {
    "bert": like_bert("BertLayer"),
    "roberta": like_bert("RobertaLayer"),
    "distilbert": Places("TransformerBlock", "attention", "attention.out_lin", "ffn.lin1", "ffn.lin2"),
    "albert": Places("AlbertLayer", "attention", "attention.dense", "ffn", "ffn_output"),
    "gpt2": Places("GPT2Block", "attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj"),
    "gpt_neox": Places("GPTNeoXLayer", "attention", "attention.dense", "mlp.dense_h_to_4h", "mlp.dense_4h_to_h"),
    "gpt_neo": Places("GPTNeoBlock", "attn.attention", "attn.attention.out_proj", "mlp.c_fc", "mlp.c_proj"),
    "opt": Places("OPTDecoderLayer", "self_attn", "self_attn.out_proj", "fc1", "fc2"),
    "llama": like_llama("LlamaDecoderLayer"),
    "mistral": like_llama("MistralDecoderLayer"),
    "qwen2": like_llama("Qwen2DecoderLayer"),
    "qwen3": like_llama("Qwen3DecoderLayer"),
    "gemma": like_llama("GemmaDecoderLayer"),
    "gemma2": like_llama("Gemma2DecoderLayer"),
    "gemma3_text": like_llama("Gemma3DecoderLayer"),
    "phi": Places("PhiDecoderLayer", "self_attn", "self_attn.dense", "mlp.fc1", "mlp.fc2"),
    # One module for both: its forward chunks the output into gate and up.
    "phi3": Places("Phi3DecoderLayer", "self_attn", "self_attn.o_proj", "mlp.gate_up_proj", "mlp.down_proj",
                   "mlp.gate_up_proj"),
    "bloom": Places("BloomBlock", "self_attention", "self_attention.dense", "mlp.dense_h_to_4h", "mlp.dense_4h_to_h"),
    "falcon": Places("FalconDecoderLayer", "self_attention", "self_attention.dense", "mlp.dense_h_to_4h",
                     "mlp.dense_4h_to_h"),
    "mpt": Places("MptBlock", "attn", "attn.out_proj", "ffn.up_proj", "ffn.down_proj"),
    "mpnet": Places("MPNetLayer", "attention.attn", "attention.attn.o", "intermediate.dense", "output.dense"),
    "xlm-roberta": like_bert("XLMRobertaLayer"),
    "camembert": like_bert("CamembertLayer"),
    "electra": like_bert("ElectraLayer"),
    "esm": like_bert("EsmLayer"),
    "nomic_bert": Places("NomicBertLayer", "self_attn", "self_attn.o_proj", "mlp.up_proj", "mlp.down_proj",
                         "mlp.gate_proj"),
    "modernbert": Places("ModernBertEncoderLayer", "attn", "attn.Wo", "mlp.Wi", "mlp.Wo", "mlp.Wi"),
    "deberta-v2": like_bert("DebertaV2Layer"),
}
ENCODERS = {"bert", "roberta", "distilbert", "albert", "mpnet", "xlm-roberta", "camembert", "electra", "esm",
            "nomic_bert", "modernbert", "deberta-v2"}


# ---- Recording ----------------------------------------------------------------------------------------------------

class Recorder:
    """Replaces the attention function: records the per-head inputs, and returns given per-head outputs."""

    def __init__(self) -> None:
        self.states: tuple[torch.Tensor, ...] = ()
        self.reply: torch.Tensor | None = None  # (batch, tokens, heads, head_dim)

    def __call__(self, module, query, key, value, *args, **kwargs):
        self.states = (query, key, value)
        if self.reply is None:
            batch, heads, tokens, _ = query.shape
            return query.new_zeros(batch, tokens, heads, value.shape[-1]), None
        return self.reply, None


RECORDER = Recorder()
AttentionInterface.register("attnscope_recorder", RECORDER)


class ProductRecorder(TorchFunctionMode):
    """The same for attention modules that call matmul themselves: Q Kᵀ, then weights times V. Linear layers have flat weights."""
    PRODUCTS = {torch.matmul, torch.Tensor.matmul, torch.Tensor.__matmul__, torch.bmm, torch.Tensor.baddbmm}

    def __init__(self, batch: int) -> None:
        self.batch, self.seen = batch, []

    def __torch_function__(self, function, types, arguments=(), keywords=None):
        operands = [value for value in (*arguments, *(keywords or {}).values()) if isinstance(value, torch.Tensor)][-2:]
        if function not in self.PRODUCTS or any(operand.dim() < 3 for operand in operands):
            return function(*arguments, **(keywords or {}))
        left, right = (operand.reshape(self.batch, -1, *operand.shape[-2:]) for operand in operands)
        self.seen.append((left, right))
        if len(self.seen) == 1:  # with one token, the only weight is 1, whatever the score is
            return left.new_zeros(arguments[0].shape[:1] + left.shape[-2:-1] + right.shape[-1:]) \
                if operands[0].dim() == 3 else left.new_zeros(*left.shape[:-1], right.shape[-1])
        RECORDER.states = (self.seen[0][0], self.seen[0][1].transpose(-1, -2), right)
        if RECORDER.reply is None:
            return function(*arguments, **(keywords or {}))
        answer = RECORDER.reply.transpose(1, 2)
        return answer.flatten(0, 1) if operands[0].dim() == 3 else answer


MULTIPLY_BY_THEMSELVES = {"BloomAttention", "FalconAttention", "MptAttention", "MPNetSelfAttention", "DebertaV2Attention"}


def layers_as_executed(model, class_name: str) -> list[torch.nn.Module]:
    """Return the layer modules in execution order, so that shared ones appear once per use."""
    order, hooks = [], []
    for module in model.modules():
        if type(module).__name__ == class_name:
            hooks.append(module.register_forward_pre_hook(lambda entered, _: order.append(entered)))
    model(input_ids=torch.tensor([[5, 6, 7]]))
    for hook in hooks:
        hook.remove()
    return order


def prepare_attention(attention: torch.nn.Module) -> None:
    """Remove operations that are not part of the projections: norms of q and k, and OPT's scaling of q before attention."""
    for name in ("q_norm", "k_norm"):
        if hasattr(attention, name):
            setattr(attention, name, torch.nn.Identity())
    attention.scaling = 1.0
    if type(attention).__name__ == "EsmAttention":
        attention.LayerNorm = torch.nn.Identity()  # norm of its input
    if type(attention).__name__ == "DebertaV2Attention":
        attention.self.relative_attention = False
        modeling_deberta_v2.scaled_size_sqrt = lambda *_: torch.ones(())  # divides the keys
    if hasattr(attention, "_attn"):  # GPT-Neo computes attention itself, with the head axis before the tokens
        attention._attn = lambda *states: (RECORDER(None, *states)[0].transpose(1, 2), None)


def run_attention(attention: torch.nn.Module, inputs: torch.Tensor) -> None:
    """Run attention on inputs (batch, D): one-token sequences at position 0, where rotary embeddings are the identity."""
    accepted = inspect.signature(attention.forward).parameters
    arguments = {"hidden_states": inputs[:, None, :], "attention_mask": None}
    if "position_embeddings" in accepted or type(attention).__name__ == "EsmAttention":
        inner = getattr(attention, "self", attention)
        rotated = getattr(inner, "rotary_ndims", getattr(inner, "head_dim", getattr(inner, "attention_head_size", None)))
        if type(attention).__name__ == "GptOssAttention":
            rotated //= 2  # it has one angle per pair
        arguments["position_embeddings"] = (inputs.new_ones(1, 1, rotated), inputs.new_zeros(1, 1, rotated))
    if "position_ids" in accepted:
        arguments["position_ids"] = torch.zeros(len(inputs), 1, dtype=torch.long)
    if type(attention).__name__ not in MULTIPLY_BY_THEMSELVES:
        with golden_forward.InFloat64():  # some rotate in float32
            attention(**arguments)
        if type(attention).__name__ == "EsmAttention":  # scales queries first
            query, key, value = RECORDER.states
            RECORDER.states = (query * query.shape[-1]**0.5, key, value)
        return
    if "alibi" in accepted:
        arguments |= {"alibi": None, "attention_mask": inputs.new_zeros(1, 1, 1, 1)}
    if "residual" in accepted:
        arguments |= {"alibi": inputs.new_zeros(len(inputs) * attention.num_heads, 1, 1), "residual": inputs.new_zeros(1)}
    if "position_bias" in accepted:
        arguments["position_bias"] = None
    if type(attention).__name__ == "DebertaV2Attention":
        arguments["attention_mask"] = inputs.new_ones(1, 1, 1, 1)
    with ProductRecorder(len(inputs)):
        attention(**arguments)
    if getattr(attention, "new_decoder_architecture", False):  # Falcon repeats keys and values for each query head
        every = attention.num_heads // attention.num_kv_heads
        query, key, value = RECORDER.states
        RECORDER.states = (query, key[:, ::every], value[:, ::every])


def probe(size: int) -> np.ndarray:
    return np.cos(1.7 * np.arange(size) + 0.3)


def questions(size: int) -> torch.Tensor:
    """Return unit vectors, then the probe, then zero (whose output is the bias)."""
    return torch.from_numpy(np.vstack([np.eye(size), probe(size), np.zeros(size)]))


@dataclass
class Linear:
    """An observed linear map: its matrix (outputs, inputs) and, from a separate run, its output for the probe."""
    matrix: np.ndarray
    probed: np.ndarray

    @staticmethod
    def observed(answers: torch.Tensor) -> "Linear":
        answers = answers.detach().numpy()
        return Linear.checked((answers[:-2] - answers[-1]).T, answers[-2] - answers[-1])

    @staticmethod
    def checked(matrix: np.ndarray, probed: np.ndarray) -> "Linear":
        assert np.allclose(matrix @ probe(matrix.shape[1]), probed, rtol=0, atol=1e-12), "the observed map is not linear"
        return Linear(matrix, probed)


def observe_inputs(attention: torch.nn.Module, width: int) -> dict[str, list[Linear]]:
    """Return W_Q, W_K, W_V, one map per head, as split by the model's forward."""
    RECORDER.reply = None
    run_attention(attention, questions(width))
    return {name: [Linear.observed(states[:, head, 0, :]) for head in range(states.shape[1])]
            for name, states in zip("qkv", RECORDER.states)}


def observe_output(attention: torch.nn.Module, output: torch.nn.Module, heads: int, head_dim: int, width: int):
    """Return W_O, one map per head: every head outputs zero except the observed one."""
    seen = []
    hook = output.register_forward_hook(lambda module, inputs, result: seen.append(result))
    maps = []
    for head in range(heads):
        asked = questions(head_dim)
        RECORDER.reply = asked.new_zeros(len(asked), 1, heads, head_dim)
        RECORDER.reply[:, 0, head, :] = asked
        run_attention(attention, asked.new_zeros(len(asked), width))
        maps.append(Linear.observed(seen.pop().reshape(len(asked), -1)))
    hook.remove()
    return maps


def observe_mlp(layer: torch.nn.Module, places: Places, width: int) -> dict[str, Linear]:
    up = layer.get_submodule(places.up)(questions(width))
    maps = {}
    if places.gate == places.up:
        gate, up = up.chunk(2, dim=-1)
        maps["gate"] = Linear.observed(gate)
    elif places.gate:
        maps["gate"] = Linear.observed(layer.get_submodule(places.gate)(questions(width)))
    maps["up"] = Linear.observed(up)
    maps["down"] = Linear.observed(layer.get_submodule(places.down)(questions(up.shape[-1])))
    if places.gate:
        check_gate(layer.get_submodule(places.mlp), maps, width)
    return maps


def check_gate(mlp: torch.nn.Module, maps: dict[str, Linear], width: int) -> None:
    """Order gate and up, which have one shape: only the whole MLP shows which one has the activation."""
    activation = next(getattr(mlp, name) for name in ("act_fn", "act", "activation_fn") if hasattr(mlp, name))
    gated = activation(torch.from_numpy(maps["gate"].probed)).numpy() * maps["up"].probed
    expected = mlp(questions(width))[width].detach().numpy()
    assert np.allclose(maps["down"].matrix @ gated, expected, rtol=0, atol=1e-12), "gate and up are swapped"


# ---- One layer ----------------------------------------------------------------------------------------------------

@dataclass
class Layer:
    heads: dict[str, list[Linear]]  # q, o per query head; k, v per key/value head
    mlp: dict[str, Linear]

    def head_of_kv(self, query_head: int) -> int:
        return query_head * len(self.heads["k"]) // len(self.heads["q"])


def observe_layer(layer: torch.nn.Module, places: Places, width: int) -> Layer:
    attention = layer.get_submodule(places.attention)
    heads = observe_inputs(attention, width)
    value_dim = len(heads["v"][0].probed)
    heads["o"] = observe_output(attention, layer.get_submodule(places.output), len(heads["q"]), value_dim, width)
    return Layer(heads, observe_mlp(layer, places, width))


def observe(model: torch.nn.Module) -> list[Layer]:
    places = PLACES[model.config.model_type]
    executed = layers_as_executed(model, places.layer)
    for layer in set(executed):
        prepare_attention(layer.get_submodule(places.attention))
    by_themselves = any(type(module).__name__ in MULTIPLY_BY_THEMSELVES for module in model.modules())
    model.config._attn_implementation = "eager" if by_themselves else "attnscope_recorder"
    return [observe_layer(layer, places, model.config.hidden_size) for layer in executed]


def whole_matrix(layer: Layer, name: str) -> np.ndarray:
    if name in layer.mlp:
        return layer.mlp[name].matrix
    parts = [part.matrix for part in layer.heads[name]]
    return np.hstack(parts) if name == "o" else np.vstack(parts)


def circuits(layer: Layer) -> dict[str, list[np.ndarray]]:
    """Return the D x D products, multiplied out. This is slow and simple, as a reference should be."""
    q, k, v, o = (layer.heads[name] for name in "qkvo")
    heads = range(len(q))
    return {"qk": [q[h].matrix.T @ k[layer.head_of_kv(h)].matrix for h in heads],
            "ov": [o[h].matrix @ v[layer.head_of_kv(h)].matrix for h in heads]}
