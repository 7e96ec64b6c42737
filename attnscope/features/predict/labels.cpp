#include "attnscope/features/predict/labels.h"

#include <nlohmann/json.hpp>

#include "attnscope/base/strict_json.h"

namespace attnscope {

std::vector<std::string> label_names(const ModelSpec& spec) {
  const nlohmann::json config = parse_python_json(spec.text, spec.source);
  const auto labels = config.find("id2label");
  if (labels == config.end() || !labels->is_object()) return {};
  std::vector<std::string> names;
  for (std::size_t id = 0; id < labels->size(); ++id) {
    const auto name = labels->find(std::to_string(id));
    if (name == labels->end() || !name->is_string()) return {};
    names.push_back(name->get<std::string>());
  }
  return names;
}

}  // namespace attnscope
