// All attention maps of one run on a text, as float32.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "attnscope/core/spool.h"
#include "attnscope/serve/http_messages.h"

namespace attnscope {

/// The maps (T, S) of the heads of some layers of some models, in memory up to a limit, then in an
/// unnamed temporary file.
class RawMaps {
 public:
  /// The maps of one model.
  struct OfModel {
    std::size_t model = 0;             // index
    std::vector<std::int64_t> layers;  // ascending
    std::int64_t heads = 0;
    std::int64_t tokens = 0;  // T
    std::int64_t keys = 0;    // S
  };

  /// Adds the next layer of that model, (heads, T, S). Call in the order of models and layers.
  void add(std::size_t model, std::int64_t layer, std::int64_t tokens, std::int64_t keys,
           std::span<const float> maps);

  /// One head's map: rows are queries, little-endian.
  struct Map {
    std::int64_t tokens = 0, keys = 0;
    std::uint64_t at = 0, bytes = 0;
  };
  std::optional<Map> find(std::size_t model, std::int64_t layer, std::int64_t head) const;

  /// Reads bytes of a map. Safe to call from any thread after the last add(). Throws Error(io).
  std::string read(const Map& map, std::uint64_t offset, std::size_t length);

  const std::vector<OfModel>& models() const { return models_; }

 private:
  std::mutex mutex_;
  Spool spool_{std::size_t{64} << 20};
  std::vector<OfModel> models_;
  std::vector<std::uint64_t> begins_;  // offset in spool_ of each of models_
};

}  // namespace attnscope
