// Runs on attention maps from another program: memory, rows, stacks, failures, stores.
#include "attnscope/features/attention/live.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/engine/store/store.h"
#include "attnscope/features/attention/rows.h"
#include "attnscope/numerics/kernel_choice.h"
#include "attnscope/rows/sink.h"
#include "attnscope/rows/table/style.h"
#include "tests/support/attention_maps.h"
#include "tests/support/compute.h"
#include "tests/support/temp_folder.h"

namespace attnscope {
namespace {

using namespace std::chrono_literals;
using test::test_compute;

constexpr std::int64_t kTokens = 20, kHeads = 3;

LiveRequest request() {
  return {.measures = {}, .text = {{"source", "maps"}}, .tokens_hash = "0", .layers = {}};
}

Context context(Store* store = nullptr) {
  return {.threads = 2, .kernels = kernels_of_environment(), .store = store};
}

std::vector<Matrix<float>> layer_maps(std::uint64_t seed) {
  std::vector<Matrix<float>> maps;
  for (std::int64_t head = 0; head < kHeads; ++head) {
    maps.push_back(test::softmax_map(kTokens, 8, 2, /*causal=*/true,
                                     seed * 100 + static_cast<std::uint64_t>(head)));
  }
  return maps;
}

UserMaps given(std::size_t model, std::int64_t layer, const std::vector<Matrix<float>>& maps) {
  auto weights = std::make_shared<std::vector<float>>();
  for (const Matrix<float>& map : maps) {
    weights->insert(weights->end(), map.data(), map.data() + map.rows() * map.cols());
  }
  const auto bytes = std::as_bytes(std::span(*weights));
  return {.model = model,
          .layer = layer,
          .name = "layer " + std::to_string(layer),
          .maps = {.dtype = DType::f32,
                   .shape = {1, std::ssize(maps), maps[0].rows(), maps[0].cols()},
                   .bytes = bytes},
          .owner = std::move(weights)};
}

void put_all(LiveAttention& live, UserMaps maps) {
  const std::uint64_t bytes = maps.maps.bytes.size();
  while (!live.put(maps, bytes, 10ms)) {
  }
}

Report live_report(LiveAttention& live) {
  while (!live.wait(10ms)) {
  }
  ReportCollector rows;
  StackRows stacks(rows);
  live.give(stacks);
  return rows.take();
}

TEST(LiveAttention, GivesTheRowsOfItsMaps) {
  LiveAttention live(request(), context());
  const std::size_t model = live.add_model({.name = "m", .stack = "", .architecture = "own"});
  ReportCollector wanted;
  const RowMaker rows = attention_row_maker(wanted);
  for (const std::int64_t layer : {0, 1}) {
    const auto maps = layer_maps(static_cast<std::uint64_t>(layer));
    std::vector<MatrixView<const float>> views;
    for (const Matrix<float>& map : maps) views.push_back(map.view());
    const AttentionMapOptions options = {.causal = true};
    auto measures = measure_attention_maps(views, options, test_compute());
    // Float32 rounding. The learned sink mass is not measured on maps without learned sinks.
    for (auto& of_map : measures) of_map.values[map_measure_index("learned_sink_mass")] = 0;
    const std::vector<Outcome> outcomes = {attention_outcome(
        layer, kHeads, measures, {.tokens = kTokens, .mask = AttentionMask::causal()}, options)};
    rows.add({"m", layer, ""}, outcomes);
    put_all(live, given(model, layer, maps));
  }
  rows.finish();
  const Report got = live_report(live);
  ASSERT_EQ(got.rows.size(), wanted.report().rows.size());
  for (std::size_t at = 0; at < got.rows.size(); ++at) {
    for (const char* field :
         {"energy_rank", "entropy", "sink_mass", "uniform_sink_mass", "max_rank"}) {
      EXPECT_EQ(number_field(got.rows[at], field), number_field(wanted.report().rows[at], field))
          << at << field;
    }
  }
  EXPECT_EQ(got.models.size(), 1U);
  EXPECT_TRUE(expect<bool>(got.models[0], "causal"));
  EXPECT_EQ(expect<std::int64_t>(got.models[0], "layers"), 2);
}

TEST(LiveAttention, ListsStacksInInputOrder) {
  LiveAttention live(request(), context());
  const std::size_t first = live.add_model({.name = "m:b", .stack = "b", .architecture = "own"});
  const std::size_t second = live.add_model({.name = "m:a", .stack = "a", .architecture = "own"});
  put_all(live, given(second, 0, layer_maps(1)));
  put_all(live, given(first, 4, layer_maps(2)));
  const Report got = live_report(live);
  ASSERT_EQ(got.rows.size(), 2 * static_cast<std::size_t>(kHeads + 1));
  EXPECT_EQ(text_field(got.rows.front(), "stack"), "b");
  EXPECT_EQ(integer_field(got.rows.front(), "layer"), 4);
  EXPECT_EQ(text_field(got.rows.back(), "stack"), "a");
}

TEST(LiveAttention, KeepsOneLayerAtATime) {
  LiveAttention live(request(), context());
  const std::size_t model = live.add_model({.name = "m", .stack = "", .architecture = "own"});
  // The owner shows that the first maps are released before the next are accepted.
  auto first = given(model, 0, layer_maps(1));
  const std::weak_ptr<const void> owner = first.owner;
  put_all(live, std::move(first));
  put_all(live, given(model, 1, layer_maps(2)));
  EXPECT_TRUE(owner.expired());
}

TEST(LiveAttention, RethrowsErrorsOfTheMeasurement) {
  LiveAttention live(request(), context());
  const std::size_t model = live.add_model({.name = "m", .stack = "", .architecture = "own"});
  auto maps = layer_maps(1);
  maps[2](7, 3) = 5;
  put_all(live, given(model, 0, maps));
  try {
    put_all(live, given(model, 1, layer_maps(2)));
    live_report(live);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::numerical);
    EXPECT_NE(std::string(error.what()).find("layer 0: sequence 0, head 2, query 7"),
              std::string::npos)
        << error.what();
  }
}

TEST(LiveAttention, MeasuresTheRequestedLayers) {
  LiveRequest asked = request();
  asked.layers = {.ranges = {{.first = -1, .last = -1}}};
  LiveAttention live(asked, context());
  const std::size_t model =
      live.add_model({.name = "m", .stack = "", .architecture = "own", .layers = 3});
  EXPECT_FALSE(live.wants(model, 1));
  EXPECT_TRUE(live.wants(model, 2));
}

TEST(LiveAttention, ReusesStoredResults) {
  const test::TempFolder folder;
  const std::string path = (folder.path() / "rows.sqlite").string();
  std::vector<Report> reports;
  for (const int layers : {1, 2, 2}) {
    Store store = Store::open(path, "test");
    LiveAttention live(request(), context(&store));
    const std::size_t model = live.add_model({.name = "m", .stack = "", .architecture = "own"});
    for (int layer = 0; layer < layers; ++layer) {
      put_all(live, given(model, layer, layer_maps(static_cast<std::uint64_t>(layer))));
    }
    reports.push_back(live_report(live));
  }
  EXPECT_EQ(reports[1].rows.size(), reports[2].rows.size());
  for (std::size_t at = 0; at < reports[1].rows.size(); ++at) {
    EXPECT_EQ(number_field(reports[1].rows[at], "entropy"),
              number_field(reports[2].rows[at], "entropy"));
  }
  Store store = Store::open_to_read(path);
  const auto sets = store.sets();
  ASSERT_EQ(sets.size(), 1U);
  std::size_t places = 0;
  store.for_each_rows(
      sets[0].id, [](const StoredSet&) {},
      [&](const StoredRows& rows) {
        ++places;
        EXPECT_EQ(rows.matrix, "sequences 0-0");
      });
  EXPECT_EQ(places, 2U);
}

}  // namespace
}  // namespace attnscope
