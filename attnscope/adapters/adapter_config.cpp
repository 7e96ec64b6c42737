#include "attnscope/adapters/adapter_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "attnscope/adapters/adapter_config_file.h"
#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/checkpoint/peft/adapter_files.h"

namespace attnscope {
namespace {

using nlohmann::json;

struct NamedType {
  const char* peft_type;
  AdapterType type;
};

constexpr std::array kTypes = {NamedType{"LORA", AdapterType::lora},
                               NamedType{"ADALORA", AdapterType::adalora},
                               NamedType{"LOHA", AdapterType::loha},
                               NamedType{"LOKR", AdapterType::lokr},
                               NamedType{"IA3", AdapterType::ia3},
                               NamedType{"VERA", AdapterType::vera},
                               NamedType{"OFT", AdapterType::oft},
                               NamedType{"BOFT", AdapterType::boft},
                               NamedType{"LN_TUNING", AdapterType::layer_norm},
                               NamedType{"TRAINABLE_TOKENS", AdapterType::trainable_tokens}};

/// Options that read_adapter_config() handles, and options without effect on merged weights.
constexpr std::array kKnownOptions = {"alpha",
                                      "alpha_pattern",
                                      "auto_mapping",
                                      "base_model_class",
                                      "base_model_name_or_path",
                                      "beta1",
                                      "beta2",
                                      "bias",
                                      "block_share",
                                      "boft_block_num",
                                      "boft_block_size",
                                      "boft_dropout",
                                      "boft_n_butterfly_factor",
                                      "coft",
                                      "corda_config",
                                      "d_initial",
                                      "decompose_both",
                                      "decompose_factor",
                                      "deltaT",
                                      "ensure_weight_tying",
                                      "eps",
                                      "eva_config",
                                      "exclude_modules",
                                      "fan_in_fan_out",
                                      "feedforward_modules",
                                      "inference_mode",
                                      "init_ia3_weights",
                                      "init_lora_weights",
                                      "init_r",
                                      "init_weights",
                                      "layers_pattern",
                                      "layers_to_transform",
                                      "loftq_config",
                                      "lora_alpha",
                                      "lora_bias",
                                      "lora_dropout",
                                      "lora_ga_config",
                                      "megatron_core",
                                      "merge_weights",
                                      "module_dropout",
                                      "modules_to_save",
                                      "num_cayley_neumann_terms",
                                      "oft_block_size",
                                      "orth_reg_weight",
                                      "parent_library",
                                      "peft_type",
                                      "peft_version",
                                      "projection_prng_key",
                                      "qalora_group_size",
                                      "r",
                                      "rank_dropout",
                                      "rank_dropout_scale",
                                      "rank_pattern",
                                      "revision",
                                      "runtime_config",
                                      "save_projection",
                                      "target_modules",
                                      "target_parameters",
                                      "target_r",
                                      "task_type",
                                      "tfinal",
                                      "tinit",
                                      "token_indices",
                                      "total_step",
                                      "trainable_token_indices",
                                      "use_cayley_neumann",
                                      "use_dora",
                                      "use_effective_conv2d",
                                      "use_rslora",
                                      "velora_config",
                                      "vera_dropout"};

struct RefusedOption {
  const char *key, *what;
};

constexpr std::array kRefusedOptions = {
    RefusedOption{"use_qalora", "QA-LoRA"},
    RefusedOption{"use_bdlora", "BD-LoRA"},
    RefusedOption{"kasa_config", "KaSA"},
    RefusedOption{"alora_invocation_tokens", "aLoRA, which adapts only some tokens"},
    RefusedOption{"arrow_config", "Arrow, which selects an adapter per token"},
    RefusedOption{"monteclora_config", "MonteCLoRA"},
    RefusedOption{"layer_replication", "copies of layers"},
    RefusedOption{"megatron_config", "LoRA of Megatron's layers"},
    RefusedOption{"enable_lora", "LoRA of parts of a linear layer"}};

AdapterType type_of(const AdapterConfigFile& config) {
  for (const NamedType& known : kTypes) {
    if (config.value("peft_type") == known.peft_type) return known.type;
  }
  refuse_adapter_type(config.json(), config.file());
}

void check_bias(const AdapterConfigFile& config) {
  const json& bias = config.value("bias");
  if (bias.is_null() || bias == "none" || bias == "all") return;
  if (bias.is_string() && bias.get_ref<const std::string&>().ends_with("_only")) return;
  config.refuse(ErrorKind::format,
                "'bias' is " + bias.dump() + ", expected none, all or lora_only");
}

AdapterInit init_of(const AdapterConfigFile& config, std::vector<std::string>& notes) {
  const json& init = config.value("init_lora_weights");
  if (init.is_null() || init.is_boolean()) return AdapterInit::keeps_base;
  if (!init.is_string()) {
    config.refuse(ErrorKind::format, "'init_lora_weights' is neither a name nor true or false");
  }
  const auto name = init.get<std::string>();
  std::string lower = name;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char byte) { return static_cast<char>(std::tolower(byte)); });
  if (name == "pissa") return AdapterInit::pissa;
  if (lower == "olora") return AdapterInit::olora;
  const std::string what = "init_lora_weights '" + name + "'";
  if (name.starts_with("pissa_niter_")) {
    config.refuse(ErrorKind::unsupported,
                  what + " changes the base by a random decomposition that is not stored");
  }
  if (name.starts_with("corda")) {
    config.refuse(ErrorKind::unsupported,
                  what + " (CorDA) changes the base by activation statistics that are not stored");
  }
  if (name == "loftq") {
    config.refuse(ErrorKind::unsupported,
                  what + " (LoftQ) needs the quantized base, which is not stored");
  }
  if (name == "lora_ga") {
    notes.push_back(
        what +
        " (LoRA-GA) changed the base before training: results are right only if BASE is "
        "that changed base");
    return AdapterInit::keeps_base;
  }
  const std::array kept = {"gaussian", "eva", "orthogonal", "mica"};
  if (std::find(kept.begin(), kept.end(), lower) == kept.end()) {
    config.refuse(ErrorKind::unsupported, what + " is not supported");
  }
  return AdapterInit::keeps_base;
}

void refuse_options(const AdapterConfigFile& config, std::vector<std::string>& notes) {
  for (const RefusedOption& option : kRefusedOptions) {
    if (!config.is_given(option.key)) continue;
    config.refuse(ErrorKind::unsupported, "'" + std::string(option.key) + "' (" + option.what +
                                              ") is not supported; merge the adapter with PEFT");
  }
  std::vector<std::string> unknown;
  for (const std::string& key : config.given_names()) {
    const auto known = std::find(kKnownOptions.begin(), kKnownOptions.end(), key);
    if (known == kKnownOptions.end()) unknown.push_back("'" + key + "'");
  }
  if (!unknown.empty()) {
    notes.push_back("adapter_config.json has unknown options, which are ignored: " + join(unknown));
  }
}

std::map<std::string, std::vector<std::int64_t>> token_rows(const AdapterConfigFile& config) {
  const bool is_own_type = config.value("peft_type") == "TRAINABLE_TOKENS";
  const char* const option = is_own_type ? "token_indices" : "trainable_token_indices";
  const json& found = config.value(option);
  if (!config.is_given(option)) return {};
  if (!found.is_object()) return {{"", config.indices(found, option)}};
  std::map<std::string, std::vector<std::int64_t>> out;
  for (const auto& [module, rows] : found.items()) {
    out[module] = config.indices(rows, "'" + module + "' of " + option);
  }
  return out;
}

/// For each module of an AdaLoRA adapter, how many of its directions are kept.
std::map<std::string, std::int64_t> kept_ranks(const AdapterConfigFile& config) {
  const json& found = config.value("rank_pattern");
  if (found.is_null()) return {};
  std::map<std::string, std::int64_t> out;
  for (const auto& [name, kept] : found.items()) {
    const bool valid =
        found.is_object() && kept.is_array() &&
        std::all_of(kept.begin(), kept.end(), [](const json& one) { return one.is_boolean(); });
    if (!valid) {
      config.refuse(ErrorKind::format, "'" + name + "' of rank_pattern is not a list of booleans");
    }
    out[name.substr(0, name.find(".lora_"))] = std::count(kept.begin(), kept.end(), json(true));
  }
  return out;
}

void read_oft(const AdapterConfigFile& config, AdapterConfig& out) {
  if (config.value("oft_block_size").is_null()) {
    config.refuse(ErrorKind::unsupported,
                  "has no 'oft_block_size': OFT adapters of PEFT before 0.14 have other weights");
  }
  if (config.flag("coft")) out.oft.most = config.finite("eps", 6e-5);
  if (config.flag("use_cayley_neumann", true)) {
    constexpr std::int64_t kMostTerms = 100;
    out.oft.neumann_terms = config.whole("num_cayley_neumann_terms", 5);
    if (*out.oft.neumann_terms > kMostTerms) {
      config.refuse(ErrorKind::unsupported, "has more than 100 'num_cayley_neumann_terms'");
    }
  }
}

double number_of(const std::vector<PatternNumber>& patterns, const std::string& module,
                 double usual, std::uint64_t& budget) {
  for (const PatternNumber& pattern : patterns) {
    if (pattern.regex.matches_start(module, budget)) return pattern.number;
  }
  return usual;
}

/// The layer index of a module, parsed from its name as in PEFT.
std::optional<std::int64_t> layer_of(const AdapterConfig& config, const std::string& module) {
  const std::vector<std::string> parts = split(module, '.');
  std::string before;
  for (std::size_t at = 0; at + 1 < parts.size(); before += parts[at] + '.', ++at) {
    const std::string& part = parts[at];
    const bool number = !part.empty() && part.size() < 10 &&
                        part.find_first_not_of("0123456789") == std::string::npos;
    if (!number) continue;
    const bool found =
        config.layers_patterns.empty()
            ? at >= 2
            : std::any_of(config.layers_patterns.begin(), config.layers_patterns.end(),
                          [&](const std::string& pattern) {
                            return PythonRegex("(?:^|.*?\\.)" + pattern + "\\.", config.file)
                                .matches_whole(before, config.budget);
                          });
    if (found) return std::stoll(part);
  }
  return std::nullopt;
}

void read_type(const AdapterConfigFile& config, AdapterConfig& out) {
  switch (out.type) {
    case AdapterType::lora:
      out.init = init_of(config, out.notes);
      out.rank = static_cast<double>(config.positive("r"));
      out.alpha = config.finite("lora_alpha");
      out.ranks = config.pattern_numbers("rank_pattern", /*whole=*/true);
      out.alphas = config.pattern_numbers("alpha_pattern", /*whole=*/false);
      out.rank_stabilized = config.flag("use_rslora");
      out.has_bias = config.flag("lora_bias");
      out.has_norms = config.flag("use_dora");
      out.keeps_ties = config.flag("ensure_weight_tying");
      out.parameters = {.regex = {}, .names = config.texts("target_parameters")};
      return;
    case AdapterType::adalora:
      out.rank = static_cast<double>(config.whole("init_r", 12));
      out.alpha = config.finite("lora_alpha", 8);
      out.kept_ranks = kept_ranks(config);
      return;
    case AdapterType::loha:
    case AdapterType::lokr:
      out.rank = static_cast<double>(config.positive("r"));
      out.alpha = config.finite("alpha");
      out.ranks = config.pattern_numbers("rank_pattern", /*whole=*/true);
      out.alphas = config.pattern_numbers("alpha_pattern", /*whole=*/false);
      return;
    case AdapterType::vera:
      out.rank = static_cast<double>(config.positive("r"));
      out.random_key = config.whole("projection_prng_key", 0);
      out.saves_projection = config.flag("save_projection", true);
      return;
    case AdapterType::oft: return read_oft(config, out);
    case AdapterType::ia3:
    case AdapterType::boft:
    case AdapterType::layer_norm:
    case AdapterType::trainable_tokens: return;
  }
}

}  // namespace

bool ModuleNames::has(std::string_view module, std::uint64_t& budget) const {
  if (!regex.empty()) return regex.front().matches_whole(module, budget);
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return module == name || module.ends_with("." + name);
  });
}

double AdapterConfig::rank_of(const std::string& module) const {
  return number_of(ranks, module, rank, budget);
}

double AdapterConfig::scale_of(const std::string& module) const {
  const double size = rank_of(module);
  return number_of(alphas, module, alpha, budget) / (rank_stabilized ? std::sqrt(size) : size);
}

bool AdapterConfig::adapts_parameter_of(const std::string& module) const {
  if (parameters.has(module + ".weight", budget)) return true;
  return std::any_of(kExpertParameters.begin(), kExpertParameters.end(), [&](std::string_view one) {
    return parameters.has(module + '.' + std::string(one), budget);
  });
}

bool AdapterConfig::saves(const std::string& module) const {
  return std::any_of(saved.begin(), saved.end(), [&](const PythonRegex& pattern) {
    return pattern.matches_start(module, budget);
  });
}

std::optional<bool> AdapterConfig::is_target(const std::string& module) const {
  if (!targets) return std::nullopt;
  if (excluded.has(module, budget) || saves(module) || !targets->has(module, budget)) return false;
  const bool exact =
      std::find(targets->names.begin(), targets->names.end(), module) != targets->names.end();
  if (layers.empty() || exact || !targets->regex.empty()) return true;
  const auto layer = layer_of(*this, module);
  return layer && std::find(layers.begin(), layers.end(), *layer) != layers.end();
}

AdapterConfig read_adapter_config(const CheckpointFolder& folder) {
  const AdapterConfigFile config(folder);
  AdapterConfig out{.type = type_of(config), .file = config.file(), .text = config.text()};
  out.name = adapter_kind(config.json());
  check_bias(config);
  refuse_options(config, out.notes);
  read_type(config, out);
  if (!config.value("target_modules").is_null() && config.value("target_modules") != "all-linear") {
    out.targets = config.modules("target_modules");
  }
  out.excluded = config.modules("exclude_modules");
  for (const std::string& name : config.texts("modules_to_save")) {
    out.saved.emplace_back("(^|.*\\.)" + name + "($|\\..*)", config.file());
  }
  const json& layers = config.value("layers_to_transform");
  if (layers.is_number_unsigned()) {
    out.layers = {layers.get<std::int64_t>()};
  } else if (!layers.is_null()) {
    out.layers = config.indices(layers, "'layers_to_transform'");
  }
  out.layers_patterns = config.texts("layers_pattern");
  out.token_rows = token_rows(config);
  return out;
}

}  // namespace attnscope
