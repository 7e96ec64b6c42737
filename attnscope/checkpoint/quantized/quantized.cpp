#include "attnscope/checkpoint/quantized/quantized.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "attnscope/base/strict_json.h"
#include "attnscope/checkpoint/quantized/methods.h"

namespace attnscope {
namespace {

struct Method {
  std::string_view name;  // quant_method
  void (*compose)(WeightParts& parts);
  bool is_evident = false;  // applied by the parts alone, if the configuration is not understood
};

constexpr Method kMethods[] = {
    {"awq", compose_awq},
    {"bitnet", compose_bitnet},
    {"bitsandbytes", compose_bitsandbytes, /*is_evident=*/true},
    {"compressed-tensors", compose_compressed_tensors},
    {"fbgemm_fp8", compose_fp8},
    {"fp8", compose_fp8, /*is_evident=*/true},
    {"gptq", compose_gptq},
    {"mxfp4", compose_mxfp4, /*is_evident=*/true},
};

}  // namespace

bool is_known_quantization(std::string_view method) {
  return std::any_of(std::begin(kMethods), std::end(kMethods),
                     [&](const Method& known) { return known.name == method; });
}

std::vector<CheckpointTensor> composed_tensors(const Checkpoint& checkpoint,
                                               std::string_view method, std::string_view config,
                                               std::string_view config_file) {
  const nlohmann::json parsed =
      config.empty() ? nlohmann::json::object() : parse_python_json(config, config_file);
  WeightParts parts(checkpoint, parsed, std::string(config_file));
  for (const Method& known : kMethods) {
    const bool wanted = is_known_quantization(method) ? known.name == method : known.is_evident;
    if (wanted) known.compose(parts);
  }
  return std::move(parts).take();
}

}  // namespace attnscope
