// `directions --pairs`: the strongest token pairs of one head.
#include "attnscope/features/directions/pairs_run.h"

#include <string>
#include <utility>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/engine/summary_rows.h"
#include "attnscope/engine/work_queue.h"
#include "attnscope/features/common/circuit_weights.h"
#include "attnscope/features/common/cost_estimates.h"
#include "attnscope/features/common/options/text_options.h"
#include "attnscope/features/common/prompt.h"
#include "attnscope/features/directions/rows.h"
#include "attnscope/features/directions/token_copying.h"
#include "attnscope/features/directions/top_pairs.h"
#include "attnscope/numerics/vector_loops.h"

namespace attnscope {
namespace {

struct FoundPairs {
  std::int64_t layer = 0;
  std::vector<std::int64_t> ids;  // token ids by row index of pairs
  std::vector<RowPair> pairs;
  std::string skipped;  // reason if there are none
};

void check_named(const ForwardPass& pass, TokenBasis basis) {
  const std::string obstacle = obstacle_to(pass, basis);
  if (obstacle.empty()) return;
  throw Error(
      ErrorKind::unsupported,
      {.parameter = "pairs",
       .problem = verbatim(pass.model().name() + ": tokens cannot describe its " +
                           (basis == TokenBasis::write ? "output: " : "input: ") + obstacle)});
}

FoundPairs pairs_of(const Model& model, const DirectionPairsRequest& request, std::int64_t layer,
                    const Tokenizer* tokenizer, const Compute& compute) {
  const DirectionsRequest& of = request.of;
  const ForwardPass pass(model, /*copy_weights=*/false, compute);
  const TokenBasis input = input_basis(of.names, layer);
  const TokenBasis other = of.matrix == Role::ov ? TokenBasis::write : input;
  check_named(pass, input);
  check_named(pass, other);
  FoundPairs found{.layer = layer, .ids = {}, .pairs = {}, .skipped = {}};
  const LoadedCircuit loaded =
      load_circuit(model, layer, of.matrix, {.fold_norm = FoldNorm::centered});
  found.skipped = loaded.skipped;
  if (!found.skipped.empty()) return found;
  const CircuitFactors factors = head_factors(loaded.weights(), *of.head);
  if (!all_finite(factors.left) || !all_finite(factors.right)) {
    found.skipped = kFactorNotFinite;
    return found;
  }
  found.ids = candidate_tokens(pass, tokenizer, of.all_tokens, compute).naming.ids;
  // The left factor of OV is the output side; the left factor of QK is the query side.
  const bool ov = of.matrix == Role::ov;
  Matrix<double> read =
      tokens_times(pass, input, found.ids, ov ? factors.right : factors.left, compute);
  Matrix<double> written =
      tokens_times(pass, other, found.ids, ov ? factors.left : factors.right, compute);
  // Components that all tokens share do not distinguish pairs.
  center_columns(read);
  center_columns(written);
  found.pairs =
      top_pairs(std::as_const(read).view(), std::as_const(written).view(), request.count, compute);
  return found;
}

std::int64_t only_layer(const DirectionsRequest& of, const Model& model) {
  const std::vector<std::int64_t> layers =
      of.layers.resolve(model.dimensions().layers, model.name());
  if (layers.size() == 1 && of.head) return layers.front();
  throw Error(ErrorKind::usage, {.parameter = "pairs",
                                 .problem = "requires a single head",
                                 .hint = "select it with {layers} and {head}"});
}

}  // namespace

void run_direction_pairs(std::span<const Model> models, const DirectionPairsRequest& request,
                         const Context& context, RowSink& sink) {
  std::vector<FoundPairs> found(models.size());
  std::vector<std::optional<Tokenizer>> tokenizers;
  std::vector<QueueItem> items;
  for (const Model& model : models) {
    check_head_of(model, request.of.head);
    TokenizedText names = shown_tokens_of(model);
    if (!names.note.empty()) sink.add_note(std::move(names.note));
    tokenizers.push_back(std::move(names.tokenizer));
  }
  for (std::size_t index = 0; index < models.size(); ++index) {
    const std::int64_t layer = only_layer(request.of, models[index]);
    const Dimensions& dimensions = models[index].spec().dimensions_of(layer);
    const std::int64_t tokens = models[index].dimensions().vocabulary.value_or(0);
    const auto vocabulary = static_cast<double>(tokens);
    items.push_back(
        {.flops = vocabulary * vocabulary * static_cast<double>(dimensions.heads.value_dim),
         .memory_bytes = 4 * float64_bytes(tokens, dimensions.heads.value_dim) +
                         float64_bytes(8192, dimensions.width),
         .run = [&, index, layer](const Compute& compute) {
           const auto& tokenizer = tokenizers[index];
           found[index] =
               pairs_of(models[index], request, layer, tokenizer ? &*tokenizer : nullptr, compute);
         }});
  }
  run_queue(items, context, {}, {"model", "models"});

  ReportHead head{.command = "directions",
                  .parameters = {{"matrix", role_name(request.of.matrix)},
                                 {"layers", request.of.layers.parameter()},
                                 {"head", request.of.head},
                                 {"names", name_of(request.of.names)},
                                 {"all_tokens", request.of.all_tokens},
                                 {"pairs", request.count}}};
  for (const Model& model : models) head.models.push_back(facts_record(summarize(model)));
  sink.begin(head);
  for (std::size_t index = 0; index < models.size(); ++index) {
    const FoundPairs& of_model = found[index];
    const std::string name = models[index].name();
    if (!of_model.skipped.empty()) {
      sink.add_skipped({.model = name,
                        .layer = of_model.layer,
                        .matrix = std::string(role_name(request.of.matrix)),
                        .head = request.of.head,
                        .reason = of_model.skipped});
    }
    const Tokenizer* tokenizer = tokenizers[index] ? &*tokenizers[index] : nullptr;
    for (const RowPair& pair : of_model.pairs) {
      const std::int64_t read = of_model.ids[static_cast<std::size_t>(pair.a)];
      const std::int64_t written = of_model.ids[static_cast<std::size_t>(pair.b)];
      sink.add_row({{"model", name},
                    {"layer", of_model.layer},
                    {"head", request.of.head},
                    {"matrix", role_name(request.of.matrix)},
                    {"input_token_id", read},
                    {"input_text", token_value(tokenizer, read)},
                    {"output_token_id", written},
                    {"output_text", token_value(tokenizer, written)},
                    {"score", pair.score}});
    }
  }
  sink.end();
}

}  // namespace attnscope
