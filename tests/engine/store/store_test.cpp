// The store alone: it returns what was saved, once, and rejects files that are not a store.
#include "attnscope/engine/store/store.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "attnscope/base/content_hash.h"
#include "tests/engine/store/store_fixture.h"
#include "tests/support/expect_error.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

TEST_F(StoreTest, ReturnsSavedOutcomesAlsoToALaterRun) {
  {
    Store store = open();
    store.begin(run());
    EXPECT_FALSE(store.find("a", place(0)));
    store.save("a", outcomes(), place(0));
    expect_outcomes(store.find("a", place(0)).value(), outcomes());
    EXPECT_FALSE(store.find("b", place(0)));
  }
  Store store = open();
  store.begin(run());
  expect_outcomes(store.find("a", place(0)).value(), outcomes());
  store.begin(run(0.5));
  EXPECT_FALSE(store.find("a", place(0))) << "of other parameters";
}

TEST_F(StoreTest, IsOneFileWhenClosed) {
  {
    Store store = open();
    store.begin(run());
    store.save("a", outcomes(), place(0));
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 1);
}

TEST_F(StoreTest, KeepsTheFirstOutcomes) {
  Store store = open(), other = open();
  store.begin(run());
  other.begin(run());
  store.save("a", outcomes(0.1), place(0));
  other.save("a", outcomes(0.2), place(0));
  expect_outcomes(other.find("a", place(0)).value(), outcomes(0.1));
  EXPECT_EQ(read_set(store, 1).rows.size(), 1u);
}

TEST_F(StoreTest, AllowsAnItemAtSeveralPlaces) {
  Store store = open();
  store.begin(run());
  std::vector<StoredPlace> both = place(0);
  both.push_back(place(1).front());
  store.save("a", outcomes(), both);
  const ReadSet set = read_set(store, 1);
  ASSERT_EQ(set.rows.size(), 2u);
  EXPECT_EQ(set.rows[0].layer, 0);
  EXPECT_EQ(set.rows[1].layer, 1);
  EXPECT_EQ(set.models[0].name, "model");
  EXPECT_EQ(set.analysis.name, "spectrum");
  expect_outcomes(set.rows[1].outcomes, outcomes());
}

TEST_F(StoreTest, APlaceHasTheRowsOfItsLatestItem) {
  Store store = open();
  store.begin(run());
  store.save("a", outcomes(0.1), place(0));
  store.save("b", outcomes(0.2), place(0));
  ASSERT_EQ(read_set(store, 1).rows.size(), 1u);
  expect_outcomes(read_set(store, 1).rows[0].outcomes, outcomes(0.2));
  store.find("a", place(0));
  expect_outcomes(read_set(store, 1).rows[0].outcomes, outcomes(0.1));
}

TEST_F(StoreTest, DropsPlacesOfAChangedFileButKeepsItems) {
  Store store = open();
  store.begin(run());
  store.save("a", outcomes(), place(0));
  store.save("b", outcomes(), place(1));
  StoredRun changed = run();
  changed.models[0].files[0].modified_ns += 1;
  store.begin(changed);
  EXPECT_TRUE(store.sets().empty());
  EXPECT_TRUE(store.find("a", place(0, changed.models[0].files[0])));
  EXPECT_EQ(read_set(store, 1).rows.size(), 1u);
}

TEST_F(StoreTest, DropsPlacesOfAModelWithAnotherDescription) {
  Store store = open();
  store.begin(run());
  store.save("a", outcomes(), place(0));
  store.begin(run());
  EXPECT_EQ(store.sets().size(), 1u);
  StoredRun described = run();
  described.models[0].described = "other";
  store.begin(described);
  EXPECT_TRUE(store.sets().empty());
}

TEST_F(StoreTest, KeepsRowsOfAnOlderRevisionUntilRecomputed) {
  Store store = open();
  store.begin(run());
  store.save("a", outcomes(0.1), place(0));
  store.save("b", outcomes(0.2), place(1));
  store.begin(run(0.5));
  store.save("a", outcomes(), place(0));
  StoredRun newer = run();
  newer.analysis.revision = 2;
  store.begin(newer);
  EXPECT_FALSE(store.find("a", place(0))) << "what is asked for is computed again";
  EXPECT_EQ(read_set(store, 1).rows.size(), 2u);
  store.save("a", outcomes(0.3), place(0));
  ASSERT_EQ(read_set(store, 1).rows.size(), 1u);
  EXPECT_EQ(read_set(store, 1).rows[0].layer, 1);
  EXPECT_EQ(read_set(store, 2).rows.size(), 1u) << "of other parameters";
  ASSERT_EQ(read_set(store, 3).rows.size(), 1u);
  expect_outcomes(read_set(store, 3).rows[0].outcomes, outcomes(0.3));
  store.save("b", outcomes(), place(1));
  EXPECT_EQ(store.sets().size(), 2u) << "nothing is left of the older one";
  // An older version finds its own items and leaves those of the newer one.
  store.begin(run());
  EXPECT_TRUE(store.find("a", place(0)));
  EXPECT_EQ(read_set(store, 1).rows.size(), 1u);
  EXPECT_EQ(read_set(store, 3).rows.size(), 2u);
  // The newer version finds its rows and takes over the place again.
  store.begin(newer);
  EXPECT_TRUE(store.find("a", place(0)));
  EXPECT_EQ(store.sets().size(), 2u);
}

TEST_F(StoreTest, DropsPlacesBeyondTheLayersOfTheModel) {
  Store store = open();
  store.begin(run());
  store.save("a", outcomes(), place(1));
  StoredRun shorter = run();
  shorter.models[0].facts = {{"name", "model"}, {"layers", 1}};
  store.begin(shorter);
  EXPECT_TRUE(store.sets().empty());
}

TEST_F(StoreTest, ReturnsHashesOfUnchangedFilesOnly) {
  Store store = open();
  store.begin(run());
  store.save("a", outcomes(), place(0));
  ASSERT_TRUE(store.known_tensor(file(), "w"));
  EXPECT_EQ(store.known_tensor(file(), "w")->hash, "1234");
  EXPECT_FALSE(store.known_tensor(file(), "v"));
  for (std::int64_t StoredFile::*time : {&StoredFile::modified_ns, &StoredFile::changed_ns}) {
    StoredFile other = file();
    other.*time += 1;
    EXPECT_FALSE(store.known_tensor(other, "w"));
  }
  StoredFile longer = file();
  ++longer.bytes;
  EXPECT_FALSE(store.known_tensor(longer, "w"));
}

TEST_F(StoreTest, DoesNotTrustAHashOfAFileThatHadJustChanged) {
  Store store = open();
  store.begin(run());
  std::vector<StoredPlace> places = place(0);
  places[0].tensors[0].hashed_ns = file().changed_ns + kSecond_ns;
  store.save("a", outcomes(), places);
  EXPECT_FALSE(store.known_tensor(file(), "w"));
  // The hash is trusted after it was computed again later.
  places[0].tensors[0].hashed_ns = file().changed_ns + 10 * kSecond_ns;
  places[0].tensors[0].fresh = true;
  store.find("a", places);
  EXPECT_TRUE(store.known_tensor(file(), "w"));
}

TEST_F(StoreTest, IsThreadSafe) {
  Store store = open();
  store.begin(run());
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int item = 0; item < 10; ++item) {
        const std::string name = std::to_string(thread * 10 + item);
        store.save(name, outcomes(item), place(thread * 10 + item));
      }
    });
  }
  threads.clear();
  EXPECT_EQ(read_set(store, 1).rows.size(), 40u);
}

TEST_F(StoreTest, ReadingNeedsAFile) {
  EXPECT_ERROR_SAYING(ErrorKind::io, Store::open_to_read(path()), "rows.sqlite");
  EXPECT_FALSE(fs::exists(path()));
}

TEST(ContentHash, IsXxh3) {
  // The reference implementation's hash of an empty input.
  EXPECT_EQ(content_hash(std::string_view()), "99aa06d3014798d86001c324468d497f");
  EXPECT_NE(content_hash("a"), content_hash("b"));
}

}  // namespace
}  // namespace attnscope::test
