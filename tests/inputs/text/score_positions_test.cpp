#include "attnscope/inputs/text/score_positions.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attnscope/base/error.h"

namespace attnscope {
namespace {

Positions chosen(const std::string& text, std::int64_t tokens) {
  return positions_of(parse_position_ranges(text).value(), tokens);
}

TEST(ScorePositions, RangesCountFromBothEnds) {
  EXPECT_EQ(chosen("last", 6), Positions{5});
  EXPECT_EQ(chosen("4-", 6), (Positions{4, 5}));
  EXPECT_EQ(chosen("3,1,3", 6), (Positions{1, 3}));
  EXPECT_EQ(chosen("1-3", 6), (Positions{1, 2, 3}));
  EXPECT_EQ(chosen("-2-", 6), (Positions{4, 5}));
  EXPECT_EQ(chosen("-2", 6), Positions{4});
  EXPECT_EQ(chosen("-3--2,last", 6), (Positions{3, 4, 5}));
  EXPECT_EQ(chosen("2-last", 4), (Positions{2, 3}));
}

TEST(ScorePositions, IgnoresPositionsBeyondAnExample) {
  EXPECT_EQ(chosen("10-", 6), Positions{});
  EXPECT_EQ(chosen("3,7", 4), Positions{3});
  EXPECT_EQ(chosen("2-9223372036854775807", 4), (Positions{2, 3}));
  EXPECT_EQ(chosen("-8", 4), Positions{});
  EXPECT_EQ(chosen("-8-", 2), (Positions{0, 1}));
  EXPECT_EQ(chosen("last", 0), Positions{});
}

TEST(ScorePositions, RejectsInvalidRanges) {
  for (const char* text : {"", "x", "3x", "3-4-5", "last one", "99999999999999999999", "3;4",
                           "mask.txt", "3,,4", "--2"}) {
    const auto ranges = parse_position_ranges(text);
    EXPECT_FALSE(ranges.has_value() && !ranges->empty()) << text;
  }
}

TEST(ScorePositions, AMaskHasALinePerExample) {
  const PositionMask mask = parse_position_mask("0 0 1\r\n\n1,0\n011", "mask.txt");
  ASSERT_EQ(mask.size(), 3u);
  EXPECT_EQ(positions_of(mask, 0, 3, "mask.txt"), Positions{2});
  EXPECT_EQ(positions_of(mask, 1, 2, "mask.txt"), Positions{0});
  EXPECT_EQ(positions_of(mask, 2, 3, "mask.txt"), (Positions{1, 2}));
  EXPECT_THROW(positions_of(mask, 1, 3, "mask.txt"), Error);
}

std::string error_of(const std::string& text) {
  try {
    parse_position_mask(text, "mask.txt");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ScorePositions, ABrokenMaskIsRefusedWithItsLine) {
  EXPECT_NE(error_of("01\n02\n").find("line 2 contains '2'"), std::string::npos);
  EXPECT_NE(error_of("True\n").find("line 1 contains 'T'"), std::string::npos);
  EXPECT_NE(error_of(std::string("0\0", 2)).find("line 1"), std::string::npos);
}

/// A version-1 .npy file, as NumPy writes it.
std::string npy(const std::string& type, const std::string& shape, const std::string& values,
                const std::string& by_columns = "False") {
  std::string header =
      "{'descr': '" + type + "', 'fortran_order': " + by_columns + ", 'shape': " + shape + ", }";
  header.resize(117, ' ');
  header += '\n';
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' + header +
         values;
}

TEST(ScorePositions, ReadsABooleanNumPyArrayAsAMask) {
  const std::string flags("\0\1\1\1\0\0", 6);
  const PositionMask mask = read_npy_mask(npy("|b1", "(2, 3)", flags), "mask.npy");
  ASSERT_EQ(mask.size(), 2u);
  EXPECT_EQ(positions_of(mask, 0, 3, "mask.npy"), (Positions{1, 2}));
  EXPECT_EQ(positions_of(mask, 1, 3, "mask.npy"), Positions{0});
  EXPECT_EQ(read_npy_mask(npy("|b1", "(6,)", flags), "mask.npy").size(), 1u);
  EXPECT_TRUE(read_npy_mask(npy("|b1", "(99999999999, 0)", ""), "mask.npy").empty());
}

/// numpy.save() of a transposed array, whose values are in column-major order.
TEST(ScorePositions, TransposesAMaskInFortranOrder) {
  const std::string flags("\0\1\1\0\1\0", 6);
  const PositionMask mask = read_npy_mask(npy("|b1", "(2, 3)", flags, "True"), "mask.npy");
  EXPECT_EQ(mask, (PositionMask{{false, true, true}, {true, false, false}}));
  EXPECT_EQ(read_npy_mask(npy("|b1", "(6,)", flags, "True"), "mask.npy"),
            (PositionMask{{false, true, true, false, true, false}}));
}

TEST(ScorePositions, ErrorsOfArraysStateTheExpectedMask) {
  const std::string six(6, '\1');
  for (const std::string& bytes :
       {npy("|b1", "(2, 4)", six), npy("<f4", "(1,)", std::string(4, '\0')), npy("|b1", "(6", six),
        npy("|b1", "(6,)", six, "Maybe"), std::string("\x93NUMPY"), std::string(),
        npy("|b1", "(2, 3)", six).substr(0, 40)}) {
    try {
      read_npy_mask(bytes, "mask.npy");
      ADD_FAILURE() << bytes;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::format);
      EXPECT_EQ(error.parts().hint, "save bool values with numpy.save()");
    }
  }
}

TEST(ScorePositions, RejectsOtherArrays) {
  const std::string six(6, '\1');
  for (const std::string& bytes :
       {npy("<f4", "(1,)", std::string(4, '\0')), npy("|u1", "(6,)", six),
        npy("|b1", "(2, 4)", six), npy("|b1", "(1, 2, 3)", six), npy("|b1", "()", "\1"),
        npy("|b1", "(6", six), std::string("\x93NUMPY"), std::string()}) {
    EXPECT_THROW(read_npy_mask(bytes, "mask.npy"), Error) << bytes;
  }
}

}  // namespace
}  // namespace attnscope
