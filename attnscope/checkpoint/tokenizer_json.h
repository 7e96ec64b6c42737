// Parts of a tokenizer.json that several kinds of tokenizers have in common. Include it only from
// .cpp files. Source: huggingface/tokenizers.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace attnscope {

/// An entry of `added_tokens`, which are searched in a text before anything else. `special`:
/// decoding may leave it out.
nlohmann::json added_token(std::int64_t id, const std::string& spelling, bool special);

/// Puts `first` before a text and `last` after it, if they are given and in the vocabulary.
nlohmann::json template_of(const nlohmann::json& vocabulary, const std::string& first,
                           const std::string& last);

/// The pre-tokenizer or decoder for bytes that are spelled as letters. `cuts`: splits a text into
/// words as GPT-2 does.
nlohmann::json byte_level(bool add_prefix_space, bool cuts = true);

/// A tokenizer.json without `added_tokens`, `normalizer`, `pre_tokenizer` and `post_processor`,
/// which are null.
nlohmann::json tokenizer_of(nlohmann::json model, nlohmann::json decoder);

/// `vocabulary`: spelling → id; `merges`: pairs in the order in which they are joined.
nlohmann::json pair_model(nlohmann::json vocabulary, nlohmann::json merges);

}  // namespace attnscope
