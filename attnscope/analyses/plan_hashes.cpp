#include "attnscope/analyses/plan_hashes.h"

#include "attnscope/core/content_hash.h"
#include "attnscope/core/text.h"
#include "attnscope/store/record_text.h"

namespace attnscope {

std::string windows_hash(const TextWindows& text) {
  std::string all = text.scored.empty() ? "" : "scored ";
  for (const auto& windows : {text.windows, text.sources, text.scored}) {
    for (const TokenIds& window : windows) all += content_hash(std::as_bytes(std::span(window)));
  }
  return content_hash(all);
}

std::string model_hash(const Model& model) {
  std::string text = content_hash(model.spec().text);
  for (const CheckpointTensor& tensor : model.checkpoint().tensors()) {
    text += tensor.name + shape_text(tensor.view.shape);
    model.checkpoint().need(tensor);
    for (const auto part : all_bytes(tensor.view)) text += content_hash(part);
    model.checkpoint().check_intact(tensor);
  }
  return content_hash(text);
}

std::string choice_hash(const Choice& choice) {
  Value::List kept;
  for (const std::vector<std::int64_t>& list : choice.kept) kept.emplace_back(list);
  Value::List ranks;
  for (const auto& [place, rank] : choice.ranks) {
    ranks.emplace_back(std::to_string(place.first) + "." + std::string(role_name(place.second)) +
                       ":" + std::to_string(rank));
  }
  Record all = {{"form", form_name(choice.form)},
                {"size", choice.size},
                {"joint", choice.joint},
                {"exact", choice.exact}};
  all.add("kept", std::move(kept)).add("ranks", std::move(ranks));
  return content_hash(record_text(all));
}

}  // namespace attnscope
