// Measures attention maps of a forward pass in another program while it runs, on separate threads.
// Rows are those of `attention`, without a model's weights.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "attnscope/engine/context.h"
#include "attnscope/features/attention/external_maps.h"
#include "attnscope/features/attention/measures.h"
#include "attnscope/features/common/matrix_items.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// A model, or a stack of it, whose maps are passed in, with the information from the caller.
struct LiveModel {
  std::string name;
  std::string stack;  // see Model::stack()
  std::string architecture;
  std::optional<std::int64_t> parameters = {}, layers = {}, width = {};
};

struct LiveRequest {
  AttentionMapOptions measures;  // energy and exclude_first_token
  Record text;                   // report parameters that describe the source of the maps
  std::string tokens_hash;       // equal for runs on the same tokens
  LayerSelection layers;
};

/// One run. Call its functions from a single thread.
class LiveAttention {
 public:
  /// `context`: threads, kernels, store.
  LiveAttention(LiveRequest request, const Context& context);
  /// Stops work in progress.
  ~LiveAttention();
  LiveAttention(const LiveAttention&) = delete;
  LiveAttention& operator=(const LiveAttention&) = delete;

  /// Adds a model or stack; its rows follow those of the previous ones. Throws Error(usage) if it
  /// lacks a requested layer.
  std::size_t add_model(LiveModel model);

  /// Whether the maps of the layer are requested.
  bool wants(std::size_t model, std::int64_t layer) const;

  /// Takes maps, or returns false if no memory becomes available within the given time: the maps of
  /// one layer wait or are measured at a time. `maps` may be a part of them. Sequences of a layer
  /// are numbered in order of arrival. Throws the errors of the measurement: see
  /// measure_user_maps().
  bool put(UserMaps& maps, std::uint64_t layer_bytes, std::chrono::milliseconds most);

  /// Whether all maps are measured. Throws the same errors.
  bool wait(std::chrono::milliseconds most);

  /// Writes the rows of all measured maps.
  void give(RowSink& sink);

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

}  // namespace attnscope
