#include <charconv>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "attnscope/base/text.h"

namespace attnscope {
namespace {

TEST(Printable, EscapesControlBytesAndBrokenUtf8) {
  const struct {
    std::string_view what, untrusted, shown;
  } cases[] = {
      {"plain text", "layers.0.q_proj", "layers.0.q_proj"},
      {"empty", "", ""},
      {"letters past ASCII", "Größe 重み 🙂", "Größe 重み 🙂"},
      {"newline and tab", "a\nb\tc", "a\\x0ab\\x09c"},
      {"NUL", std::string_view("a\0b", 3), "a\\x00b"},
      {"terminal escape and DEL", "\x1b[2J\x7f", "\\x1b[2J\\x7f"},
      {"C1 control in two bytes", "\xC2\x9B", "\\xc2\\x9b"},
      {"first letter past C1", "\xC2\xA0", "\xC2\xA0"},
      {"lone continuation byte", "a\x80z", "a\\x80z"},
      {"cut sequence", "\xE9\x87", "\\xe9\\x87"},
      {"overlong slash", "\xC0\xAF", "\\xc0\\xaf"},
      {"overlong in three bytes", "\xE0\x80\xAF", "\\xe0\\x80\\xaf"},
      {"overlong in four bytes", "\xF0\x80\x80\xAF", "\\xf0\\x80\\x80\\xaf"},
      {"surrogate", "\xED\xA0\x80", "\\xed\\xa0\\x80"},
      {"past U+10FFFF", "\xF4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
      {"line separator", "\u2028", "\\xe2\\x80\\xa8"},
      {"right-to-left override", "\u202E", "\\xe2\\x80\\xae"},
      {"first strong isolate", "\u2068", "\\xe2\\x81\\xa8"},
      {"dash beside them", "\u2014", "\u2014"},
      {"no such lead byte", "\xFF", "\\xff"},
  };
  for (const auto& [what, untrusted, shown] : cases) {
    EXPECT_EQ(printable(untrusted), shown) << what;
    EXPECT_EQ(printable(printable(untrusted)), shown) << what << ", twice";
  }
}

TEST(ShortestDecimal, ReadsBackToTheSameNumber) {
  const double numbers[] = {0.1,
                            0.9,
                            1.0 / 3,
                            1e-7,
                            1e300,
                            -2.5,
                            0,
                            std::numeric_limits<double>::denorm_min(),
                            std::numeric_limits<double>::max()};
  for (const double number : numbers) {
    const std::string text = shortest_decimal(number);
    double read = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), read);
    EXPECT_EQ(parsed.ptr, text.data() + text.size());
    EXPECT_EQ(read, number) << text;
  }
  EXPECT_EQ(shortest_decimal(0.9), "0.9");
  EXPECT_EQ(shortest_decimal(0.99), "0.99");
  EXPECT_EQ(shortest_decimal(1), "1");
}

TEST(Text, ShapeJoinAndSplit) {
  const std::vector<std::int64_t> shape = {2, 3};
  EXPECT_EQ(shape_text(shape), "[2, 3]");
  EXPECT_EQ(shape_text({}), "[]");

  const std::vector<std::string> words = {"a", "", "c"};
  EXPECT_EQ(join(words), "a, , c");
  EXPECT_EQ(join(words, "+"), "a++c");
  EXPECT_EQ(join({}), "");
  EXPECT_EQ(split("a,,c", ','), words);
  EXPECT_EQ(split("", ','), std::vector<std::string>{""});
  EXPECT_EQ(split("a,", ','), (std::vector<std::string>{"a", ""}));
}

TEST(Suggestion, OffersOnlyCloseWords) {
  const std::vector<std::string> commands = {"spectrum", "circuits", "info", "q"};
  EXPECT_EQ(closest("spektrum", commands), "spectrum");
  EXPECT_EQ(closest("circuit", commands), "circuits");
  EXPECT_EQ(closest("spectrum", commands), "spectrum");
  EXPECT_EQ(closest("completely", commands), std::nullopt);
  EXPECT_EQ(closest("", commands), std::nullopt);
  EXPECT_EQ(closest("x", {}), std::nullopt);
  // A one-letter word with another letter is a different word, not a typing mistake.
  EXPECT_EQ(closest("x", commands), std::nullopt);
  EXPECT_EQ(closest(std::string(100'000, 's'), commands), std::nullopt);

  EXPECT_EQ(suggestion("inof", commands), " (did you mean 'info'?)");  // two letters swapped
  EXPECT_EQ(suggestion("ingo", commands), " (did you mean 'info'?)");
  EXPECT_EQ(suggestion("inga", commands), "");  // two of four letters are wrong
  EXPECT_EQ(suggestion("inf", commands), " (did you mean 'info'?)");
}

}  // namespace
namespace {

using Words = std::vector<std::string>;

TEST(Wording, UsesTheSingularForOne) {
  EXPECT_EQ(counted(0, "token"), "0 tokens");
  EXPECT_EQ(counted(1, "token"), "1 token");
  EXPECT_EQ(counted(std::uint64_t{1} << 63, "byte"), "9223372036854775808 bytes");
  EXPECT_EQ(counted(std::int64_t{-1}, "layer"), "-1 layers");
  EXPECT_EQ(counted(1, "matrix", "matrices"), "1 matrix");
  EXPECT_EQ(counted(2, "matrix", "matrices"), "2 matrices");
  EXPECT_EQ(noun_for(1, "sequence"), "sequence");
}

TEST(Wording, TrimsSpacesAroundListItems) {
  EXPECT_EQ(list_parts("1,2"), (Words{"1", "2"}));
  EXPECT_EQ(list_parts(" 1 ,\t2\n"), (Words{"1", "2"}));
  EXPECT_EQ(list_parts("a b, c"), (Words{"a b", "c"}));
  EXPECT_EQ(list_parts(""), Words{""});
  EXPECT_EQ(list_parts(" ,"), (Words{"", ""}));
}

TEST(Wording, JoinsAlternatives) {
  EXPECT_EQ(join_alternatives(Words{}), "");
  EXPECT_EQ(join_alternatives(Words{"a"}), "a");
  EXPECT_EQ(join_alternatives(Words{"a", "b"}), "a or b");
  EXPECT_EQ(join_alternatives(Words{"a", "b", "c"}), "a, b or c");
}

}  // namespace
}  // namespace attnscope
