#include "attnscope/checkpoint/tokenizer_json.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace attnscope {

using nlohmann::json;

json added_token(std::int64_t id, const std::string& spelling, bool special) {
  return {{"id", id},        {"content", spelling}, {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", special}};
}

json template_of(const json& vocabulary, const std::string& first, const std::string& last,
                 PairForm form) {
  json special = json::object();
  const auto put = [&](json& into, const std::string& spelling, int type) {
    if (spelling.empty() || !vocabulary.contains(spelling)) return;
    into.push_back({{"SpecialToken", {{"id", spelling}, {"type_id", type}}}});
    special[spelling] = {{"id", spelling},
                         {"ids", json::array({vocabulary[spelling]})},
                         {"tokens", json::array({spelling})}};
  };
  const auto put_text = [](json& into, const char* text, int type) {
    into.push_back({{"Sequence", {{"id", text}, {"type_id", type}}}});
  };
  json single = json::array();
  put(single, first, 0);
  put_text(single, "A", 0);
  put(single, last, 0);
  json pair = single;
  const int second = form == PairForm::two_ends ? 0 : 1;
  if (form == PairForm::two_ends) put(pair, last, second);
  if (form == PairForm::like_two_texts) put(pair, first, second);
  put_text(pair, "B", second);
  put(pair, last, second);
  return {{"type", "TemplateProcessing"},
          {"single", single},
          {"pair", pair},
          {"special_tokens", special}};
}

json byte_level(bool add_prefix_space, bool cuts) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", add_prefix_space},
          {"trim_offsets", true},
          {"use_regex", cuts}};
}

json tokenizer_of(json model, json decoder) {
  return {{"version", "1.0"},          {"truncation", nullptr},
          {"padding", nullptr},        {"added_tokens", json::array()},
          {"normalizer", nullptr},     {"pre_tokenizer", nullptr},
          {"post_processor", nullptr}, {"decoder", std::move(decoder)},
          {"model", std::move(model)}};
}

json pair_model(json vocabulary, json merges) {
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", ""},
          {"end_of_word_suffix", ""},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", false},
          {"vocab", std::move(vocabulary)},
          {"merges", std::move(merges)}};
}

}  // namespace attnscope
