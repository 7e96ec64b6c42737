// Components of a tokenizer.json that several types of tokenizers share. Include it only from .cpp
// files. Source: huggingface/tokenizers.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace attnscope {

/// Returns an entry of `added_tokens`, which are matched in a text before anything else. `special`:
/// decoding may skip it.
nlohmann::json added_token(std::int64_t id, const std::string& spelling, bool special);

/// How a tokenizer joins a pair of texts, after `first A last`.
enum class PairForm {
  one_end,         // BERT: B last; token type 1
  two_ends,        // RoBERTa: last B last; token type 0
  like_two_texts,  // decoders, T5: first B last; token type 1
};

/// Returns a post-processor that puts `first` before a text and `last` after it, if they are given
/// and in the vocabulary.
nlohmann::json template_of(const nlohmann::json& vocabulary, const std::string& first,
                           const std::string& last, PairForm form);

/// Returns the pre-tokenizer or decoder of byte-level tokenizers. `cuts`: splits a text into words
/// like GPT-2.
nlohmann::json byte_level(bool add_prefix_space, bool cuts = true);

/// Returns a tokenizer.json with null for `added_tokens`, `normalizer`, `pre_tokenizer` and
/// `post_processor`.
nlohmann::json tokenizer_of(nlohmann::json model, nlohmann::json decoder);

/// `vocabulary`: spelling → id; `merges`: pairs in merge order.
nlohmann::json pair_model(nlohmann::json vocabulary, nlohmann::json merges);

}  // namespace attnscope
