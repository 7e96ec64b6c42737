#include "attnscope/model/config/models_of_two.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/model/config/config_reader.h"

namespace attnscope {
namespace {

using nlohmann::json;

/// Puts all tensors of the model under `place`, such as "encoder.".
void put_under(const std::string& place, Architecture& model) {
  const auto move = [&](std::string& name) {
    if (!name.empty() && !name.starts_with('*')) name.insert(0, place);
  };
  const auto move_all = [&](std::vector<std::string>& names) {
    for (std::string& name : names) move(name);
  };
  for (std::string& prefix : model.prefixes) prefix.insert(0, place);
  HeadRule& head = model.head;
  move_all(head.weight);
  move_all(head.bias);
  for (std::string* name : {&head.dense, &head.norm, &head.other_dense, &head.other_norm}) {
    move(*name);
  }
  move(model.head_marker);
  for (auto& [copy, original] : model.repeated) {
    move(copy);
    move(original);
  }
  move_all(model.buffers);
  model.label_heads.clear();
  for (Architecture& layout : model.layouts) put_under(place, layout);
}

/// Makes the model a stack of `family`.
Architecture as_stack(Architecture model, const Architecture& family, const std::string& stack,
                      const std::string& section) {
  const auto change = [&](Architecture& one) {
    one.name = family.name;
    one.stack = stack;
    one.section = section;
    std::erase_if(one.others, [](const auto& rule) { return rule.role == "cross_attention"; });
  };
  change(model);
  for (Architecture& layout : model.layouts) change(layout);
  put_under(section + ".", model);
  return model;
}

Architecture as_encoder_stack(Architecture model, const Architecture& family) {
  const auto change = [](Architecture& one) {
    one.head = {.none = "its decoder predicts the tokens"};
  };
  change(model);
  for (Architecture& layout : model.layouts) change(layout);
  return as_stack(std::move(model), family, "encoder", "encoder");
}

struct Decoder {
  Architecture own, cross;
};

/// Returns the decoder and its cross-attention, as described for models of one family.
Decoder decoder_of(const Architecture& model, const std::string& type, std::string_view where) {
  if (model.cross != nullptr) return {model, *model.cross};
  const auto stack = [&](const char* name) {
    return std::find_if(model.stacks.begin(), model.stacks.end(),
                        [&](const Architecture& one) { return one.stack == name; });
  };
  const auto own = stack("decoder"), cross = stack("cross");
  if (own == model.stacks.end() || cross == model.stacks.end()) {
    throw Error(ErrorKind::unsupported, {.file = std::string(where),
                                         .problem = "the decoder is '" + verbatim(type) +
                                                    "', whose cross-attention is not described"});
  }
  Decoder out{*own, *cross};
  // A decoder without its own encoder stores the embedding under the name of its copy.
  const auto copy = std::find_if(own->others.begin(), own->others.end(),
                                 [](const auto& rule) { return rule.role == "embedding"; });
  if (copy != own->others.end()) {
    out.own.embedding.tokens = copy->tensor;
    for (Architecture& layout : out.own.layouts) layout.embedding.tokens = copy->tensor;
  }
  return out;
}

/// The size of a model's hidden states. Models in stages store that of the last one.
std::int64_t hidden_size(const Architecture& model, const ConfigReader& config) {
  const auto own = config.number({"hidden_size"});
  return own ? *own : config.required(model.keys.width);
}

}  // namespace

Architecture with_two_models(Architecture family, const json& config, std::string_view where,
                             const std::function<Architecture(const json&)>& find) {
  const auto part = [&](const char* name) -> const json& {
    const auto found = config.find(name);
    if (found != config.end() && found->is_object()) return *found;
    throw Error(ErrorKind::format, {.file = std::string(where),
                                    .problem = "has no object '" + std::string(name) +
                                               "', which describes the " + name});
  };
  const json &of_encoder = part("encoder"), &of_decoder = part("decoder");
  const Architecture encoder = find(of_encoder);
  if (!encoder.stacks.empty() || encoder.of_two_models) {
    throw Error(ErrorKind::unsupported,
                {.file = std::string(where),
                 .problem = "the encoder '" + encoder.name + "' has several stacks"});
  }
  const auto type = of_decoder.find("model_type");
  auto [decoder, cross] = decoder_of(
      find(of_decoder),
      type != of_decoder.end() && type->is_string() ? type->get<std::string>() : "", where);

  const ConfigReader of_source(&of_encoder, where), of_target(&of_decoder, where);
  const std::int64_t source = hidden_size(encoder, of_source);
  const std::int64_t target = hidden_size(decoder, of_target);
  const auto read = of_target.number({"cross_attention_hidden_size"});
  if (read && *read != source) {
    of_target.refuse("'decoder.cross_attention_hidden_size' is " + std::to_string(*read) +
                     ", but the encoder has hidden size " + std::to_string(source));
  }
  if (!read && source != target) cross.source_projection = "enc_to_dec_proj";
  family.stacks = {as_encoder_stack(encoder, family),
                   as_stack(std::move(decoder), family, "decoder", "decoder"),
                   as_stack(std::move(cross), family, "cross", "decoder")};
  return family;
}

}  // namespace attnscope
