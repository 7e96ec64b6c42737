// What the tests of the program share: running it, reading what it printed, and small checkpoints.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/run_command.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temp_folder.h"

namespace attnscope::test {

using nlohmann::json;
using Words = std::vector<std::string>;

inline std::string source_path(const std::string& path) {
  return (std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / path).string();
}

/// A small checkpoint of tests/data.
inline std::string data_path(const std::string& name) { return source_path("tests/data/" + name); }

/// The names of all of them, sorted.
inline Words data_names() {
  Words names;
  for (const auto& entry : std::filesystem::directory_iterator(source_path("tests/data"))) {
    // Folders of several checkpoints are other tests' own.
    if (!std::filesystem::exists(entry.path() / "config.json")) continue;
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Names of what lies in a folder, sorted.
inline Words files_in(const std::filesystem::path& folder) {
  Words names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

inline Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

inline std::string command_text(const Words& arguments) {
  std::string text = "attnscope";
  for (const std::string& argument : arguments) text += " " + argument;
  return text;
}

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// The sentence below a table, which is broken where the table's width ends.
inline std::string legend_of(const std::string& table) {
  std::string legend = table.substr(table.rfind("\n\n") + 2);
  std::replace(legend.begin(), legend.end(), '\n', ' ');
  return legend;
}

/// The lines of a text that ends with a line feed; without it the last line is marked.
inline Words lines_of(const std::string& text) {
  Words lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  if (!text.empty() && text.back() != '\n') lines.back() += " (no line feed at the end)";
  return lines;
}

inline Words words_of(const std::string& line) {
  std::istringstream stream(line);
  return {std::istream_iterator<std::string>(stream), {}};
}

/// An error as the contract has it: nothing on stdout, one line on stderr, the kind as exit code.
inline void expect_refusal(const Words& arguments, int exit_code, const Words& said,
                           const RunOptions& options = {}) {
  SCOPED_TRACE(command_text(arguments));
  const RunResult run = run_attnscope(arguments, options);
  EXPECT_EQ(run.exit_code, exit_code) << run.err;
  EXPECT_EQ(run.signal, 0);
  EXPECT_EQ(run.out, "");
  const Words lines = lines_of(run.err);
  EXPECT_EQ(lines.size(), 1u) << run.err;
  EXPECT_TRUE(run.err.starts_with("attnscope: error: ")) << run.err;
  EXPECT_TRUE(run.err.ends_with('\n')) << run.err;
  EXPECT_FALSE(contains(run.err, "\x1b")) << run.err;
  for (const std::string& part : said) {
    EXPECT_TRUE(contains(run.err, part)) << "lacks '" << part << "': " << run.err;
  }
}

/// Runs to success and silence on stderr.
inline std::string output_of(const Words& arguments, const RunOptions& options = {}) {
  SCOPED_TRACE(command_text(arguments));
  const RunResult run = run_attnscope(arguments, options);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  return run.out;
}

inline json report_of(const Words& arguments) {
  return json::parse(output_of(arguments + Words{"--format", "json"}));
}

/// RFC 4180, read strictly: throws for what it does not allow.
struct CsvTable {
  Words columns;
  std::vector<Words> rows;

  explicit CsvTable(const std::string& text) {
    std::vector<Words> lines;
    std::size_t at = 0;
    while (at < text.size()) {
      Words& line = lines.emplace_back();
      for (bool more = true; more;) {
        line.push_back(take_cell(text, at));
        more = at < text.size() && text[at] == ',';
        if (more) ++at;
      }
      if (text.compare(at, 2, "\r\n") != 0)
        throw std::runtime_error("a line that CRLF does not end");
      at += 2;
      if (line.size() != lines.front().size()) throw std::runtime_error("a line of other length");
    }
    if (lines.empty()) throw std::runtime_error("no header");
    columns = lines.front();
    rows.assign(lines.begin() + 1, lines.end());
  }

  bool has(const std::string& column) const {
    return std::find(columns.begin(), columns.end(), column) != columns.end();
  }

  const std::string& cell(std::size_t row, const std::string& column) const {
    const auto found = std::find(columns.begin(), columns.end(), column);
    if (found == columns.end()) throw std::runtime_error("no column " + column);
    return rows.at(row)[static_cast<std::size_t>(found - columns.begin())];
  }

 private:
  static std::string take_cell(const std::string& text, std::size_t& at) {
    std::string cell;
    if (at < text.size() && text[at] == '"') {
      for (++at;; ++at) {
        if (at >= text.size()) throw std::runtime_error("a quote that is not closed");
        if (text[at] == '"' && text.compare(at, 2, "\"\"") != 0) break;
        if (text[at] == '"') ++at;
        cell += text[at];
      }
      ++at;
      return cell;
    }
    while (at < text.size() && text[at] != ',' && text[at] != '\r' && text[at] != '\n') {
      if (text[at] == '"') throw std::runtime_error("a quote in a cell without quotes");
      cell += text[at++];
    }
    return cell;
  }
};

inline CsvTable csv_of(const Words& arguments) {
  return CsvTable(output_of(arguments + Words{"--format", "csv"}));
}

/// The row of one matrix; fails and gives null where there is not exactly one.
inline json find_row(const json& rows, const json& layer, const std::string& matrix,
                     const json& head) {
  json found;
  int count = 0;
  for (const json& row : rows) {
    if (row.at("layer") != layer || row.at("matrix") != matrix || row.at("head") != head) continue;
    found = row;
    ++count;
  }
  EXPECT_EQ(count, 1) << "rows of " << matrix << ", layer " << layer << ", head " << head;
  return found;
}

inline std::vector<std::string> keys_of(const json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  return keys;
}

/// Names in any order: what keys_of() gives for an object that has exactly these.
inline Words sorted(Words names) {
  std::sort(names.begin(), names.end());
  return names;
}

/// An F32 tensor of independent normal values.
inline TensorToWrite random_tensor(std::string name, Shape shape, std::uint64_t seed) {
  TensorToWrite tensor = counting_tensor(std::move(name), std::move(shape));
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  for (std::size_t at = 0; at < tensor.bytes.size(); at += sizeof(float)) {
    const float value = normal(random);
    std::memcpy(tensor.bytes.data() + at, &value, sizeof value);
  }
  return tensor;
}

/// Sets one element of an F32 matrix as it is stored.
inline void set_element(TensorToWrite& tensor, std::int64_t row, std::int64_t col, float value) {
  const auto at = static_cast<std::size_t>(row * tensor.shape[1] + col) * sizeof value;
  std::memcpy(tensor.bytes.data() + at, &value, sizeof value);
}

/// A Llama of a few kilobytes, to be changed before it is written.
struct TinyLlama {
  static constexpr std::int64_t kHeads = 4, kKvHeads = 2, kHeadDim = 4, kWidth = 16, kMlp = 24;

  json config;
  std::vector<TensorToWrite> tensors;
  std::map<std::string, std::string> metadata;

  explicit TinyLlama(std::int64_t layers = 2, std::uint64_t seed = 1) {
    config = {{"model_type", "llama"},         {"num_hidden_layers", layers},
              {"num_attention_heads", kHeads}, {"num_key_value_heads", kKvHeads},
              {"head_dim", kHeadDim},          {"hidden_size", kWidth},
              {"intermediate_size", kMlp},     {"vocab_size", 10},
              {"max_position_embeddings", 32}, {"tie_word_embeddings", false}};
    const auto add = [&](const std::string& name, Shape shape) {
      tensors.push_back(random_tensor(name, std::move(shape), ++seed));
    };
    add("model.embed_tokens.weight", {10, kWidth});
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      add(attention_name(layer, 'q'), {kHeads * kHeadDim, kWidth});
      add(attention_name(layer, 'k'), {kKvHeads * kHeadDim, kWidth});
      add(attention_name(layer, 'v'), {kKvHeads * kHeadDim, kWidth});
      add(attention_name(layer, 'o'), {kWidth, kHeads * kHeadDim});
      const std::string mlp = "model.layers." + std::to_string(layer) + ".mlp.";
      add(mlp + "gate_proj.weight", {kMlp, kWidth});
      add(mlp + "up_proj.weight", {kMlp, kWidth});
      add(mlp + "down_proj.weight", {kWidth, kMlp});
    }
    add("model.norm.weight", {kWidth});
    add("lm_head.weight", {10, kWidth});
  }

  /// `matrix` is q, k, v or o.
  static std::string attention_name(std::int64_t layer, char matrix) {
    return "model.layers." + std::to_string(layer) + ".self_attn." + matrix + "_proj.weight";
  }

  TensorToWrite& tensor(const std::string& name) {
    for (TensorToWrite& tensor : tensors) {
      if (tensor.name == name) return tensor;
    }
    throw std::runtime_error("no tensor " + name);
  }
  TensorToWrite& attention(std::int64_t layer, char matrix) {
    return tensor(attention_name(layer, matrix));
  }

  /// Writes config.json and model.safetensors, and returns the folder.
  std::string write(const TempFolder& into, const std::string& name) const {
    into.write(name + "/config.json", config.dump());
    return into.write(name + "/model.safetensors", safetensors_bytes(tensors, metadata))
        .parent_path()
        .string();
  }
};

/// A tensor of a safetensors file, read without the library.
struct StoredTensor {
  std::vector<std::int64_t> shape;
  std::vector<double> values;  // row-major, exact

  double at(std::int64_t row, std::int64_t col) const {
    return values[static_cast<std::size_t>(row * shape[1] + col)];
  }
};

inline double half_value(std::uint16_t bits) {
  const int sign = bits >> 15, exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double size =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return sign == 1 ? -size : size;
}

inline double bfloat_value(std::uint16_t bits) {
  const std::uint32_t wide = std::uint32_t{bits} << 16;
  float value = 0;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

/// The header of a safetensors file without its __metadata__.
inline json tensor_headers(const std::filesystem::path& path) {
  const std::string file = read_file(path);
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  json header = json::parse(file.substr(sizeof length, length));
  header.erase("__metadata__");
  return header;
}

inline StoredTensor stored_tensor(const std::filesystem::path& path, const std::string& name) {
  const std::string file = read_file(path);
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  const json entry = json::parse(file.substr(sizeof length, length)).at(name);
  const std::string dtype = entry.at("dtype");
  const std::size_t begin = sizeof length + length + entry.at("data_offsets")[0].get<std::size_t>();
  const std::size_t end = sizeof length + length + entry.at("data_offsets")[1].get<std::size_t>();

  StoredTensor tensor{.shape = entry.at("shape").get<std::vector<std::int64_t>>()};
  for (std::size_t at = begin; at < end; at += dtype == "F32" ? 4 : 2) {
    float single = 0;
    std::uint16_t bits = 0;
    if (dtype == "F32") {
      std::memcpy(&single, file.data() + at, sizeof single);
      tensor.values.push_back(single);
    } else {
      std::memcpy(&bits, file.data() + at, sizeof bits);
      tensor.values.push_back(dtype == "F16" ? half_value(bits) : bfloat_value(bits));
    }
  }
  return tensor;
}

}  // namespace attnscope::test
