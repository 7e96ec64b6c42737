// Second moments that are cached on disk. A resumed run reuses the sums of a stopped run bit for
// bit, and ignores files that are incomplete or of another text.
#include "attnscope/features/common/calibration/moments_cache.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "attnscope/features/common/calibration/calibration.h"
#include "tests/support/compute.h"
#include "tests/support/temp_folder.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

constexpr double kAlways = 1e9;  // maximum share of the time that writing the cache may take
constexpr std::uint64_t kAllLayers = 1'000'000'000, kOneLayer = 0;

class MomentsCacheTest : public ::testing::Test {
 protected:
  MomentsCacheTest()
      : model_(Model::open(fs::path(ATTNSCOPE_SOURCE_DIR) / "examples/shakespeare-gpt2")) {
    std::int64_t token = 0;
    for (int window = 0; window < 6; ++window) {  // two windows form a batch of 512 tokens
      for (std::vector<TokenIds>* text : {&windows_, &others_}) {
        TokenIds& ids = text->emplace_back();
        for (int at = 0; at < 256; ++at) ids.push_back(token = (token * 31 + window + 7) % 300);
      }
    }
  }

  fs::path made() const { return folder_.path() / "rows.sqlite"; }
  fs::path hidden() const { return folder_.path() / ".rows.sqlite.attnscope-moments"; }

  std::vector<fs::path> files() const {
    std::vector<fs::path> out;
    if (!fs::exists(hidden())) return out;
    for (const auto& entry : fs::directory_iterator(hidden())) out.push_back(entry.path());
    return out;
  }

  /// Concatenates the moments of all layers: every value that later steps may read.
  std::vector<double> moments(const std::vector<TokenIds>& windows, MomentsCache* kept,
                              std::uint64_t memory = kAllLayers) const {
    Calibration calibration(model_, {.windows = windows}, memory, /*ridge=*/0, kept);
    const Compute compute = test_compute();
    const TextStatistics text = calibration.statistics(compute);
    std::vector<double> out;
    for (std::int64_t layer = 0; layer < model_.dimensions().layers; ++layer) {
      for (const Role role : {Role::query, Role::output, Role::up, Role::down}) {
        const SecondMoments& own = text.moments(layer, role);
        out.push_back(static_cast<double>(own.rows));
        out.insert(out.end(), own.first.begin(), own.first.end());
        for (std::int64_t row = 0; row < own.size(); ++row) {
          out.insert(out.end(), &own.second(row, 0), &own.second(row, 0) + row + 1);
        }
      }
    }
    return out;
  }

  std::vector<double> cached_moments(const std::vector<TokenIds>& windows, const std::string& key,
                                     std::uint64_t memory = kAllLayers,
                                     double share = kAlways) const {
    MomentsCache kept(made(), key, share);
    return moments(windows, &kept, memory);
  }

  Model model_;
  std::vector<TokenIds> windows_, others_;
  TempFolder folder_;
};

/// Simulates a run that stopped after two of three batches by running these two alone.
TEST_F(MomentsCacheTest, ResumesAfterTheLastBatch) {
  const std::vector<double> whole = moments(windows_, nullptr);
  cached_moments({windows_.begin(), windows_.begin() + 4}, "a");
  ASSERT_EQ(files().size(), 1u);
  EXPECT_EQ(cached_moments(windows_, "a"), whole);

  // Stores another text under the same key, which shows that the first batches are not rerun.
  std::vector<TokenIds> mixed(others_.begin(), others_.begin() + 4);
  cached_moments(mixed, "b");
  mixed.insert(mixed.end(), windows_.begin() + 4, windows_.end());
  const std::vector<double> of_mixed = moments(mixed, nullptr);
  ASSERT_NE(of_mixed, whole);
  EXPECT_EQ(cached_moments(windows_, "b"), of_mixed);
}

/// Layers that were evicted from memory are not summed again.
TEST_F(MomentsCacheTest, LayersThatWereSummedNeedNoSecondPass) {
  const std::vector<double> first = cached_moments(others_, "a", kOneLayer);
  EXPECT_EQ(std::ssize(files()), model_.dimensions().layers);
  EXPECT_EQ(first, moments(others_, nullptr));
  EXPECT_EQ(cached_moments(windows_, "a", kOneLayer), first);
}

TEST_F(MomentsCacheTest, RecomputesAfterADamagedByte) {
  const std::vector<double> whole = moments(windows_, nullptr);
  cached_moments(others_, "a");
  const fs::path file = files().at(0);
  std::ifstream in(file, std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(in)), {});
  const auto write = [&](const std::string& bytes) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
  };
  for (const std::size_t at : {std::size_t{0}, std::size_t{20}, good.size() / 2, good.size() - 1}) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    write(bad);
    EXPECT_EQ(cached_moments(windows_, "a", kAllLayers, /*share=*/0), whole) << "byte " << at;
  }
  for (const std::size_t length : {std::size_t{0}, std::size_t{7}, good.size() - 8}) {
    write(good.substr(0, length));
    EXPECT_EQ(cached_moments(windows_, "a", kAllLayers, /*share=*/0), whole) << length << " bytes";
  }
  write(good);
  EXPECT_NE(cached_moments(windows_, "a", kAllLayers, /*share=*/0), whole);
}

TEST_F(MomentsCacheTest, RemovesFilesOfAnotherKey) {
  cached_moments(others_, "a");
  std::ofstream(hidden() / "b-0-1.safetensors.tmp") << "half";
  ASSERT_EQ(files().size(), 2u);
  MomentsCache(made(), "b");
  EXPECT_EQ(files(), std::vector<fs::path>());
}

TEST_F(MomentsCacheTest, RemovesFilesWhenThePlanIsDone) {
  MomentsCache kept(made(), "a", kAlways);
  moments(windows_, &kept);
  ASSERT_TRUE(fs::exists(hidden()));
  kept.remove();
  EXPECT_FALSE(fs::exists(hidden()));
}

/// Writing the cache must not take longer than summing.
TEST_F(MomentsCacheTest, SkipsCachingIfSummingIsFast) {
  cached_moments(windows_, "a", kAllLayers, /*share=*/0);
  EXPECT_FALSE(fs::exists(hidden()));
}

TEST_F(MomentsCacheTest, WorksWithoutACache) {
  std::ofstream(hidden()) << "no folder";
  EXPECT_EQ(cached_moments(windows_, "a"), moments(windows_, nullptr));
}

}  // namespace
}  // namespace attnscope::test
