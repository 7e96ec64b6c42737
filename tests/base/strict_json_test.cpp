#include "attnscope/base/strict_json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <ctime>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/expect_error.h"
#include "tests/support/repeated_text.h"

namespace attnscope {
namespace {

using test::repeated;

TEST(StrictJson, ReadsValidText) {
  const auto parsed = parse_json(R"( {"a": [1, 2.5, null, true], "b": {"a": "ü"}} )", "file");
  EXPECT_EQ(parsed["a"].size(), 4u);
  EXPECT_EQ(parsed["b"]["a"], "ü");
}

TEST(StrictJson, AllowsTheSameKeyInDifferentObjects) {
  EXPECT_NO_THROW(parse_json(R"({"a": {"x": 1}, "b": {"x": 2}, "c": [{"x": 3}, {"x": 4}]})", "f"));
}

TEST(StrictJson, RejectsMalformedText) {
  const std::string deep_arrays = repeated("[", 65) + repeated("]", 65);
  const std::string deep_objects = repeated(R"({"a":)", 100'000);
  const struct {
    std::string_view fault, text, said;
  } documents[] = {
      {"empty", "", "not JSON"},
      {"only spaces", "  ", "not JSON"},
      {"cut in a string", R"({"a": "b)", "not JSON"},
      {"cut in an object", R"({"a": 1)", "not JSON"},
      {"trailing text", "{} {}", "not JSON"},
      {"trailing comma", R"({"a": 1,})", "not JSON"},
      {"comment", "{} // no", "not JSON"},
      {"single quotes", "{'a': 1}", "not JSON"},
      {"NaN", R"({"a": NaN})", "not JSON"},
      {"broken UTF-8", "{\"\xC3\x28\": 1}", "not JSON"},
      {"text behind a NUL", std::string_view("{}\0[", 4), "not JSON (at byte 3)"},
      {"NUL in a string", std::string_view("\"\0\"", 3), "not JSON"},
      {"lone surrogate", R"({"a": "\ud800"})", "not JSON"},
      {"leading zero", R"({"a": 01})", "not JSON"},
      {"number past float64", R"({"a": 1e999})", "number out of range"},
      {"duplicate key", R"({"a": 1, "b": 2, "a": 3})", "duplicate key 'a'"},
      {"duplicate key in a nested object", R"([{"x": {"a": 1, "a": 1}}])", "duplicate key 'a'"},
      {"duplicate key, once escaped", R"({"a": 1, "\u0061": 2})", "duplicate key 'a'"},
      {"duplicate key with a newline in it", R"({"a\n": 1, "a\n": 2})", "duplicate key 'a\\x0a'"},
      {"65 arrays deep", deep_arrays, "nested deeper than 64"},
      {"objects without end", deep_objects, "nested deeper than 64"},
  };
  for (const auto& wrong : documents) {
    SCOPED_TRACE(wrong.fault);
    EXPECT_ERROR_SAYING(ErrorKind::format, parse_json(wrong.text, "model/config.json"),
                        "model/config.json: ", wrong.said);
  }
}

TEST(StrictJson, AllowsNestingUpToTheLimit) {
  EXPECT_NO_THROW(parse_json(repeated("[", 64) + repeated("]", 64), "file"));
}

TEST(StrictJson, KeepsEveryKindOfValue) {
  const std::string text =
      R"({"": [[], {}, [{"x": [[1], 2]}]], "a": -1, "b": 18446744073709551615, "c": 1e-3,)"
      R"( "d": [true, false, null], "e": {"f": {"g": "h"}, "i": "\u00fc\n"}})";
  EXPECT_EQ(parse_json(text, "file"), nlohmann::json::parse(text));
  for (const char* scalar : {"1", "\"a\"", "null", " true "}) {
    EXPECT_EQ(parse_json(scalar, "file"), nlohmann::json::parse(scalar));
    EXPECT_EQ(parse_python_json(scalar, "file"), nlohmann::json::parse(scalar));
  }
}

// A parser that searched the parent at the end of each object took minutes.
TEST(StrictJson, ParsesInLinearTime) {
  std::string text = "{";
  for (int at = 0; at < 150'000; ++at) {
    text += (at == 0 ? "\"" : ",\"") + std::to_string(at) + R"(":{"shape":[1,2],"x":{"y":1}})";
  }
  text += "}";
  const std::clock_t start = std::clock();
  EXPECT_EQ(parse_json(text, "file").size(), 150'000u);
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 20);
}

TEST(PythonJson, ReadsNanAndInfinityAsPythonWritesThem) {
  const auto parsed = parse_python_json(
      R"({"NaN": "Infinity", "a": NaN, "b": [0.0, Infinity,-Infinity], "c\\": "\" NaN \"", "d": -Infinity})",
      "file");
  EXPECT_EQ(parsed["NaN"], "Infinity");
  EXPECT_TRUE(std::isnan(parsed["a"].get<double>()));
  EXPECT_EQ(parsed["b"][1], std::numeric_limits<double>::infinity());
  EXPECT_EQ(parsed["b"][2], -std::numeric_limits<double>::infinity());
  EXPECT_EQ(parsed["c\\"], "\" NaN \"");
  EXPECT_EQ(parsed["d"], -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(parse_python_json("NaN", "file").get<double>()));
}

TEST(PythonJson, RejectsWhatPythonRejects) {
  const struct {
    std::string_view text, said;
  } documents[] = {
      {R"({"a": nan})", "not JSON (at byte 8)"},
      {R"({"a": -NaN})", "not JSON (at byte 8)"},
      {R"({"a": +Infinity})", "not JSON (at byte 7)"},
      {R"({"a": NaNs})", "not JSON (at byte 7)"},
      {R"({"a": Infinity1})", "not JSON (at byte 7)"},
      {R"({"a": inf})", "not JSON (at byte 7)"},
      {R"({NaN: 1})", "not JSON (at byte 2)"},
      {R"({"a": 1, NaN: 1})", "(at byte 10)"},
      {R"(["a", NaN NaN])", "not JSON (at byte"},
      {R"({"a": 1, "a": NaN})", "duplicate key"},
      {R"({"a": "NaN})", "not JSON"},
      {R"({"a": [NaN, 1e999]})", "out of range"},
      {std::string_view("[NaN]\0", 6), "not JSON (at byte 6)"},
  };
  for (const auto& wrong : documents) {
    SCOPED_TRACE(wrong.text);
    EXPECT_ERROR_SAYING(ErrorKind::format, parse_python_json(wrong.text, "model/config.json"),
                        "model/config.json: ", wrong.said);
  }
}

TEST(PythonJson, WritesLikePython) {
  const std::string text =
      R"({"a":[NaN,-Infinity,Infinity],"b":{},"c":[],"d":{"e":[1,2.5,"\u00fc"]},"f":null})";
  EXPECT_EQ(python_json_text(parse_python_json(text, "file")), text);
  const auto finite = nlohmann::json::parse(R"({"b": {}, "c": [], "d": {"e": [1, {"g": 2.5}]}})");
  EXPECT_EQ(python_json_text(finite, 2), finite.dump(2));
  EXPECT_EQ(python_json_text(finite), finite.dump());
}

}  // namespace
}  // namespace attnscope
