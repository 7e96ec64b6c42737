#include "attnscope/model/adapter.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

#include "attnscope/checkpoint/mapped_file.h"
#include "attnscope/core/error.h"
#include "attnscope/core/strict_json.h"

namespace attnscope {

namespace fs = std::filesystem;

void refuse_adapter(const fs::path& folder) {
  constexpr std::uint64_t kMaxBytes = 10'000'000;
  const fs::path file = folder / "adapter_config.json";
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return;
  const nlohmann::json config = parse_json(read_text_file(file, kMaxBytes), file.string());
  std::string base = "of a base model";
  if (config.is_object() && config.contains("base_model_name_or_path") &&
      config["base_model_name_or_path"].is_string()) {
    base = "of '" + config["base_model_name_or_path"].get<std::string>() + "'";
  }
  throw Error(ErrorKind::unsupported,
              {.file = folder.string(),
               .problem = "holds an adapter (LoRA), which only changes weights " + verbatim(base),
               .hint = "name the folder of the base model, or merge the adapter into it"});
}

}  // namespace attnscope
