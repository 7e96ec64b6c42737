// Results of `directions` for one model, and their rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/features/directions/run.h"
#include "attnscope/features/directions/token_copying.h"
#include "attnscope/features/directions/untrained_tokens.h"
#include "attnscope/inputs/text/tokenizer.h"
#include "attnscope/interventions/candidate_tokens.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// One side of a direction: its singular vectors, and its name in rows.
struct Side {
  const char* name;  // read, write, query, key
  TokenBasis basis;
  Matrix<double> vectors;                        // (count, D)
  NamedDirections names = {};                    // set later
  std::vector<std::optional<double>> hold = {};  // text_correlations(), if there is a text
};

/// Results of one head or matrix.
struct MatrixDirections {
  std::int64_t layer = 0;
  std::optional<std::int64_t> head;
  std::vector<double> values;
  std::vector<Side> sides;                    // the last one determines the sign
  std::optional<CopyingScores> copying = {};  // for a head, if requested
};

/// Results of one model.
struct ModelRead {
  FoundTokens tokens;
  std::vector<MatrixDirections> places;
  std::vector<Skipped> skipped;
  std::vector<std::string> notes;
};

/// Rows of one head or matrix: both signs of each side of each direction. `tokenizer`: null if
/// there is none.
void add_direction_rows(const std::string& model, const DirectionsRequest& request,
                        const MatrixDirections& place, const Tokenizer* tokenizer, RowSink& sink);

/// Throws Error(usage) if the model has no such head.
void check_head_of(const Model& model, std::optional<std::int64_t> head);

/// Returns auto, embedding or mlp0.
const char* name_of(InputNames names);

/// Number of lists of top tokens, and number of lists above chance.
std::pair<std::int64_t, std::int64_t> count_lists(const ModelRead& found);

}  // namespace attnscope
