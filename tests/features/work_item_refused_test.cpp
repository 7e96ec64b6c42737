// Malformed work items, and items that refer to something that does not exist.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/engine/work_item.h"
#include "tests/features/work_item_cases.h"
#include "tests/support/expect_error.h"

namespace attnscope::test {
namespace {

using namespace std::string_literals;

TEST(WorkItem, RejectsMalformedTextWithItsPosition) {
  const std::string audio = work_item_text(
      {.analysis = "spectrum", .parameters = {{"values", true}}, .layer = 1, .role = Role::query});
  // Every prefix of the text, and the text with any byte changed, is rejected or gives a valid
  // item.
  for (std::size_t length = 0; length < audio.size(); ++length) {
    EXPECT_ERROR_SAYING(ErrorKind::format, parse_work_item(audio.substr(0, length), "the place"),
                        "the place");
  }
  for (std::size_t at = 0; at < audio.size(); ++at) {
    for (const char c : {'\0', '"', '{', '}', '-', '9', '\xFF'}) {
      std::string text = audio;
      text[at] = c;
      try {
        parse_work_item(text, "the place");
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::format) << text;
        EXPECT_EQ(error.parts().file, "the place") << text;
      }
    }
  }
  const std::string rest = R"("parameters":{},"tensor":"")";
  for (const std::string& text : {
           R"({})"s,
           R"([])"s,
           R"({"analysis":"mla",)" + rest + "}",
           R"({"analysis":5,"model":0,)" + rest + "}",
           R"({"analysis":"mla","model":-1,)" + rest + "}",
           R"({"analysis":"mla","model":0.5,)" + rest + "}",
           R"({"analysis":"mla","model":18446744073709551615,)" + rest + "}",
           R"({"analysis":"mla","model":0,"layer":-1,)" + rest + "}",
           R"({"analysis":"mla","model":0,"layer":"1",)" + rest + "}",
           R"({"analysis":"mla","model":0,"layer":1,"earlier_layer":-2,)" + rest + "}",
           R"({"analysis":"mla","model":0,"role":"queries",)" + rest + "}",
           R"({"analysis":"mla","model":0,"role":1,)" + rest + "}",
           R"({"analysis":"mla","model":0,"parameters":[],"tensor":""})"s,
           R"({"analysis":"mla","model":0,"parameters":{}})"s,
       }) {
    SCOPED_TRACE(text);
    EXPECT_ERROR_SAYING(ErrorKind::format, parse_work_item(text, "the place"), "the place");
  }
}

TEST(WorkItem, RejectsExpertsThatDoNotExist) {
  const std::vector<Model> models = open_models({"forward/qwen2_moe-dense", "llama"});
  const std::vector<ModelSource> sources = sources_of(models);
  WorkItem audio{.analysis = "weights",
                 .parameters = {{"per_head", false}, {"histogram", false}},
                 .layer = 1,
                 .role = Role::up,
                 .experts = {0, 5}};
  EXPECT_EQ(compute_item(audio, sources, {}).size(), 3u);
  const std::pair<const char*, std::function<void(WorkItem&)>> wrong[] = {
      {"has no such experts", [](WorkItem& item) { item.experts = {6}; }},
      {"has no such experts", [](WorkItem& item) { item.layer = 0; }},
      {"has no such experts", [](WorkItem& item) { item.role = Role::query; }},
      {"has no such experts", [](WorkItem& item) { item.model = 1; }},
      {"does not support experts",
       [](WorkItem& item) {
         item.analysis = "circuits";
         item.role = Role::qk;
       }},
  };
  for (const auto& [problem, change] : wrong) {
    WorkItem item = audio;
    change(item);
    EXPECT_ERROR_SAYING(ErrorKind::format, compute_item(item, sources, {}), problem);
  }
}

TEST(WorkItem, RejectsReferencesThatDoNotExist) {
  const std::vector<Model> models = open_models();
  std::vector<ModelSource> sources = sources_of(models);
  sources.push_back({.checkpoint = &models[1].checkpoint(), .name = "weights alone"});
  std::vector<std::pair<std::string, WorkItem>> wrong;
  for (const WorkItemCase& asked : work_item_cases()) {
    if (asked.models.front() != "llama") continue;  // see above
    const WorkItem audio = items_of(asked, models).back();
    EXPECT_FALSE(compute_item(audio, sources, {}).empty()) << asked.name;
    const auto add = [&](const std::string& said, const std::function<void(WorkItem&)>& change) {
      WorkItem item = audio;
      change(item);
      wrong.emplace_back(said, item);
    };
    add("analysis", [](WorkItem& item) { item.analysis = "spectra"; });
    add("analysis", [](WorkItem& item) { item.analysis = ""; });
    add("model", [](WorkItem& item) { item.model = 3; });
    if (audio.batch) {
      add("layer", [](WorkItem& item) { item.layer = 0; });
      add("layer", [](WorkItem& item) { item.batch->layers = {2}; });
      add("layer", [](WorkItem& item) { item.batch->layers.clear(); });
      add("sequences", [](WorkItem& item) { item.batch.reset(); });
      continue;
    }
    add("sequences", [](WorkItem& item) {
      item.batch = SequenceBatch{.tokens = {{1, 2}}, .layers = {0}};
    });
    add("layer", [](WorkItem& item) { item.model = 2; });
    add("layer", [](WorkItem& item) { item.layer = 2; });
    add("layer", [](WorkItem& item) { item.layer = -1; });
    add("layer", [](WorkItem& item) { item.layer.reset(); });
    add("layer", [](WorkItem& item) { item.earlier_layer = 1; });
    add("layer", [](WorkItem& item) { item.earlier_layer = 2; });
    add("layer", [](WorkItem& item) { item.earlier_layer = -1; });
    add("tensor", [](WorkItem& item) { item.tensor = "no tensor"; });
    if (!asked.parameters.fields().empty()) {
      add("field", [](WorkItem& item) { item.parameters = {}; });
    }
    if (asked.roles.empty()) {
      add("role", [](WorkItem& item) { item.role = Role::query; });
      continue;
    }
    add("role", [](WorkItem& item) { item.role.reset(); });
    add("'gate'", [](WorkItem& item) { item.role = Role::gate; });  // GPT-2 has no gate
    for (const Role role : {Role::query, Role::down, Role::qk, Role::kv}) {
      if (std::find(asked.roles.begin(), asked.roles.end(), role) != asked.roles.end()) continue;
      add("'" + std::string(role_name(role)) + "'", [=](WorkItem& item) { item.role = role; });
    }
  }
  const auto head_matrix = [](std::int64_t head) {
    return WorkItem{
        .analysis = "head_matrix", .parameters = {{"head", head}}, .layer = 0, .role = Role::key};
  };
  wrong.emplace_back("head", head_matrix(-1));
  wrong.emplace_back("head", head_matrix(2));  // there are two key/value heads
  const auto tensor = [](const std::string& analysis, const std::string& name) {
    return WorkItem{.analysis = analysis,
                    .parameters = {{"energy", std::vector<double>{0.9}},
                                   {"values", false},
                                   {"rank", Value::List{"0.5D"}}},
                    .model = 1,
                    .tensor = name};
  };
  wrong.emplace_back("matrix", tensor("spectrum", "transformer.h.1.ln_1.weight"));
  wrong.emplace_back("tensor", tensor("mla", "transformer.h.1.attn.c_attn.weight"));
  wrong.emplace_back("rank", tensor("spectrum", "transformer.h.1.attn.c_attn.weight"));
  for (const auto& [said, wrong_item] : wrong) {
    const WorkItem& item = wrong_item;
    SCOPED_TRACE(work_item_text(item));
    EXPECT_ERROR_SAYING(ErrorKind::format, compute_item(item, sources, {}), said);
  }
}

TEST(WorkItem, RejectsAVariantThatTheModelDoesNotHave) {
  const std::vector<Model> models = open_models();
  const std::vector<ModelSource> sources = sources_of(models);
  WorkItem turned{.analysis = "circuits",
                  .parameters = {{"energy", std::vector<double>{0.9}},
                                 {"fold_norm", false},
                                 {"with_bias", false},
                                 {"rope_offset", 3},
                                 {"all_eigenvalues", false}},
                  .layer = 0,
                  .role = Role::qk};
  EXPECT_FALSE(compute_item(turned, sources, {}).empty());
  turned.model = 1;  // GPT-2 has no RoPE
  EXPECT_ERROR_SAYING(ErrorKind::usage, compute_item(turned, sources, {}), "rotary");
  const WorkItem biased{
      .analysis = "composition",
      .parameters = {{"fold_norm", false}, {"with_bias", true}, {"rope_offset", 0}},
      .layer = 1,
      .earlier_layer = 0};
  EXPECT_ERROR_SAYING(ErrorKind::usage, compute_item(biased, sources, {}), "with_bias");
}

}  // namespace
}  // namespace attnscope::test
