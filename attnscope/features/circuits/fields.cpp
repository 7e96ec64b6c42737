// Rows of `circuits`: measures of the QK and OV circuits, and composition scores of head pairs.
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

/// Null if the divisor is zero or the circuit is not square.
Field score(std::string_view name, std::string_view heading, std::string_view meaning) {
  return {.name = name,
          .nulls = Nulls::whole,
          .heading = heading,
          .meaning = meaning,
          .where = kCircuitsSection};
}

/// One of q, k, o, v; each circuit has two of them.
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
      "energy rank of the circuit: number of singular values needed for this share of the energy");
  energy_rank.columns = {"0.9", "0.99"};
  return {
      energy_rank,
      {.name = "factor_rank",
       .type = record,
       .form = by_threshold,
       .meaning = "energy ranks of the two factors of the circuit: q and k for qk, o and v for ov",
       .where = kCircuitsSection,
       .fields = {factor("q", "energy rank of W_Q (qk circuit)"),
                  factor("k", "energy rank of W_K (qk circuit)"),
                  factor("o", "energy rank of W_O (ov circuit)"),
                  factor("v", "energy rank of W_V (ov circuit)")}},
      count_by_threshold("head_space_rank", "",
                         "energy rank of the product in reverse order, in head space: W_K W_Qᵀ or "
                         "W_V W_O. Null if the circuit is not square.",
                         Nulls::entries),
      count_by_threshold("rank_drop", "drop",
                         "rank drop of the product: energy rank of W_K (or W_V) minus the energy "
                         "rank of the circuit. May be negative."),
      count_by_threshold("head_space_rank_drop", "in head",
                         "rank drop in head space: energy rank of W_Q (or W_O) minus "
                         "head_space_rank. May be negative. Null if the circuit is not square.",
                         Nulls::entries),
      score("identity_cosine", "identity",
            "cosine similarity of the circuit with the identity, -1 to 1"),
      score("identity_cosine_bound", "",
            "upper bound of the magnitude of identity_cosine, given the maximum possible rank"),
      score("identity_distance", "",
            "Frobenius distance to the nearest multiple of the identity, divided by the circuit's "
            "norm"),
      score("identity_scale", "", "factor of the nearest multiple of the identity"),
      score("identity_residual", "",
            "Frobenius distance to the identity, divided by the norm of the identity"),
      score("symmetry", "symmetry",
            "symmetry of the circuit, from 1 (symmetric) to -1 (antisymmetric)"),
      score("positive_fraction", "positive",
            "share of the positive eigenvalues in the sum of eigenvalue magnitudes of the "
            "symmetric part, 0 to 1"),
      score("copying_score", "copying",
            "copying score: sum of the real parts of the eigenvalues divided by the sum of their "
            "magnitudes, -1 to 1"),
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
           .meaning = "requested circuits. Null for both.",
           .where = kParameters,
           .choices = {"qk", "ov"}},
          layers_parameter(),
          {.name = "fold_norm",
           .type = flag,
           .meaning = "true: the gain of the norm before attention is folded into the circuits. "
                      "centered: the means are also removed",
           .where = kParameters,
           .choices = {"centered"}},
          {.name = "with_bias",
           .type = flag,
           .meaning = "true: the circuits include the biases of Q, K and V",
           .where = kParameters},
          {.name = "rope_offset",
           .type = integer,
           .unit = "positions",
           .meaning = "key position − query position at which the qk circuit is evaluated",
           .where = kParameters},
          {.name = "all_eigenvalues",
           .type = flag,
           .meaning = "true: the sum over heads has a copying score even if KV heads × head size "
                      "(MLA: latent size) exceeds 1024",
           .where = kParameters},
          {.name = "composition",
           .type = flag,
           .meaning = "true: rows are pairs of heads",
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
               .meaning =
                   "circuit: qk (W_Qᵀ W_K, determines attention scores) or ov (W_O W_V, determines "
                   "the head output)",
               .where = kCircuitsSection,
               .choices = {"qk", "ov"}};
    } else if (field.name == "head") {
      field.meaning = "query head index, from 0. Null for the sum over heads.";
    }
  }
  return {.name = "circuits",
          .command = "circuits",
          .meaning = "measures of one circuit of a layer or head, from the weights",
          .revision = 4,
          .place = std::move(place),
          .fields = circuit_measures(),
          .models = model_facts(),
          .parameters = std::move(parameters),
          .variant = {"fold_norm", "with_bias", "rope_offset"},
          .has_view = true};
}

RowKind composition_rows() {
  return {
      .name = "composition",
      .command = "circuits",
      .option = "composition",
      .meaning = "composition score of one pair of heads, from the weights",
      .revision = 3,
      .place = {model_field(), stack_field()},
      .fields = {{.name = "kind",
                  .type = text,
                  .heading = "type",
                  .meaning = "type of composition: Q-, K- or V-composition (into the queries, keys "
                             "or values of the later head)",
                  .where = kWhereComposition,
                  .choices = {"q", "k", "v"}},
                 {.name = "layer",
                  .type = integer,
                  .heading = "earlier",
                  .meaning = "layer of the earlier head (the sender), from 0",
                  .where = kWhereComposition},
                 {.name = "head",
                  .type = integer,
                  .meaning = "index of the earlier head (the sender), from 0",
                  .where = kWhereComposition},
                 {.name = "receiver_layer",
                  .type = integer,
                  .heading = "later",
                  .meaning = "layer of the later head (the receiver), from 0",
                  .where = kWhereComposition},
                 {.name = "receiver_head",
                  .type = integer,
                  .meaning = "index of the later head (the receiver), from 0",
                  .where = kWhereComposition},
                 {.name = "score",
                  .nulls = Nulls::whole,
                  .heading = "score",
                  .meaning =
                      "composition score: Frobenius norm of the product of both circuits divided "
                      "by the product of their norms, 0 to 1. Null if a circuit is zero.",
                  .where = kWhereComposition},
                 {.name = "excess",
                  .nulls = Nulls::whole,
                  .heading = "excess",
                  .meaning = "composition score minus the expected score of random heads. Null if "
                             "the score is null.",
                  .where = kWhereComposition}},
      .models = model_facts(),
      .parameters = circuit_parameters(),
      .has_view = true};
}

}  // namespace attnscope
