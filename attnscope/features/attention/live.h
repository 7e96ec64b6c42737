// Attention maps of somebody else's forward pass, measured on threads of their own while it goes
// on: the rows of `attention`, without a model's weights.
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

/// A model, or one stack of it, of which its maps are known and what their giver says.
struct LiveModel {
  std::string name;
  std::string stack;  // as Model::stack()
  std::string architecture;
  std::optional<std::int64_t> parameters = {}, layers = {}, width = {};
};

struct LiveRequest {
  AttentionMapOptions measures;  // energy and exclude_first_token
  Record text;                   // what the report says of where maps come from
  std::string tokens_hash;       // equal where the same tokens were run
  LayerSelection layers;
};

/// One run. Its functions are called from one thread.
class LiveAttention {
 public:
  /// `context`: threads, kernels, store.
  LiveAttention(LiveRequest request, const Context& context);
  /// Stops what is under way.
  ~LiveAttention();
  LiveAttention(const LiveAttention&) = delete;
  LiveAttention& operator=(const LiveAttention&) = delete;

  /// A model or a stack, whose rows follow those of the ones before it. Throws Error(usage) where
  /// it lacks a layer that was asked for.
  std::size_t add_model(LiveModel model);

  /// Whether the layer's maps were asked for.
  bool wants(std::size_t model, std::int64_t layer) const;

  /// Takes maps where there is room for them: one layer's maps wait or are measured at a time, of
  /// which `maps` may be a part. False: there was none for so long. Sequences of a layer are
  /// numbered as they come. Throws what measuring threw, see measure_user_maps().
  bool put(UserMaps& maps, std::uint64_t layer_bytes, std::chrono::milliseconds most);

  /// Whether all is measured. Throws likewise.
  bool wait(std::chrono::milliseconds most);

  /// The rows of all that was measured.
  void give(RowSink& sink);

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

}  // namespace attnscope
