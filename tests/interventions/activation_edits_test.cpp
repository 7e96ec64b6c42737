// Edits of activations, compared with hooks of PyTorch that change modules of transformers.
// Expected logits: tools/golden_edits.py.
#include "attnscope/interventions/activation_edits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/forward/generation/greedy_decoding.h"
#include "tests/support/golden_variants.h"
#include "tests/support/json.h"

namespace attnscope {
namespace {

using namespace test;
using nlohmann::json;

std::filesystem::path golden(const char* ending) {
  return std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/golden/hooks/edits" += ending;
}

std::vector<std::int64_t> list_in(const json& record, const char* key) {
  if (!record.contains(key)) return {};
  const json& value = record[key];
  return value.is_array() ? value.get<std::vector<std::int64_t>>()
                          : std::vector<std::int64_t>{value.get<std::int64_t>()};
}

/// Appends the numbers of nested lists.
void append_numbers(const json& value, std::vector<float>& out) {
  if (!value.is_array()) return out.push_back(value.get<float>());
  for (const json& inner : value) append_numbers(inner, out);
}

ActivationEdit edit_in(const json& record) {
  ActivationEdit edit{.point = *hook_from_name(record["name"].get<std::string>()),
                      .layers = list_in(record, "layer"),
                      .heads = list_in(record, "head"),
                      .where = "edit"};
  edit.one_head = record.contains("head") && !record["head"].is_array();
  if (record.contains("positions") && record["positions"] == "last") {
    edit.positions = {{-1, -1}};
  } else {
    for (const std::int64_t at : list_in(record, "positions")) edit.positions.push_back({at, at});
  }
  const std::vector<std::pair<const char*, EditHow>> operations = {
      {"set", EditHow::set},
      {"add", EditHow::add},
      {"scale", EditHow::scale},
      {"project_out", EditHow::project_out}};
  for (const auto& [key, how] : operations) {
    if (!record.contains(key)) continue;
    edit.how = how;
    const json* inner = &record[key];
    for (; inner->is_array(); inner = &inner->front()) {
      edit.value.shape.push_back(std::ssize(*inner));
    }
    append_numbers(record[key], edit.value.numbers);
  }
  return edit;
}

Matrix<float> logits_of(const ForwardPass& pass, const TokenIds& tokens, ForwardHooks* hooks) {
  const Matrix<float> states = pass.run(std::span(&tokens, 1), {.hooks = hooks}, {});
  return pass.logits(states.view(), {});
}

TEST(ActivationEdits, EqualHooksOfPyTorch) {
  const json cases = json::parse(std::ifstream(golden(".json")));
  const Checkpoint file = Checkpoint::open(golden(".safetensors"));
  ASSERT_GT(cases.size(), 60u);
  for (std::size_t at = 0; at < cases.size(); ++at) {
    const json& one = cases[at];
    const Model model = model_of({.model = one["model"]});
    const ForwardPass pass(model, /*copy_weights=*/false, {});
    std::vector<ActivationEdit> edits;
    for (const json& record : one["edits"]) edits.push_back(edit_in(record));
    check_edits(pass, edits);
    EditHooks hooks(pass, edits);
    const TokenIds tokens(one["tokens"].get<std::vector<std::int64_t>>());
    const Matrix<float> found = logits_of(pass, tokens, &hooks);
    const Matrix<float> plain = logits_of(pass, tokens, nullptr);
    const std::vector<float> expected = values_of(*file.find(std::to_string(at)));
    double largest = 0, off = 0, changed = 0;
    for (std::size_t index = 0; index < expected.size(); ++index) {
      const auto wanted = static_cast<double>(expected[index]);
      largest = std::max(largest, std::abs(wanted));
      off = std::max(off, std::abs(static_cast<double>(found.data()[index]) - wanted));
      changed = std::max(changed, std::abs(static_cast<double>(plain.data()[index]) - wanted));
    }
    EXPECT_LE(off, 1e-5 * largest) << one.dump();
    EXPECT_GT(changed, 1e-3 * largest) << one.dump();
  }
}

/// The tokens generated with a cache, and those found by running the whole text for each token.
void expect_same_generation(const ForwardPass& pass, const ActivationEdit& edit) {
  const TokenIds prompt = {3, 17, 8, 25, 11};
  const std::vector<ActivationEdit> edits = {edit};
  EditHooks hooks(pass, edits, nullptr, std::ssize(prompt));
  constexpr std::int64_t kTokens = 5;
  TokenIds whole = prompt;
  const auto most_likely = [](const Matrix<float>& logits) {
    const float* last = &logits(logits.rows() - 1, 0);
    return most_likely_token({last, static_cast<std::size_t>(logits.cols())});
  };
  for (std::int64_t step = 0; step < kTokens; ++step) {
    whole.push_back(most_likely(logits_of(pass, whole, &hooks)));
  }
  std::vector<KeyValueCache> cache;
  cache.emplace_back(pass.model().spec(), std::ssize(prompt) + kTokens);
  const Matrix<float> states = pass.run(std::span(&prompt, 1), {.hooks = &hooks}, {}, cache);
  const std::int64_t first = most_likely(pass.logits(states.view(), {}));
  const Generated found = generate_greedily(
      pass, cache.front(), first, kTokens, {}, [](std::int64_t) {}, {}, {}, &hooks);
  EXPECT_EQ(found.tokens, TokenIds(whole.begin() + std::ssize(prompt), whole.end()))
      << hook_name(edit.point);
}

TEST(ActivationEdits, GenerationWithACacheEqualsGenerationWithoutIt) {
  for (const char* name : {"gpt2", "llama", "gemma2", "mixtral", "qwen3_next"}) {
    const Model model = model_of({.model = name});
    const ForwardPass pass(model, /*copy_weights=*/false, {});
    for (std::size_t at = 0; at + 1 < hook_names().size(); ++at) {
      const auto point = static_cast<HookPoint>(at);
      const bool exists = hook_shape(pass, point, 1).has_value();
      if (!exists || point == HookPoint::expert_index) continue;
      for (const int where : {0, 1, 2, 3}) {
        ActivationEdit edit{.point = point, .layers = {1}, .how = EditHow::scale, .where = "edit"};
        edit.value = {.shape = {}, .numbers = {-1.5F}};
        if (is_of_model(point)) edit.layers = {};
        if (where == 1) edit.positions = {{-1, -1}};
        if (where == 2) edit.each_new = true;
        if (where == 3) edit.positions = {{1, 2}};
        // −∞ times a negative number would attend to masked keys.
        if (point == HookPoint::attn_scores) edit.value.numbers = {0.25F};
        expect_same_generation(pass, edit);
      }
    }
  }
}

TEST(ActivationEdits, AreAppliedInTheOrderGiven) {
  const Model model = model_of({.model = "llama"});
  const ForwardPass pass(model, /*copy_weights=*/false, {});
  const TokenIds tokens = {3, 4, 5};
  const auto logits = [&](std::vector<ActivationEdit> edits) {
    EditHooks hooks(pass, edits);
    return logits_of(pass, tokens, &hooks)(2, 0);
  };
  const auto edit = [](EditHow how, float value) {
    return ActivationEdit{.point = HookPoint::mlp_out,
                          .layers = {0},
                          .how = how,
                          .value = {.shape = {}, .numbers = {value}},
                          .where = "edit"};
  };
  const ActivationEdit add = edit(EditHow::add, 1), twice = edit(EditHow::scale, 2);
  EXPECT_NE(logits({add, twice}), logits({twice, add}));
  EXPECT_EQ(logits({twice, edit(EditHow::set, 0)}), logits({edit(EditHow::set, 0)}));
}

TEST(ActivationEdits, RefusesWhatTheModelDoesNotHave) {
  const Model model = model_of({.model = "llama"});
  const ForwardPass pass(model, /*copy_weights=*/false, {});
  const auto problem = [&](const char* record) {
    try {
      check_edits(pass, {edit_in(json::parse(record))});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  const std::vector<std::pair<const char*, const char*>> cases = {
      {R"({"name": "q_normed", "scale": 0})", "has no 'q_normed'"},
      {R"({"name": "z", "layer": 2, "scale": 0})", "has layers 0 to 1"},
      {R"({"name": "k", "head": 2, "scale": 0})", "has heads 0 to 1"},
      {R"({"name": "attn_out", "head": 0, "scale": 0})", "has no heads"},
      {R"({"name": "attn_out", "set": [1, 2]})", "does not fit (24)"},
      {R"({"name": "z", "head": 1, "set": [[1], [2]]})", "accepted"},
      {R"({"name": "z", "project_out": [0, 0, 0, 0, 0, 0, 0, 0]})", "not 0"},
      {R"({"name": "pattern", "project_out": [1]})", "no directions"},
      {R"({"name": "logits", "scale": 0})", "cannot be edited"},
      {R"({"name": "expert_index", "scale": 0})", "cannot be edited"}};
  for (const auto& [record, expected] : cases) {
    EXPECT_NE(problem(record).find(expected), std::string::npos) << problem(record);
  }
}

}  // namespace
}  // namespace attnscope
