// Shared by the tests of `attention`: token shards, and a model whose run takes a while.
#pragma once

#include <random>

#include "tests/support/program.h"

namespace attnscope::test {

/// A tiny checkpoint of tests/data/forward: vocabulary size 48, and mostly 16 positions.
inline std::string tiny_model(const std::string& name) { return data_path("forward/" + name); }

inline constexpr std::int32_t kShardMagic = 20240520, kShardVersion = 1;

/// The bytes of a shard. Its header declares `count` tokens, by default the true number.
inline std::string shard_bytes(const std::vector<std::uint16_t>& tokens,
                               std::optional<std::int32_t> count = std::nullopt,
                               std::int32_t magic = kShardMagic,
                               std::int32_t version = kShardVersion) {
  std::vector<std::int32_t> header(256);
  header[0] = magic;
  header[1] = version;
  header[2] = count.value_or(static_cast<std::int32_t>(tokens.size()));
  std::string bytes(reinterpret_cast<const char*>(header.data()), 1024);
  return bytes.append(reinterpret_cast<const char*>(tokens.data()), 2 * tokens.size());
}

inline std::vector<std::uint16_t> random_tokens(std::size_t count, std::uint64_t vocabulary) {
  std::mt19937_64 random(count);
  std::vector<std::uint16_t> tokens;
  while (tokens.size() < count) tokens.push_back(static_cast<std::uint16_t>(random() % vocabulary));
  return tokens;
}

/// Token ids as text, such as "3,1,4".
template <class Tokens>
std::string ids_text(const Tokens& tokens) {
  std::string text;
  for (const auto token : tokens) text += (text.empty() ? "" : ",") + std::to_string(token);
  return text;
}

inline const std::string kShakespeare = source_path("examples/shakespeare-gpt2");
inline const std::string kShakespeareLlama = source_path("examples/shakespeare-llama");
inline constexpr std::uint64_t kShakespeareTokens = 1000;

/// A run of some seconds: many windows of the example's tokens in a shard.
inline Words long_attention_run(const TempFolder& folder, int sequences) {
  const auto shard = folder.write(
      "long.bin",
      shard_bytes(random_tokens(static_cast<std::size_t>(100 * sequences), kShakespeareTokens)));
  return {"attention",    kShakespeare,  "--token-file",
          shard.string(), "--sequences", std::to_string(sequences)};
}

}  // namespace attnscope::test
