#include "attnscope/page/report_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

#include "attnscope/page/encoding.h"

namespace attnscope {
namespace {

using nlohmann::json;

std::vector<double> ascending(std::size_t count, double scale = 1) {
  std::vector<double> numbers;
  for (std::size_t i = 1; i <= count; ++i) numbers.push_back(scale * static_cast<double>(i));
  return numbers;
}

std::vector<float> numbers_of(const ReportFile& file) {
  const std::string planes = file.values();
  const std::size_t count = planes.size() / 4;
  std::vector<float> numbers(count);
  for (std::size_t at = 0; at < count; ++at) {
    char bytes[4];
    for (std::size_t plane = 0; plane < 4; ++plane) bytes[plane] = planes[plane * count + at];
    std::memcpy(&numbers[at], bytes, 4);
  }
  return numbers;
}

Record spectrum_row(double scale) {
  return {{"model", "m"},
          {"matrix", "q"},
          {"head", Value()},
          {"shape", std::vector<std::int64_t>{10, 10}},
          {"energy_rank", Record{{"0.9", 3}}},
          {"frobenius_norm", scale},
          {"singular_values", ascending(10, scale)},
          {"cumulative_energy", ascending(10)},
          {"random_singular_values", ascending(10, 2 * scale)}};
}

TEST(ReportFile, MovesLongArraysToTheNumbers) {
  ReportFile file({{"version", "1"}}, {Record{{"name", "m"}}});
  const auto sink = file.sink({.id = "spectrum", .again = "attnscope spectrum m"});
  sink->begin({.command = "spectrum", .models = {}, .parameters = {{"values", true}}});
  sink->add_row(spectrum_row(1));
  sink->add_row(spectrum_row(3));
  sink->add_note("look");
  sink->add_skipped({.model = "m", .layer = 2, .matrix = "k", .head = {}, .reason = "NaN"});
  sink->end();
  const json results = json::parse(file.results(1.5));
  EXPECT_EQ(results["schema"], "attnscope-report/1");
  EXPECT_EQ(results["version"], "1");
  EXPECT_EQ(results["seconds"], 1.5);
  const json part = results["reports"].at(0);
  EXPECT_EQ(part["id"], "spectrum");
  EXPECT_EQ(part["again"], "attnscope spectrum m");
  EXPECT_EQ(part["notes"], json::array({"look"}));
  EXPECT_EQ(part["skipped"].at(0)["reason"], "NaN");
  const std::vector<float> numbers = numbers_of(file);
  for (const std::size_t row : {0U, 1U}) {
    const json& packed = part["rows"].at(row);
    EXPECT_FALSE(packed.contains("cumulative_energy"));
    EXPECT_EQ(packed["energy_rank"]["0.9"], 3);
    EXPECT_EQ(packed["shape"], json::array({10, 10}));
    const double scale = row == 0 ? 1 : 3;
    const json values = packed["singular_values"], null = packed["random_singular_values"];
    EXPECT_EQ(values["length"], 10);
    EXPECT_EQ(null["scale"], scale);
    for (std::size_t i = 0; i < 10; ++i) {
      EXPECT_EQ(numbers.at(values["at"].get<std::size_t>() + i),
                scale * static_cast<double>(i + 1));
      EXPECT_EQ(scale * static_cast<double>(numbers.at(null["at"].get<std::size_t>() + i)),
                2 * scale * static_cast<double>(i + 1));
    }
  }
  EXPECT_EQ(part["rows"][0]["random_singular_values"]["at"],
            part["rows"][1]["random_singular_values"]["at"]);
}

TEST(ReportFile, KeepsTheStrongestRowsOfATruncatedSection) {
  ReportFile file({}, {});
  const auto sink = file.sink({.id = "composition", .again = "", .order_by = "excess", .most = 3});
  sink->begin({});
  for (const double excess : {0.1, 0.9, 0.3, 0.8, 0.2, 0.7, 0.6, 0.5}) {
    sink->add_row({{"excess", excess}});
  }
  sink->end();
  const json part = json::parse(file.results(0))["reports"].at(0);
  EXPECT_EQ(part["count"], 8);
  std::vector<double> kept;
  for (const json& row : part["rows"]) kept.push_back(row["excess"]);
  EXPECT_EQ(kept, (std::vector<double>{0.9, 0.8, 0.7}));
}

TEST(ReportFile, KeepsTrianglesOfCausalMaps) {
  const std::vector<float> weights = {1, 0, 0, 0.5F, 0.5F, 0, 0.25F, 0.25F, 0.5F};
  const MatrixView<const float> map{weights.data(), 3, 3, 3};
  ReportFile file({}, {});
  file.add_map({"m", 0, 1}, map, /*causal=*/true);
  file.add_map({"m", 0, 2}, map, /*causal=*/false);
  file.add_thumbnail({"m", 0, 3}, map, 2);
  const json maps = json::parse(file.results(0))["maps"];
  EXPECT_EQ(maps.at(0)["at"], 0);
  EXPECT_EQ(maps.at(1)["at"], 6);
  EXPECT_EQ(maps.at(2)["at"], 15);
  EXPECT_EQ(maps.at(2)["side"], 2);
  const auto byte = [](float weight) { return static_cast<char>(weight_byte(weight)); };
  EXPECT_EQ(file.maps().substr(0, 6),
            (std::string{byte(1), byte(0.5F), byte(0.5F), byte(0.25F), byte(0.25F), byte(0.5F)}));
  // Blocks of the thumbnail: row 0 and column 0 first, then the others. Each shows its largest
  // weight.
  EXPECT_EQ(file.maps().substr(15), (std::string{byte(1), byte(0), byte(0.5F), byte(0.5F)}));
}

TEST(ReportFile, ShowsAMatrixByBlockMeans) {
  Matrix<float> weights(4, 2);
  for (std::int64_t i = 0; i < 8; ++i) weights(i / 2, i % 2) = i < 4 ? 1.0F : -3.0F;
  ReportFile file({}, {});
  file.add_matrix("m", 5, "q", std::move(weights), 2);
  const json matrix = json::parse(file.results(0))["matrices"].at(0);
  EXPECT_EQ(matrix["shape"], json::array({4, 2}));
  EXPECT_EQ(matrix["rows"], 2);
  EXPECT_EQ(matrix["limit"], 3.0);
  EXPECT_EQ(file.maps(),
            (std::string{static_cast<char>(signed_byte(1, 3)), static_cast<char>(signed_byte(1, 3)),
                         static_cast<char>(1), static_cast<char>(1)}));
}

void add_part(ReportFile& file, const std::string& id, bool whole = true) {
  const auto sink = file.sink({.id = id, .again = ""});
  sink->begin({});
  sink->add_row(spectrum_row(1));
  if (whole) sink->end();
}

TEST(ReportFile, SectionsCanBeRemoved) {
  ReportFile file({}, {});
  add_part(file, "a");
  const std::vector<float> of_one = numbers_of(file);
  add_part(file, "b");
  file.add_left_out({.part = "b", .model = "m", .why = "too large", .command = "attnscope b"});
  EXPECT_EQ(numbers_of(file).size(), 2 * of_one.size()) << "no part uses another's numbers";
  EXPECT_TRUE(file.holds("b"));
  file.remove_part("b");
  EXPECT_FALSE(file.holds("b"));
  EXPECT_EQ(numbers_of(file), of_one);
  add_part(file, "b");
  file.remove_part("a");  // its numbers precede others, so they are kept
  const json results = json::parse(file.results(0));
  EXPECT_EQ(results["reports"].size(), 1u);
  EXPECT_EQ(results["skipped"], json::array());
  EXPECT_EQ(results["reports"].at(0)["rows"].at(0)["singular_values"]["at"], of_one.size());
}

TEST(ReportFile, AFailedSectionLeavesNothing) {
  ReportFile file({}, {});
  add_part(file, "a", /*whole=*/false);
  EXPECT_EQ(file.values(), "");
  EXPECT_EQ(json::parse(file.results(0))["reports"], json::array());
}

TEST(ReportFile, ATextCanBeRemoved) {
  const std::vector<float> weights = {1, 0, 0.5F, 0.5F};
  const MatrixView<const float> map{weights.data(), 2, 2, 2};
  ReportFile file({}, {});
  file.add_matrix("m", 0, "q", Matrix<float>(2, 2), 2);
  file.add_text("m", {.ids = {1, 2}, .texts = {"a", "b"}});
  file.add_shown_image("image",
                       {.rows = 1, .cols = 1, .bytes = "rgb", .grid = {0, 1, 1}, .names = {}});
  file.add_audio("sound", {.seconds = 1, .levels = {0, 1}});
  file.add_map({"m", 0, 0}, map, /*causal=*/true);
  file.remove_text();
  const json results = json::parse(file.results(0));
  for (const char* list : {"texts", "pictures", "sounds", "maps"}) {
    EXPECT_EQ(results[list], json::array()) << list;
  }
  EXPECT_EQ(results["matrices"].size(), 1u);
  EXPECT_EQ(file.maps().size(), 4u) << "the matrix stays";
}

TEST(ReportFile, NamesTheTextOfTheKeysOfMaps) {
  ReportFile file({}, {});
  file.add_text("m", {.ids = {7}, .texts = {}});
  file.add_text("across", {.ids = {1, 2}, .texts = {"a", "b"}}, {.ids = {3}, .texts = {"c"}});
  const json texts = json::parse(file.results(0))["texts"];
  EXPECT_EQ(texts.at(0)["tokens"].dump(), R"([{"id":7,"text":null}])");
  EXPECT_FALSE(texts.at(0).contains("source"));
  EXPECT_EQ(texts.at(1)["tokens"].size(), 2u);
  EXPECT_EQ(texts.at(1)["source"].dump(), R"([{"id":3,"text":"c"}])");
}

TEST(ReportFile, KeepsMapsOfMoreKeysThanQueries) {
  const std::vector<float> weights = {1, 0, 0, 0, 0.5F, 0.5F};  // 2 queries, 3 keys
  const MatrixView<const float> map{weights.data(), 2, 3, 3};
  ReportFile file({}, {});
  file.add_map({"m", 0, 0}, map, /*causal=*/false);
  file.add_thumbnail({"m", 0, 1}, map, 2);
  const json maps = json::parse(file.results(0))["maps"];
  EXPECT_EQ(maps.at(0)["tokens"], 2);
  EXPECT_EQ(maps.at(0)["keys"], 3);
  EXPECT_EQ(maps.at(0)["side"], 2);
  EXPECT_EQ(maps.at(0)["key_side"], 3);
  EXPECT_EQ(maps.at(1)["key_side"], 2);
  EXPECT_EQ(maps.at(1)["at"], 6);
  const char half = static_cast<char>(weight_byte(0.5F)), all = static_cast<char>(255);
  EXPECT_EQ(file.maps(), (std::string{all, 0, 0, 0, half, half, all, 0, 0, half}));
}

TEST(ReportFile, StoresAnImageAndAudioAsBytes) {
  ReportFile file({}, {});
  file.add_shown_image("image", {.rows = 1,
                                 .cols = 2,
                                 .bytes = "rgbRGB",
                                 .grid = {.before = 1, .rows = 1, .cols = 2},
                                 .names = {"class token"}});
  file.add_audio("sound", {.seconds = 0.5, .levels = {0, 0.2, 1}});
  const json results = json::parse(file.results(0));
  EXPECT_EQ(results["pictures"].at(0).dump(),
            R"({"at":0,"cols":2,"model":"image","names":["class token"],"patch_cols":2,)"
            R"("patch_rows":1,"rows":1})");
  EXPECT_EQ(results["sounds"].at(0).dump(), R"({"at":6,"frames":3,"model":"sound","seconds":0.5})");
  EXPECT_EQ(file.maps(), std::string("rgbRGB") + '\0' + '\x33' + '\xFF');
}

TEST(ReportFile, ShowsCosinesWithoutTheirDiagonal) {
  const std::vector<double> cosines = {1, 0.2, 0.2, 1};
  ReportFile file({}, {});
  file.add_cosines("m", 1, "q", 3, {cosines.data(), 2, 2, 2});
  const json image = json::parse(file.results(0))["cosines"].at(0);
  EXPECT_EQ(image["head"], 3);
  EXPECT_EQ(image["limit"], 0.2);
  EXPECT_EQ(file.maps(), (std::string{static_cast<char>(128), static_cast<char>(255),
                                      static_cast<char>(255), static_cast<char>(128)}));
}

TEST(ReportFile, FillsThePageAndEscapesDataBlocks) {
  ReportFile file({{"command", "</script><script>alert(1)</script>"}}, {});
  std::ostringstream out;
  file.write("<a>@@results@@</a><b>@@values@@</b><c>@@maps@@</c>", 0, out);
  const std::string page = out.str();
  EXPECT_EQ(page.substr(0, 3), "<a>");
  EXPECT_EQ(page.substr(page.size() - 4), "</c>");
  EXPECT_EQ(std::count(page.begin(), page.end(), '<'), 6);
  EXPECT_EQ(page.find("@@"), std::string::npos);
  EXPECT_THROW(file.write("no place", 0, out), std::logic_error);
}

}  // namespace
}  // namespace attnscope
