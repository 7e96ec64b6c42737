// The adapter_config.json of a LoRA adapter: what of it changes the merged weights. Source:
// huggingface/peft, tuners/lora/{config,layer,model}.py, tuners/tuners_utils.py.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/base/python_regex.h"
#include "attnscope/checkpoint/checkpoint_folder.h"

namespace attnscope {

/// What loading the adapter does to the base's weights before anything is merged.
enum class AdapterInit { keeps_base, pissa, olora };

/// A key of rank_pattern or alpha_pattern with its number.
struct PatternNumber {
  std::string key;
  PythonRegex regex;
  double number = 0;
};

/// Names of modules: a regular expression, or a list of which each is a whole name or its end.
struct ModuleNames {
  std::vector<PythonRegex> regex;  // one or none
  std::vector<std::string> names;

  bool has(std::string_view module, std::uint64_t& budget) const;
};

struct AdapterConfig {
  std::string file;  // for messages
  double rank = 0, alpha = 0;
  std::vector<PatternNumber> ranks, alphas;  // the first whose key matches a module counts
  bool rank_stabilized = false;              // scale alpha / √rank
  bool has_bias = false;                     // lora_B has one
  bool keeps_ties = false;                   // ensure_weight_tying
  AdapterInit init = AdapterInit::keeps_base;
  std::optional<ModuleNames> targets;  // none: chosen by PEFT from the architecture
  ModuleNames excluded;
  std::vector<PythonRegex> saved;  // modules_to_save
  std::vector<std::int64_t> layers;
  std::vector<std::string> layers_patterns;
  std::map<std::string, std::vector<std::int64_t>> token_rows;  // by module; empty: the embedding
  std::vector<std::string> notes;
  mutable std::uint64_t budget = 1'000'000'000;  // steps of regular expressions

  double rank_of(const std::string& module) const;
  /// alpha over the rank, or over its root.
  double scale_of(const std::string& module) const;
  /// Whether PEFT adapts the module; none if the config does not say.
  std::optional<bool> is_target(const std::string& module) const;
  /// Whether the module, or one that it is part of, is one of modules_to_save.
  bool saves(const std::string& module) const;
};

/// Throws Error(format) for a broken config, Error(unsupported) that names the option for each one
/// that changes merged weights and is not supported.
AdapterConfig read_adapter_config(const CheckpointFolder& folder);

}  // namespace attnscope
