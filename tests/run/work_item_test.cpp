// Work items as what they are: values that can be written down, and from which any process that has
// the same checkpoints computes the same.
#include "attnscope/run/work_item.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "attnscope/analyses/attention.h"
#include "attnscope/analyses/circuits.h"
#include "attnscope/analyses/mla.h"
#include "attnscope/analyses/sequence_batches.h"
#include "attnscope/analyses/similarity.h"
#include "attnscope/analyses/spectrum.h"
#include "attnscope/analyses/weights.h"
#include "attnscope/commands/analyses.h"
#include "attnscope/store/record_text.h"
#include "tests/support/expect_error.h"

namespace attnscope::test {
namespace {

using namespace std::string_literals;

std::filesystem::path model_path(const std::string& name) {
  return std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/data" / name;
}

/// Two models of different families, each opened for itself.
std::vector<Model> open_models() {
  std::vector<Model> models;
  models.push_back(Model::open(model_path("llama")));
  models.push_back(Model::open(model_path("gpt2")));
  return models;
}

/// One request, and the items that stand for it.
struct Case {
  std::string name;
  std::function<void(std::span<const Model>, RowSink&)> run;
  Record parameters;
  std::vector<Role> roles;
  std::vector<std::int64_t> layers = {0, 1};
  std::vector<TokenIds> sequences = {};  // of batches, which name no layer
};

/// The items of all models, layer by layer.
std::vector<WorkItem> items_of(const Case& asked, std::span<const Model> models) {
  Plan plan{.analysis = find_analysis(asked.name), .parameters = asked.parameters};
  for (std::size_t model = 0; model < models.size(); ++model) {
    if (!asked.sequences.empty()) {
      add_batches(plan, model, asked.sequences, asked.layers);
      continue;
    }
    for (const std::int64_t layer : asked.layers) {
      for (const Role role : asked.roles) {
        if (models[model].describes(role)) plan.add(model, layer).role = role;
      }
      if (!asked.roles.empty()) continue;
      plan.add(model, layer);
      for (std::int64_t earlier = 0; earlier < layer; ++earlier) {
        plan.add(model, layer).earlier_layer = earlier;
      }
    }
  }
  return plan.items;
}

/// As run_induction() draws them of 40 tokens, which is the vocabulary of both models.
std::vector<TokenIds> repeated_tokens(std::size_t sequences, std::size_t block,
                                      std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<TokenIds> out(sequences, TokenIds(2 * block));
  for (TokenIds& ids : out) {
    for (std::size_t at = 0; at < block; ++at) {
      ids[at] = ids[at + block] = static_cast<std::int64_t>(generator() % 40);
    }
  }
  return out;
}

std::vector<Case> cases() {
  const std::vector<double> energy = {0.5, 0.9};
  const std::vector<Role> all = {Role::query, Role::key,  Role::value, Role::output, Role::gate,
                                 Role::up,    Role::down, Role::qk,    Role::ov,     Role::kv};
  const BinRule bins{.bins = 7, .range = ValueRange{-0.25, 0.5}};
  const CircuitVariant folded{.fold_norm = FoldNorm::centred, .with_bias = true};
  const Record folded_parameters = {
      {"fold_norm", "centred"}, {"with_bias", true}, {"rope_offset", 0}};
  Record circuits = {{"energy", energy}};
  for (const auto& [name, value] : folded_parameters.fields()) circuits.add(name, value);
  circuits.add("all_eigenvalues", false);
  const std::vector<TokenIds> sequences = {{1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}};
  return {
      {.name = "spectrum",
       .run =
           [=](auto models, RowSink& sink) {
             run_spectrum(models,
                          {.matrices = all,
                           .per_head = true,
                           .thresholds = energy,
                           .ranks = {{.number = 3}, {.number = 0.25, .of_width = true}},
                           .with_values = true},
                          {}, sink);
           },
       .parameters = {{"energy", energy},
                      {"values", true},
                      {"rank", Value::List{"3", "0.25D"}},
                      {"per_head", true}},
       .roles = all},
      {.name = "mla",
       .run = [=](auto models,
                  RowSink& sink) { run_mla(models, {.thresholds = energy}, {}, sink); },
       .parameters = {{"energy", energy}},
       .roles = {Role::query, Role::kv}},
      {.name = "weights",
       .run =
           [=](auto models, RowSink& sink) {
             run_weights(models, {.per_head = true, .with_histogram = true, .bins = bins}, {},
                         sink);
           },
       .parameters = {{"per_head", true},
                      {"histogram", true},
                      {"bins", 7},
                      {"range", Value::List{-0.25, 0.5}}},
       .roles = {kProjections.begin(), kProjections.end()}},
      {.name = "similarity",
       .run =
           [=](auto models, RowSink& sink) {
             run_similarity(models, {.with_histogram = true, .bins = {.freedman_diaconis = true}},
                            {}, sink);
           },
       .parameters = {{"histogram", true}, {"bins", "fd"}, {"range", nullptr}},
       .roles = {Role::query, Role::key, Role::value}},
      {.name = "head_overlap",
       .run = [](auto models,
                 RowSink& sink) { run_similarity(models, {.overlap = true}, {}, sink); },
       .parameters = {},
       .roles = {Role::query, Role::key, Role::value}},
      {.name = "head_matrix",
       .run =
           [](auto models, RowSink& sink) {
             run_similarity(models, {.head_matrix = HeadPlace{.layer = -1, .head = 1}}, {}, sink);
           },
       .parameters = {{"head", 1}},
       .roles = {Role::query, Role::key, Role::value},
       .layers = {1}},
      {.name = "circuits",
       .run =
           [=](auto models, RowSink& sink) {
             run_circuits(models, {.thresholds = energy, .variant = folded}, {}, sink);
           },
       .parameters = circuits,
       .roles = {Role::qk, Role::ov}},
      {.name = "composition",
       .run =
           [](auto models, RowSink& sink) {
             run_composition(models, {.variant = {.fold_norm = FoldNorm::gain}}, {}, sink);
           },
       .parameters = {{"fold_norm", true}, {"with_bias", false}, {"rope_offset", 0}},
       .roles = {}},
      {.name = "attention",
       .run =
           [=](auto models, RowSink& sink) {
             AttentionRequest request{.energy = 0.8};
             request.sequences.resize(models.size(), sequences);
             run_attention(models, request, {}, sink);
           },
       .parameters = {{"energy", 0.8}, {"without_first", false}},
       .sequences = sequences},
      {.name = "induction",
       .run =
           [](auto models, RowSink& sink) {
             run_induction(models, {.sequences = 2, .block = 3, .seed = 5}, {}, sink);
           },
       .sequences = repeated_tokens(2, /*block=*/3, /*seed=*/5)},
  };
}

/// Everything that a report holds beside its head, to the last digit.
std::vector<std::string> texts_of(const Report& report) {
  std::vector<std::string> texts;
  for (const Record& row : report.rows) texts.push_back(record_text(row));
  for (const Skipped& skipped : report.skipped) {
    texts.push_back("skipped " + skipped.model + " " + skipped.matrix + " " +
                    std::to_string(skipped.layer.value_or(-1)) + " " +
                    std::to_string(skipped.head.value_or(-1)) + " " + skipped.reason);
  }
  return texts;
}

/// What any process would make of the items: they come as text, and it opens the files itself.
std::vector<std::string> computed_elsewhere(const std::vector<WorkItem>& items,
                                            std::span<const ModelSource> sources) {
  std::vector<std::string> texts;
  for (const WorkItem& item : items) texts.push_back(work_item_text(item));
  ReportCollector rows;
  RowMaker maker = find_analysis(items.at(0).analysis)->make_rows(rows);
  for (const std::string& text : texts) {
    const WorkItem item = parse_work_item(text, "another process");
    maker.add({sources[item.model].name, item.layer, item.matrix_name()},
              compute_item(item, sources, {}));
  }
  maker.finish();
  return texts_of(rows.report());
}

TEST(WorkItem, AnalysesHaveTheirOwnNames) {
  for (const Analysis* analysis : analyses()) EXPECT_EQ(find_analysis(analysis->name), analysis);
  EXPECT_EQ(analyses().size(), cases().size()) << "an analysis without a case here";
  EXPECT_EQ(find_analysis("spectra"), nullptr);
}

TEST(WorkItem, IsTheSameAfterItWasText) {
  const std::vector<Model> models = open_models();
  std::vector<WorkItem> items;
  for (const Case& asked : cases()) {
    for (WorkItem& item : items_of(asked, models)) items.push_back(std::move(item));
  }
  items.push_back({.analysis = "spectrum", .model = 7, .tensor = "ä \"quoted\"\n\\ name"});
  for (const WorkItem& item : items) {
    const std::string text = work_item_text(item);
    SCOPED_TRACE(text);
    const WorkItem read = parse_work_item(text, "");
    EXPECT_EQ(read.analysis, item.analysis);
    EXPECT_EQ(record_text(read.parameters), record_text(item.parameters));
    EXPECT_EQ(read.model, item.model);
    EXPECT_EQ(read.layer, item.layer);
    EXPECT_EQ(read.earlier_layer, item.earlier_layer);
    EXPECT_EQ(read.role, item.role);
    EXPECT_EQ(read.tensor, item.tensor);
    EXPECT_EQ(work_item_text(read), text);
  }
}

TEST(WorkItem, GivesTheRunnersRowsWhereverItIsComputed) {
  const std::vector<Model> models = open_models();
  const std::vector<Model> opened_anew = open_models();
  const std::vector<ModelSource> sources = sources_of(opened_anew);
  for (const Case& asked : cases()) {
    SCOPED_TRACE(asked.name);
    ReportCollector rows;
    asked.run(models, rows);
    EXPECT_FALSE(rows.report().rows.empty());
    EXPECT_EQ(computed_elsewhere(items_of(asked, opened_anew), sources), texts_of(rows.report()));
  }
}

TEST(WorkItem, OfATensorToo) {
  const std::string tensor = "transformer.h.1.attn.c_attn.weight";
  const std::vector checkpoints = {std::make_shared<const Checkpoint>(
      Checkpoint::open(model_path("gpt2") / "model.safetensors"))};
  const std::vector<std::string> names = {"mine"};
  ReportCollector rows;
  run_tensor_spectrum(checkpoints, names, tensor, {.ranks = {{.number = 5}}}, {}, rows);
  ASSERT_EQ(rows.report().rows.size(), 1u);

  const Checkpoint anew = Checkpoint::open(model_path("gpt2") / "model.safetensors");
  const std::vector<ModelSource> sources = {{.checkpoint = &anew, .name = "mine"}};
  const WorkItem item{.analysis = "spectrum",
                      .parameters = {{"energy", std::vector<double>{0.9, 0.99}},
                                     {"values", false},
                                     {"rank", Value::List{"5"}}},
                      .tensor = tensor};
  EXPECT_EQ(computed_elsewhere({item}, sources), texts_of(rows.report()));
}

TEST(WorkItem, MalformedTextIsRefusedWithItsPlace) {
  const std::string sound = work_item_text(
      {.analysis = "spectrum", .parameters = {{"values", true}}, .layer = 1, .role = Role::query});
  // Every beginning of the text, and every byte of it another one, is no item or a sound one.
  for (std::size_t length = 0; length < sound.size(); ++length) {
    EXPECT_ERROR_SAYING(ErrorKind::format, parse_work_item(sound.substr(0, length), "the place"),
                        "the place");
  }
  for (std::size_t at = 0; at < sound.size(); ++at) {
    for (const char c : {'\0', '"', '{', '}', '-', '9', '\xFF'}) {
      std::string text = sound;
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

TEST(WorkItem, NamingWhatIsNotThereIsRefused) {
  const std::vector<Model> models = open_models();
  std::vector<ModelSource> sources = sources_of(models);
  sources.push_back({.checkpoint = &models[1].checkpoint(), .name = "weights alone"});
  std::vector<std::pair<std::string, WorkItem>> wrong;
  for (const Case& asked : cases()) {
    const WorkItem sound = items_of(asked, models).back();
    EXPECT_FALSE(compute_item(sound, sources, {}).empty()) << asked.name;
    const auto add = [&](const std::string& said, const std::function<void(WorkItem&)>& change) {
      WorkItem item = sound;
      change(item);
      wrong.emplace_back(said, item);
    };
    add("analysis", [](WorkItem& item) { item.analysis = "spectra"; });
    add("analysis", [](WorkItem& item) { item.analysis = ""; });
    add("model", [](WorkItem& item) { item.model = 3; });
    if (sound.batch) {
      add("layer", [](WorkItem& item) { item.layer = 0; });
      add("layer", [](WorkItem& item) { item.batch->layers = {2}; });
      add("layer", [](WorkItem& item) { item.batch->layers.clear(); });
      add("sequences", [](WorkItem& item) { item.batch.reset(); });
      continue;
    }
    add("sequences", [](WorkItem& item) { item.batch = SequenceBatch{0, {{1, 2}}, {0}}; });
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
    add("'gate'", [](WorkItem& item) { item.role = Role::gate; });  // GPT-2 has none
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
  wrong.emplace_back("head", head_matrix(2));  // of key/value heads there are two
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

TEST(WorkItem, AVariantThatAModelHasNotIsRefused) {
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
  turned.model = 1;  // GPT-2 has no rotary positions
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
