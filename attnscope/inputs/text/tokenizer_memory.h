// How much memory tokenizers may take.
#pragma once

#include <cstdint>

namespace attnscope {

/// Sets about how much memory encoding or decoding may take if the steps of a tokenizer.json make a
/// text longer. Up to eight times a text's length always fits. Holds for the whole process, as its
/// memory does; 4 GiB before the first call.
void limit_tokenizer_memory(std::uint64_t bytes);

}  // namespace attnscope
