// Finds descriptions, and names in them.
#include <algorithm>
#include <cctype>

#include "attnscope/checkpoint/gguf/families/name_tables.h"

namespace attnscope {
namespace {

const std::vector<GgufFamily>& gguf_families() {
  // If several have the same name, the first whose condition holds is used.
  static const std::vector<GgufFamily> all = [] {
    std::vector<GgufFamily> made;
    for (const auto& some :
         {gguf::decoders_with_experts(), gguf::mla_decoders(), gguf::hybrid_decoders(),
          gguf::dense_decoders(), gguf::decoders_of_own_names(), gguf::encoders(),
          gguf::encoder_decoders()}) {
      made.insert(made.end(), some.begin(), some.end());
    }
    return made;
  }();
  return all;
}

bool value_contains(const GgufCondition& condition, const GgufFile& file) {
  const auto found = file.values.find(condition.key);
  if (found == file.values.end()) return false;
  if (std::holds_alternative<std::string_view>(found->second)) {
    return std::get<std::string_view>(found->second) == condition.value;
  }
  if (condition.value.empty()) return file.number(condition.key).value() != 0;
  return std::to_string(file.whole(condition.key).value()) == condition.value;
}

bool condition_is_true(const GgufCondition& condition, std::span<const GgufFile> parts) {
  return (condition.key.empty() || value_contains(condition, parts.front())) &&
         (condition.tensor.empty() || find_tensor(parts, condition.tensor) != nullptr);
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

constexpr std::string_view kNumber = "{number}";

/// Returns the text that `{number}` in the pattern matches; empty for a pattern without it; nothing
/// if the name does not match.
std::optional<std::string_view> number_in(std::string_view pattern, std::string_view name) {
  const std::size_t at = pattern.find(kNumber);
  if (at == std::string_view::npos) {
    return pattern == name ? std::optional<std::string_view>("") : std::nullopt;
  }
  // In names with a number, it comes last.
  if (!name.starts_with(pattern.substr(0, at))) return std::nullopt;
  const std::string_view number = name.substr(at);
  return all_digits(number) ? std::optional(number) : std::nullopt;
}

}  // namespace

std::string family_key(const GgufFamily& family, std::string_view key) {
  return std::string(family.name) + "." + std::string(key);
}

const GgufTensor* find_tensor(std::span<const GgufFile> parts, std::string_view name) {
  for (const GgufFile& part : parts) {
    for (const GgufTensor& tensor : part.tensors) {
      if (tensor.name == name) return &tensor;
    }
  }
  return nullptr;
}

const GgufFamily* find_gguf_family(std::span<const GgufFile> parts) {
  const auto architecture = parts.front().text("general.architecture").value_or("");
  const auto& all = gguf_families();
  const auto found = std::find_if(all.begin(), all.end(), [&](const GgufFamily& family) {
    return family.name == architecture && condition_is_true(family.only_if, parts);
  });
  return found == all.end() ? nullptr : &*found;
}

std::optional<LayerTensorName> layer_tensor_name(std::string_view name) {
  constexpr std::string_view kLayer = "blk.";
  if (!name.starts_with(kLayer)) return std::nullopt;
  name.remove_prefix(kLayer.size());
  const std::size_t end = name.find('.');
  if (end == std::string_view::npos || !all_digits(name.substr(0, end))) return std::nullopt;
  return LayerTensorName{.layer = name.substr(0, end), .rest = name.substr(end + 1)};
}

std::optional<RenamedTensor> renamed(const GgufFamily& family, std::string_view name) {
  std::string prefix;
  const std::vector<GgufName>* names = &family.tensors;
  if (const auto of_layer = layer_tensor_name(name)) {
    prefix = std::string(family.layer_prefix) + std::string(of_layer->layer) + ".";
    name = of_layer->rest;
    names = &family.layer_tensors;
  }
  for (const GgufStack& stack : family.stacks) {
    if (!name.starts_with(stack.before)) continue;
    const auto of_layer = layer_tensor_name(name.substr(stack.before.size()));
    if (!of_layer) continue;
    prefix = std::string(stack.layer_prefix) + std::string(of_layer->layer) + ".";
    name = of_layer->rest;
    names = &stack.tensors;
    break;
  }
  const bool bias = name.ends_with(".bias");
  std::string_view ending = bias ? ".bias" : ".weight";
  if (!name.ends_with(ending)) ending = "";
  const std::string_view stem = name.substr(0, name.size() - ending.size());
  for (const GgufName& known : *names) {
    const auto number = number_in(known.gguf, stem);
    if (!number || (ending.empty() && !known.bare)) continue;
    RenamedTensor out{.name = prefix + known.transformers, .conversion = known.conversion};
    if (!number->empty()) {
      out.name.replace(out.name.find(kNumber), kNumber.size(), std::string(*number));
    }
    if (!known.bare) out.name += ending;
    if (bias && out.conversion == Conversion::turned) out.conversion = Conversion::none;
    return out;
  }
  return std::nullopt;
}

}  // namespace attnscope
