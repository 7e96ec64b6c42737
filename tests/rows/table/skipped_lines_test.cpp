// Summaries of skipped entries, with one line per kind.
#include "attnscope/rows/table/skipped_lines.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace attnscope::test {
namespace {

std::string skipped_text(const std::vector<Skipped>& skipped) {
  Report report;
  report.skipped = skipped;
  std::ostringstream out;
  write_skipped(report, out);
  return out.str();
}

std::string missing(const std::string& tensor) { return "tensor '" + tensor + "' is missing"; }

TEST(SkippedLines, PrintsASingleEntryUnchanged) {
  EXPECT_EQ(skipped_text({{"m", 3, "q", std::nullopt, "row 5, column 3 is NaN or Inf"}}),
            "skipped: m: q of layer 3: row 5, column 3 is NaN or Inf\n");
  EXPECT_EQ(skipped_text({{"m", 3, "q", 2, "row 5, column 3 is NaN or Inf"}}),
            "skipped: m: q of layer 3, head 2: row 5, column 3 is NaN or Inf\n");
  EXPECT_EQ(skipped_text({{"m", std::nullopt, "lm_head.weight", std::nullopt, "holds NaN"}}),
            "skipped: m: lm_head.weight: holds NaN\n");
  EXPECT_EQ(skipped_text({{"m", 3, "", std::nullopt, "the norm before it: NaN"}}),
            "skipped: m: layer 3: the norm before it: NaN\n");
  EXPECT_EQ(skipped_text({}), "");
}

TEST(SkippedLines, LayersWithTheSameGapShareALine) {
  std::vector<Skipped> skipped;
  for (const std::int64_t layer : {4, 5, 6, 7, 9}) {
    for (const std::string matrix : {"q", "k", "v", "o", "up", "down"}) {
      const std::string tensor = matrix == "o" ? "c_proj" : "c_attn";
      skipped.push_back({"gpt2", layer, matrix, std::nullopt,
                         missing("h." + std::to_string(layer) + "." + tensor + ".weight")});
    }
  }
  EXPECT_EQ(skipped_text(skipped),
            "skipped: gpt2: q k v o up down of layers 4–7, 9: tensor 'h.4.c_attn.weight' is "
            "missing, the first of 10\n");
}

TEST(SkippedLines, AShardOfALargeModelGivesAFewLines) {
  std::vector<Skipped> skipped;
  for (std::int64_t layer = 20; layer < 80; ++layer) {
    for (const std::string matrix : {"q", "k", "v", "o", "gate", "up", "down"}) {
      // A part of layer 20 is present.
      if (layer == 20 && (matrix == "q" || matrix == "k")) continue;
      const std::string tensor = "model.layers." + std::to_string(layer) + "." + matrix;
      skipped.push_back({"large", layer, matrix, std::nullopt,
                         missing(tensor) + " (index.json puts it into model-000" +
                             std::to_string(layer / 10) + "-of-00008.safetensors)"});
    }
  }
  EXPECT_EQ(skipped_text(skipped),
            "skipped: large: v o gate up down of layer 20: tensor 'model.layers.20.v' is missing "
            "(index.json puts it into model-0002-of-00008.safetensors), the first of 5\n"
            "skipped: large: q k v o gate up down of layers 21–79: tensor 'model.layers.21.q' is "
            "missing (index.json puts it into model-0002-of-00008.safetensors), the first of "
            "413\n");
}

TEST(SkippedLines, DifferentReasonsHaveSeparateLines) {
  EXPECT_EQ(skipped_text({{"m", 0, "q", std::nullopt, missing("h.0.q")},
                          {"m", 0, "qk", std::nullopt, "a factor: " + missing("h.0.q")},
                          {"m", 1, "q", std::nullopt, missing("h.1.q")},
                          {"m", 1, "k", std::nullopt, "row 1, column 2 is NaN or Inf"},
                          {"m", 1, "qk", std::nullopt, "a factor: " + missing("h.1.q")},
                          {"other", 0, "q", std::nullopt, missing("h.0.q")}}),
            "skipped: m: q of layers 0–1: tensor 'h.0.q' is missing, the first of 2\n"
            "skipped: m: qk of layers 0–1: a factor: tensor 'h.0.q' is missing, the first of 2\n"
            "skipped: m: k of layer 1: row 1, column 2 is NaN or Inf\n"
            "skipped: other: q of layer 0: tensor 'h.0.q' is missing\n");
}

TEST(SkippedLines, NamesHeadsIfTheirMatrixIsNotSkippedAsAWhole) {
  std::vector<Skipped> skipped;
  for (const std::int64_t layer : {0, 1}) {
    for (const std::string matrix : {"q", "k"}) {
      skipped.push_back({"m", layer, matrix, std::nullopt, missing("t")});
      for (const std::int64_t head : {0, 1, 2}) {
        skipped.push_back({"m", layer, matrix, head, missing("t")});
      }
    }
  }
  EXPECT_EQ(skipped_text(skipped), "skipped: m: q k of layers 0–1: tensor 't' is missing\n");
  EXPECT_EQ(skipped_text({{"m", 0, "v", 1, "is NaN"},
                          {"m", 0, "v", 4, "is NaN"},
                          {"m", 0, "v", 5, "is NaN"},
                          {"m", 0, "o", 1, "is NaN"}}),
            "skipped: m: v of layer 0, heads 1, 4–5: is NaN\n"
            "skipped: m: o of layer 0, head 1: is NaN\n");
}

TEST(SkippedLines, AnApostropheIsNotAQuotationMark) {
  EXPECT_EQ(skipped_text({{"m", 0, "q", std::nullopt, "the model's layer 0 holds nothing"},
                          {"m", 1, "q", std::nullopt, "the model's layer 1 holds nothing"}}),
            "skipped: m: q of layers 0–1: the model's layer 0 holds nothing, the first of 2\n");
}

}  // namespace
}  // namespace attnscope::test
