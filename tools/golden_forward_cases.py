"""All cases of golden_forward.py: every architecture, and every variant of it that changes the forward pass."""

from golden_forward_altup import GEMMA3N
from golden_forward_bert_like import BERT_LIKE
from golden_forward_biased import BIASED
from golden_forward_by_layer import BY_LAYER
from golden_forward_case import Case
from golden_forward_decoders import RELATED_DECODERS
from golden_forward_experts import EXPERTS
from golden_forward_hybrid import HYBRIDS
from golden_forward_mamba import MAMBAS
from golden_forward_mla import LATENT
from golden_forward_layouts import SHIPPED
from golden_forward_learned import DECODERS, ENCODERS
from golden_forward_llama_like import LLAMA_LIKE
from golden_forward_published import PUBLISHED
from golden_forward_recurrent import RECURRENT
from golden_forward_rotary import ROTARY
from golden_forward_towers import TOWERS
from golden_forward_unusual import UNUSUAL

CASES: list[Case] = (ENCODERS + DECODERS + ROTARY + LLAMA_LIKE + BIASED + EXPERTS + LATENT + BY_LAYER + TOWERS
                     + HYBRIDS + MAMBAS + BERT_LIKE + RELATED_DECODERS + PUBLISHED + SHIPPED + RECURRENT
                     + UNUSUAL)
