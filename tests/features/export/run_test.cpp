// Reports from stores with unexpected rows.
#include "attnscope/features/export/run.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "attnscope/base/error.h"
#include "attnscope/rows/writers.h"
#include "tests/support/temp_folder.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

class StoredReportTest : public testing::Test {
 protected:
  std::string store_path() const { return (folder_.path() / "rows.sqlite").string(); }

  TempFolder folder_;
};

TEST_F(StoredReportTest, AcceptsRowsOfAMaliciousStore) {
  // Whoever writes a store also writes its digests, so rows can contain anything.
  using List = Value::List;
  const Record odd[] = {
      {},
      {{"energy_rank", 1}, {"overlap", 1}, {"values", 1}, {"latent", 1}, {"histogram", 1}},
      {{"energy_rank", Record()}, {"random_energy_rank", 1}, {"latent", Record()}},
      {{"energy_rank", Record{{"0.9", "x"}}}, {"energy_at_rank", 1}, {"row", 5}},
      {{"overlap", List{std::vector<double>{1, 2}, std::vector<double>{1}}}},
      {{"overlap", List{std::vector<double>{1}, std::vector<double>{1}}}},
      {{"overlap", Array{{1, 1}, std::vector<std::int64_t>{1}}}},
      {{"values", std::vector<double>{1}}, {"row", 5}},
      {{"values", std::vector<std::int64_t>{1}}, {"row", 5}},
      {{"histogram", Record{{"counts", List{}}}}, {"scope", "x"}, {"mean", 1.0}},
      {{"histogram", Record{{"counts", List{"x"}}}}, {"kind", 1}, {"excess", 1.0}},
      {{"model", 1}, {"layer", "x"}, {"matrix", List{}}, {"latent", Record{{"energy_rank", 1}}}},
  };
  const std::string analyses[] = {"spectrum", "mla",        "circuits",     "composition",
                                  "weights",  "similarity", "head_overlap", "head_matrix"};
  const Record parameters[] = {
      {},
      {{"matrix", List{1}}, {"tensor", 1}},
      {{"overlap", true}, {"mla", true}, {"composition", true}, {"matrix", List{"q"}}},
      {{"head_matrix", Value()}, {"tensor", "w"}},
  };
  int refused = 0;
  for (const std::string& analysis : analyses) {
    for (const Record& asked : parameters) {
      fs::remove(store_path());
      {
        Store made = Store::open(store_path(), "1.0");
        made.begin({.analysis = {.name = analysis, .command = "info"},
                    .parameters = asked,
                    .models = {{.name = "model", .facts = {{"name", 1}, {"architecture", "x"}}}}});
        std::int64_t layer = 0;
        for (const Record& fields : odd) {
          const std::vector<StoredPlace> places = {{.layer = layer, .matrix = "q"}};
          const std::vector<Outcome> outcomes = {{.fields = fields},
                                                 {.head = -5, .fields = fields}};
          made.save(std::to_string(layer++), outcomes, places);
        }
      }
      Store made = Store::open_to_read(store_path());
      for (const Format& format : formats()) {
        SCOPED_TRACE(analysis + " as " + std::string(format.name));
        for (const bool color : {false, true}) {
          std::ostringstream out;
          try {
            send_stored(made, 1, std::nullopt, *format.make({.color = color}, out));
          } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::format) << error.what();
            ++refused;
          }
        }
      }
    }
  }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace attnscope::test
