// DETR, Table Transformer and Conditional DETR: an encoder and a decoder over the output of a
// convolutional backbone. Source: huggingface/transformers,
// models/{detr,table_transformer,conditional_detr}.
#include "attnscope/model/families/bart_marian_pegasus_m2m100.h"
#include "attnscope/model/families/encoder_decoder.h"

namespace attnscope {
namespace {

using enum Role;

Architecture like_detr(const std::string& name, const std::string& family) {
  constexpr BartSizes kSizes = {.layers = 6, .heads = 8, .mlp_width = 2048};
  std::vector<Architecture> stacks = {bart_stack("encoder", kSizes, {}),
                                      bart_stack("decoder", kSizes, {}), bart_cross(kSizes, {})};
  for (Architecture& stack : stacks) {
    stack.keys.width.fallback = 256;
    stack.keys.vocabulary = {};
    stack.keys.context = {};
    stack.embedding = {};
    stack.others.clear();
    stack.tied_by_default = false;
    stack.causal = {"", false};
    set_not_run(stack, "its convolutional backbone is not supported");
  }
  stacks[0].others = {{"backbone", "backbone.*"},
                      {"input_projection", "input_projection.*"},
                      {"norm", "encoder.layernorm.*"}};
  // The norms of the backbone are frozen: all their tensors are buffers.
  stacks[0].buffers = {"*backbone.*.normalization.*", "*backbone.*.bn1.*", "*backbone.*.bn2.*",
                       "*backbone.*.bn3.*", "*backbone.*.downsample.1.*"};
  stacks[1].others = {{"position_embedding", "query_position_embeddings.weight"},
                      {"norm", "decoder.layernorm.*"}};
  return of_stacks(name, family, std::move(stacks));
}

}  // namespace

Architecture detr() { return like_detr("detr", "Detr"); }

Architecture table_transformer() { return like_detr("table-transformer", "TableTransformer"); }

/// In its decoder, contents and positions have projections of their own. Those of contents read the
/// residual stream.
Architecture conditional_detr() {
  Architecture whole = like_detr("conditional_detr", "ConditionalDetr");
  const auto set_contents = [](Architecture& stack, const std::string& kind,
                               const std::string& output_of) {
    const std::string layer = "decoder.layers.{layer}.";
    for (WeightRule& rule : stack.weights) {
      if (rule.role == query) rule.tensor = layer + kind + "_qcontent_proj.weight";
      if (rule.role == key) rule.tensor = layer + kind + "_kcontent_proj.weight";
      if (rule.role == value) rule.tensor = layer + kind + "_v_proj.weight";
      if (rule.role == output) rule.tensor = layer + output_of + ".out_proj.weight";
    }
  };
  set_contents(whole.stacks[1], "sa", "self_attn");
  set_contents(whole.stacks[2], "ca", "encoder_attn");
  std::vector<TensorRule>& others = whole.stacks[1].others;
  for (const char* tensor :
       {"sa_qpos_proj", "sa_kpos_proj", "ca_qpos_proj", "ca_kpos_proj", "ca_qpos_sine_proj"}) {
    others.push_back({"position_projection", std::string("decoder.layers.*.") + tensor + ".*"});
  }
  others.push_back({"position_projection", "decoder.query_scale.*"});
  others.push_back({"position_projection", "decoder.ref_point_head.*"});
  return whole;
}

}  // namespace attnscope
