#include "attnscope/model/adapter.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "attnscope/core/error.h"
#include "attnscope/core/strict_json.h"

namespace attnscope {

void refuse_adapter(const CheckpointFolder& folder) {
  constexpr std::uint64_t kMaxBytes = 10'000'000;
  constexpr const char* kName = "adapter_config.json";
  if (!folder.has(kName)) return;
  const nlohmann::json config =
      parse_json(folder.read_text(kName, kMaxBytes), folder.place_of(kName));
  std::string base = "of a base model";
  if (config.is_object() && config.contains("base_model_name_or_path") &&
      config["base_model_name_or_path"].is_string()) {
    base = "of '" + config["base_model_name_or_path"].get<std::string>() + "'";
  }
  throw Error(ErrorKind::unsupported,
              {.file = folder.path().string(),
               .problem = "holds an adapter (LoRA), which only changes weights " + verbatim(base),
               .hint = "name the folder of the base model, or merge the adapter into it"});
}

}  // namespace attnscope
