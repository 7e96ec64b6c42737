// Rows of `ablate --induction`: a head and a later one.
#include "attnscope/results/fields/kinds.h"

namespace attnscope {

using enum FieldType;
using enum FieldForm;

RowKind ablate_induction_rows() {
  constexpr std::string_view kSection = "metrics.md#ablation";
  const auto number = [&](std::string_view name, std::string_view unit, std::string_view head,
                          std::string_view meaning) {
    return Field{.name = name,
                 .nulls = Nulls::whole,
                 .unit = unit,
                 .heading = head,
                 .meaning = meaning,
                 .where = kSection};
  };
  const auto place = [&](std::string_view name, Nulls nulls, std::string_view meaning) {
    return Field{.name = name,
                 .type = integer,
                 .nulls = nulls,
                 .meaning = meaning,
                 .where = "formats.md#rows"};
  };
  RowKind kind = {.name = "ablate_induction",
                  .command = "ablate",
                  .option = "induction",
                  .meaning = "what a later head's induction is without an earlier head",
                  .revision = 2,
                  .place = {model_field(), stack_field(), layer_field(),
                            place("head", Nulls::none, "the head that is replaced, from 0")},
                  .models = model_facts(),
                  .parameters = text_parameter_fields()};
  kind.fields = {
      {.name = "path",
       .type = text,
       .meaning = "where it is: everywhere, or only in what the later head reads as its queries, "
                  "its keys or its values",
       .where = kSection,
       .choices = {"everywhere", "query", "key", "value"}},
      place("to_layer", Nulls::whole, "the later head's layer; null: there is none"),
      place("to_head", Nulls::whole, "the later head"),
      number("induction_before", "", "induction",
             "of the later head as it is: mean weight from a repeated token to the one after its "
             "first occurrence"),
      number("induction", "", "without", "the same without the earlier head"),
      number("write_change", "share of what it gives", "",
             "of a path: by how much what the later head gives to the output projection changes, "
             "‖difference‖ / ‖as it is‖; null where heads are replaced everywhere"),
      number("loss_increase", "nats", "loss increase",
             "by how much the mean loss of the second half rises; null of a path"),
      number("loss_increase_error", "nats", "",
             "the standard error of that over sequences; null of one sequence and of a path"),
      number("loss", "nats", "loss", "the model's own on the second half; null of a path")};
  kind.parameters.insert(kind.parameters.begin(),
                         Field{.name = "induction",
                               .type = flag,
                               .meaning = "that rows are of random tokens repeated twice",
                               .where = "formats.md#parameters"});
  kind.parameters.push_back(layers_parameter());
  kind.parameters.push_back({.name = "into",
                             .type = integer,
                             .form = list,
                             .nulls = Nulls::whole,
                             .meaning = "the layer and the head whose inputs are changed; null: "
                                        "heads are replaced everywhere",
                             .where = "formats.md#parameters"});
  return kind;
}

}  // namespace attnscope
