// Guarantees of every run: the order of rows, what is shared, stored and reported, and how it ends.
#include "attnscope/engine/runner.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include "attnscope/engine/store/store.h"
#include "attnscope/features/spectrum/run.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/sqlite_query.h"
#include "tests/support/temp_folder.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

fs::path path_of_data(const std::string& name) {
  return fs::path(ATTNSCOPE_SOURCE_DIR) / "tests/data" / name;
}

// ---- An analysis that only counts its calls -----------------------------------------------------

/// State shared by the items of a test, because analyses are plain functions.
std::atomic<int> computed;
std::stop_source* stop_at_third = nullptr;

std::vector<Outcome> tell(const WorkItem& item, const ModelSource&, const Compute& compute) {
  const bool is_third = ++computed == 3;
  std::this_thread::sleep_for(2ms);
  if (is_third && stop_at_third != nullptr) {
    stop_at_third->request_stop();
    // The item receives the stop request slightly later.
    for (int step = 0; step < 5000 && !compute.stop.stop_requested(); ++step) {
      std::this_thread::sleep_for(1ms);
    }
  }
  compute.check_stop();
  const std::int64_t layer = *item.layer;
  std::vector<Outcome> outcomes;
  for (std::int64_t head = 0; head < layer % 3; ++head) {
    outcomes.push_back({.head = head, .fields = {{"number", 10 * layer + head}}});
  }
  outcomes.push_back({.fields = {{"number", 10 * layer + 9}, {"text", std::string(500, 'x')}}});
  return outcomes;
}

/// Later layers are larger, except every fifth.
Cost cost(const WorkItem& item, const ModelSource&) {
  const std::int64_t layer = *item.layer;
  return {layer % 5 == 0 ? 0.0 : static_cast<double>(layer),
          static_cast<std::uint64_t>(layer) * 1'000'000};
}

void add_inputs(ItemInputs& inputs, const WorkItem& item, const ModelSource&) {
  inputs.add("layer", *item.layer);
}

constexpr Analysis kTelling = {.name = "telling",
                               .command = "spectrum",
                               .compute = tell,
                               .cost = cost,
                               .add_inputs = add_inputs,
                               .make_rows = [](RowSink& sink) { return rows_with_heads(sink); }};

class RunnerTest : public testing::Test {
 protected:
  static constexpr std::int64_t kLayers = 20;

  RunnerTest() {
    computed = 0;
    stop_at_third = nullptr;
    models_.push_back(Model::open(path_of_data("gpt2")));
    sources_ = sources_of(models_);
    for (std::int64_t layer = 0; layer < kLayers; ++layer) {
      plan_.add(0, layer).role = Role::query;
    }
  }

  Store open_store() const { return Store::open(store_path().string(), "1.0"); }
  fs::path store_path() const { return folder_.path() / "rows.sqlite"; }
  long stored_items() const { return query_number(store_path(), "SELECT count(*) FROM items"); }

  std::vector<std::int64_t> numbers(const Context& context) const {
    ReportCollector rows;
    run_plan(plan_, sources_, {.command = "spectrum"}, context, rows);
    std::vector<std::int64_t> found;
    for (const Record& row : rows.report().rows) {
      found.push_back(expect<std::int64_t>(row, "number"));
    }
    return found;
  }

  static std::vector<std::int64_t> all_numbers() {
    std::vector<std::int64_t> all;
    for (std::int64_t layer = 0; layer < kLayers; ++layer) {
      for (std::int64_t head = 0; head < layer % 3; ++head) all.push_back(10 * layer + head);
      all.push_back(10 * layer + 9);
    }
    return all;
  }

  /// A second run finds what the first one stored, and computes only the rest.
  void expect_goes_on() {
    const long kept = stored_items();
    computed = 0;
    stop_at_third = nullptr;
    Store store = open_store();
    EXPECT_EQ(numbers({.store = &store}), all_numbers());
    EXPECT_EQ(computed + kept, kLayers);
    EXPECT_EQ(stored_items(), kLayers);
  }

  TempFolder folder_;
  std::vector<Model> models_;
  std::vector<ModelSource> sources_;
  Plan plan_{.analysis = &kTelling};
};

TEST_F(RunnerTest, RowOrderDoesNotDependOnThreadsAndMemory) {
  for (const int threads : {1, 2, 7}) {
    for (const std::uint64_t memory_bytes : {0, 1, 9'000'000, 1'000'000'000}) {
      computed = 0;
      EXPECT_EQ(numbers({.threads = threads, .memory_bytes = memory_bytes}), all_numbers())
          << threads << " threads, " << memory_bytes << " bytes";
      EXPECT_EQ(computed, kLayers);
    }
  }
}

TEST_F(RunnerTest, AnEmptyPlanGivesAReportWithoutRows) {
  plan_.items.clear();
  EXPECT_TRUE(numbers({.threads = 3}).empty());
  Store store = open_store();
  EXPECT_TRUE(numbers({.store = &store}).empty());
}

TEST_F(RunnerTest, ASecondRunComputesNothing) {
  Store store = open_store();
  EXPECT_EQ(numbers({.threads = 2, .store = &store}), all_numbers());
  EXPECT_EQ(computed, kLayers);
  EXPECT_EQ(numbers({.threads = 2, .store = &store}), all_numbers());
  EXPECT_EQ(computed, kLayers);
}

TEST_F(RunnerTest, AStopBeforeTheStartComputesNothing) {
  std::stop_source stop;
  stop.request_stop();
  Store store = open_store();
  EXPECT_THROW(numbers({.threads = 2, .stop = stop.get_token(), .store = &store}), Stopped);
  EXPECT_EQ(computed, 0);
}

TEST_F(RunnerTest, AStopDuringTheRunKeepsFinishedItems) {
  for (const int threads : {1, 3}) {
    fs::remove(store_path());
    computed = 0;
    std::stop_source stop;
    stop_at_third = &stop;
    {
      Store store = open_store();
      EXPECT_THROW(numbers({.threads = threads, .stop = stop.get_token(), .store = &store}),
                   Stopped);
    }
    if (threads == 1) {
      EXPECT_EQ(stored_items(), 2);
    }
    EXPECT_LT(stored_items(), kLayers - 5);
    expect_goes_on();
  }
}

/// Accepts some rows, then fails as if the disk were full.
class FailingSink : public ReportCollector {
 public:
  explicit FailingSink(std::size_t rows) : rows_(rows) {}
  void add_row(Record row) override {
    if (report().rows.size() == rows_) throw std::runtime_error("no room");
    ReportCollector::add_row(std::move(row));
  }
  void end() override { ended = true; }

  bool ended = false;

 private:
  std::size_t rows_;
};

TEST_F(RunnerTest, AnExceptionOfTheSinkEndsTheRun) {
  for (const std::size_t rows : {std::size_t{0}, std::size_t{4}}) {
    fs::remove(store_path());
    FailingSink sink(rows);
    {
      Store store = open_store();
      EXPECT_THROW(
          run_plan(plan_, sources_, {.command = "spectrum"}, {.threads = 2, .store = &store}, sink),
          std::runtime_error);
    }
    EXPECT_FALSE(sink.ended);
    EXPECT_EQ(sink.report().rows.size(), rows);
    EXPECT_GT(stored_items(), 0);
    expect_goes_on();
  }
}

TEST_F(RunnerTest, AnExceptionOfTheProgressCallbackEndsTheRun) {
  const auto give_up = [&](const Progress& progress) {
    if (progress.items_done > 1) throw std::runtime_error("enough");
  };
  for (std::int64_t layer = kLayers; layer < 500; ++layer) plan_.add(0, layer).role = Role::query;
  {
    Store store = open_store();
    EXPECT_THROW(numbers({.threads = 2, .on_progress = give_up, .store = &store}),
                 std::runtime_error);
    EXPECT_LT(computed, 400);
  }
  const long kept = stored_items();
  EXPECT_GT(kept, 1);
  computed = 0;
  Store store = open_store();
  numbers({.store = &store});
  EXPECT_EQ(computed + kept, 500);
}

TEST_F(RunnerTest, NamesItemsThatExceedTheMemory) {
  const auto notes_with = [&](std::uint64_t memory_bytes) {
    ReportCollector rows;
    run_plan(plan_, sources_, {.command = "spectrum"}, {.memory_bytes = memory_bytes}, rows);
    return rows.report().notes;
  };
  EXPECT_TRUE(notes_with(19'000'000).empty());
  EXPECT_EQ(notes_with(18'900'000),
            (std::vector<std::string>{"gpt2: q of layer 19 needs about 19 MB, more than the 18 MB "
                                      "of {memory}; such items run one at a time"}));
  EXPECT_EQ(
      notes_with(16'000'000),
      (std::vector<std::string>{"gpt2: q of layer 19 needs about 19 MB, more than the 16 MB "
                                "of {memory}; so do 2 others; such items run one at a time"}));
}

// ---- Spectra ------------------------------------------------------------------------------------

std::vector<Outcome> counted_spectra(const WorkItem& item, const ModelSource& source,
                                     const Compute& compute) {
  ++computed;
  return spectrum_analysis().compute(item, source, compute);
}

TEST(Runner, ComputesEqualWeightsOnce) {
  std::vector<Model> models;
  models.push_back(Model::open(path_of_data("albert")));
  const std::int64_t layers = models[0].dimensions().layers;
  Analysis counted = spectrum_analysis();
  counted.compute = counted_spectra;
  Plan plan{
      .analysis = &counted,
      .parameters = {{"energy", std::vector<double>{0.9}}, {"values", true}, {"per_head", true}}};
  const std::vector<Role> roles = {Role::query, Role::up, Role::ov};
  ReportCollector rows;
  add_layers(plan, models, std::vector<std::vector<Role>>{roles}, {}, rows);
  computed = 0;
  run_plan(plan, sources_of(models), {.command = "spectrum"}, {.threads = 2}, rows);
  // Four layers form two groups of equal weights.
  EXPECT_EQ(layers, 4);
  EXPECT_EQ(computed, 2 * 3);
  const std::int64_t heads = models[0].dimensions().heads.heads;
  ASSERT_EQ(std::ssize(rows.report().rows), layers * (1 + heads + 1 + 1 + heads));
  std::int64_t previous = 0;
  for (const Record& row : rows.report().rows) {
    const auto layer = expect<std::int64_t>(row, "layer");
    EXPECT_GE(layer, previous);
    previous = layer;
  }
  EXPECT_EQ(previous, layers - 1);
}

TEST(Runner, SkipsMissingTensorsWithoutStoringThem) {
  const TempFolder folder;
  folder.write("part/config.json",
               R"({"model_type":"llama","num_hidden_layers":2,"num_attention_heads":2,)"
               R"("hidden_size":8,"intermediate_size":12,"vocab_size":9})");
  std::vector<TensorToWrite> tensors;
  for (const std::string layer : {"0", "1"}) {
    for (const std::string matrix : {"q", "k", "v", "o"}) {
      if (layer == "1" && matrix == "k") continue;
      tensors.push_back(counting_tensor(
          "model.layers." + layer + ".self_attn." + matrix + "_proj.weight", {8, 8}));
    }
  }
  folder.write("part/model.safetensors", safetensors_bytes(tensors));
  std::vector<Model> models;
  models.push_back(Model::open(folder.path() / "part"));
  Store store = Store::open((folder.path() / "rows.sqlite").string(), "1.0");
  for (int time = 0; time < 2; ++time) {
    ReportCollector rows;
    run_spectrum(models,
                 {.matrices = {Role::gate, Role::key, Role::query},
                  .options = {{"energy", std::vector<double>{0.9}}, {"values", false}}},
                 {.store = &store}, rows);
    std::vector<std::string> found, skipped;
    for (const Record& row : rows.report().rows) {
      found.push_back(std::to_string(expect<std::int64_t>(row, "layer")) + " " +
                      expect<std::string>(row, "matrix"));
    }
    for (const Skipped& entry : rows.report().skipped) {
      skipped.push_back(std::to_string(*entry.layer) + " " + entry.matrix);
      EXPECT_NE(entry.reason.find(entry.matrix == "gate" ? ".mlp.gate_proj.weight"
                                                         : "layers.1.self_attn.k_proj.weight"),
                std::string::npos)
          << entry.reason;
    }
    EXPECT_EQ(found, (std::vector<std::string>{"0 k", "0 q", "1 q"}));
    EXPECT_EQ(skipped, (std::vector<std::string>{"0 gate", "1 gate", "1 k"}));
    EXPECT_EQ(query_number(folder.path() / "rows.sqlite", "SELECT count(*) FROM places"), 3);
  }
}

}  // namespace
}  // namespace attnscope::test
