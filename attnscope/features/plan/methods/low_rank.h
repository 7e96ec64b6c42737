// Low-rank factorization: matrices of lower rank.
#pragma once

#include <string>

#include "attnscope/features/plan/methods/method.h"

namespace attnscope {

Method low_rank_method();

/// Why a rank of the choice is invalid: the matrix does not exist, or the factors would not be
/// smaller than the matrix. Empty if all ranks are valid.
std::string why_not_ranks(const Model& model, const Choice& choice);

}  // namespace attnscope
