// A layer of the shape of Llama-3-8B or narrower, for tests that need large matrices.
#pragma once

#include <unistd.h>

#include <array>

#include "tests/support/program.h"
#include "tests/support/safetensors_writer.h"

namespace attnscope::test {

/// One layer (436 MB by default), created once in the build folder and described as two layers that
/// share it.
struct LlamaLayer {
  std::string weights, layout;

  /// `width`: hidden size, a multiple of 512. `mlp`: size of the MLP.
  explicit LlamaLayer(const TempFolder& folder, std::int64_t width = 4096,
                      std::int64_t mlp = 14336) {
    const std::int64_t head_dim = 128, kv_width = width / 4;
    const std::pair<const char*, Shape> shapes[] = {
        {"q", {width, width}}, {"k", {kv_width, width}}, {"v", {kv_width, width}},
        {"o", {width, width}}, {"gate", {mlp, width}},   {"up", {mlp, width}},
        {"down", {width, mlp}}};
    json header = json::object();
    json described = {{"schema", "attnscope-layout/1"},
                      {"layers", 2},
                      {"heads", width / head_dim},
                      {"kv_heads", kv_width / head_dim},
                      {"head_dim", head_dim},
                      {"hidden_size", width},
                      {"intermediate_size", mlp},
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
        std::filesystem::path(ATTNSCOPE_BUILD_FOLDER) /
        ("llama-layer-" + std::to_string(width) + "-" + std::to_string(mlp) + ".safetensors");
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
