#include "attnscope/features/circuits/prepared_layers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "attnscope/numerics/compute.h"

namespace attnscope {
namespace {

using Key = PreparedLayers::Key;

/// Requests layers that take 10 bytes each, and counts how many are prepared.
struct Layers {
  PreparedLayers prepared;
  std::atomic<int> count = 0;

  std::shared_ptr<const PreparedLayer> get(std::int64_t layer, const Compute& compute = {}) {
    return prepared.get({.layer = layer}, 10, compute, [&] {
      ++count;
      return PreparedLayer();
    });
  }
};

TEST(PreparedLayers, KeepsTheLatestLayersWithinTheMemoryOfRunningItems) {
  Layers layers;
  const PreparedLayers::Room room(layers.prepared, 20);
  layers.get(1);
  layers.get(2);
  layers.get(1);
  EXPECT_EQ(layers.count, 2);
  layers.get(3);  // evicts layer 2
  layers.get(1);
  EXPECT_EQ(layers.count, 3);
  layers.get(2);
  EXPECT_EQ(layers.count, 4);
}

TEST(PreparedLayers, KeepsALayerBetweenItemsAndWhileInUse) {
  Layers layers;
  {
    const PreparedLayers::Room room(layers.prepared, 10);
    layers.get(1);
  }
  const PreparedLayers::Room room(layers.prepared, 10);
  const auto used = layers.get(1);
  EXPECT_EQ(layers.count, 1);
  layers.get(2);  // fits only because the layer in use is not counted
  EXPECT_EQ(layers.get(1), used);
  EXPECT_EQ(layers.count, 2);
}

TEST(PreparedLayers, PreparesALayerOnceForConcurrentRequests) {
  for (const bool with_team : {false, true}) {
    Layers layers;
    Team team;
    const Compute compute{.team = with_team ? &team : nullptr};
    const PreparedLayers::Room room(layers.prepared, 100);
    {
      std::vector<std::jthread> threads;
      for (int thread = 0; thread < 4; ++thread) {
        threads.emplace_back([&] {
          for (std::int64_t layer = 0; layer < 10; ++layer) layers.get(layer, compute);
        });
      }
    }
    EXPECT_EQ(layers.count, 10);
  }
}

TEST(PreparedLayers, RetriesAfterAFailure) {
  Layers layers;
  const PreparedLayers::Room room(layers.prepared, 10);
  const auto fail = [&] {
    layers.prepared.get({.layer = 1}, 10, {},
                        []() -> PreparedLayer { throw std::runtime_error("no"); });
  };
  EXPECT_THROW(fail(), std::runtime_error);
  EXPECT_NE(layers.get(1), nullptr);
  EXPECT_EQ(layers.count, 1);
}

}  // namespace
}  // namespace attnscope
