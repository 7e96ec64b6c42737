#include "attnscope/model/bias_names.h"

#include <array>
#include <utility>

namespace attnscope {

std::vector<std::string> bias_names(std::string_view weight) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kEndings = {{
      {"weight", "bias"},  // of PyTorch
      {"kernel", "bias"},  // of Keras and Flax
      {".w", ".b"},
      {"_w", "_b"},
  }};
  std::vector<std::string> names;
  for (const auto& [of_weight, of_bias] : kEndings) {
    if (!weight.ends_with(of_weight)) continue;
    names.emplace_back(weight.substr(0, weight.size() - of_weight.size()));
    names.back() += of_bias;
    return names;
  }
  for (const char* added : {".bias", "_bias"}) names.push_back(std::string(weight) + added);
  return names;
}

}  // namespace attnscope
