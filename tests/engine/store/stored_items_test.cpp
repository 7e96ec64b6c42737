// Items that are computed with a store: which ones are computed, and what progress reports.
#include "attnscope/engine/store/stored_items.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "attnscope/features/spectrum/run.h"
#include "tests/support/expect_error.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temp_folder.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

class StoredItemsTest : public testing::Test {
 protected:
  std::string store_path() const { return (folder_.path() / "rows.sqlite").string(); }
  fs::path write_weights(float first) const {
    TensorToWrite tensor = counting_tensor("w", {4, 3});
    std::memcpy(tensor.bytes.data(), &first, sizeof first);
    return folder_.write("w.safetensors", safetensors_bytes({tensor}));
  }

  TempFolder folder_;
};

TEST_F(StoredItemsTest, ProgressCountsFoundItemsAsDone) {
  const fs::path path = fs::path(ATTNSCOPE_SOURCE_DIR) / "tests/data/llama";
  std::vector<Model> models;
  models.push_back(Model::open(path));
  Store store = Store::open(store_path(), "1.0");
  for (int time = 0; time < 2; ++time) {
    Progress last;
    ReportCollector rows;
    run_spectrum(
        models, {.options = {{"energy", std::vector<double>{0.9}}, {"values", false}}},
        {.on_progress = [&](const Progress& progress) { last = progress; }, .store = &store}, rows);
    EXPECT_GT(last.items_total, 0u);
    EXPECT_EQ(last.items_done, last.items_total);
    EXPECT_EQ(last.bytes_done, last.bytes_total);
  }
}

TEST_F(StoredItemsTest, RejectsRowsOfAFileThatChangedDuringTheRun) {
  const fs::path path = write_weights(1);
  std::vector<Checkpoint> checkpoints;
  checkpoints.push_back(Checkpoint::open(path));
  const CheckpointTensor& tensor = *checkpoints[0].find("w");
  Store store = Store::open(store_path(), "1.0");
  StoredItems items(store,
                    {.analysis = {.name = "spectrum"},
                     .models = {stored_model({.checkpoint = &checkpoints[0], .name = "w"})}});
  ItemInputs inputs;
  inputs.add_matrix(checkpoints[0], tensor, whole_matrix(tensor.view));
  const auto change = [&](bool restore_time) {
    return [&, restore_time]() -> std::vector<Outcome> {
      const auto time = fs::last_write_time(path);
      write_weights(restore_time ? 3 : 2);
      if (restore_time) fs::last_write_time(path, time);
      return {Outcome{}};
    };
  };
  const std::vector<StoredPlace> places = {{.matrix = "w"}};
  // The size and the time are unchanged, so only the bytes show the change.
  EXPECT_ERROR_SAYING(ErrorKind::io, items.get(inputs, places, change(true)),
                      "was modified while it was read");
  EXPECT_ERROR_SAYING(ErrorKind::io, items.get(inputs, places, change(false)),
                      "was modified while it was read");
  EXPECT_TRUE(store.sets().empty());
}

}  // namespace
}  // namespace attnscope::test
