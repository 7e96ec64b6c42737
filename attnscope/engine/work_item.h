// A work item as a plain value: what is computed, and from which inputs. Any process that has
// opened the same models computes the same outcomes.
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

/// Whole texts or images to run through the model, for analyses of attention maps.
struct SequenceBatch {
  std::int64_t first = 0;        // index of the first one among all texts of the run
  std::vector<TokenIds> tokens;  // of each sequence
  /// Images or audio instead of `tokens`, or instead of `sources` for a decoder. All have one
  /// shape.
  std::vector<MediaInput> media_inputs = {};
  std::vector<std::int64_t> layers;  // layers to analyze, ascending
  /// Decoders only: the encoder's tokens for each sequence.
  std::vector<TokenIds> sources = {};
  /// For each token of each sequence: 1 if it counts in losses and means, else 0. Empty if all
  /// count.
  std::vector<TokenIds> scored = {};

  std::int64_t count() const {
    return tokens.empty() ? std::ssize(media_inputs) : std::ssize(tokens);
  }
};

/// RMS of the MLA latents of a layer: the divisors in their norms.
struct LatentRms {
  std::optional<double> queries, keys_and_values;  // empty: there is no such latent
};

struct WorkItem {
  std::string analysis;               // its name in the list of analyses
  Record parameters;                  // all that affect the results, as the analysis defines
  std::size_t model = 0;              // index into the models of the run
  std::optional<std::int64_t> layer;  // empty: a tensor by name
  std::optional<std::int64_t> earlier_layer;  // for a pair of layers; `layer` is the later one
  std::optional<Role> role;                   // empty: a tensor by name, or several roles
  std::vector<std::int64_t> experts = {};     // experts with this role; empty: the layer itself
  std::string tensor;                         // its name in the file; empty: a layer
  std::optional<SequenceBatch> batch = {};    // texts; the item then has no layer and no tensor
  std::optional<LatentRms> latent_rms = {};   // measured on a text; empty: for white input

  /// Returns the `matrix` field of its rows: the role, the tensor, the earlier layer of a pair, or
  /// the sequences.
  std::string matrix_name() const;
};

/// Returns a record of `q` and `kv`, for the latents that exist.
Record latent_rms_record(const LatentRms& rms);

/// Converts a work item to JSON and back. parse_work_item() throws Error(format) for other text,
/// with `where` as the file of the error.
std::string work_item_text(const WorkItem& item);
WorkItem parse_work_item(std::string_view text, std::string_view where);

}  // namespace attnscope
