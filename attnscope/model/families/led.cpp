// LED: BART with a longer encoder whose attention is local. Text alone has no global tokens, so the
// projections of global attention are not used. Source: huggingface/transformers, models/led.
#include "attnscope/model/families/bart_marian_pegasus_m2m100.h"
#include "attnscope/model/families/encoder_decoder.h"

namespace attnscope {

Architecture led() {
  using enum Role;
  const BartSizes sizes = {.layers = 12, .heads = 16, .mlp_width = 4096};
  const BartNorms norms = {.of_embedding = true};
  Architecture encoder = bart_stack("encoder", sizes, norms);
  const std::string place = "encoder.layers.{layer}.self_attn.";
  for (WeightRule& rule : encoder.weights) {
    if (rule.role == query) rule.tensor = place + "longformer_self_attn.query.weight";
    if (rule.role == key) rule.tensor = place + "longformer_self_attn.key.weight";
    if (rule.role == value) rule.tensor = place + "longformer_self_attn.value.weight";
    if (rule.role == output) rule.tensor = place + "output.weight";
  }
  for (const char* part : {"query", "key", "value"}) {
    encoder.others.push_back(
        {"global_attention", place + "longformer_self_attn." + part + "_global.*"});
  }
  encoder.window = WindowRule{.size = {"attention_window", 512}};
  Architecture decoder = bart_stack("decoder", sizes, norms);
  decoder.head = {.weight = {"lm_head.weight"}, .bias = {"final_logits_bias"}};
  decoder.others.push_back({"lm_head.bias", "final_logits_bias"});
  decoder.buffers = {"final_logits_bias"};
  encoder.keys.context = {"max_encoder_position_embeddings", 16384};
  decoder.keys.context = {"max_decoder_position_embeddings", 1024};
  Architecture cross = bart_cross(sizes, norms);
  for (Architecture* stack : {&encoder, &decoder, &cross}) {
    stack->prefixes = {"led.", ""};
    stack->embedding.times_sqrt_width = {"", false};
  }
  cross.keys.context = decoder.keys.context;
  return of_stacks("led", "LED", {std::move(encoder), std::move(decoder), std::move(cross)});
}

}  // namespace attnscope
