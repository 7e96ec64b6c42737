// Files saved by `matrix --out`.
#pragma once

#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/program.h"

namespace attnscope::test {

/// A .npy file, read according to NumPy's format description.
struct Npy {
  std::string dtype;
  std::int64_t rows = 0, cols = 0;
  std::vector<double> values;

  explicit Npy(const std::string& file) {
    EXPECT_EQ(file.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
    const std::size_t length =
        static_cast<unsigned char>(file.at(8)) + 256u * static_cast<unsigned char>(file.at(9));
    EXPECT_EQ((10 + length) % 64, 0u) << "the elements are not aligned";
    const std::string header = file.substr(10, length);
    EXPECT_EQ(header.back(), '\n');
    char kind[8] = {};
    long long header_rows = 0, header_cols = 0;
    int end = 0;
    const int fields = std::sscanf(
        header.c_str(), "{'descr': '%3s', 'fortran_order': False, 'shape': (%lld, %lld), }%n", kind,
        &header_rows, &header_cols, &end);
    EXPECT_EQ(fields, 3) << header;
    EXPECT_EQ(header.find_first_not_of(' ', static_cast<std::size_t>(end)), header.size() - 1);
    dtype = kind;
    rows = header_rows;
    cols = header_cols;
    for (std::size_t at = 10 + length; at < file.size(); at += dtype == "<f4" ? 4 : 8) {
      float single = 0;
      double value = 0;
      if (dtype == "<f4") {
        std::memcpy(&single, file.data() + at, sizeof single);
        value = single;
      } else {
        std::memcpy(&value, file.data() + at, sizeof value);
      }
      values.push_back(value);
    }
    EXPECT_EQ(values.size(), static_cast<std::size_t>(rows * cols));
  }

  double at(std::int64_t row, std::int64_t col) const {
    return values[static_cast<std::size_t>(row * cols + col)];
  }
};

inline Npy saved_matrix(const std::string& model, int layer, const std::string& matrix,
                        std::optional<int> head = std::nullopt) {
  const TempFolder folder;
  const std::string file = (folder.path() / "w.npy").string();
  Words command = {"matrix",   model,  "--layer", std::to_string(layer),
                   "--matrix", matrix, "--out",   file};
  if (head) command = command + Words{"--head", std::to_string(*head)};
  EXPECT_EQ(output_of(command), "");
  EXPECT_EQ(files_in(folder.path()), Words{"w.npy"});
  return Npy(read_file(file));
}

}  // namespace attnscope::test
