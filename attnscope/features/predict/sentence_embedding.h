// The embedding that sentence-transformers computes from the last hidden states of a text.
#pragma once

#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/checkpoint/sentence_transformers.h"

namespace attnscope {

/// `states`: (T, D). Returns the poolings one after another, D values each. Sums are in float64.
std::vector<float> sentence_embedding(const SentenceModules& modules,
                                      MatrixView<const float> states);

}  // namespace attnscope
