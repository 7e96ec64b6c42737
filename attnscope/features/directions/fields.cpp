// Rows of `directions`: the top tokens of a singular vector, for one sign.
#include "attnscope/features/common/fields.h"
#include "attnscope/rows/field.h"

namespace attnscope {

using enum FieldType;
using enum FieldForm;

namespace {

constexpr std::string_view kRead = "metrics.md#directions";

Field of_read(std::string_view name, std::string_view meaning, std::string_view unit = "") {
  return {.name = name, .unit = unit, .meaning = meaning, .where = kRead};
}

Field counted(std::string_view name, std::string_view meaning) {
  return {.name = name, .type = integer, .meaning = meaning, .where = kRead};
}

}  // namespace

RowKind directions_rows() {
  RowKind kind = {
      .name = "directions",
      .command = "directions",
      .meaning = "top tokens of one singular vector, for one sign",
      .place = place_of_part("query head index, from 0. Null for matrices that are not per head."),
      .models = model_facts()};
  kind.place.push_back({.name = "matrix",
                        .type = text,
                        .meaning = "matrix or circuit of the singular vector",
                        .where = "formats.md#rows",
                        .choices = {"ov", "qk", "o", "up", "gate", "down"}});
  Field gap = of_read("gap",
                      "relative gap: distance to the nearest other singular value, divided by "
                      "this direction's singular value. Null if there is only one singular value.");
  gap.nulls = Nulls::whole;
  Field rarity = of_read(
      "rarity",
      "correlation of the token scores with token rarity. Null if no untrained tokens are known.");
  rarity.nulls = Nulls::whole;
  Field hold = of_read("text_correlation",
                       "Input directions: correlation, over distinct tokens of the text, between "
                       "the mean projection onto the direction and the token's score. Null for "
                       "output directions, constant values, and fewer than 10 distinct tokens.");
  hold.nulls = Nulls::whole;
  hold.with = "tokens_hash";
  Field copying =
      of_read("token_copying",
              "copying score Σ Re μ / Σ |μ| over the eigenvalues μ of the head's token-to-token "
              "circuit. At 1, the head raises the logits of attended tokens; at −1, it lowers "
              "them. Null if the circuit is zero, or if tokens cannot describe its input or "
              "output.");
  copying.nulls = Nulls::whole;
  copying.with = "copying";
  Field full_copying = copying;
  full_copying.name = "full_copying";
  full_copying.meaning =
      "copying score computed from all token embeddings and the bias of the preceding norm (Elhage "
      "et al. 2021)";
  kind.fields = {
      counted("direction", "index of the direction, from 1 (largest singular value)"),
      of_read("value", "singular value, with norms folded in"),
      of_read("energy",
              "share of the energy: squared singular value divided by the sum of all squares",
              "share of the energy"),
      gap,
      {.name = "singular_vector",
       .type = text,
       .meaning = "singular vector: input or output vector of ov and weight matrices, query or key "
                  "vector of qk",
       .where = kRead,
       .choices = {"input", "output", "query", "key"}},
      {.name = "sign",
       .type = text,
       .meaning = "sign of the singular vector; an input vector pairs with the output vector of "
                  "the same sign",
       .where = kRead,
       .choices = {"+", "-"}},
      of_read("coherence",
              "mean pairwise cosine similarity of the (un)embedding vectors of the "
              "top ten tokens"),
      of_read("random_coherence", "99% quantile of the coherence of random directions"),
      {.name = "named",
       .type = flag,
       .meaning = "true if coherence is above random_coherence",
       .where = kRead},
      rarity,
      hold,
      {.name = "tokens",
       .type = record,
       .form = list,
       .meaning = "top tokens of the direction, highest score first",
       .where = kRead,
       .fields =
           {counted("token_id", "token id"),
            {.name = "text",
             .type = text,
             .nulls = Nulls::whole,
             .meaning = "text of the token. Null if the tokenizer does not know it.",
             .where = kRead},
            of_read("score",
                    "token score along the signed direction. Output vectors: change of the token's "
                    "logit per unit of output along the direction, at a final norm scale of 1. "
                    "Other vectors: projection of the token's normalized input."),
            of_read("cosine",
                    "cosine similarity of the token's vector with the signed direction")}},
      copying,
      full_copying};
  kind.models.push_back(
      {.name = "candidate_tokens",
       .type = record,
       .meaning = "numbers of candidate tokens, untrained tokens and lists of top tokens",
       .where = kRead,
       .fields = {counted("tokens", "number of candidate tokens"),
                  {.name = "untrained",
                   .type = integer,
                   .nulls = Nulls::whole,
                   .meaning = "number of untrained tokens. Null if unknown.",
                   .where = kRead},
                  counted("lists", "number of lists of top tokens"),
                  counted("named",
                          "number of lists whose coherence is above random_coherence; for random "
                          "directions, 1% of the lists are expected")}});
  const auto parameter = [](std::string_view name, FieldType type, std::string_view meaning) {
    return Field{.name = name, .type = type, .meaning = meaning, .where = "formats.md#parameters"};
  };
  Field matrix = parameter("matrix", text, "matrix or circuit whose singular vectors are shown");
  matrix.choices = {"ov", "qk", "o", "up", "gate", "down"};
  Field head = parameter("head", integer, "requested head. Null for all heads.");
  head.nulls = Nulls::whole;
  Field names =
      parameter("names", text,
                "token vectors that describe input directions: token embeddings (embedding), the "
                "same plus the output of the first MLP (mlp0), or chosen by layer (auto)");
  names.choices = {"auto", "embedding", "mlp0"};
  Field asked_copying =
      parameter("copying", flag, "true: heads have token_copying and full_copying");
  asked_copying.with = "copying";
  kind.parameters = {
      matrix,
      layers_parameter(),
      head,
      parameter("directions", integer, "number of directions per head or matrix"),
      parameter("top", integer, "number of top tokens per list"),
      names,
      parameter("all_tokens", flag, "true: untrained tokens are candidates, too"),
      parameter("draws", integer, "number of random directions in the random baseline"),
      asked_copying};
  for (Field& field : mla_text_parameter_fields()) kind.parameters.push_back(std::move(field));
  kind.parameters.push_back(example_parameter_fields().front());  // lines
  return kind;
}

RowKind direction_pairs_rows() {
  RowKind kind = directions_rows();
  kind.name = "direction_pairs";
  kind.option = "pairs";
  kind.meaning = "one of the strongest token pairs of a head";
  kind.models = model_facts();
  const auto token = [](std::string_view id, std::string_view words, std::string_view meaning,
                        std::vector<Field>& fields) {
    fields.push_back(counted(id, meaning));
    fields.push_back({.name = words,
                      .type = text,
                      .nulls = Nulls::whole,
                      .meaning = words == "input_text"
                                     ? "text of the attended (ov) or query (qk) token. Null if the "
                                       "tokenizer does not know it."
                                     : "text of the written (ov) or key (qk) token. Null if the "
                                       "tokenizer does not know it.",
                      .where = kRead});
  };
  kind.fields.clear();
  token("input_token_id", "input_text",
        "token id of the attended token (ov) or the query token (qk)", kind.fields);
  token("output_token_id", "output_text",
        "token id of the token whose logit rises (ov) or the key token (qk)", kind.fields);
  kind.fields.push_back(
      of_read("score",
              "score of the pair, with the mean over tokens subtracted for both tokens. ov: logit "
              "that attention to the attended token adds to the written token, at a final norm "
              "scale of 1. qk: attention score, not divided by √d."));
  std::vector<Field> parameters;
  for (const char* name : {"matrix", "layers", "head", "names", "all_tokens"}) {
    for (const Field& field : kind.parameters) {
      if (field.name == name) parameters.push_back(field);
    }
  }
  kind.parameters = std::move(parameters);
  kind.parameters.push_back({.name = "pairs",
                             .type = integer,
                             .meaning = "requested number of token pairs per model",
                             .where = "formats.md#parameters"});
  return kind;
}

}  // namespace attnscope
