// A piece of work as a plain value: what is computed, and from which inputs. Any process that has
// the same models open computes the same outcomes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/base/model_inputs.h"
#include "attnscope/base/role.h"
#include "attnscope/rows/record.h"

namespace attnscope {

/// Whole texts, or images, to run through the model, for analyses of attention maps.
struct SequenceBatch {
  std::int64_t first = 0;  // index of the first of them among all texts of the run
  std::vector<std::vector<std::int64_t>> tokens;  // ids of each sequence
  /// In their place, or of a decoder in place of `sources`; all of one shape.
  std::vector<MediaInput> media_inputs = {};
  std::vector<std::int64_t> layers;  // layers to analyse, ascending
  /// Of a decoder: what its encoder runs on for each sequence; else none.
  std::vector<std::vector<std::int64_t>> sources = {};
  /// For each token of each sequence 1 if it counts in losses and means, else 0; empty: all count.
  std::vector<std::vector<std::int64_t>> scored = {};

  std::int64_t count() const {
    return tokens.empty() ? std::ssize(media_inputs) : std::ssize(tokens);
  }
};

/// What the norms of a layer's latents are taken to divide by.
struct LatentRms {
  std::optional<double> queries, keys_and_values;  // none: there is no such latent
};

struct WorkItem {
  std::string analysis;   // its name in the list of analyses
  Record parameters;      // all parameters that decide the numbers, as the analysis defines
  std::size_t model = 0;  // index into the models of the run
  std::optional<std::int64_t> layer;          // none: a tensor by name
  std::optional<std::int64_t> earlier_layer;  // of a pair of layers; `layer` is the later one
  std::optional<Role> role;                   // none: a tensor by name, or work on several roles
  std::vector<std::int64_t> experts = {};     // whose role it is; empty: the layer's own
  std::string tensor;                         // its name in the file; empty: work on a layer
  std::optional<SequenceBatch> batch = {};    // texts; then the item names no layer and no tensor
  std::optional<LatentRms> latent_rms = {};   // on a text; none: on white input

  /// The `matrix` of its rows: the role, the tensor, the earlier layer of a pair, the sequences.
  std::string matrix_name() const;
};

/// `q` and `kv`, those that there are.
Record latent_rms_record(const LatentRms& rms);

/// As JSON, and back. parse_work_item() throws Error(format) for text that is no item; the error
/// names `where` as its place.
std::string work_item_text(const WorkItem& item);
WorkItem parse_work_item(std::string_view text, std::string_view where);

}  // namespace attnscope
