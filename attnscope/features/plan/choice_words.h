// What a choice leaves, in words of reports.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attnscope/features/plan/methods/method.h"
#include "attnscope/model/model.h"

namespace attnscope {

/// What the model has in the form's own unit; 0 of `latent` and `ranks`, which have none.
std::int64_t whole_size(const Model& model, Form form);

/// "6 → 5 (without 2)", of a model that has `whole` in the form's own unit.
std::string choice_words(const Choice& choice, std::int64_t whole);

/// As what stock transformers loads it, or why it does not; may be empty.
std::string remark_of(Form form);

/// The layers of so many that the choice leaves out, where its form is `layers`.
std::vector<std::int64_t> layers_left_out(const Choice& choice, std::int64_t layers);

}  // namespace attnscope
