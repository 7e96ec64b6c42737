// Rows of `experts`: similarity of the experts of a layer, and routing of a text.
#include "attnscope/features/common/fields.h"
#include "attnscope/rows/field.h"

namespace attnscope {
namespace {

using enum FieldType;
using enum FieldForm;

constexpr std::string_view kSpace = "metrics.md#expert-similarity";
constexpr std::string_view kRouting = "metrics.md#routing";

Field rank_field(std::string_view name, std::string_view meaning, Nulls nulls = Nulls::none) {
  return {.name = name,
          .type = integer,
          .form = by_threshold,
          .nulls = nulls,
          .unit = "singular values",
          .meaning = meaning,
          .where = kSpace,
          .columns = {"0.9", "0.99"}};
}

Field similarity_field(std::string_view name, std::string_view meaning) {
  return {.name = name, .nulls = Nulls::whole, .meaning = meaning, .where = kSpace};
}

}  // namespace

RowKind experts_rows() {
  RowKind kind = {
      .name = "experts",
      .command = "experts",
      .meaning =
          "joint rank and similarity of the experts of one layer, or of the rows of its router",
      .place = place_of_whole_matrix(),
      .fields =
          {{.name = "experts",
            .type = integer,
            .meaning = "number of compared experts",
            .where = kSpace},
           {.name = "shape",
            .type = integer,
            .form = list,
            .meaning = "rows and columns of all compared experts, stacked",
            .where = kSpace,
            .columns = {"0", "1"}},
           rank_field("energy_rank", "energy rank of all compared experts, stacked"),
           rank_field(
               "random_energy_rank",
               "expected energy rank of a Gaussian matrix with the shape of the stacked experts"),
           rank_field("single_energy_rank",
                      "median energy rank of a single expert; null for a router", Nulls::whole),
           similarity_field("mean_similarity",
                            "Mean similarity over all pairs. Experts: cosine between the Gram "
                            "matrices (WᵀW) of their weights. Router: cosine between its rows."),
           similarity_field("least_similarity", "lowest similarity of any two experts"),
           similarity_field("most_similarity", "highest similarity of any two experts"),
           similarity_field("random_similarity",
                            "expected similarity of two independent Gaussian matrices")},
      .models = model_facts(),
      .parameters = {energy_parameter(), layers_parameter(), experts_parameter_field()},
      .has_view = true};
  return kind;
}

RowKind routing_rows() {
  RowKind kind = {
      .name = "routing",
      .command = "experts",
      .option = "source",
      .meaning = "routing statistics of one layer on a text",
      .revision = 2,
      .place = {model_field(), stack_field(), layer_field()},
      .fields = {{.name = "experts",
                  .type = integer,
                  .meaning = "number of routed experts in the layer",
                  .where = kRouting},
                 {.name = "experts_per_token",
                  .type = integer,
                  .meaning = "number of routed experts per token",
                  .where = kRouting},
                 {.name = "tokens",
                  .type = integer,
                  .unit = "tokens",
                  .meaning = "number of routed tokens",
                  .where = kRouting},
                 {.name = "ties",
                  .type = integer,
                  .unit = "tokens",
                  .meaning =
                      "Number of tokens for which an expert that was not selected had the same "
                      "score as a selected expert. Among equal scores, the lower index is "
                      "selected.",
                  .where = kRouting},
                 {.name = "load",
                  .form = list,
                  .unit = "share of selections",
                  .meaning = "share of all selections that went to each expert",
                  .where = kRouting},
                 {.name = "effective_experts",
                  .unit = "experts",
                  .meaning =
                      "exponential of the entropy of the load: effective number of experts in use",
                  .where = kRouting},
                 {.name = "largest_load",
                  .unit = "share of selections",
                  .meaning = "load of the most frequently selected expert",
                  .where = kRouting},
                 {.name = "router_entropy",
                  .unit = "nats",
                  .meaning = "entropy of the softmax over all router logits, mean over tokens",
                  .where = kRouting},
                 {.name = "mean_weights",
                  .form = list,
                  .meaning = "mean routing weight of each token's top expert, second expert, and "
                             "so on",
                  .where = kRouting},
                 {.name = "top_pair",
                  .type = integer,
                  .form = list,
                  .nulls = Nulls::whole,
                  .meaning = "pair of experts that is selected together for the most tokens; null "
                             "if each token selects one expert",
                  .where = kRouting},
                 {.name = "top_pair_lift",
                  .nulls = Nulls::whole,
                  .meaning = "co-activation of the top pair, divided by its expected value if both "
                             "experts were selected independently; null if each token selects one "
                             "expert",
                  .where = kRouting},
                 {.name = "coactivation",
                  .form = matrix,
                  .unit = "share of the tokens",
                  .meaning = "share of tokens that selected both experts of each pair; on the "
                             "diagonal, the share that selected the expert",
                  .where = kRouting}},
      .models = model_facts(),
      .parameters = text_parameter_fields()};
  for (Field& field : example_parameter_fields()) kind.parameters.push_back(std::move(field));
  kind.parameters.push_back(layers_parameter());
  kind.parameters.push_back(tokens_hash_parameter());
  return kind;
}

}  // namespace attnscope
