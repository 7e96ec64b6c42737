// Rows of `circuits`: what QK and OV of layers and heads do, and how heads feed later ones.
#include <utility>

#include "attnscope/features/common/fields.h"
#include "attnscope/rows/field.h"

namespace attnscope {
namespace {

using enum FieldType;
using enum FieldForm;

constexpr std::string_view kCircuitsSection = "metrics.md#circuits";
constexpr std::string_view kWhereComposition = "metrics.md#composition";

Field count_by_threshold(std::string_view name, std::string_view heading, std::string_view meaning,
                         Nulls nulls = Nulls::none) {
  return {.name = name,
          .type = integer,
          .form = by_threshold,
          .nulls = nulls,
          .unit = "singular values",
          .heading = heading,
          .meaning = meaning,
          .where = kCircuitsSection};
}

/// Null where what it divides by vanishes, or where the circuit is not square.
Field score(std::string_view name, std::string_view heading, std::string_view meaning) {
  return {.name = name,
          .nulls = Nulls::whole,
          .heading = heading,
          .meaning = meaning,
          .where = kCircuitsSection};
}

/// One of q, k, o, v: a circuit has two.
Field factor(std::string_view name, std::string_view meaning) {
  return {.name = name,
          .type = integer,
          .unit = "singular values",
          .meaning = meaning,
          .where = kCircuitsSection,
          .optional = true};
}

std::vector<Field> circuit_measures() {
  Field energy_rank = count_by_threshold(
      "energy_rank", "rank",
      "the fewest singular values of the circuit that hold that share of their squares' sum");
  energy_rank.columns = {"0.9", "0.99"};
  return {
      energy_rank,
      {.name = "factor_rank",
       .type = record,
       .form = by_threshold,
       .meaning = "energy ranks of the circuit's two factors: q and k of qk, o and v of ov",
       .where = kCircuitsSection,
       .fields = {factor("q", "energy rank of the queries' factor, of qk"),
                  factor("k", "energy rank of the keys' factor, of qk"),
                  factor("o", "energy rank of the output's factor, of ov"),
                  factor("v", "energy rank of the values' factor, of ov")}},
      count_by_threshold(
          "head_space_rank", "",
          "energy rank of the product the other way round, in the heads' space; null "
          "where the circuit is not square",
          Nulls::entries),
      count_by_threshold("rank_drop", "rank_drop",
                         "rank of K (of V) less the circuit's; may be negative"),
      count_by_threshold("head_space_rank_drop", "in head",
                         "rank of Q (of O) less that in the heads' space, likewise",
                         Nulls::entries),
      score("identity_cosine", "identity", "cosine between the circuit and the identity, -1 to 1"),
      score("identity_cosine_bound", "",
            "what the magnitude of that cosine cannot exceed, by the circuit's possible rank"),
      score("identity_distance", "",
            "distance to the nearest multiple of the identity, over the circuit's norm"),
      score("identity_scale", "", "that multiple"),
      score("identity_residual", "", "distance to the identity itself, over that one's norm"),
      score("symmetry", "symmetry", "1: symmetric, -1: antisymmetric"),
      score("positive_fraction", "positive",
            "positive share of the eigenvalues of the symmetric part, 0 to 1"),
      score("copying_score", "copying",
            "sum of the real parts of the eigenvalues over the sum of their magnitudes, -1 to 1"),
      frobenius_norm_field(),
      possible_rank_field(),
      latent_rms_field(),
  };
}

std::vector<Field> circuit_parameters() {
  constexpr std::string_view kParameters = "formats.md#parameters";
  return {energy_parameter(),
          {.name = "circuit",
           .type = text,
           .form = list,
           .nulls = Nulls::whole,
           .meaning = "the circuits that were asked for; null: both",
           .where = kParameters,
           .choices = {"qk", "ov"}},
          layers_parameter(),
          {.name = "fold_norm",
           .type = flag,
           .meaning = "whether the gain of the norm before attention is part of the circuits, or "
                      "also centred",
           .where = kParameters,
           .choices = {"centered"}},
          {.name = "with_bias",
           .type = flag,
           .meaning = "whether biases of Q, K and V are part of the circuits",
           .where = kParameters},
          {.name = "rope_offset",
           .type = integer,
           .unit = "positions",
           .meaning = "key position less query position at which qk was taken",
           .where = kParameters},
          {.name = "all_eigenvalues",
           .type = flag,
           .meaning = "whether large sums over heads have a copying score too",
           .where = kParameters},
          {.name = "composition",
           .type = flag,
           .meaning = "whether rows are pairs of heads",
           .where = kParameters}};
}

}  // namespace

RowKind circuits_rows() {
  std::vector<Field> parameters = circuit_parameters();
  for (Field& field : mla_text_parameter_fields()) parameters.push_back(std::move(field));
  std::vector<Field> place = place_of_matrix();
  for (Field& field : place) {
    if (field.name == "matrix") {
      field = {.name = "circuit",
               .type = text,
               .meaning = "qk: W_Q^T W_K, scores of pairs; ov: W_O W_V, what is written",
               .where = kCircuitsSection,
               .choices = {"qk", "ov"}};
    } else if (field.name == "head") {
      field.meaning = "the query head, from 0; null: the sum over heads";
    }
  }
  return {.name = "circuits",
          .command = "circuits",
          .meaning = "what one circuit of a layer or head is like, by its weights",
          .revision = 4,
          .place = std::move(place),
          .fields = circuit_measures(),
          .models = model_facts(),
          .parameters = std::move(parameters),
          .variant = {"fold_norm", "with_bias", "rope_offset"},
          .has_view = true};
}

RowKind composition_rows() {
  return {.name = "composition",
          .command = "circuits",
          .option = "composition",
          .meaning = "how much a later head's weights align with an earlier one's",
          .revision = 3,
          .place = {model_field(), stack_field()},
          .fields = {{.name = "kind",
                      .type = text,
                      .heading = "by",
                      .meaning = "the later head's side: its queries, keys or values",
                      .where = kWhereComposition,
                      .choices = {"q", "k", "v"}},
                     {.name = "layer",
                      .type = integer,
                      .heading = "earlier",
                      .meaning = "the earlier head's layer, from 0",
                      .where = kWhereComposition},
                     {.name = "head",
                      .type = integer,
                      .meaning = "the earlier head, from 0",
                      .where = kWhereComposition},
                     {.name = "receiver_layer",
                      .type = integer,
                      .heading = "later",
                      .meaning = "the later head's layer, from 0",
                      .where = kWhereComposition},
                     {.name = "receiver_head",
                      .type = integer,
                      .meaning = "the later head, from 0",
                      .where = kWhereComposition},
                     {.name = "score",
                      .nulls = Nulls::whole,
                      .heading = "score",
                      .meaning = "norm of the product of both circuits over both norms, 0 to 1",
                      .where = kWhereComposition},
                     {.name = "excess",
                      .nulls = Nulls::whole,
                      .heading = "excess",
                      .meaning = "the score less what random heads give",
                      .where = kWhereComposition}},
          .models = model_facts(),
          .parameters = circuit_parameters(),
          .has_view = true};
}

}  // namespace attnscope
