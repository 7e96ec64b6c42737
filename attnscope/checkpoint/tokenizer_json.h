// Parts of a tokenizer.json that several kinds of tokenizers share. Include it only from .cpp
// files. Source: huggingface/tokenizers.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace attnscope {

/// One of `added_tokens`, which are found in a text before anything else. `special`: decoding may
/// leave it out.
nlohmann::json added_token(std::int64_t id, const std::string& spelling, bool special);

/// Puts `first` before a text and `last` behind it, where they are given and in the vocabulary.
nlohmann::json template_of(const nlohmann::json& vocabulary, const std::string& first,
                           const std::string& last);

/// The pre-tokenizer or decoder of bytes that are spelled as letters. `cuts`: a text is cut into
/// words as GPT-2 cuts it.
nlohmann::json byte_level(bool add_prefix_space, bool cuts = true);

/// All of it but `added_tokens`, `normalizer`, `pre_tokenizer` and `post_processor`, which are
/// null.
nlohmann::json tokenizer_of(nlohmann::json model, nlohmann::json decoder);

/// `vocabulary`: spelling → id; `merges`: pairs in the order in which they are joined.
nlohmann::json pair_model(nlohmann::json vocabulary, nlohmann::json merges);

}  // namespace attnscope
