// Work items are values that can be serialized. Any process with the same checkpoints computes the
// same results from them.
#include "attnscope/engine/work_item.h"

#include <gtest/gtest.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/rows/lossless_json.h"
#include "tests/features/work_item_cases.h"

namespace attnscope::test {
namespace {

/// Everything in a report except its header, to the last digit.
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

/// Results of another process: it receives the items as text and opens the files itself.
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

TEST(WorkItem, NamesOfAnalysesAreUnique) {
  for (const Analysis* analysis : analyses()) EXPECT_EQ(find_analysis(analysis->name), analysis);
  EXPECT_EQ(analyses().size(), work_item_cases().size()) << "an analysis without a case here";
  EXPECT_EQ(find_analysis("spectra"), nullptr);
}

TEST(WorkItem, KeepsTheTypesAndTextsOfTokens) {
  TokenIds pair = {2, 7, 3, 8, 3};
  pair.types = {0, 0, 0, 1, 1};
  pair.texts = {-1, 0, -1, 1, -1};
  const TokenIds single = {2, 7};
  const WorkItem item{.analysis = "attention",
                      .batch = SequenceBatch{.tokens = {pair, single}, .layers = {0}}};
  const std::string text = work_item_text(item);
  const std::vector<TokenIds> back = parse_work_item(text, "text").batch->tokens;
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[0], pair);
  EXPECT_EQ(back[1], single);
  const std::string cut = "\"types\":[[0,0,0,1,1]";
  const std::size_t at = text.find(cut);
  ASSERT_NE(at, std::string::npos) << text;
  std::string wrong = text;
  wrong.replace(at, cut.size(), "\"types\":[[0,0,0,1]");
  EXPECT_THROW(parse_work_item(wrong, "text"), Error);
}

TEST(WorkItem, RoundTripsThroughText) {
  std::vector<WorkItem> items;
  for (const WorkItemCase& asked : work_item_cases()) {
    const std::vector<Model> models = open_models(asked.models);
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
    EXPECT_EQ(read.experts, item.experts);
    EXPECT_EQ(read.tensor, item.tensor);
    EXPECT_EQ(work_item_text(read), text);
  }
}

TEST(WorkItem, GivesTheSameRowsInAnyProcess) {
  for (const WorkItemCase& asked : work_item_cases()) {
    SCOPED_TRACE(asked.name);
    const std::vector<Model> models = open_models(asked.models);
    const std::vector<Model> reopened = open_models(asked.models);
    const std::vector<ModelSource> sources = sources_of(reopened);
    ReportCollector rows;
    asked.run(models, rows);
    EXPECT_FALSE(rows.report().rows.empty());
    EXPECT_EQ(computed_elsewhere(items_of(asked, reopened), sources), texts_of(rows.report()));
  }
}

TEST(WorkItem, GivesTheSameRowsForATensor) {
  const std::string tensor = "transformer.h.1.attn.c_attn.weight";
  const std::vector checkpoints = {std::make_shared<const Checkpoint>(
      Checkpoint::open(model_path("gpt2") / "model.safetensors"))};
  const std::vector<std::string> names = {"mine"};
  const Record options = {
      {"energy", std::vector<double>{0.9, 0.99}}, {"values", false}, {"rank", Value::List{"5"}}};
  ReportCollector rows;
  run_tensor_spectrum(checkpoints, names, tensor, options, {}, rows);
  ASSERT_EQ(rows.report().rows.size(), 1u);

  const Checkpoint anew = Checkpoint::open(model_path("gpt2") / "model.safetensors");
  const std::vector<ModelSource> sources = {{.checkpoint = &anew, .name = "mine"}};
  const WorkItem item{.analysis = "spectrum", .parameters = options, .tensor = tensor};
  EXPECT_EQ(computed_elsewhere({item}, sources), texts_of(rows.report()));
}

/// Analyses of pairs for a model with three stacks: the serialized text is a list of lists.
TEST(WorkItem, PairsOfSeveralLengthsGiveTheSameRows) {
  const auto open = [] {
    return Model::open_stacks(Checkpoint::open(model_path("encoder_decoders/t5")), std::nullopt,
                              "t5");
  };
  const std::vector<Model> models = open(), reopened = open();
  AblateRequest request{.parts = "all"};
  request.texts.sequences.assign(models.size(), {{0, 5, 6}, {0, 7, 8, 9, 1}});
  request.texts.sources.assign(models.size(), {{3, 4, 5, 6}, {7, 8}});
  request.texts.masks.resize(models.size());
  ReportCollector rows;
  run_ablate(models, request, {}, rows);

  std::vector<WorkItem> items;
  for (std::size_t model = 0; model < models.size(); ++model) {
    for (std::int64_t layer = 0; layer < models[model].dimensions().layers; ++layer) {
      WorkItem& item = items.emplace_back();
      item.analysis = "ablate";
      item.parameters = {{"ablation", "mean"}, {"components", "all"}, {"mask", Value()}};
      item.model = model;
      item.batch = SequenceBatch{.tokens = request.texts.sequences[model],
                                 .layers = {layer},
                                 .sources = request.texts.sources[model]};
    }
  }
  EXPECT_EQ(computed_elsewhere(items, sources_of(reopened)), texts_of(rows.report()));
}

}  // namespace
}  // namespace attnscope::test
