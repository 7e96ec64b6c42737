// Rows of `spectrum --mla`: energy that MLA would keep in each layer.
#include "attnscope/features/common/fields.h"
#include "attnscope/rows/field.h"

namespace attnscope {
namespace {

using enum FieldType;
using enum FieldForm;

constexpr std::string_view kMlaSection = "metrics.md#latent-attention";

Field kept(std::string_view name, std::string_view meaning, Nulls nulls) {
  return {.name = name,
          .nulls = nulls,
          .unit = "share of the energy",
          .meaning = meaning,
          .where = kMlaSection};
}

Field rank(std::string_view name, std::string_view meaning) {
  return {.name = name,
          .type = integer,
          .unit = "singular values",
          .meaning = meaning,
          .where = kMlaSection};
}

Field half(std::string_view name, std::string_view heading, std::string_view meaning) {
  return {
      .name = name,
      .type = record,
      .nulls = Nulls::whole,
      .heading = heading,
      .meaning = meaning,
      .where = kMlaSection,
      .fields = {possible_rank_field(),
                 rank("rank",
                      "latent rank of DeepSeek-V2 (1536 for queries, 512 for keys and values), or "
                      "of the model's own latent"),
                 kept("energy", "share of the energy kept at the latent rank `rank`", Nulls::whole),
                 kept("random_energy",
                      "expected share of the energy that a Gaussian matrix keeps at the same rank",
                      Nulls::none),
                 rank("share_rank",
                      "latent rank with DeepSeek-V2's ratio to the hidden size: 0.3 for queries, "
                      "0.1 for keys and values"),
                 kept("share_energy", "share of the energy kept at the latent rank `share_rank`",
                      Nulls::whole),
                 kept("share_random_energy",
                      "expected share of the energy that a Gaussian matrix keeps at the same rank",
                      Nulls::none),
                 {.name = "energy_rank",
                  .type = integer,
                  .form = by_threshold,
                  .unit = "singular values",
                  .heading = "for",
                  .meaning = "number of singular values needed for the given share of the energy",
                  .where = kMlaSection,
                  .columns = {"0.9", "0.99"}},
                 {.name = "random_energy_rank",
                  .type = integer,
                  .form = by_threshold,
                  .unit = "singular values",
                  .heading = "random",
                  .meaning = "expected energy rank of a Gaussian matrix of the same shape",
                  .where = kMlaSection}}};
}

Field cache(std::string_view name, std::string_view meaning) {
  return {.name = name,
          .type = record,
          .meaning = meaning,
          .where = kMlaSection,
          .fields = {
              {.name = "latent",
               .type = integer,
               .meaning = "dimension of the cached latent from which keys and values are computed",
               .where = kMlaSection},
              {.name = "rope",
               .type = integer,
               .meaning = "dimension of the rotary key that is cached next to the latent",
               .where = kMlaSection},
              {.name = "bytes_per_token",
               .type = integer,
               .nulls = Nulls::whole,
               .unit = "bytes",
               .meaning = "KV cache size per token over all layers, at 16 bits per value; null for "
                          "bidirectional attention",
               .where = kMlaSection}}};
}

/// Fields that `spectrum --mla` adds to the metadata of each model.
const std::vector<Field>& mla_facts() {
  static const std::vector<Field> facts = {
      cache("mla_cache",
            "KV cache with a latent of DeepSeek-V2's rank, or with the model's own latent"),
      cache("mla_cache_at_share",
            "KV cache with a latent and a rotary key of DeepSeek-V2's ratio to the hidden size")};
  return facts;
}

}  // namespace

RowKind mla_rows() {
  RowKind kind = {
      .name = "mla",
      .command = "spectrum",
      .option = "mla",
      .meaning =
          "share of the energy that multi-head latent attention (MLA) would keep in one layer",
      .revision = 2,
      .place = {model_field(), stack_field(), layer_field()},
      .fields =
          {half("query", "q", "energy of W_Q that an MLA query latent would keep; null if skipped"),
           half("kv", "kv",
                "energy of stacked W_K and W_V that an MLA KV latent would keep; null if skipped")},
      .models = model_facts(),
      .parameters = {{.name = "mla",
                      .type = flag,
                      .meaning = "true: rows report the energy that MLA would keep",
                      .where = "formats.md#parameters"},
                     energy_parameter(),
                     layers_parameter()},
      .has_view = true,
      .part = "latent"};
  kind.models.insert(kind.models.end(), mla_facts().begin(), mla_facts().end());
  return kind;
}

}  // namespace attnscope
