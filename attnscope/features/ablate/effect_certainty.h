// Certainty of effects on prompts in both directions: intervals and sign-flip tests.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attnscope/features/common/certainty.h"
#include "attnscope/features/common/prompt_preference.h"
#include "attnscope/model/model.h"

namespace attnscope {

struct EffectCertainties {
  Certainty denoising, noising;
};

/// Collects the rows of one model: see TestedRows.
class EffectRows {
 public:
  EffectRows(std::string model, std::size_t prompts, const std::vector<std::int64_t>& groups,
             RowSink& sink);

  /// `row`: complete except for the fields of add_certainty_fields().
  void add(Record row, EffectCertainties certainties);
  void finish() { rows_.finish(); }

 private:
  TestedRows rows_;
};

/// Writes the rows of each model. `parts`: results, each with the index of its `model`. Calls
/// add(model, part, rows) for each of them, and then note(model, its first part).
template <class Part, class Add, class Note>
void write_effect_rows(std::span<const Model> models, const PromptsRequest& prompts,
                       const std::vector<Part>& parts, RowSink& sink, const Add& add,
                       const Note& note) {
  for (std::size_t index = 0; index < models.size(); ++index) {
    EffectRows rows(models[index].name(), prompts.of_models[index].clean.size(), prompts.groups,
                    sink);
    const Part* first = nullptr;
    for (const Part& part : parts) {
      if (part.model != index) continue;
      if (first == nullptr) first = &part;
      add(models[index], part, rows);
    }
    rows.finish();
    if (first != nullptr) note(models[index], *first);
  }
}

}  // namespace attnscope
