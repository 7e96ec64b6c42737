// Rows of `spectrum --mla`: what latent attention would keep of each layer.
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
  return {.name = name,
          .type = record,
          .nulls = Nulls::whole,
          .heading = heading,
          .meaning = meaning,
          .where = kMlaSection,
          .fields = {
              possible_rank_field(),
              rank("rank",
                   "the latent rank of DeepSeek-V2 for this half, 1536 or 512, or the model's own"),
              kept("energy", "the energy kept at that rank", Nulls::whole),
              kept("random_energy", "what a Gaussian matrix would keep at it", Nulls::none),
              rank("share_rank", "DeepSeek-V2's share of this model's width: 0.3 or 0.1 of it"),
              kept("share_energy", "the energy kept at that share", Nulls::whole),
              kept("share_random_energy", "what a Gaussian matrix would keep at it", Nulls::none),
              {.name = "energy_rank",
               .type = integer,
               .form = by_threshold,
               .unit = "singular values",
               .heading = "for",
               .meaning = "the fewest singular values that hold that share of the energy",
               .where = kMlaSection,
               .columns = {"0.9", "0.99"}},
              {.name = "random_energy_rank",
               .type = integer,
               .form = by_threshold,
               .unit = "singular values",
               .heading = "null",
               .meaning = "the energy rank that a Gaussian matrix is expected to need",
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
               .meaning = "the width of the latent that keys and values are read from",
               .where = kMlaSection},
              {.name = "rope",
               .type = integer,
               .meaning = "the width of the rotary key that is kept beside it",
               .where = kMlaSection},
              {.name = "bytes_per_token",
               .type = integer,
               .nulls = Nulls::whole,
               .unit = "bytes",
               .meaning =
                   "what all layers keep of a token, in 16 bits; null where tokens see both ways",
               .where = kMlaSection}}};
}

/// What `spectrum --mla` adds to the facts of each model.
const std::vector<Field>& mla_facts() {
  static const std::vector<Field> facts = {
      cache("mla_cache", "the KV cache with the latent of DeepSeek-V2, or the model's own"),
      cache("mla_cache_at_share", "the KV cache with a latent of the same share of this width")};
  return facts;
}

}  // namespace

RowKind mla_rows() {
  RowKind kind = {.name = "mla",
                  .command = "spectrum",
                  .option = "mla",
                  .meaning = "what latent attention would keep of one layer",
                  .revision = 2,
                  .place = {model_field(), stack_field(), layer_field()},
                  .fields = {half("query", "q", "of W_Q; null where it was skipped"),
                             half("kv", "kv", "of W_K over W_V; null where it was skipped")},
                  .models = model_facts(),
                  .parameters = {{.name = "mla",
                                  .type = flag,
                                  .meaning = "that rows say what latent attention would keep",
                                  .where = "formats.md#parameters"},
                                 energy_parameter(),
                                 layers_parameter()},
                  .has_view = true,
                  .part = "latent"};
  kind.models.insert(kind.models.end(), mla_facts().begin(), mla_facts().end());
  return kind;
}

}  // namespace attnscope
