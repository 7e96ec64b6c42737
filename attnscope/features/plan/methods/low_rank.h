// Low-rank factorization: matrices of lower rank.
#pragma once

#include <string>

#include "attnscope/features/plan/methods/method.h"

namespace attnscope {

Method low_rank_method();

/// Which rank of the choice is not one of the model's, or one at which factors are no smaller than
/// the matrix; empty if all are right.
std::string why_not_ranks(const Model& model, const Choice& choice);

}  // namespace attnscope
