#include "attnscope/model/config/mamba_config.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/base/text.h"
#include "attnscope/model/model_spec.h"

namespace attnscope {
namespace {

using nlohmann::json;

/// A number that files may also write as "auto". None: no value, or "auto".
std::optional<std::int64_t> number_or_auto(const ConfigReader& config, const ConfigKey& key) {
  const json* found = config.find(key.name);
  if (found != nullptr && *found == "auto") return std::nullopt;
  return config.number(key);
}

/// An element of a list of limits. transformers 5 writes infinity as {"__float__": "Infinity"}.
std::optional<double> limit_of(const json& value) {
  if (value.is_object() && value.value("__float__", json()) == "Infinity") return HUGE_VAL;
  if (!value.is_number() || !(value.get<double>() >= 0)) return std::nullopt;
  return value.get<double>();
}

void read_step_limits(Mamba2Spec& spec, const Mamba2Rule& rule, const ConfigReader& config) {
  spec.least_step = config.real(rule.least_step).value_or(0);
  const json* found = config.find(rule.step_limits);
  if (found == nullptr) return;
  const bool is_pair = found->is_array() && found->size() == 2;
  const auto least = is_pair ? limit_of((*found)[0]) : std::nullopt;
  const auto most = is_pair ? limit_of((*found)[1]) : std::nullopt;
  if (!least || !most || std::isinf(*least) || *least > *most) {
    config.refuse("'" + rule.step_limits + "' is not a list of the smallest and the largest step");
  }
  spec.least_step = *least;
  if (!std::isinf(*most)) spec.most_step = *most;
}

std::vector<double> read_factors(const std::string& key, const ConfigReader& config) {
  constexpr std::size_t kParts = 5;
  std::vector<double> factors = config.positives(key);
  if (!factors.empty() && factors.size() != kParts) {
    config.refuse("'" + key + "' has " + counted(factors.size(), "number") + ", expected " +
                  std::to_string(kParts));
  }
  return factors;
}

Activation activation_of(const std::string& key, const ConfigReader& config) {
  const std::string name = config.text(key);
  if (name.empty()) return Activation::silu;
  const auto found = activation_from_name(name);
  if (!found) config.refuse("'" + key + "' is '" + printable(name) + "', which is not known");
  return *found;
}

}  // namespace

void check_size(std::int64_t a, std::int64_t b, const ConfigReader& config) {
  if (a <= kMaxSize / b) return;
  config.refuse("mixers with " + std::to_string(a) + " times " + counted(b, "number") +
                " exceed the limit of " + std::to_string(kMaxSize));
}

MambaSpec read_mamba(const MambaRule& rule, const ConfigReader& config, std::int64_t width) {
  constexpr std::int64_t kInputsPerRank = 16;
  const std::int64_t expand = config.required(rule.expand);
  check_size(width, expand, config);
  MambaSpec spec{.channels = width * expand,
                 .state_dim = config.required(rule.state_dim),
                 .step_rank = number_or_auto(config, rule.step_rank)
                                  .value_or((width + kInputsPerRank - 1) / kInputsPerRank),
                 .kernel = config.required(rule.kernel),
                 .place = rule.place,
                 .biased = config.flag(rule.biased),
                 .convolution_biased = config.flag(rule.convolution_biased)};
  check_size(spec.channels, spec.state_dim + spec.kernel, config);
  check_size(spec.channels, spec.step_rank, config);
  return spec;
}

Mamba2Spec read_mamba2(const Mamba2Rule& rule, const ConfigReader& config, std::int64_t width) {
  const std::int64_t expand = config.required(rule.expand);
  check_size(width, expand, config);
  const std::int64_t inner = config.number(rule.inner).value_or(width * expand);
  const std::int64_t heads = config.required(rule.heads);
  Mamba2Spec spec{.heads = heads,
                  .head_dim = number_or_auto(config, rule.head_dim).value_or(inner / heads),
                  .groups = config.required(rule.groups),
                  .state_dim = config.required(rule.state_dim),
                  .kernel = config.required(rule.kernel),
                  .place = rule.place,
                  .biased = config.flag(rule.biased),
                  .output_biased = config.flag(rule.output_biased),
                  .convolution_biased = config.flag(rule.convolution_biased),
                  .activation = activation_of(rule.activation_key, config),
                  .normalized = config.flag(rule.normalized),
                  .norm_first = config.flag(rule.norm_first),
                  .input_factor = config.real(rule.input_factor).value_or(1),
                  .projection_factors = read_factors(rule.projection_factors, config)};
  if (spec.head_dim == 0) {
    config.refuse(counted(inner, "channel") + " of Mamba-2 cannot be divided into " +
                  counted(heads, "head"));
  }
  if (rule.heads_fill_channels && spec.head_dim * heads != inner) {
    config.refuse(counted(heads, "head") + " of " + std::to_string(spec.head_dim) +
                  " do not have the " + counted(inner, "channel") + " of Mamba-2");
  }
  if (heads % spec.groups != 0) {
    config.refuse(counted(heads, "head") + " of Mamba-2 cannot be divided into " +
                  counted(spec.groups, "group") + " of the same size");
  }
  check_size(spec.heads, spec.head_dim, config);
  check_size(spec.groups, spec.state_dim, config);
  check_size(spec.channels(), spec.state_dim, config);
  check_size(spec.convolved(), spec.kernel, config);
  read_step_limits(spec, rule, config);
  return spec;
}

}  // namespace attnscope
