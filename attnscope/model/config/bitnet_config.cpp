#include "attnscope/model/config/bitnet_config.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "attnscope/base/strict_json.h"
#include "attnscope/base/text.h"
#include "attnscope/model/config/config_reader.h"

namespace attnscope {
namespace {

/// Returns why the setting is not supported; empty if it is.
std::string unknown_setting(const ConfigReader& config) {
  const std::string mode = config.text("quantization_mode");
  if (config.text("linear_class") == "autobitlinear" && !mode.empty() && mode != "offline") {
    return "BitNet's 'quantization_mode' is '" + printable(mode) +
           "', which rounds weights while the model runs: this is not supported";
  }
  if (config.flag({"use_rms_norm", false})) {
    return "BitNet's 'use_rms_norm' is true, which is not supported";
  }
  if (config.find("modules_to_not_convert") == nullptr) return "";
  for (const std::string& module : config.texts("modules_to_not_convert")) {
    if (module == "lm_head") continue;
    return "BitNet's 'modules_to_not_convert' contains '" + printable(module) +
           "', which is not supported";
  }
  return "";
}

/// Whether all matrices that BitNet replaces are those of attention and dense MLPs.
bool is_plain_decoder(const ModelSpec& spec) {
  const Architecture& architecture = spec.architecture;
  const bool other_layers = spec.dimensions.experts > 0 || spec.dimensions.mla ||
                            spec.dimensions.mixers || architecture.per_layer_input ||
                            architecture.laurel || architecture.altup || architecture.indexer ||
                            architecture.scores.disentangled || architecture.scores.relative;
  return spec.causal && !other_layers && !spec.labels && !spec.stream.has_projection &&
         architecture.stack.empty() && architecture.head.dense.empty();
}

}  // namespace

void set_rounded_inputs(ModelSpec& spec) {
  if (spec.quantization.method != "bitnet" || !spec.not_run.empty()) return;
  const nlohmann::json own = parse_python_json(spec.quantization.config, spec.source);
  spec.not_run = unknown_setting(ConfigReader(&own, spec.source));
  if (spec.not_run.empty() && !is_plain_decoder(spec)) {
    spec.not_run = "BitNet is supported only in decoders with dense MLPs";
  }
  for (LayerSpec& layer : spec.layers) layer.rounds_inputs = spec.not_run.empty();
}

}  // namespace attnscope
