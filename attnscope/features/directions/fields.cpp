// Rows of `read`: the tokens that name one pole of one side of a direction.
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
  RowKind kind = {.name = "directions",
                  .command = "directions",
                  .meaning = "the tokens that name one pole of one side of a direction",
                  .place = place_of_part("the query head, from 0; null: of the layer's matrix"),
                  .models = model_facts()};
  kind.place.push_back({.name = "matrix",
                        .type = text,
                        .meaning = "whose direction",
                        .where = "formats.md#rows",
                        .choices = {"ov", "qk", "o", "up", "gate", "down"}});
  Field gap = of_read("gap",
                      "the distance to the nearer singular value, over this one; null of a "
                      "single one");
  gap.nulls = Nulls::whole;
  Field rarity = of_read("rarity",
                         "correlation of the scores with tokens' rarity; null where no "
                         "token is known that no text has");
  rarity.nulls = Nulls::whole;
  Field hold =
      of_read("text_correlation",
              "of what is read: correlation, over the kinds of tokens of the text, of what "
              "the direction meets there with the scores that name it; null of writes, "
              "where either does not vary, and of fewer than ten kinds");
  hold.nulls = Nulls::whole;
  hold.with = "tokens_hash";
  Field copying = of_read("token_copying",
                          "of a head's circuit of tokens, Σ Re μ / Σ |μ|: 1 would raise each token "
                          "that is read, −1 lower it; null where tokens name no side of it, or it "
                          "does nothing");
  copying.nulls = Nulls::whole;
  copying.with = "copying";
  Field full_copying = copying;
  full_copying.name = "full_copying";
  full_copying.meaning =
      "the same of the embeddings of all tokens, whatever its layer reads, and of the bias of the "
      "norm before it (Elhage et al. 2021)";
  kind.fields = {
      counted("direction", "1: of the largest singular value"),
      of_read("value", "the singular value, norms folded in"),
      of_read("energy", "its square over the sum of all", "share of the energy"),
      gap,
      {.name = "singular_vector",
       .type = text,
       .meaning = "which vector: what is read or written, or that of queries or keys",
       .where = kRead,
       .choices = {"input", "output", "query", "key"}},
      {.name = "sign",
       .type = text,
       .meaning = "which way along it; the poles of one sign of both sides belong together",
       .where = kRead,
       .choices = {"+", "-"}},
      of_read("coherence", "mean cosine of any two of the first ten tokens' rows"),
      of_read("random_coherence", "what 99 % of random directions stay below"),
      {.name = "named", .type = flag, .meaning = "whether coherence is above that", .where = kRead},
      rarity,
      hold,
      {.name = "tokens",
       .type = record,
       .form = list,
       .meaning = "the tokens that score highest, the first first",
       .where = kRead,
       .fields = {counted("token_id", "the token's id"),
                  {.name = "text",
                   .type = text,
                   .nulls = Nulls::whole,
                   .meaning = "it as readable text; null where no tokenizer knows it",
                   .where = kRead},
                  of_read("score",
                          "of a write: logits for a unit written at a final scale of 1; "
                          "else units of the normed input"),
                  of_read("cosine", "of the token's row with the direction")}},
      copying,
      full_copying};
  kind.models.push_back(
      {.name = "candidate_tokens",
       .type = record,
       .meaning = "the tokens that may name, and how many lists they do",
       .where = kRead,
       .fields = {
           counted("tokens", "how many"),
           {.name = "untrained",
            .type = integer,
            .nulls = Nulls::whole,
            .meaning = "how many training never saw; null: not known",
            .where = kRead},
           counted("lists", "how many lists of tokens there are"),
           counted("named", "how many of them are above chance; of random ones 1 % would be")}});
  const auto parameter = [](std::string_view name, FieldType type, std::string_view meaning) {
    return Field{.name = name, .type = type, .meaning = meaning, .where = "formats.md#parameters"};
  };
  Field matrix = parameter("matrix", text, "whose directions");
  matrix.choices = {"ov", "qk", "o", "up", "gate", "down"};
  Field head = parameter("head", integer, "the head; null: all");
  head.nulls = Nulls::whole;
  Field names = parameter("names", text, "by what inputs are named");
  names.choices = {"auto", "embedding", "mlp0"};
  Field asked_copying = parameter("copying", flag, "that heads have token_copying");
  asked_copying.with = "copying";
  kind.parameters = {
      matrix,
      layers_parameter(),
      head,
      parameter("directions", integer, "how many of each"),
      parameter("top", integer, "tokens of each list"),
      names,
      parameter("all_tokens", flag, "whether tokens that training never saw may name"),
      parameter("draws", integer, "random directions of the null"),
      asked_copying};
  for (Field& field : mla_text_parameter_fields()) kind.parameters.push_back(std::move(field));
  kind.parameters.push_back(example_parameter_fields().front());  // lines
  return kind;
}

RowKind direction_pairs_rows() {
  RowKind kind = directions_rows();
  kind.name = "direction_pairs";
  kind.option = "pairs";
  kind.meaning = "a pair of tokens that a head joins more strongly than most";
  kind.models = model_facts();
  const auto token = [](std::string_view id, std::string_view words, std::string_view meaning,
                        std::vector<Field>& fields) {
    fields.push_back(counted(id, meaning));
    fields.push_back({.name = words,
                      .type = text,
                      .nulls = Nulls::whole,
                      .meaning = "it as readable text; null where no tokenizer knows it",
                      .where = kRead});
  };
  kind.fields.clear();
  token("input_token_id", "input_text", "the token that is read; of qk that of the query",
        kind.fields);
  token("output_token_id", "output_text", "the token whose logit it raises; of qk that of the key",
        kind.fields);
  kind.fields.push_back(
      of_read("score",
              "of ov: what reading the one adds to the logit of the other, at a final scale "
              "of 1; of qk: their score, not divided by √d; both tokens less "
              "their mean"));
  std::vector<Field> parameters;
  for (const char* name : {"matrix", "layers", "head", "names", "all_tokens"}) {
    for (const Field& field : kind.parameters) {
      if (field.name == name) parameters.push_back(field);
    }
  }
  kind.parameters = std::move(parameters);
  kind.parameters.push_back({.name = "pairs",
                             .type = integer,
                             .meaning = "how many pairs of each model",
                             .where = "formats.md#parameters"});
  return kind;
}

}  // namespace attnscope
