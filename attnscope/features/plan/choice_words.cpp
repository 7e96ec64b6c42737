#include "attnscope/features/plan/choice_words.h"

#include <algorithm>

#include "attnscope/base/text.h"

namespace attnscope {

std::int64_t whole_size(const Model& model, Form form) {
  const Dimensions& dimensions = model.dimensions();
  switch (form) {
    case Form::layers: return dimensions.layers;
    case Form::width: return dimensions.mlp_width;
    case Form::hidden: return dimensions.width;
    case Form::head_width: return dimensions.heads.head_dim;
    case Form::kv_heads: return dimensions.heads.kv_heads;
    case Form::heads: return dimensions.heads.heads;
    case Form::experts: return dimensions.experts;
    default: return 0;
  }
}

std::string choice_words(const Choice& choice, std::int64_t whole) {
  const std::string from_to = std::to_string(whole) + " → " + std::to_string(choice.size);
  switch (choice.form) {
    case Form::layers: {
      const std::vector<std::int64_t> gone = layers_left_out(choice, whole);
      return from_to + (gone.empty() ? "" : " (without " + runs_text(gone) + ")");
    }
    case Form::width: return "MLP " + from_to;
    case Form::latent:
      return std::to_string(choice.size) + " rotary + " + std::to_string(choice.joint) + " + 1";
    case Form::ranks: return counted(choice.ranks.size(), "matrix", "matrices") + " as factors";
    default: return from_to;
  }
}

std::string remark_of(Form form) {
  switch (form) {
    case Form::ranks: return "as factors, in own runtimes";
    case Form::latent: return "as deepseek_v3";
    case Form::hidden: return "head untied";
    default: return "";
  }
}

std::vector<std::int64_t> layers_left_out(const Choice& choice, std::int64_t layers) {
  std::vector<std::int64_t> gone;
  const auto& kept = choice.kept.front();
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    if (std::find(kept.begin(), kept.end(), layer) == kept.end()) gone.push_back(layer);
  }
  return gone;
}

}  // namespace attnscope
