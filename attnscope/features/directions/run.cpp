#include "attnscope/features/directions/run.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/engine/summary_rows.h"
#include "attnscope/engine/work_queue.h"
#include "attnscope/features/common/circuit_weights.h"
#include "attnscope/features/common/cost_estimates.h"
#include "attnscope/features/common/options/text_options.h"
#include "attnscope/features/common/read_weight.h"
#include "attnscope/features/common/text_length.h"
#include "attnscope/features/directions/rows.h"
#include "attnscope/features/directions/text_correlation.h"
#include "attnscope/features/directions/token_copying.h"
#include "attnscope/interventions/candidate_tokens.h"
#include "attnscope/numerics/svd/singular_vectors.h"
#include "attnscope/numerics/vector_loops.h"

namespace attnscope {
namespace {

class ModelReader {
 public:
  ModelReader(const Model& model, const DirectionsRequest& request, const Tokenizer* tokenizer,
              const std::vector<std::int64_t>& layers, const BatchInputs& text,
              std::int64_t max_rows_in_memory, const Compute& compute)
      : model_(model),
        request_(request),
        layers_(layers),
        text_(text),
        max_rows_in_memory_(max_rows_in_memory),
        compute_(compute),
        pass_(model, /*copy_weights=*/false, compute) {
    found_.tokens = candidate_tokens(pass_, tokenizer, request.all_tokens, compute);
    if (std::ssize(found_.tokens.naming.ids) >= kCoherentTokens) return;
    throw Error(ErrorKind::unsupported,
                {.file = model.checkpoint().main_file().string(),
                 .problem = "has fewer than " + std::to_string(kCoherentTokens) +
                            " candidate tokens for describing a direction"});
  }

  ModelRead run() {
    note_obstacles();
    for (const std::int64_t layer : layers_) {
      compute_.check_stop();
      if (request_.matrix == Role::ov || request_.matrix == Role::qk) {
        add_heads(layer);
      } else {
        add_matrix(layer);
      }
    }
    for (const TokenBasis basis : {TokenBasis::write, TokenBasis::embedding, TokenBasis::mlp0}) {
      name_sides(basis);
    }
    if (!text_.tokens.empty()) find_outermost();
    return std::move(found_);
  }

 private:
  void note_obstacles() {
    for (const TokenBasis basis : {TokenBasis::write, TokenBasis::mlp0}) {
      const std::string obstacle = obstacle_to(pass_, basis);
      const char* what = basis == TokenBasis::write
                             ? "no top tokens for output vectors"
                             : "no top tokens for input vectors after layer 0";
      const bool asked = basis == TokenBasis::write
                             ? request_.matrix == Role::ov || writes(request_.matrix)
                             : request_.matrix != Role::output && request_.matrix != Role::down;
      if (obstacle.empty() || !asked) continue;
      found_.notes.push_back(verbatim(model_.name() + ": " + what + ": " + obstacle));
    }
  }

  static bool writes(Role role) { return role == Role::output || role == Role::down; }

  void skip(std::int64_t layer, std::optional<std::int64_t> head, const std::string& reason) {
    found_.skipped.push_back({.model = model_.name(),
                              .layer = layer,
                              .matrix = std::string(role_name(request_.matrix)),
                              .head = head,
                              .reason = reason});
  }

  void add_side(MatrixDirections& place, const char* name, TokenBasis basis,
                Matrix<double> vectors) {
    if (!obstacle_to(pass_, basis).empty()) return;
    place.sides.push_back({.name = name, .basis = basis, .vectors = std::move(vectors)});
  }

  void add_heads(std::int64_t layer) {
    const bool ov = request_.matrix == Role::ov;
    const LoadedCircuit loaded =
        load_circuit(model_, layer, request_.matrix, {.fold_norm = FoldNorm::centered});
    if (!loaded.skipped.empty()) return skip(layer, {}, loaded.skipped);
    std::vector<std::int64_t> heads;
    for (std::int64_t head = 0; head < loaded.heads.heads; ++head) {
      if (!request_.head || *request_.head == head) heads.push_back(head);
    }
    std::vector<std::optional<SingularDirections>> of_heads(heads.size());  // empty: not finite
    run_parts(compute_, heads.size(), [&](std::size_t part) {
      const CircuitFactors factors = head_factors(loaded.weights(), heads[part]);
      if (!all_finite(factors.left) || !all_finite(factors.right)) return;
      of_heads[part] = product_directions(factors.left, factors.right, request_.directions,
                                          {.kernels = compute_.kernels, .stop = compute_.stop});
    });
    for (std::size_t at = 0; at < heads.size(); ++at) {
      const std::int64_t head = heads[at];
      if (!of_heads[at]) {
        skip(layer, head, kFactorNotFinite);
        continue;
      }
      SingularDirections& found = *of_heads[at];
      if (found.values.empty() || found.values.front() == 0) continue;  // a zero circuit
      MatrixDirections place{
          .layer = layer, .head = head, .values = std::move(found.values), .sides = {}};
      const TokenBasis input = input_basis(request_.names, layer);
      if (ov) {  // the left factor writes
        add_side(place, "input", input, std::move(found.right));
        add_side(place, "output", TokenBasis::write, std::move(found.left));
        if (request_.copying && place.sides.size() == 2) {
          place.copying = copying_.of(head_factors(loaded.weights(), head), layer, head, input);
        }
      } else {
        add_side(place, "query", input, std::move(found.left));
        add_side(place, "key", input, std::move(found.right));
      }
      if (!place.sides.empty()) found_.places.push_back(std::move(place));
    }
  }

  /// W_O and W_down write to the residual stream; W_up and W_gate read from it.
  void add_matrix(std::int64_t layer) {
    auto read = read_weight_float64(model_, model_.weight(layer, request_.matrix));
    if (!read.skipped.empty()) return skip(layer, {}, read.skipped);
    Matrix<double> matrix = std::move(read.values);
    if (!all_finite(std::as_const(matrix).view())) return skip(layer, {}, kFactorNotFinite);
    const bool out = writes(request_.matrix);
    const bool centered =
        model_.spec().architecture.norm && model_.spec().architecture.norm->kind == NormKind::layer;
    if (!out) {
      const OptionalNorm& norm = pass_.weights().layers[static_cast<std::size_t>(layer)].mlp_input;
      if (norm && !norm->gain.empty()) multiply_columns(matrix, gains_of(*norm));
    }
    if (centered) out ? center_columns(matrix) : center_rows(matrix);
    const MatrixView<const double> view = std::as_const(matrix).view();
    SingularDirections found =
        row_directions(out ? view.transposed() : view, request_.directions, compute_);
    if (found.values.empty() || found.values.front() == 0) return;
    MatrixDirections place{
        .layer = layer, .head = {}, .values = std::move(found.values), .sides = {}};
    add_side(place, out ? "output" : "input",
             out ? TokenBasis::write : input_basis(request_.names, layer), std::move(found.right));
    if (!place.sides.empty()) found_.places.push_back(std::move(place));
  }

  void name_sides(TokenBasis basis) {
    std::vector<Side*> sides;
    std::int64_t rows = 0;
    for (MatrixDirections& place : found_.places) {
      for (Side& side : place.sides) {
        if (side.basis != basis) continue;
        sides.push_back(&side);
        rows += side.vectors.rows();
      }
    }
    if (sides.empty()) return;
    Matrix<double> all(rows, sides.front()->vectors.cols());
    std::int64_t row = 0;
    for (const Side* side : sides) {
      std::copy_n(side->vectors.data(), side->vectors.rows() * all.cols(), &all(row, 0));
      row += side->vectors.rows();
    }
    const RowsOfTokens rows_of = [&](std::span<const std::int64_t> ids, const Compute& compute) {
      return rows_.of(basis, {ids.begin(), ids.end()}, compute);
    };
    const NamedDirections names = name_directions(found_.tokens.naming, rows_of,
                                                  {.directions = std::as_const(all).view(),
                                                   .random = random_.view(),
                                                   .top = request_.top,
                                                   .max_rows_in_memory = max_rows_in_memory_},
                                                  compute_);
    std::size_t at = 0;
    for (Side* side : sides) {
      side->names.random_coherence = names.random_coherence;
      for (std::int64_t of = 0; of < side->vectors.rows(); ++of) {
        side->names.directions.push_back(names.directions[at++]);
      }
    }
  }

  /// For input vectors only. For output vectors, token scores are exact logits.
  void find_outermost() {
    if (pass_.encoder() != nullptr && text_.sources.empty()) {
      found_.notes.push_back(verbatim(model_.name()) +
                             ": no text correlation: it requires encoder outputs");
      return;
    }
    check_inputs(pass_, text_);
    for (std::string& note : past_context_notes(pass_, text_)) {
      found_.notes.push_back(std::move(note));
    }
    std::vector<Side*> sides;
    std::vector<ReadVectors> reads;
    const bool of_mlp = request_.matrix == Role::up || request_.matrix == Role::gate;
    for (MatrixDirections& place : found_.places) {
      for (Side& side : place.sides) {
        if (side.basis == TokenBasis::write) continue;
        sides.push_back(&side);
        reads.push_back({.layer = place.layer,
                         .of_mlp = of_mlp,
                         .named_by = side.basis,
                         .vectors = std::as_const(side.vectors).view()});
      }
    }
    auto found = text_correlations(pass_, text_, found_.tokens.naming.ids, reads, compute_);
    if (found.empty() && !reads.empty()) {
      found_.notes.push_back(verbatim(model_.name()) +
                             ": no text correlation: the text has fewer than " +
                             std::to_string(kFewestKinds) + " distinct candidate tokens");
      return;
    }
    for (std::size_t at = 0; at < sides.size(); ++at) sides[at]->hold = std::move(found[at]);
  }

  const Model& model_;
  const DirectionsRequest& request_;
  const std::vector<std::int64_t>& layers_;
  const BatchInputs& text_;  // empty: no text
  const std::int64_t max_rows_in_memory_;
  const Compute& compute_;
  ForwardPass pass_;
  const TokenRows rows_{pass_};
  const Matrix<double> random_ = random_directions(model_.dimensions().width);
  ModelRead found_;
  HeadCopying copying_{pass_, found_.tokens.naming.ids, compute_};
};

std::uint64_t row_bytes(const Model& model) {
  return static_cast<std::uint64_t>(model.dimensions().width) * sizeof(float);
}

/// Number of token rows that may be in memory at the same time.
std::int64_t most_rows(const Model& model, std::uint64_t memory_bytes) {
  return static_cast<std::int64_t>(memory_bytes / 2 / row_bytes(model));
}

/// Memory of these rows, and of the threads that compute them.
std::uint64_t candidate_bytes(const Model& model, const Context& context) {
  const std::int64_t rows =
      std::min(model.dimensions().vocabulary.value_or(0), most_rows(model, context.memory_bytes));
  const auto threads = static_cast<std::uint64_t>(context.threads);
  return static_cast<std::uint64_t>(rows) * row_bytes(model) +
         threads * run_bytes(model.spec(), /*sequences=*/1, CandidateRows::kBlock);
}

/// Memory of a pass over batches of the text.
std::uint64_t text_bytes(const Model& model, const BatchInputs& text) {
  if (text.tokens.empty()) return 0;
  const std::int64_t length = rows_of(model, text);
  return run_bytes(model, sequences_at_once(length), length, source_rows_of(model, text));
}

}  // namespace

TokenBasis input_basis(InputNames names, std::int64_t layer) {
  const bool first = names == InputNames::embedding || (names == InputNames::layer && layer == 0);
  return first ? TokenBasis::embedding : TokenBasis::mlp0;
}

void check_head_of(const Model& model, std::optional<std::int64_t> head) {
  const std::int64_t heads = model.dimensions().heads.heads;
  if (!head || (*head >= 0 && *head < heads)) return;
  throw Error(ErrorKind::usage,
              {.parameter = "head",
               .problem = model.name() + " has heads 0 to " + std::to_string(heads - 1)});
}

const char* name_of(InputNames names) {
  constexpr const char* kNames[] = {"auto", "embedding", "mlp0"};
  return kNames[static_cast<std::size_t>(names)];
}

double directions_flops(const Model& model, std::int64_t directions) {
  const Dimensions& dimensions = model.dimensions();
  const auto vocabulary = static_cast<double>(dimensions.vocabulary.value_or(0));
  const auto width = static_cast<double>(dimensions.width);
  constexpr double kBases = 3, kMatricesOfMlp = 3;
  const auto heads = static_cast<double>(dimensions.layers * dimensions.heads.heads);
  const double columns = kBases * kRandomDirections + 2 * heads * static_cast<double>(directions);
  const double mlp = kMatricesOfMlp * static_cast<double>(dimensions.mlp_width);
  return 2 * vocabulary * width * (columns + mlp);
}

void run_directions(std::span<const Model> models, const DirectionsRequest& request,
                    const Context& context, RowSink& sink) {
  std::vector<ModelRead> found(models.size());
  std::vector<std::optional<Tokenizer>> tokenizers;
  std::vector<std::vector<std::int64_t>> layers;
  for (const Model& model : models) {
    TokenizedText names = shown_tokens_of(model);
    if (!names.note.empty()) sink.add_note(std::move(names.note));
    tokenizers.push_back(std::move(names.tokenizer));
    layers.push_back(request.layers.resolve(model.dimensions().layers, model.name()));
    check_head_of(model, request.head);
  }
  std::vector<BatchInputs> texts(models.size());
  for (std::size_t index = 0; request.texts && index < models.size(); ++index) {
    texts[index] = {.tokens = request.texts->sequences[index],
                    .sources = request.texts->sources[index]};
  }
  std::vector<QueueItem> items;
  for (std::size_t index = 0; index < models.size(); ++index) {
    items.push_back(
        {.flops = directions_flops(models[index], request.directions),
         .memory_bytes =
             candidate_bytes(models[index], context) + text_bytes(models[index], texts[index]),
         .run = [&, index](const Compute& compute) {
           const Tokenizer* tokenizer = tokenizers[index] ? &*tokenizers[index] : nullptr;
           found[index] =
               ModelReader(models[index], request, tokenizer, layers[index], texts[index],
                           most_rows(models[index], context.memory_bytes), compute)
                   .run();
         }});
  }
  run_queue(items, context, {}, {"model", "models"});

  ReportHead head{.command = "directions",
                  .parameters = {{"matrix", role_name(request.matrix)},
                                 {"layers", request.layers.parameter()},
                                 {"head", request.head},
                                 {"directions", request.directions},
                                 {"top", request.top},
                                 {"names", name_of(request.names)},
                                 {"all_tokens", request.all_tokens},
                                 {"draws", kRandomDirections}}};
  if (request.copying) head.parameters.add("copying", true);
  if (request.texts) {
    for (const auto& [name, value] : request.texts->parameters.fields()) {
      head.parameters.add(name, value);
    }
    head.parameters.add("tokens_hash",
                        tokens_hash(request.texts->sequences, request.texts->sources));
  }
  for (std::size_t index = 0; index < models.size(); ++index) {
    Record facts = facts_record(summarize(models[index]));
    const FoundTokens& tokens = found[index].tokens;
    const auto [lists, named] = count_lists(found[index]);
    facts.add("candidate_tokens",
              Record{{"tokens", std::ssize(tokens.naming.ids)},
                     {"untrained", tokens.known ? Value(tokens.untrained) : Value()},
                     {"lists", lists},
                     {"named", named}});
    head.models.push_back(std::move(facts));
  }
  sink.begin(head);
  for (std::size_t index = 0; index < models.size(); ++index) {
    ModelRead& of_model = found[index];
    const std::string name = models[index].name();
    const Tokenizer* tokenizer = tokenizers[index] ? &*tokenizers[index] : nullptr;
    for (const MatrixDirections& place : of_model.places) {
      add_direction_rows(name, request, place, tokenizer, sink);
    }
    for (Skipped& skipped : of_model.skipped) sink.add_skipped(std::move(skipped));
    for (std::string& note : of_model.notes) sink.add_note(std::move(note));
  }
  sink.end();
}

}  // namespace attnscope
