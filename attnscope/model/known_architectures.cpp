#include "attnscope/model/known_architectures.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "attnscope/base/text.h"
#include "attnscope/model/expert_and_mixer_rules.h"
#include "attnscope/model/families.h"
#include "attnscope/model/layout/shipped_layouts.h"
#include "attnscope/model/unsupported_architectures.h"

namespace attnscope {

#define ATTNSCOPE_DECLARE(family) Architecture family();
ATTNSCOPE_FAMILIES(ATTNSCOPE_DECLARE)
#undef ATTNSCOPE_DECLARE

namespace {

struct Family {
  std::string_view name;  // usually its model_type
  Architecture (*describe)();
};

constexpr Family kFamilies[] = {
#define ATTNSCOPE_ENTRY(family) {#family, family},
    ATTNSCOPE_FAMILIES(ATTNSCOPE_ENTRY)
#undef ATTNSCOPE_ENTRY
};
#undef ATTNSCOPE_FAMILIES

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

const std::vector<Architecture>& known_architectures() {
  static const std::vector<Architecture> all = [] {
    std::vector<Architecture> described;
    described.reserve(std::size(kFamilies));
    for (const Family& family : kFamilies) described.push_back(family.describe());
    return described;
  }();
  return all;
}

std::optional<Architecture> find_architecture_by_type(std::string_view model_type) {
  // Describing all families takes as long as a small model's forward pass, so the likely family
  // comes first.
  for (const Family& family : kFamilies) {
    if (family.name != model_type) continue;
    Architecture likely = family.describe();
    if (has(likely.model_types, model_type)) return likely;
  }
  for (const Architecture& architecture : known_architectures()) {
    if (has(architecture.model_types, model_type)) return architecture;
  }
  return std::nullopt;
}

std::optional<Architecture> find_architecture_by_class(std::string_view class_name) {
  // "GPT2LMHeadModel", "BertForMaskedLM", "OPTModel": the family, then the task.
  std::size_t end = class_name.size();
  for (const std::string_view use : {"For", "LMHead", "DoubleHeads", "Model", "PreTrained"}) {
    end = std::min(end, class_name.find(use));
  }
  const std::string_view family = class_name.substr(0, end);
  for (const Architecture& architecture : known_architectures()) {
    if (has(architecture.class_families, family)) return architecture;
  }
  return std::nullopt;
}

std::vector<std::string> architecture_names() {
  std::vector<std::string> names;
  for (const Architecture& architecture : known_architectures()) {
    if (!has(names, architecture.name)) names.push_back(architecture.name);
  }
  return names;
}

namespace {

/// The family, or one of its variants if files differ in more than numbers.
template <class Has>
bool in_any_layout(const Architecture& architecture, Has has) {
  return has(architecture) ||
         std::any_of(architecture.layouts.begin(), architecture.layouts.end(), has);
}

/// Some layers have a mixer that the forward pass does not support.
bool has_unknown_mixers(const Architecture& architecture) {
  const MixerRule* rule = architecture.mixers.get();
  const auto is_left_out = [](const LayerKind& kind) { return !kind.attends && !kind.skipped; };
  return rule != nullptr && !rule->is_computed() &&
         std::any_of(rule->kinds.begin(), rule->kinds.end(), is_left_out);
}

bool is_run(const Architecture& architecture) {
  return in_any_layout(architecture,
                       [](const Architecture& layout) { return layout.norm.has_value(); }) &&
         architecture.not_run.empty() && !has_unknown_mixers(architecture);
}

bool any_is_run(const Architecture& architecture) {
  if (architecture.of_two_models) return true;
  const auto& stacks = architecture.stacks;
  return stacks.empty() ? is_run(architecture) : std::any_of(stacks.begin(), stacks.end(), is_run);
}

/// Returns why the stacks that are not run are not; empty if no reason is described.
std::string why_not_run(const Architecture& architecture) {
  if (architecture.stacks.empty()) return architecture.not_run;
  std::vector<std::string> stacks;
  std::string reason;
  for (const Architecture& stack : architecture.stacks) {
    if (stack.not_run.empty()) continue;
    stacks.push_back(stack.stack);
    reason = stack.not_run;
  }
  const bool all = stacks.size() == architecture.stacks.size();
  return all || stacks.empty() ? reason : join(stacks, " and ") + ": " + reason;
}

bool has_experts(const Architecture& architecture) {
  return in_any_layout(architecture,
                       [](const Architecture& layout) { return layout.experts != nullptr; });
}

// Checks the model, or one of its stacks if it has several.
bool reads_images(const Architecture& architecture) {
  const auto& stacks = architecture.stacks;
  return architecture.patches.has_value() ||
         std::any_of(stacks.begin(), stacks.end(), reads_images);
}
bool reads_audio(const Architecture& architecture) {
  const auto& stacks = architecture.stacks;
  return architecture.audio.has_value() || std::any_of(stacks.begin(), stacks.end(), reads_audio);
}

bool has_stack(const Architecture& architecture, std::string_view name) {
  return std::any_of(architecture.stacks.begin(), architecture.stacks.end(),
                     [&](const Architecture& stack) { return stack.stack == name; });
}

bool is_encoder(const Architecture& architecture) { return !architecture.causal.fallback; }

/// Texts skip the layers of architectures whose other layers are not computed.
bool has_mixers(const Architecture& architecture) {
  return architecture.mixers != nullptr && architecture.mixers->is_computed();
}

struct FamilyGroup {
  std::string_view title;
  bool (*has)(const Architecture&);
};
constexpr std::array kFamilyGroups = {
    FamilyGroup{"decoders",
                [](const Architecture& each) {
                  return is_run(each) && !is_encoder(each) && !has_experts(each) && !each.mla &&
                         !has_mixers(each);
                }},
    FamilyGroup{"mixture of experts (MoE)",
                [](const Architecture& each) { return is_run(each) && has_experts(each); }},
    FamilyGroup{"multi-head latent attention (MLA)",
                [](const Architecture& each) { return is_run(each) && each.mla.has_value(); }},
    FamilyGroup{"hybrids (attention in some layers)",
                [](const Architecture& each) { return is_run(each) && has_mixers(each); }},
    FamilyGroup{"encoders",
                [](const Architecture& each) {
                  return is_run(each) && is_encoder(each) && !each.patches && !each.audio;
                }},
    FamilyGroup{"vision models",
                [](const Architecture& each) { return any_is_run(each) && reads_images(each); }},
    FamilyGroup{"audio models",
                [](const Architecture& each) { return any_is_run(each) && reads_audio(each); }},
    FamilyGroup{"encoder-decoders",
                [](const Architecture& each) {
                  return each.of_two_models || (any_is_run(each) && has_stack(each, "decoder"));
                }},
    FamilyGroup{"weights only (no forward pass)",
                [](const Architecture& each) { return !any_is_run(each); }},
};

/// The model_type values of the family. The type of a text model inside a multimodal model is not
/// listed separately.
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
  std::string table = "| architecture | `model_type` |\n|---|---|\n";
  for (const FamilyGroup& group : kFamilyGroups) {
    std::vector<std::string> types;
    for (const Architecture& architecture : known_architectures()) {
      if (!group.has(architecture)) continue;
      for (std::string& type : types_of(architecture)) types.push_back(std::move(type));
    }
    std::sort(types.begin(), types.end());
    table += "| " + std::string(group.title) + " | `" + join(types, " ") + "` |\n";
  }
  table +=
      "| opened by layout files of attnscope | `" + join(shipped_layout_types(), " ") + "` |\n";
  table += "\n| weights only | reason |\n|---|---|\n";
  for (const Architecture& architecture : known_architectures()) {
    const std::string reason = why_not_run(architecture);
    if (reason.empty()) continue;
    table += "| `" + join(types_of(architecture), " ") + "` | " + reason + " |\n";
  }
  table += "\n| not supported | reason |\n|---|---|\n";
  for (const UnsupportedArchitecture& each : unsupported_architectures()) {
    table += "| `" + std::string(each.model_type) + "` | " + std::string(each.reason) + " |\n";
  }
  return table;
}

}  // namespace attnscope
