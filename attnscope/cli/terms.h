// Terms of the field, and what answers them here: the glossary that `explain` searches.
#pragma once

#include <array>
#include <string_view>

namespace attnscope {

struct Term {
  std::string_view names;    // the term and its synonyms, separated by "; "
  std::string_view use;      // the command, option or field: "ablate --prompts FILE"
  std::string_view meaning;  // one line
};

inline constexpr std::array kTerms = {
    // Weights.
    Term{"singular values; svd; spectrum; singular values of a head; singular values of qk circuit",
         "spectrum MODEL --values",
         "Singular values of every weight matrix. With --matrix qk,ov --per-head: of the circuits "
         "of "
         "each head."},
    Term{"effective rank; entropy rank; roy and vetterli", "effective_rank",
         "exp of the entropy of the normalized singular values (Roy & Vetterli 2007)."},
    Term{"energy rank; explained variance; intrinsic rank; components for 90% of the variance",
         "energy_rank",
         "Number of singular values that hold a given share of the squared Frobenius norm."},
    Term{"stable rank; numerical rank; participation ratio; condition number; rank of w_q; rank of "
         "w_ov",
         "spectrum MODEL --matrix q,k,v,o,qk,ov --per-head",
         "Rank measures of each weight matrix and circuit, per head."},
    Term{"random baseline; marchenko-pastur; gaussian matrix", "random_energy_rank",
         "Value of the same measure for a random Gaussian matrix of the same shape."},
    Term{"weight distribution; kurtosis; histogram of weights", "weights MODEL --histogram",
         "Moments, quantiles and histograms of the weights."},
    Term{"cosine similarity of heads; duplicate heads; redundant heads", "similarity MODEL",
         "Cosine similarity between the weight vectors of heads."},
    Term{"subspace overlap; principal angles", "similarity MODEL --overlap",
         "Overlap of the row spaces of heads."},
    Term{"lora; lora adapter; lora rank; peft adapter; load an adapter; merge_and_unload; merge "
         "adapter; fine-tuning; task vector; weight "
         "difference; "
         "delta w; intruder dimension",
         "diff BASE FINETUNED",
         "Rank and norm of the weight change of a fine-tuned model. In every command, BASE+ADAPTER "
         "is "
         "the base with a merged adapter."},
    Term{"lora extraction; svd of the difference; save as lora", "diff BASE FINETUNED --lora DIR",
         "Write the weight difference as a LoRA adapter."},
    // Circuits.
    Term{"qk circuit; ov circuit; w_qk; w_ov", "circuits MODEL",
         "Rank, symmetry and eigenvalues of W_QᵀW_K and W_O W_V, per head."},
    Term{"symmetric attention; symmetry of w_q^t w_k", "symmetry",
         "How symmetric the QK circuit is: ‖symmetric part‖² minus ‖antisymmetric part‖²."},
    Term{"copying head; copying score; copy suppression; positive eigenvalues", "copying_score",
         "Sum of the eigenvalues of the OV circuit, divided by the sum of their absolute values."},
    Term{"composition score; q-composition; k-composition; v-composition; virtual heads",
         "circuits MODEL --composition", "Composition scores of all pairs of heads."},
    Term{"null space; rank drop of a product", "rank_drop",
         "Energy rank of W_K or W_V minus the energy rank of the circuit."},
    Term{"layernorm folding; fold ln; fold norm; center writing weights",
         "circuits MODEL --fold-norm=centered",
         "Fold the norm's gain into Q, K and V, and subtract the means, as TransformerLens does."},
    Term{"full qk circuit; full ov circuit; token pairs; vocabulary-space circuit",
         "directions MODEL --matrix qk --layers 0 --head 0 --pairs 20",
         "Token pairs with the highest scores in the full QK (or OV) circuit of one head."},
    Term{"vocabulary projection; project to vocabulary; unembed; unembed singular vectors",
         "directions MODEL", "Top tokens of the singular vectors of heads and MLPs."},
    // Attention on text.
    Term{"attention pattern; attention map; attention weights; visualize attention",
         "attention MODEL --text TEXT --heatmap L0H2", "The attention pattern of one head."},
    Term{"save attention maps; export attention; save attention pattern; attention npz",
         "attention MODEL --text TEXT --maps FILE", "Write attention maps to a .safetensors file."},
    Term{"attention sink; first token attention; bos attention; no-op head", "sink_mass",
         "Mean attention to the first token. uniform_sink_mass: the value for uniform attention."},
    Term{"learned sink; sink logit; attention to nothing", "learned_sink_mass",
         "Attention mass on a learned sink (gpt-oss)."},
    Term{"previous-token head", "previous_token", "Mean attention to the previous token."},
    Term{"induction head; prefix matching; in-context learning", "attention MODEL --induction",
         "Induction and duplicate-token scores on repeated random tokens."},
    Term{"duplicate-token head", "duplicate_token",
         "Mean attention to the earlier copy of the same token."},
    Term{"attention entropy; diffuse attention; peaked attention", "entropy",
         "Entropy of the attention distribution, in nats."},
    Term{"attention collapse; rank collapse; low-rank attention", "attention MODEL --text TEXT",
         "Energy rank of every attention map. A collapsed layer has only heads with a rank near "
         "1."},
    Term{"massive activations; outlier features; outlier dimensions", "max_activation",
         "Largest activations of the residual stream, their dimensions and positions."},
    Term{"cross-attention; encoder-decoder attention; decoder attends to encoder",
         "attention MODEL:cross --text TEXT --target TEXT",
         "Attention of a decoder to its source."},
    // Predictions.
    Term{"prepend_bos; bos token; special tokens; add_special_tokens", "--no-special-tokens",
         "Run the text without BOS and other special tokens of the tokenizer."},
    Term{"tokenizer; tokenize; tokenization; token ids; tokenize a prompt; tokenize a text",
         "predict MODEL --text TEXT",
         "Tokens of the text; --save writes the token ids. --tokens takes ids instead of a text."},
    Term{"next-token prediction; next-token probabilities; top-k tokens; greedy decoding; generate",
         "predict MODEL --text TEXT --top K",
         "The K most likely next tokens; --generate continues the text."},
    Term{"fill-mask; masked language modeling; masked language model; mlm",
         "predict MODEL --text \"... [MASK] ...\"", "Most likely tokens for each mask."},
    Term{"image classification; zero-shot classification", "predict MODEL --image FILE",
         "Most likely labels of an image. CLIP: most likely of the given texts."},
    Term{"perplexity; perplexity of a text file; cross-entropy loss; language modeling loss; "
         "surprisal; per-token loss; sliding window perplexity; "
         "strided "
         "perplexity",
         "predict MODEL --text-file FILE --perplexity",
         "Perplexity and mean loss of a text; --stride N sets the step of a sliding window. The "
         "loss of "
         "each token is not reported."},
    Term{"direct logit attribution; dla; logit difference; name mover head; ioi; indirect object "
         "identification",
         "predict MODEL --attribution",
         "Direct contribution of each component to a logit, or to the logit difference of "
         "--prompts."},
    Term{"hidden states; output_hidden_states; activations; activation cache; run_with_cache; "
         "hook_resid_post; hook_resid_pre; "
         "residual "
         "stream; residual stream norm",
         "predict MODEL --text TEXT --save FILE",
         "Mean norm of each hidden state; --save writes hidden states, attentions and logits."},
    Term{"logit lens; early decoding", "lens MODEL --text TEXT",
         "Decode the residual stream before each layer and after the last one."},
    // Interventions.
    Term{"ablation; mean ablation; ablate a head; ablate a single head; head importance; knockout",
         "ablate MODEL --text-file FILE",
         "Loss increase when one head, attention layer or MLP is mean-ablated: a row for each."},
    Term{"zero ablation", "ablate MODEL --text-file FILE --ablation zero",
         "Loss increase when one component is replaced by zeros."},
    Term{"resample ablation", "ablate MODEL --text-file FILE --ablation resample",
         "Loss increase when one component is replaced by its output on another text."},
    Term{"activation patching; causal tracing; denoising; noising; interchange intervention",
         "ablate MODEL --prompts FILE",
         "Patch each component between clean and corrupted prompts."},
    Term{"path patching; direct path; edge attribution",
         "ablate MODEL --prompts FILE --sender L0H1 --receiver L5H1.k",
         "Path patching between clean and corrupted prompts: senders reach only the receivers."},
    Term{"direct-path ablation", "ablate MODEL --induction --receiver L5H1.k",
         "Direct-path ablation on repeated random tokens: remove each earlier head from one input "
         "of a receiver head."},
    Term{"direct effect", "direct_effect",
         "Direct effect of a component on the correct token's logit."},
    Term{"faithfulness; logit difference recovered", "denoising_effect",
         "Share of the clean-corrupted logit difference that patching restores."},
    // Compression.
    Term{"pruning; compression; compress a model; structured pruning; sensitivity analysis",
         "plan MODEL --calibration-file FILE",
         "Perplexity of each compression method at several sizes."},
    Term{"write a compressed model; save pruned model", "shrink MODEL PLAN.json -o DIR",
         "Write the compressed model of a plan."},
    Term{"depth pruning; layer removal; drop layers", "plan MODEL --method depth",
         "Remove whole layers."},
    Term{"head pruning; prune heads; remove heads; head removal", "plan MODEL --method heads",
         "Remove attention heads."},
    Term{"low-rank factorization; low-rank approximation; svd-llm; truncated svd; low-rank energy; "
         "laser",
         "plan MODEL --method low-rank", "Replace weight matrices by low-rank factors."},
    Term{"kv cache; kv cache compression; grouped-query attention; gqa; mha to gqa; merge kv heads",
         "plan MODEL --method kv-heads --kv-bytes 0.5", "Merge KV heads to shrink the KV cache."},
    Term{
        "mla; multi-head latent attention; latent width; deepseek; transmla; mha to mla",
        "plan MODEL --method mla",
        "Convert attention to MLA. spectrum MODEL --mla: share of the energy that MLA would keep."},
    Term{"slicegpt; hidden size pruning; width pruning", "plan MODEL --method hidden-size",
         "Remove principal directions of the residual stream."},
    // Models.
    Term{"download; hugging face hub; from_pretrained; revision; hf_home; hub cache; hf_token; "
         "gated model; access token",
         "spectrum ORG/NAME@REVISION",
         "Every command downloads a model from the Hugging Face Hub by its name. For gated and "
         "private "
         "models, set HF_TOKEN or run hf auth login."},
    Term{"checkpoint trajectory; training steps; pythia checkpoints", "spectrum ORG/NAME@step*",
         "One model per revision of a repository, in the order of training."},
    Term{"rope; rotary embedding; rope scaling; yarn; ntk scaling; long context", "info MODEL",
         "Whether positions are rotary. Forward passes apply the RoPE scaling of config.json."},
    Term{"sliding window attention; local attention; attention window", "info MODEL",
         "Which layers have a window. attention MODEL applies it as the model does."},
    Term{"mixture of experts; moe; expert load; load balancing; router; expert similarity",
         "experts MODEL --text-file FILE", "Expert load, co-activation and router entropy."},
    Term{"parameters; model size; architecture; config; d_model; n_heads; d_head; d_mlp; n_ctx; "
         "num_key_value_heads; num_attention_heads; "
         "weight "
         "tying; tied embeddings",
         "info MODEL", "Size, shape and tensors of a model."},
    Term{"tensor names; state dict; unknown architecture", "info MODEL --suggest-layout FILE",
         "Tensors with their roles; a layout file describes an unknown architecture."},
    Term{"extract a weight matrix; w_q; w_k; w_v; w_o; numpy; dump weights",
         "matrix MODEL --layer 0 --matrix q -o q.npy",
         "One weight matrix in canonical orientation."},
    Term{"html report; dashboard; interactive visualization; visualization html", "report MODEL",
         "A self-contained HTML report."},
    Term{"interactive; live; browser; server", "serve MODEL", "The report as a live page."},
    Term{"cache results; cache results between runs; resume; sqlite; database", "--store FILE",
         "Cache computed rows in a SQLite file and reuse them."},
    // What users look for and do not find.
    Term{"tuned lens", "tuned lens: not supported",
         "It needs trained translators. lens MODEL decodes with the model's own LM head."},
    Term{"attribution patching; integrated gradients; gradient; saliency; backpropagation",
         "gradients: not supported",
         "attnscope computes no gradients. ablate MODEL --prompts FILE patches each component "
         "exactly."},
    Term{"quantization; quantize; int8; int4; nf4; gptq; awq; bitsandbytes; bnb; load_in_4bit",
         "quantization: not supported as a compression method",
         "Quantized checkpoints can be analyzed. plan compares other compression methods."},
    Term{"expert pruning; expert merging; merge similar experts; prune experts",
         "plan MODEL --method experts", "Remove routed experts."},
    Term{"gpu; cuda; mps; bf16 compute", "GPU: not supported",
         "Commands compute on the CPU, in float32 or float64. --threads and --memory limit what "
         "they "
         "use."},
    Term{"power law; weightwatcher; tail exponent; heavy-tailed self-regularization; alpha",
         "power-law fits: not supported",
         "spectrum MODEL --values writes the singular values that such fits start from."},
    Term{"sparsity; unstructured pruning; magnitude pruning; wanda; sparsegpt; 2:4 sparsity",
         "unstructured pruning: not supported",
         "plan MODEL compares structured methods: heads, KV heads, neurons, layers, ranks."},
    Term{"exit code; exit status; threshold in ci", "exit codes of all commands",
         "0: success; 2: wrong usage; 3: a file cannot be read or written; 4: wrong format; 5: "
         "unsupported; 6: a result is not finite. No command compares results with a threshold."},
    Term{"cka; linear cka; centered kernel alignment", "CKA: not supported",
         "similarity MODEL compares weights; its --overlap compares the row spaces of heads."},
    Term{"sparse autoencoder; sae; transcoder; crosscoder; dictionary learning",
         "sparse autoencoders: not supported",
         "directions MODEL gives the top tokens of singular vectors."},
    Term{"neuron; mlp neuron; value vector; key-value memory", "neurons: not supported",
         "directions MODEL decodes the singular vectors of MLP weights, not single neurons."},
    Term{"steering vector; activation addition; linear probe; probing",
         "steering and probing: not supported",
         "predict MODEL --save FILE writes the hidden states that such methods start from."},
    Term{"attention rollout; attention flow", "attention rollout: not supported",
         "attention MODEL --maps FILE writes the attention maps that it starts from."},
    Term{"model merging; merge models", "model merging: not supported",
         "diff BASE FINETUNED measures the weight change that merging methods combine."},
};

}  // namespace attnscope
