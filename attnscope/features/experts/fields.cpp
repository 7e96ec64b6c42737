// Rows of `experts`: what the experts of a layer share, and where its router sends tokens.
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
      .meaning = "what the experts of a layer have in common, or the rows of its router",
      .place = place_of_whole_matrix(),
      .fields = {{.name = "experts",
                  .type = integer,
                  .meaning = "how many experts were compared",
                  .where = kSpace},
                 {.name = "shape",
                  .type = integer,
                  .form = list,
                  .meaning = "rows and columns of all of them stacked",
                  .where = kSpace,
                  .columns = {"0", "1"}},
                 rank_field("energy_rank", "the energy rank of all of them stacked"),
                 rank_field("random_energy_rank", "that of a Gaussian matrix of this shape"),
                 rank_field("single_energy_rank",
                            "the median energy rank of one of them; null: of a router",
                            Nulls::whole),
                 similarity_field("mean_similarity",
                                  "the mean over pairs: of experts the cosine of what they do to "
                                  "the stream's second moments, of a router's rows their cosine"),
                 similarity_field("least_similarity", "that of the least similar pair"),
                 similarity_field("most_similarity", "that of the most similar pair"),
                 similarity_field("random_similarity", "that of independent Gaussian matrices")},
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
      .meaning = "where the router of a layer sends the tokens of a text",
      .revision = 2,
      .place = {model_field(), stack_field(), layer_field()},
      .fields = {{.name = "experts",
                  .type = integer,
                  .meaning = "how many experts there are to choose from",
                  .where = kRouting},
                 {.name = "experts_per_token",
                  .type = integer,
                  .meaning = "how many experts each token passes",
                  .where = kRouting},
                 {.name = "tokens",
                  .type = integer,
                  .unit = "tokens",
                  .meaning = "how many tokens were routed",
                  .where = kRouting},
                 {.name = "ties",
                  .type = integer,
                  .unit = "tokens",
                  .meaning = "for how many of them an expert that was not chosen had as large a "
                             "score as one that was: of equal ones the lower is taken",
                  .where = kRouting},
                 {.name = "load",
                  .form = list,
                  .unit = "share of the choices",
                  .meaning = "the share of all choices that fell on each expert",
                  .where = kRouting},
                 {.name = "effective_experts",
                  .unit = "experts",
                  .meaning = "e to the entropy of the load",
                  .where = kRouting},
                 {.name = "largest_load",
                  .unit = "share of the choices",
                  .meaning = "the load of the expert that was chosen most",
                  .where = kRouting},
                 {.name = "router_entropy",
                  .unit = "nats",
                  .meaning = "the mean over tokens of the entropy of the softmax of all logits",
                  .where = kRouting},
                 {.name = "mean_weights",
                  .form = list,
                  .meaning = "the mean weight of the best expert of a token, of the second, …",
                  .where = kRouting},
                 {.name = "top_pair",
                  .type = integer,
                  .form = list,
                  .nulls = Nulls::whole,
                  .meaning = "the two experts that most tokens chose both; null where each token "
                             "chooses one",
                  .where = kRouting},
                 {.name = "top_pair_lift",
                  .nulls = Nulls::whole,
                  .meaning = "how many times as many tokens chose both as if independently",
                  .where = kRouting},
                 {.name = "coactivation",
                  .form = matrix,
                  .unit = "share of the tokens",
                  .meaning = "for each two experts the share of tokens that chose both; of an "
                             "expert with itself, that chose it",
                  .where = kRouting}},
      .models = model_facts(),
      .parameters = text_parameter_fields()};
  for (Field& field : example_parameter_fields()) kind.parameters.push_back(std::move(field));
  kind.parameters.push_back(layers_parameter());
  kind.parameters.push_back(tokens_hash_parameter());
  return kind;
}

}  // namespace attnscope
