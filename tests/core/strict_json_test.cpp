#include "attnscope/core/strict_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/expect_error.h"
#include "tests/support/repeated.h"

namespace attnscope {
namespace {

using test::repeated;

TEST(StrictJson, ReadsWhatIsSound) {
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

TEST(StrictJson, AllowsNestingUpToItsLimit) {
  EXPECT_NO_THROW(parse_json(repeated("[", 64) + repeated("]", 64), "file"));
}

}  // namespace
}  // namespace attnscope
