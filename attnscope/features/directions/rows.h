// What was read of one model, and its rows.
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

/// One side of a direction: where its vector stands, and how it is called.
struct Side {
  const char* name;  // read, write, query, key
  TokenBasis basis;
  Matrix<double> vectors;                        // (count, D)
  NamedDirections names = {};                    // once they are known
  std::vector<std::optional<double>> hold = {};  // text_correlations(), where a text is read
};

/// Of a head or matrix.
struct MatrixDirections {
  std::int64_t layer = 0;
  std::optional<std::int64_t> head;
  std::vector<double> values;
  std::vector<Side> sides;                    // the one that decides the sign last
  std::optional<CopyingScores> copying = {};  // of a head, where it is asked for
};

/// What one model gave.
struct ModelRead {
  FoundTokens tokens;
  std::vector<MatrixDirections> places;
  std::vector<Skipped> skipped;
  std::vector<std::string> notes;
};

/// Of each direction of a place, both poles of each side. `tokenizer`: null where there is none.
void add_direction_rows(const std::string& model, const DirectionsRequest& request,
                        const MatrixDirections& place, const Tokenizer* tokenizer, RowSink& sink);

/// Throws Error(usage) where the model has no such head.
void check_head_of(const Model& model, std::optional<std::int64_t> head);

/// auto, embedding, mlp0.
const char* name_of(InputNames names);

/// How many lists there are, and how many are above chance.
std::pair<std::int64_t, std::int64_t> count_lists(const ModelRead& found);

}  // namespace attnscope
