// Sets and their rows, read from a store.
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/engine/store/store_fixture.h"

namespace attnscope::test {
namespace {

TEST_F(StoreTest, ReturnsRowsInTheOrderOfTheOutput) {
  const auto put = [](Store& store, const std::string& name, std::optional<std::int64_t> layer,
                      const std::string& matrix, std::int64_t position, std::size_t model = 0) {
    std::vector<StoredPlace> places = place(0);
    places[0].model = model;
    places[0].layer = layer;
    places[0].matrix = matrix;
    places[0].position = position;
    store.save(name, outcomes(), places);
  };
  const auto order = [](Store& store) {
    std::string text;
    for (const StoredRows& rows : read_set(store, 1).rows) {
      text += std::to_string(rows.model) + ":" + std::to_string(rows.layer.value_or(-1)) +
              rows.matrix + " ";
    }
    return text;
  };
  StoredRun two = run();
  two.models.push_back(two.models[0]);
  two.models[1].path = "/other/w.safetensors";
  Store store = open();
  store.begin(two);
  put(store, "a", 1, "q", 1, 1);
  put(store, "b", 1, "q", 1);
  put(store, "c", 1, "k", 0);
  put(store, "d", 0, "k", 0);
  put(store, "e", 0, "q", 1);
  EXPECT_EQ(order(store), "0:0k 0:0q 0:1k 0:1q 1:1q ") << "as the run asked";
  two.parameters = {{"layers", 1}};
  store.begin(two);
  put(store, "f", 1, "o", 0);
  put(store, "g", 1, "x", 0);
  put(store, "h", std::nullopt, "w", 0);
  EXPECT_EQ(order(store), "0:-1w 0:0q 0:0k 0:1q 0:1k 0:1o 0:1x 1:1q ") << "as usual";
}

TEST_F(StoreTest, ReadsOneSnapshotDuringWrites) {
  Store writer = open();
  writer.begin(run());
  writer.save("a", outcomes(), place(0));
  Store reader = Store::open_to_read(path());
  std::size_t models = 0, places = 0;
  reader.for_each_rows(
      1,
      [&](const StoredSet& set) {
        models = set.models.size();
        StoredRun more = run();
        more.models[0].path = "/other";
        writer.begin(more);
        writer.save("b", outcomes(), place(1));
      },
      [&](const StoredRows&) { ++places; });
  EXPECT_EQ(models, 1u);
  EXPECT_EQ(places, 1u);
  EXPECT_EQ(read_set(reader, 1).rows.size(), 2u);
}

TEST_F(StoreTest, AnExceptionOfTheCallerEndsTheReading) {
  Store store = open();
  store.begin(run());
  store.save("a", outcomes(), place(0));
  const auto stop = [](const auto&) { throw std::runtime_error("enough"); };
  const auto go_on = [](const auto&) {};
  EXPECT_THROW(store.for_each_rows(1, stop, go_on), std::runtime_error);
  EXPECT_THROW(store.for_each_rows(1, go_on, stop), std::runtime_error);
  store.save("b", outcomes(), place(1));
  EXPECT_EQ(read_set(store, 1).rows.size(), 2u);
}

}  // namespace
}  // namespace attnscope::test
