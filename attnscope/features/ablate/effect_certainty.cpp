#include "attnscope/features/ablate/effect_certainty.h"

#include <utility>

namespace attnscope {

EffectRows::EffectRows(std::string model, std::size_t prompts,
                       const std::vector<std::int64_t>& groups, RowSink& sink)
    : rows_(std::move(model), prompts, groups,
            {{.interval = "denoising_effect", .test = "denoising"},
             {.interval = "noising_effect", .test = "noising"}},
            sink) {}

void EffectRows::add(Record row, EffectCertainties certainties) {
  rows_.add(std::move(row), {std::move(certainties.denoising), std::move(certainties.noising)});
}

}  // namespace attnscope
