#include "attnscope/features/diff/adapter_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "attnscope/base/error.h"
#include "attnscope/base/strict_json.h"
#include "attnscope/base/text.h"
#include "attnscope/checkpoint/peft/adapter_files.h"

namespace attnscope {
namespace {

using nlohmann::json;

/// Options without effect on merged weights, and options that read_config() handles.
constexpr std::array kKnownOptions = {"alpha_pattern",
                                      "auto_mapping",
                                      "base_model_class",
                                      "base_model_name_or_path",
                                      "bias",
                                      "corda_config",
                                      "ensure_weight_tying",
                                      "eva_config",
                                      "exclude_modules",
                                      "fan_in_fan_out",
                                      "inference_mode",
                                      "init_lora_weights",
                                      "layers_pattern",
                                      "layers_to_transform",
                                      "loftq_config",
                                      "lora_alpha",
                                      "lora_bias",
                                      "lora_dropout",
                                      "lora_ga_config",
                                      "megatron_core",
                                      "merge_weights",
                                      "modules_to_save",
                                      "parent_library",
                                      "peft_type",
                                      "peft_version",
                                      "qalora_group_size",
                                      "r",
                                      "rank_pattern",
                                      "revision",
                                      "runtime_config",
                                      "target_modules",
                                      "task_type",
                                      "trainable_token_indices",
                                      "use_rslora",
                                      "velora_config"};

struct RefusedOption {
  const char *key, *what;
};

constexpr std::array kRefusedOptions = {
    RefusedOption{"use_dora", "DoRA"},
    RefusedOption{"use_qalora", "QA-LoRA"},
    RefusedOption{"use_bdlora", "BD-LoRA"},
    RefusedOption{"kasa_config", "KaSA"},
    RefusedOption{"alora_invocation_tokens", "aLoRA, which adapts only some tokens"},
    RefusedOption{"arrow_config", "Arrow, which selects an adapter per token"},
    RefusedOption{"monteclora_config", "MonteCLoRA"},
    RefusedOption{"layer_replication", "copies of layers"},
    RefusedOption{"megatron_config", "LoRA of Megatron's layers"},
    RefusedOption{"target_parameters", "LoRA of parameters that are not linear layers"},
    RefusedOption{"enable_lora", "LoRA of parts of a linear layer"}};

/// The keys of a top-level object in file order: PEFT uses the first match. The text must be valid
/// JSON.
class KeyOrder : public nlohmann::json_sax<json> {
 public:
  explicit KeyOrder(std::string_view object) : object_(object) {}
  std::vector<std::string> keys;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return deeper(); }
  bool end_object() override { return higher(); }
  bool start_array(std::size_t) override { return deeper(); }
  bool end_array() override { return higher(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }
  bool key(string_t& name) override {
    if (depth_ == 1) inside_ = name == object_;
    if (depth_ == 2 && inside_) keys.push_back(name);
    return true;
  }

 private:
  bool deeper() { return ++depth_, true; }
  bool higher() { return --depth_, true; }

  std::string_view object_;
  int depth_ = 0;
  bool inside_ = false;
};

/// Whether an option has a value other than null, false or empty.
bool is_given(const json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_string()) return !value.get_ref<const std::string&>().empty();
  return !value.is_null() && !((value.is_object() || value.is_array()) && value.empty());
}

struct ConfigFile {
  std::string text, file;
  json config;

  [[noreturn]] void refuse(ErrorKind kind, const std::string& problem) const {
    throw Error(kind, {.file = file, .problem = verbatim(problem)});
  }

  const json& value(const char* name) const {
    static const json kNone;
    const auto found = config.find(name);
    return found == config.end() ? kNone : *found;
  }

  bool flag(const char* name) const {
    const json& found = value(name);
    if (!found.is_null() && !found.is_boolean()) {
      refuse(ErrorKind::format, "'" + std::string(name) + "' is not true or false");
    }
    return found.is_boolean() && found.get<bool>();
  }

  double positive(const json& found, const std::string& name, bool whole) const {
    const double number = found.is_number() ? found.get<double>() : 0;
    const bool is_rank = number >= 1 && number == std::floor(number);
    if (!found.is_number() || !std::isfinite(number) || (whole && !is_rank)) {
      refuse(ErrorKind::format,
             name + " is not a " + (whole ? "positive whole number" : "finite number"));
    }
    return number;
  }

  std::vector<PatternNumber> pattern_numbers(const char* name, bool whole) const {
    const json& found = value(name);
    if (found.is_null()) return {};
    if (!found.is_object())
      refuse(ErrorKind::format, "'" + std::string(name) + "' is not an object");
    KeyOrder order(name);
    json::sax_parse(text, &order);
    std::vector<PatternNumber> out;
    for (const std::string& key : order.keys) {
      out.push_back({.key = key,
                     .regex = PythonRegex("(.*\\.)?(" + key + ")$", file),
                     .number = positive(found.at(key), "'" + key + "' of " + name, whole)});
    }
    return out;
  }

  /// Checks even numbers that affect no weight: a training run that wrote NaN is broken.
  void check_finite() const {
    for (const auto& [key, found] : config.items()) {
      if (!found.is_number_float() || std::isfinite(found.get<double>())) continue;
      refuse(ErrorKind::format, "'" + key + "' is not a finite number");
    }
  }

  void check_bias() const {
    const json& bias = value("bias");
    const std::array known = {"none", "all", "lora_only"};
    if (bias.is_null() || std::find(known.begin(), known.end(), bias) != known.end()) return;
    refuse(ErrorKind::format, "'bias' is " + bias.dump() + ", expected none, all or lora_only");
  }

  std::vector<std::string> texts(const char* name) const {
    const json& found = value(name);
    std::vector<std::string> out;
    if (found.is_null()) return out;
    if (found.is_string()) return {found.get<std::string>()};
    const bool all =
        found.is_array() &&
        std::all_of(found.begin(), found.end(), [](const json& one) { return one.is_string(); });
    if (!all) refuse(ErrorKind::format, "'" + std::string(name) + "' is not a list of names");
    for (const json& one : found) out.push_back(one.get<std::string>());
    return out;
  }

  ModuleNames modules(const char* name) const {
    if (!value(name).is_string()) return {.regex = {}, .names = texts(name)};
    return {.regex = {PythonRegex(value(name).get<std::string>(), file)}, .names = {}};
  }

  std::vector<std::int64_t> integers(const json& found, const std::string& name) const {
    const auto is_index = [](const json& one) {
      return one.is_number_unsigned() && one.get<std::uint64_t>() < (std::uint64_t{1} << 40);
    };
    if (!found.is_array() || !std::all_of(found.begin(), found.end(), is_index)) {
      refuse(ErrorKind::format, name + " is not a list of indices");
    }
    return found.get<std::vector<std::int64_t>>();
  }
};

AdapterInit init_of(const ConfigFile& config, std::vector<std::string>& notes) {
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
    notes.push_back(what +
                    " (LoRA-GA) changed the base before training: the differences are right "
                    "if BASE is that changed base");
    return AdapterInit::keeps_base;
  }
  const std::array kept = {"gaussian", "eva", "orthogonal", "mica"};
  if (std::find(kept.begin(), kept.end(), lower) == kept.end()) {
    config.refuse(ErrorKind::unsupported, what + " is not supported");
  }
  return AdapterInit::keeps_base;
}

void refuse_options(const ConfigFile& config, std::vector<std::string>& notes) {
  for (const RefusedOption& option : kRefusedOptions) {
    if (!is_given(config.value(option.key))) continue;
    config.refuse(ErrorKind::unsupported, "'" + std::string(option.key) + "' (" + option.what +
                                              ") is not supported; merge the adapter with PEFT");
  }
  std::vector<std::string> unknown;
  for (const auto& [key, value] : config.config.items()) {
    const auto known = std::find(kKnownOptions.begin(), kKnownOptions.end(), key);
    if (known == kKnownOptions.end() && is_given(value)) unknown.push_back("'" + key + "'");
  }
  if (!unknown.empty()) {
    notes.push_back("adapter_config.json has unknown options, which are ignored: " + join(unknown));
  }
}

std::map<std::string, std::vector<std::int64_t>> token_rows(const ConfigFile& config) {
  constexpr const char* kOption = "trainable_token_indices";
  const json& found = config.value(kOption);
  if (!is_given(found)) return {};
  if (!found.is_object()) return {{"", config.integers(found, kOption)}};
  std::map<std::string, std::vector<std::int64_t>> out;
  for (const auto& [module, rows] : found.items()) {
    out[module] = config.integers(rows, "'" + module + "' of " + kOption);
  }
  return out;
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
  ConfigFile config{.text = folder.read_text(kAdapterConfigName, kMaxAdapterConfigBytes),
                    .file = folder.place_of(kAdapterConfigName)};
  config.config = parse_python_json(config.text, config.file);
  if (!config.config.is_object()) config.refuse(ErrorKind::format, "is not a JSON object");
  if (config.value("peft_type") != "LORA") {
    config.refuse(ErrorKind::unsupported, "is not a LoRA adapter (" + adapter_kind(config.config) +
                                              "); other adapters are not supported");
  }
  config.check_finite();
  config.check_bias();
  AdapterConfig out{.file = config.file};
  refuse_options(config, out.notes);
  out.init = init_of(config, out.notes);
  out.rank = config.positive(config.value("r"), "'r'", /*whole=*/true);
  out.alpha = config.positive(config.value("lora_alpha"), "'lora_alpha'", /*whole=*/false);
  out.ranks = config.pattern_numbers("rank_pattern", /*whole=*/true);
  out.alphas = config.pattern_numbers("alpha_pattern", /*whole=*/false);
  out.rank_stabilized = config.flag("use_rslora");
  out.has_bias = config.flag("lora_bias");
  out.keeps_ties = config.flag("ensure_weight_tying");
  if (!config.value("target_modules").is_null() && config.value("target_modules") != "all-linear") {
    out.targets = config.modules("target_modules");
  }
  out.excluded = config.modules("exclude_modules");
  for (const std::string& name : config.texts("modules_to_save")) {
    out.saved.emplace_back("(^|.*\\.)" + name + "($|\\..*)", config.file);
  }
  const json& layers = config.value("layers_to_transform");
  if (layers.is_number_unsigned()) {
    out.layers = {layers.get<std::int64_t>()};
  } else if (!layers.is_null()) {
    out.layers = config.integers(layers, "'layers_to_transform'");
  }
  out.layers_patterns = config.texts("layers_pattern");
  out.token_rows = token_rows(config);
  return out;
}

}  // namespace attnscope
