#include "attnscope/base/python_regex.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/expect_error.h"

namespace attnscope::test {
namespace {

bool fullmatch(const std::string& pattern, const std::string& text) {
  std::uint64_t budget = 1'000'000;
  return PythonRegex(pattern, "FILE").matches_whole(text, budget);
}

bool match(const std::string& pattern, const std::string& text) {
  std::uint64_t budget = 1'000'000;
  return PythonRegex(pattern, "FILE").matches_start(text, budget);
}

struct RegexCase {
  const char *pattern, *text;
  bool matches;
};

/// Results of re.fullmatch() in Python 3.11.
TEST(PythonRegex, MatchesLikePython) {
  const RegexCase cases[] = {
      {"", "", true},
      {"", "a", false},
      {"a|b", "b", true},
      {"a|", "", true},
      {"ab|cd", "abd", false},
      {"a*b+c?", "aabb", true},
      {"(?:a|b)*c", "ababc", true},
      {"(a*)*", "aaaa", true},
      {"(a|a)*?b", "aab", true},
      {"a{2}", "aaa", false},
      {"a{2,}", "aaa", true},
      {"a{,2}", "aaa", false},
      {"a{1,3}b", "aaab", true},
      {"a{,}", "aaa", true},
      {"a{x}", "a{x}", true},
      {"a{}", "a{}", true},
      {"a{1", "a{1", true},
      {"[a-c]+", "abcab", true},
      {"[^a-c]", "b", false},
      {"[]a]+", "]a", true},
      {"[^]a]", "b", true},
      {"[a-]", "-", true},
      {"[\\d.]+", "1.5", true},
      {"[\\]\\-]+", "]-", true},
      {"[.]", "x", false},
      {"[(|)]", "|", true},
      {"\\d\\w\\s\\S", "1_ x", true},
      {"\\D\\W", "1_", false},
      {"\\.\\*\\/\\_", ".*/_", true},
      {"\\x41\\t", "A\t", true},
      {".", "\n", false},
      {"^a$", "a", true},
      {"a^b", "ab", false},
      {"\\Aa\\Z", "a", true},
      {"\\ba\\b.\\bb", "a b", true},
      {"a\\Bb", "ab", true},
      {"(?P<name>a)b", "ab", true},
      {"(?#what)a", "a", true},
      {"(?=a)\\w", "a", true},
      {"(?=b)\\w", "a", false},
      {"(?!.*vision).*proj", "text.q_proj", true},
      {"(?!.*vision).*proj", "vision.q_proj", false},
      {"\\w+(?<!down)_proj", "down_proj", false},
      {"\\w+(?<!down)_proj", "up_proj", true},
      {"\\w+(?<=up)_proj", "up_proj", true},
      {"b(?<=(?=b)?b)", "b", true},
      {"(?:(?=a(?!b))\\w)+", "aa", true},
      {".*\\.layers\\.[02]\\..*", "model.layers.2.x", true},
  };
  for (const RegexCase& one : cases) {
    EXPECT_EQ(fullmatch(one.pattern, one.text), one.matches) << one.pattern << " on " << one.text;
  }
  EXPECT_TRUE(match("ab", "abc"));
  EXPECT_FALSE(match("ab$", "abc"));
  EXPECT_TRUE(match("ab$", "ab\n"));
  EXPECT_FALSE(match("b", "ab"));
}

TEST(PythonRegex, NamesUnsupportedSyntax) {
  const auto compile = [](const char* pattern) { return PythonRegex(pattern, "FILE"); };
  const std::pair<const char*, const char*> refused[] = {{"(a)\\1", "back-reference"},
                                                         {"(?P<n>a)(?P=n)", "back-reference"},
                                                         {"(a)?(?(1)b|c)", "conditional"},
                                                         {"(?>a)", "atomic"},
                                                         {"a++", "possessive"},
                                                         {"a{1,2}+", "possessive"},
                                                         {"(?i)a", "flags"},
                                                         {"(?i:a)", "flags"},
                                                         {"\\N{DASH}", "'\\N'"},
                                                         {"\\u0041", "'\\u'"},
                                                         {"\xC3\xA9", "ASCII"},
                                                         {"a{1001}", "1000"},
                                                         {"(((a{999}){999}){999})", "too large"}};
  for (const auto& one : refused) {
    const char* pattern = one.first;
    const char* said = one.second;
    SCOPED_TRACE(pattern);
    EXPECT_ERROR_SAYING(ErrorKind::unsupported, compile(pattern), "FILE", "pattern", said);
  }
  const std::string deep = std::string(1000, '(') + std::string(1000, ')');
  EXPECT_ERROR_SAYING(ErrorKind::unsupported, compile(deep.c_str()), "nested");
  for (const char* broken : {"(",     ")",       "a)|(b)",  "*",     "a**",     "^*", "a|*",
                             "{2}",   "[",       "[]",      "[z-a]", "[\\d-z]", "\\", "\\x4",
                             "(?P<n", "(?<n>a)", "(?<=a*)", "(?:a",  "a{3,2}",  "(?#"}) {
    SCOPED_TRACE(broken);
    EXPECT_ERROR_SAYING(ErrorKind::format, compile(broken), "FILE", "pattern");
  }
}

/// Patterns for which a backtracking engine needs exponential time, or overflows its stack.
TEST(PythonRegex, RunsInBoundedTime) {
  const std::string text(200, 'a');
  EXPECT_FALSE(fullmatch("(a*)*b", text));
  EXPECT_FALSE(fullmatch("(a|aa)+$b", text));
  EXPECT_FALSE(fullmatch("(?=(a*)*b)a*", text));
  std::uint64_t budget = 100;
  const PythonRegex regex("(a|b)*c", "FILE");
  EXPECT_ERROR_SAYING(ErrorKind::unsupported, regex.matches_whole(text, budget), "too long");
}

}  // namespace
}  // namespace attnscope::test
