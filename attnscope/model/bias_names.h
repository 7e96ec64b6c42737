// How files name the bias of a weight.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attnscope {

/// The names that it may have, the likeliest first: `q.bias` of `q.weight`, `in_proj_bias` of
/// `in_proj_weight`, `fc_b` of `fc_w`, `wq.bias` and `wq_bias` of `wq`.
std::vector<std::string> bias_names(std::string_view weight);

}  // namespace attnscope
