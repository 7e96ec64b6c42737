// What `info` says of a model's experts.
#pragma once

#include <cstdint>
#include <optional>

#include "attnscope/model/model.h"

namespace attnscope {

/// Of models that have experts.
struct ExpertFacts {
  std::int64_t count = 0;              // in each layer that has some
  std::int64_t layers = 0;             // that have some
  std::int64_t width = 0;              // F of one
  std::int64_t shared_width = 0;       // F of those that every token passes
  std::optional<std::int64_t> chosen;  // of a token; none if the forward pass is not described
  std::int64_t active_parameters = 0;  // without the experts that a token does not pass
};

/// `parameters`: of the files; `of_experts`: those of all experts among them. The model has some.
ExpertFacts expert_facts(const Model& model, std::int64_t parameters, std::int64_t of_experts);

}  // namespace attnscope
