#include "attnscope/model/layout_latent.h"

#include <string>

namespace attnscope {

void parse_layout_latent(LayoutFields& fields, ModelSpec& spec) {
  auto own = fields.object("latent");
  if (!own) return;
  HeadShape& heads = spec.dimensions.heads;
  if (heads.kv_heads != heads.heads) own->fail("needs as many 'kv_heads' as 'heads'");
  spec.dimensions.latent = LatentRanks{.query = own->number("query_rank").value_or(0),
                                       .key_value = own->required_number("rank")};
  heads.shared_key_dim = own->number("rotary_dim", /*least=*/0).value_or(0);
  if (heads.shared_key_dim % 2 != 0 || heads.shared_key_dim >= heads.head_dim) {
    own->fail("'rotary_dim' is not an even number below 'head_dim'");
  }
  LatentRule& rule = spec.architecture.latent.emplace();
  rule.query_norm = own->text("query_norm");
  rule.norm = own->text("norm");
  rule.epsilon = own->not_negative("epsilon").value_or(rule.epsilon);
  own->refuse_unknown();
}

void check_layout_latent(const LayoutFields& fields, const ModelSpec& spec) {
  const auto& latent = spec.dimensions.latent;
  const bool of_queries = latent && latent->query > 0;
  for (const WeightRule& rule : spec.architecture.weights) {
    const std::string role = '\'' + std::string(role_name(rule.role)) + '\'';
    switch (rule.role) {
      case Role::query:
        if (of_queries) fields.fail(role + " is made of a latent");
        break;
      case Role::key:
      case Role::value:
        if (latent) fields.fail(role + " is made of a latent");
        break;
      case Role::query_down:
      case Role::query_up:
        if (!of_queries) fields.fail(role + " needs a 'latent' with a 'query_rank'");
        break;
      case Role::kv_down:
      case Role::kv_up:
        if (!latent) fields.fail(role + " needs a 'latent'");
        break;
      default: break;
    }
  }
}

}  // namespace attnscope
