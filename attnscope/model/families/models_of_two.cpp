// Models that consist of an encoder and a decoder of other architectures, and TrOCR, a decoder for
// them. Source: huggingface/transformers,
// models/{vision_encoder_decoder,speech_encoder_decoder,encoder_decoder,trocr}.
#include "attnscope/model/families/bart_marian_pegasus_m2m100.h"
#include "attnscope/model/families/encoder_decoder.h"

namespace attnscope {
namespace {

Architecture of_two(const std::string& name, const std::string& family) {
  return {.name = name, .model_types = {name}, .class_families = {family}, .of_two_models = true};
}

}  // namespace

Architecture vision_encoder_decoder() {
  return of_two("vision-encoder-decoder", "VisionEncoderDecoder");
}
Architecture speech_encoder_decoder() {
  return of_two("speech-encoder-decoder", "SpeechEncoderDecoder");
}
Architecture encoder_decoder() { return of_two("encoder-decoder", "EncoderDecoder"); }

Architecture trocr() {
  constexpr BartSizes kLarge = {.layers = 12, .heads = 16, .mlp_width = 4096};
  const BartNorms norms = {.of_embedding = true, .position_offset = 2};
  Architecture out = bart_stack("decoder", kLarge, norms);
  out.stack.clear();
  out.name = "trocr";
  out.model_types = {"trocr"};
  out.class_families = {"TrOCR"};
  out.keys.context.fallback = 512;
  out.embedding.tokens = "decoder.embed_tokens.weight";
  out.embedding.has_norm = {"layernorm_embedding", true};
  out.head = {.weight = {"output_projection.weight"}};
  out.others = {{"cross_attention", "decoder.layers.*.encoder_attn*",
                 "attends to the output of an encoder, which the files do not contain"}};
  out.buffers = {"*.embed_positions._float_tensor"};
  Architecture cross = bart_cross(kLarge, norms);
  cross.keys.source_width = {"cross_attention_hidden_size"};
  out.cross = std::make_shared<const Architecture>(std::move(cross));
  Architecture waves = out;
  waves.embedding.positions.clear();
  waves.embedding.positions_after_padding = true;
  waves.embedding.waves = WaveRule{.to_last = true, .endless = true};
  waves.padding_token = {"pad_token_id", 1};
  waves.conditions = {{"use_learned_position_embeddings", {"false"}}};
  out.layouts = {waves};
  return out;
}

}  // namespace attnscope
