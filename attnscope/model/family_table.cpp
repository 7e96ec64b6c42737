#include "attnscope/model/family_table.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "attnscope/core/text.h"
#include "attnscope/model/known_architectures.h"
#include "attnscope/model/mixer_rule.h"

namespace attnscope {
namespace {

/// The family, or one of its layouts where files differ in more than numbers.
template <class Has>
bool in_any_layout(const Architecture& architecture, Has has) {
  return has(architecture) ||
         std::any_of(architecture.layouts.begin(), architecture.layouts.end(), has);
}

/// Some of its layers have what no forward pass is known for.
bool has_unknown_mixers(const Architecture& architecture) {
  const MixerRule* rule = architecture.mixers.get();
  return rule != nullptr && !rule->delta_net && !rule->short_convolution;
}

bool is_run(const Architecture& architecture) {
  return in_any_layout(architecture,
                       [](const Architecture& layout) { return layout.norm.has_value(); }) &&
         architecture.not_run.empty() && !has_unknown_mixers(architecture);
}

bool has_experts(const Architecture& architecture) {
  return in_any_layout(architecture,
                       [](const Architecture& layout) { return layout.experts != nullptr; });
}

// With one of its stacks, where it has several.
bool reads_images(const Architecture& architecture) {
  const auto& stacks = architecture.stacks;
  return architecture.patches.has_value() ||
         std::any_of(stacks.begin(), stacks.end(), reads_images);
}
bool reads_sound(const Architecture& architecture) {
  const auto& stacks = architecture.stacks;
  return architecture.sound.has_value() || std::any_of(stacks.begin(), stacks.end(), reads_sound);
}

bool has_stack(const Architecture& architecture, std::string_view name) {
  return std::any_of(architecture.stacks.begin(), architecture.stacks.end(),
                     [&](const Architecture& stack) { return stack.stack == name; });
}

bool is_encoder(const Architecture& architecture) { return !architecture.causal.fallback; }

struct FamilyGroup {
  std::string_view title;
  bool (*has)(const Architecture&);
};
constexpr std::array kFamilyGroups = {
    FamilyGroup{"decoders",
                [](const Architecture& each) {
                  return is_run(each) && !is_encoder(each) && !has_experts(each) && !each.latent &&
                         each.mixers == nullptr;
                }},
    FamilyGroup{"with experts",
                [](const Architecture& each) { return is_run(each) && has_experts(each); }},
    FamilyGroup{"with latent attention",
                [](const Architecture& each) { return is_run(each) && each.latent.has_value(); }},
    FamilyGroup{"with attention in some layers",
                [](const Architecture& each) { return is_run(each) && each.mixers != nullptr; }},
    FamilyGroup{"encoders",
                [](const Architecture& each) {
                  return is_run(each) && is_encoder(each) && !each.patches && !each.sound;
                }},
    FamilyGroup{"encoders of images",
                [](const Architecture& each) {
                  return (is_run(each) || !each.stacks.empty()) && reads_images(each);
                }},
    FamilyGroup{"encoders of sound",
                [](const Architecture& each) {
                  return (is_run(each) || !each.stacks.empty()) && reads_sound(each);
                }},
    FamilyGroup{"encoder-decoders",
                [](const Architecture& each) { return has_stack(each, "decoder"); }},
    FamilyGroup{"whose weights alone are analysed",
                [](const Architecture& each) { return !is_run(each) && each.stacks.empty(); }},
};

/// The names of its files; those of a text model inside a multimodal one are not said twice.
std::vector<std::string> types_of(const Architecture& architecture) {
  std::vector<std::string> types;
  for (const std::string& type : architecture.model_types) {
    constexpr std::string_view kNested = "_text";
    const std::string outer = type.substr(0, type.rfind(kNested));
    const auto& all = architecture.model_types;
    const bool nested =
        type.ends_with(kNested) && std::find(all.begin(), all.end(), outer) != all.end();
    if (!nested) types.push_back(type);
  }
  return types;
}

}  // namespace

std::string family_table() {
  std::string table = "| | `model_type` |\n|---|---|\n";
  for (const FamilyGroup& group : kFamilyGroups) {
    std::vector<std::string> types;
    for (const Architecture& architecture : known_architectures()) {
      if (!group.has(architecture)) continue;
      for (std::string& type : types_of(architecture)) types.push_back(std::move(type));
    }
    std::sort(types.begin(), types.end());
    table += "| " + std::string(group.title) + " | `" + join(types, " ") + "` |\n";
  }
  return table;
}

}  // namespace attnscope
