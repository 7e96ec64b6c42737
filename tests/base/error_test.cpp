#include "attnscope/base/error.h"

#include <gtest/gtest.h>

namespace attnscope {
namespace {

TEST(Error, TableFollowsTheEnum) {
  for (std::size_t index = 0; index < kErrorKinds.size(); ++index) {
    EXPECT_EQ(static_cast<std::size_t>(kErrorKinds[index].kind), index);
  }
}

// Scripts depend on these names and exit codes.
TEST(Error, KindsHaveStableNamesAndExitCodes) {
  const struct {
    ErrorKind kind;
    std::string_view name;
    int exit_code;
  } contract[] = {
      {ErrorKind::usage, "usage", 2},         {ErrorKind::io, "io", 3},
      {ErrorKind::format, "format", 4},       {ErrorKind::unsupported, "unsupported", 5},
      {ErrorKind::numerical, "numerical", 6},
  };
  ASSERT_EQ(std::size(contract), kErrorKinds.size());
  for (const auto& [kind, name, code] : contract) {
    EXPECT_EQ(exit_code(kind), code);
    EXPECT_EQ(kErrorKinds[static_cast<std::size_t>(kind)].name, name);
  }
}

TEST(Error, PutsTheLocationBeforeTheProblemOnOneLine) {
  const Error error(ErrorKind::io, "a\nfile", "can\x1b[31mnot\t");
  EXPECT_STREQ(error.what(), "a\\x0afile: can\\x1b[31mnot\\x09");
  EXPECT_EQ(error.kind(), ErrorKind::io);
}

TEST(Error, KeepsItsFieldsSoThatEachInterfaceNamesParameters) {
  const Error error(ErrorKind::usage, {.parameter = "rope_offset",
                                       .problem = "needs {fold_norm} or {\"a\": 1}",
                                       .beside = {"per_head", "values", "rank"},
                                       .hint = "name a {layout}"});
  EXPECT_STREQ(
      error.what(),
      "rope_offset: needs fold_norm or {\"a\": 1}; cannot be combined with per_head, values "
      "and rank (name a layout)");
  const auto flag = [](std::string_view name) { return "--" + std::string(name); };
  EXPECT_EQ(error_text({.parameter = "rank", .problem = "is none", .beside = {"mla"}}, flag),
            "--rank: is none; cannot be combined with --mla");
  EXPECT_EQ(error_text({.file = "a.bin", .tensor = "w", .problem = "is cut {"}, flag),
            "a.bin: tensor 'w': is cut {");
  EXPECT_EQ(error.parts().parameter, "rope_offset");
}

TEST(Error, NamesTheFileAndTheTensorOnce) {
  const auto text = [](const ErrorParts& parts) {
    return Error(ErrorKind::format, parts).what() + std::string();
  };
  EXPECT_EQ(text({.file = "a", .place = "header", .problem = "is cut"}), "a: header: is cut");
  EXPECT_EQ(text({.file = "a", .tensor = "w", .problem = "tensor 'w' is missing"}),
            "a: tensor 'w' is missing");
  EXPECT_EQ(text({.file = "a", .tensor = "{w}", .problem = verbatim("tensor '{w}' is missing")}),
            "a: tensor '{w}' is missing");
}

TEST(Error, KeepsBracesFromFilesUnchanged) {
  const auto flag = [](std::string_view name) { return "--" + std::string(name); };
  for (const char* name : {"{layer}", "{", "{{x}}", "a{b", "{{", "}"}) {
    EXPECT_EQ(spell_parameters(verbatim(name) + " {layout}", flag),
              std::string(name) + " --layout");
  }
}

}  // namespace
}  // namespace attnscope
