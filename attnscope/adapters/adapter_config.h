// The adapter_config.json of an adapter: all options that affect the merged weights. Source:
// huggingface/peft, tuners/*/config.py, tuners/lora/{layer,model}.py, tuners/tuners_utils.py.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/base/python_regex.h"
#include "attnscope/checkpoint/checkpoint_folder.h"

namespace attnscope {

/// The types that can be merged into their base.
enum class AdapterType {
  lora,
  adalora,
  loha,
  lokr,
  ia3,
  vera,
  oft,
  boft,
  layer_norm,
  trainable_tokens
};

/// How loading the adapter changes the base's weights before merging.
enum class AdapterInit { keeps_base, pissa, olora };

/// A key of rank_pattern or alpha_pattern with its value.
struct PatternNumber {
  std::string key;
  PythonRegex regex;
  double number = 0;
};

/// Names of modules: a regular expression, or a list of full names and suffixes.
struct ModuleNames {
  std::vector<PythonRegex> regex;  // one; empty: none
  std::vector<std::string> names;

  bool has(std::string_view module, std::uint64_t& budget) const;
};

/// How OFT makes rotations from its parameters.
struct OftRotation {
  double most = 0;                                 // COFT: `eps`; 0: any rotation
  std::optional<std::int64_t> neumann_terms = {};  // none: the Cayley transform itself
};

/// Parameters of modules of experts that can be adapted, in the order of the module.
inline constexpr std::array<std::string_view, 3> kExpertParameters = {"gate_up_proj", "up_proj",
                                                                      "down_proj"};

struct AdapterConfig {
  AdapterType type = AdapterType::lora;
  std::string name = {};  // of the type: "LoRA", "DoRA", "IA3"
  std::string file = {};  // for messages
  std::string text = {};  // of the file
  double rank = 0, alpha = 0;
  std::vector<PatternNumber> ranks, alphas;        // the first matching key applies to a module
  bool rank_stabilized = false;                    // scale alpha / √rank
  bool has_bias = false;                           // lora_B has a bias
  bool has_norms = false;                          // DoRA
  ModuleNames parameters = {};                     // target_parameters
  std::map<std::string, std::int64_t> kept_ranks;  // AdaLoRA: rank by module, if it was reduced
  std::int64_t random_key = 0;                     // VeRA: seed of its projections
  bool saves_projection = true;                    // VeRA: whether the file has them
  OftRotation oft;
  bool keeps_ties = false;  // ensure_weight_tying
  AdapterInit init = AdapterInit::keeps_base;
  std::optional<ModuleNames> targets;  // empty: PEFT's default for the architecture
  ModuleNames excluded;
  std::vector<PythonRegex> saved;  // modules_to_save
  std::vector<std::int64_t> layers;
  std::vector<std::string> layers_patterns;
  std::map<std::string, std::vector<std::int64_t>>
      token_rows;  // by module; empty key: the embedding
  std::vector<std::string> notes;
  mutable std::uint64_t budget = 1'000'000'000;  // steps of regular expressions so far

  double rank_of(const std::string& module) const;
  /// alpha divided by the rank, or by its root.
  double scale_of(const std::string& module) const;
  /// Whether PEFT adapts the module; empty if the config does not specify it.
  std::optional<bool> is_target(const std::string& module) const;
  /// Whether target_parameters names a parameter of the module.
  bool adapts_parameter_of(const std::string& module) const;
  /// Whether the module, or a module that contains it, is in modules_to_save.
  bool saves(const std::string& module) const;
};

/// Throws Error(format) for an invalid config, and Error(unsupported) with the name of a type that
/// cannot be merged, or of any unsupported option that changes merged weights.
AdapterConfig read_adapter_config(const CheckpointFolder& folder);

}  // namespace attnscope
