// A layer of the shape of Llama-3-8B, for tests that need large matrices.
#pragma once

#include <unistd.h>

#include <array>

#include "tests/support/program.h"
#include "tests/support/safetensors_writer.h"

namespace attnscope::test {

/// One layer (436 MB), created once in the build folder and described as two layers that share it.
struct LlamaLayer {
  static constexpr std::int64_t kWidth = 4096, kKvWidth = 1024, kMlp = 14336;

  std::string weights, layout;

  explicit LlamaLayer(const TempFolder& folder) {
    const std::pair<const char*, Shape> shapes[] = {
        {"q", {kWidth, kWidth}}, {"k", {kKvWidth, kWidth}}, {"v", {kKvWidth, kWidth}},
        {"o", {kWidth, kWidth}}, {"gate", {kMlp, kWidth}},  {"up", {kMlp, kWidth}},
        {"down", {kWidth, kMlp}}};
    json header = json::object();
    json described = {{"schema", "attnscope-layout/1"},
                      {"layers", 2},
                      {"heads", 32},
                      {"kv_heads", 8},
                      {"head_dim", 128},
                      {"hidden_size", kWidth},
                      {"intermediate_size", kMlp},
                      {"weights", json::array()}};
    std::int64_t end = 0;
    for (const auto& [role, shape] : shapes) {
      const std::int64_t begin = end;
      end += shape[0] * shape[1] * 2;
      header[role] = {{"dtype", "BF16"}, {"shape", shape}, {"data_offsets", {begin, end}}};
      described["weights"].push_back({{"role", role}, {"tensor", role}});
    }
    layout = folder.write("layout.json", described.dump()).string();
    const std::filesystem::path file =
        std::filesystem::path(ATTNSCOPE_BUILD_FOLDER) / "llama-3-8b-layer.safetensors";
    weights = file.string();
    if (!std::filesystem::exists(file)) write(file, header.dump(), end);
  }

 private:
  static void write(const std::filesystem::path& file, const std::string& header,
                    std::int64_t bytes) {
    // Another process may write it at the same time.
    const std::filesystem::path unfinished = file.string() + ".tmp-" + std::to_string(getpid());
    std::ofstream stream(unfinished, std::ios::binary);
    stream << header_length_bytes(header.size()) << header;
    std::uint64_t state = 1;
    std::array<std::uint64_t, 1 << 16> block;
    for (std::int64_t left = bytes; left > 0; left -= sizeof block) {
      for (std::uint64_t& four : block) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;  // xorshift64
        // Four bfloat16 values: random signs and mantissas, exponents of at most 1/128, never
        // infinite.
        four = state & 0xBC7FBC7FBC7FBC7F;
      }
      const auto count = std::min<std::int64_t>(left, sizeof block);
      stream.write(reinterpret_cast<const char*>(block.data()), count);
    }
    stream.close();
    if (!stream) throw std::runtime_error("cannot write " + unfinished.string());
    std::filesystem::rename(unfinished, file);
  }
};

}  // namespace attnscope::test
