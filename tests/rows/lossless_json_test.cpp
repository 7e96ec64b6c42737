// Records as text and back: nothing is lost, and malicious text is an error.
#include "attnscope/rows/lossless_json.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "tests/support/expect_error.h"

namespace attnscope::test {
namespace {

/// Whether two values have the same types and bits at every level.
bool identical(const Value& a, const Value& b);

bool identical(const Record& a, const Record& b) {
  if (a.fields().size() != b.fields().size()) return false;
  for (std::size_t at = 0; at < a.fields().size(); ++at) {
    if (a.fields()[at].first != b.fields()[at].first) return false;
    if (!identical(a.fields()[at].second, b.fields()[at].second)) return false;
  }
  return true;
}

bool same_number(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

bool identical(const Array& a, const Array& b) {
  if (a.shape != b.shape || a.data.index() != b.data.index()) return false;
  const auto* numbers = std::get_if<std::vector<double>>(&a.data);
  if (numbers == nullptr) return a.data == b.data;
  const auto& others = std::get<std::vector<double>>(b.data);
  return std::equal(numbers->begin(), numbers->end(), others.begin(), others.end(), same_number);
}

bool identical(const Value& a, const Value& b) {
  if (a.data().index() != b.data().index()) return false;
  if (const auto* number = a.get<double>()) return same_number(*number, *b.get<double>());
  if (const auto* record = a.get<Record>()) return identical(*record, *b.get<Record>());
  if (const auto* list = a.get<Value::List>()) {
    return std::equal(list->begin(), list->end(), b.get<Value::List>()->begin(),
                      b.get<Value::List>()->end(),
                      [](const Value& x, const Value& y) { return identical(x, y); });
  }
  if (const auto* array = a.get<Array>()) return identical(*array, *b.get<Array>());
  if (const auto* text = a.get<std::string>()) return *text == *b.get<std::string>();
  if (const auto* integer = a.get<std::int64_t>()) return *integer == *b.get<std::int64_t>();
  if (const auto* flag = a.get<bool>()) return *flag == *b.get<bool>();
  return true;
}

void expect_round_trip(const Record& record) {
  const std::string text = record_text(record);
  SCOPED_TRACE(text);
  EXPECT_TRUE(identical(parse_record(text, "here"), record));
  EXPECT_EQ(record_text(parse_record(text, "here")), text);
}

TEST(LosslessJson, RoundTripsEveryType) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  using List = Value::List;
  expect_round_trip({});
  expect_round_trip({{"null", Value()},
                     {"true", true},
                     {"false", false},
                     {"zero", 0},
                     {"least", std::numeric_limits<std::int64_t>::min()},
                     {"most", std::numeric_limits<std::int64_t>::max()},
                     {"text", "\"quoted\" \\ \n \x01 ü"},
                     {"", "a field without a name"}});
  expect_round_trip({{"whole", 3.0},
                     {"negative zero", -0.0},
                     {"tenth", 0.1},
                     {"third", 1.0 / 3},
                     {"largest", std::numeric_limits<double>::max()},
                     {"smallest", std::numeric_limits<double>::denorm_min()},
                     {"many digits", 123456789012345680.0}});
  const Array matrix{{2, 3}, std::vector<double>{1, kNan, 3, 4, 5, -0.0}};
  const Array without_columns{{2, 0}, std::vector<double>{}};
  const Array counts{{2, 1, 2}, std::vector<std::int64_t>{1, 2, 3, 4}};
  expect_round_trip({{"numbers", std::vector<double>{1, 2.5, kNan}},
                     {"no numbers", std::vector<double>{}},
                     {"whole numbers", std::vector<std::int64_t>{1, 2}},
                     {"matrix", matrix},
                     {"no columns", without_columns},
                     {"three dimensions", counts},
                     {"list of numbers", List{1.0, 2.5}},
                     {"list of nulls", List{Value(), Value()}},
                     {"empty list", List{}},
                     {"mixed list", List{1, 2.5, "three", Value()}},
                     {"list of lists", List{List{}, List{"1"}, std::vector<double>{1}}},
                     {"ragged", List{std::vector<double>{1}, std::vector<double>{1, 2}}},
                     {"of two types", List{matrix, counts}},
                     {"record", Record{{"0.9", 1}, {"0.99", Value()}}},
                     {"empty record", Record()},
                     {"$list", 1},
                     {"$$list", Record{{"$list", List{}}}}});
}

// Rows and digests in stores were written before arrays had types and shapes.
TEST(LosslessJson, TextStaysTheSameIfTypesChange) {
  const std::vector<double> line = {1, 0.5};
  const struct {
    std::string text;
    Value value;
  } fields[] = {
      {R"({"a":[1,2]})", Value::List{1, 2}},
      {R"({"a":[1,2]})", std::vector<std::int64_t>{1, 2}},
      {R"({"a":{"$list":[]}})", Value::List{}},
      {R"({"a":{"$list":[]}})", std::vector<std::int64_t>{}},
      {R"({"a":[[1.0,0.5],[1.0,0.5]]})", Value::List{line, line}},
      {R"({"a":[[1.0,0.5],[1.0,0.5]]})", Array{{2, 2}, std::vector<double>{1, 0.5, 1, 0.5}}},
      {R"({"a":[[1,2],[3,4]]})", Array{{2, 2}, std::vector<std::int64_t>{1, 2, 3, 4}}},
      {R"({"a":[0.5,null,0.10000000149011612]})",
       Array{{3}, std::vector<float>{0.5F, std::numeric_limits<float>::quiet_NaN(), 0.1F}}},
  };
  for (const auto& [text, value] : fields) {
    EXPECT_EQ(record_text({{"a", value}}), text);
    EXPECT_EQ(record_text(parse_record(text, "here")), text);
  }
}

TEST(LosslessJson, RoundTripsEveryFloat64BitForBit) {
  std::mt19937_64 random(1);
  std::vector<double> numbers;
  while (numbers.size() < 10'000) {
    const auto number = std::bit_cast<double>(random());
    if (std::isfinite(number)) numbers.push_back(number);
  }
  expect_round_trip({{"numbers", std::move(numbers)}});
}

TEST(LosslessJson, ReplacesInvalidUtf8) {
  const Record back = parse_record(record_text({{"text", "a\xFF"}}), "here");
  EXPECT_EQ(*back.find("text")->get<std::string>(), "a\xEF\xBF\xBD");
}

TEST(LosslessJson, RejectsOtherText) {
  std::string deep;
  for (int level = 0; level < 1000; ++level) deep += R"({"a":)";
  const struct {
    std::string fault, text;
  } texts[] = {
      {"nothing", ""},
      {"no JSON", "x"},
      {"cut", R"({"a":1)"},
      {"more behind it", R"({"a":1} 2)"},
      {"no object", "[1]"},
      {"a number alone", "1"},
      {"above int64", R"({"a":9223372036854775808})"},
      {"above float64", R"({"a":1e999})"},
      {"not a number", R"({"a":NaN})"},
      {"an unknown mark", R"({"$other":1})"},
      {"a mark on text", R"({"a":{"$list":"text"}})"},
      {"a mark on whole numbers", R"({"a":{"$list":[1]}})"},
      {"a mark on a matrix", R"({"a":{"$list":[[1.0]]}})"},
      {"a mark among fields", R"({"a":{"b":1,"$list":[]}})"},
      {"two marks", R"({"a":{"$list":[],"$list":[]}})"},
      {"a mark alone", R"({"$list":[]})"},
      {"broken UTF-8", "{\"a\":\"\xFF\"}"},
      {"a NUL", std::string("{\"a\":1}\0", 8)},
      {"too deep", deep},
  };
  for (const auto& wrong : texts) {
    SCOPED_TRACE(wrong.fault);
    EXPECT_ERROR_SAYING(ErrorKind::format, parse_record(wrong.text, "rows.sqlite"), "rows.sqlite");
  }
}

}  // namespace
}  // namespace attnscope::test
