#include "attnscope/forward/generation/greedy_decoding.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "attnscope/base/error.h"
#include "attnscope/base/strict_json.h"
#include "attnscope/forward/logits.h"

namespace attnscope {
namespace {

using nlohmann::json;

constexpr std::uint64_t kConfigLimitBytes = 10'000'000;
constexpr const char* kKey = "eos_token_id";

/// Returns the ids in the value of one file.
std::vector<std::int64_t> ids_of(const json& value, const std::string& file) {
  std::vector<std::int64_t> ids;
  const json list = value.is_array() ? value : json::array({value});
  for (const json& id : list) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() > std::uint64_t{kMaxSize}) {
      throw Error(
          ErrorKind::format,
          {.file = file, .problem = "'eos_token_id' is not a token id or a list of token ids"});
    }
    ids.push_back(id.get<std::int64_t>());
  }
  return ids;
}

std::vector<std::int64_t> ids_in(const std::string& text, const std::string& file) {
  const json config = parse_python_json(text, file);
  for (const char* part : {"", "text_config"}) {
    const json* object = &config;
    if (*part != '\0') {
      if (!config.is_object() || !config.contains(part)) continue;
      object = &config.at(part);
    }
    if (!object->is_object() || !object->contains(kKey) || object->at(kKey).is_null()) continue;
    return ids_of(object->at(kKey), file);
  }
  return {};
}

/// Returns the token after `all`, whose first tokens are cached in `text`.
std::int64_t chosen_after(const ForwardPass& pass, KeyValueCache& text, const TokenIds& all,
                          const ChooseToken& choose, ForwardHooks* hooks, const Compute& compute) {
  if (!can_continue(pass.model().spec(), std::ssize(text.tokens()), std::ssize(all))) text.keep(0);
  const TokenIds unseen(all.begin() + std::ssize(text.tokens()), all.end());
  const Matrix<float> states =
      pass.run(std::span(&unseen, 1), {.hooks = hooks}, compute, std::span(&text, 1));
  const auto last = states.view().row_block(states.rows() - 1, 1);
  Matrix<float> logits = finite_logits(pass, last, compute);
  const std::span<float> all_logits(logits.data(), static_cast<std::size_t>(logits.cols()));
  return choose ? choose(all_logits, all) : most_likely_token(all_logits);
}

}  // namespace

std::vector<std::int64_t> end_tokens(const Model& model, const Tokenizer* tokenizer) {
  constexpr const char* kName = "generation_config.json";
  const CheckpointFolder& folder = model.checkpoint().folder();
  std::vector<std::int64_t> ids;
  if (folder.has(kName)) {
    ids = ids_in(folder.read_text(kName, kConfigLimitBytes), folder.place_of(kName));
  }
  if (ids.empty()) ids = ids_in(model.spec().text, model.spec().source);
  if (ids.empty() && tokenizer != nullptr) {
    if (const auto end = tokenizer->special_tokens().end) ids = {*end};
  }
  return ids;
}

std::int64_t most_likely_token(std::span<const float> logits) {
  return std::max_element(logits.begin(), logits.end()) - logits.begin();
}

Generated generate_greedily(const ForwardPass& pass, KeyValueCache& text, std::int64_t first,
                            std::int64_t count, std::span<const std::int64_t> ends,
                            const std::function<void(std::int64_t)>& on_token,
                            const Compute& compute, const ChooseToken& choose,
                            ForwardHooks* hooks) {
  using enum Generated::Ended;
  Generated out;
  TokenIds all = text.tokens();
  for (std::int64_t next = first; count > 0;) {
    out.tokens.push_back(next);
    all.push_back(next);
    on_token(next);
    if (std::find(ends.begin(), ends.end(), next) != ends.end()) out.ended = by_end_token;
    if (out.ended == by_end_token || std::ssize(out.tokens) == count) break;
    if (std::ssize(all) > pass.longest()) {
      out.ended = by_context;
      break;
    }
    next = chosen_after(pass, text, all, choose, hooks, compute);
    if (next >= pass.vocabulary()) break;
  }
  return out;
}

}  // namespace attnscope
