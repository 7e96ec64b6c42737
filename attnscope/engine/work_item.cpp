#include "attnscope/engine/work_item.h"

#include <algorithm>

#include "attnscope/base/error.h"
#include "attnscope/rows/lossless_json.h"

namespace attnscope {
namespace {

std::optional<std::int64_t> optional_layer(const Record& record, std::string_view name) {
  const Value* value = record.find(name);
  if (value == nullptr || value->is_null()) return std::nullopt;
  const auto layer = expect<std::int64_t>(*value, name);
  if (layer < 0) refuse_field(name);
  return layer;
}

/// Media inputs form one array, whose first axis counts them.
void add_media_inputs(const Array& array, SequenceBatch& batch) {
  const auto* values = std::get_if<std::vector<double>>(&array.data);
  if (values == nullptr || array.shape.size() < 2 || array.shape.front() < 1) {
    refuse_field("signals");
  }
  const std::vector<std::int64_t> shape(array.shape.begin() + 1, array.shape.end());
  const auto each = std::ssize(*values) / array.shape.front();
  for (auto first = values->begin(); first != values->end(); first += each) {
    batch.media_inputs.push_back({.shape = shape, .values = {first, first + each}});
  }
}

using Sequences = std::vector<TokenIds>;

/// Reads an array, or a list of arrays of different lengths.
Sequences sequences_of(const Record& record, std::string_view name) {
  Sequences out;
  if (const Value* value = record.find(name); value != nullptr && value->get<Value::List>()) {
    for (const Value& each : *value->get<Value::List>()) {
      out.emplace_back(expect_vector<std::int64_t>({{std::string(name), each}}, name));
    }
  } else {
    const MatrixView<const std::int64_t> tokens = expect_matrix<std::int64_t>(record, name);
    for (std::int64_t row = 0; row < tokens.rows; ++row) {
      out.emplace_back(&tokens(row, 0), &tokens(row, 0) + tokens.cols);
    }
  }
  const bool any_empty =
      std::any_of(out.begin(), out.end(), [](const auto& ids) { return ids.empty(); });
  if (out.empty() || any_empty) refuse_field(name);
  return out;
}

/// Reads what add_facts_of() wrote.
void add_facts(const Record& record, std::string_view name, std::vector<std::int64_t> TokenIds::*of,
               Sequences& sequences) {
  const Value* given = record.find(name);
  if (given == nullptr) return;
  if (!given->get<Value::List>()) {  // equal lengths and no null: serialized as a matrix
    const Sequences all = sequences_of(record, name);
    if (all.size() != sequences.size()) refuse_field(name);
    for (std::size_t at = 0; at < all.size(); ++at) {
      if (all[at].size() != sequences[at].size()) refuse_field(name);
      sequences[at].*of = all[at];
    }
    return;
  }
  const Value::List& all = expect<Value::List>(record, name);
  if (all.size() != sequences.size()) refuse_field(name);
  for (std::size_t at = 0; at < all.size(); ++at) {
    if (all[at].is_null()) continue;
    std::vector<std::int64_t>& own = sequences[at].*of;
    own = expect_vector<std::int64_t>({{std::string(name), all[at]}}, name);
    if (own.size() != sequences[at].size()) refuse_field(name);
  }
}

/// Reads what add_roles() wrote.
void read_roles(const Record& record, Sequences& sequences) {
  if (record.find("roles") == nullptr) return;
  const Value::List& all = expect<Value::List>(record, "roles");
  if (all.size() != sequences.size()) refuse_field("roles");
  for (std::size_t at = 0; at < all.size(); ++at) {
    if (all[at].is_null()) continue;
    for (const Value& role : expect<Value::List>(all[at], "roles")) {
      sequences[at].roles.push_back(expect<std::string>(role, "roles"));
    }
    if (sequences[at].roles.size() != sequences[at].size()) refuse_field("roles");
  }
}

SequenceBatch batch_of(const Record& record) {
  SequenceBatch batch{.first = expect<std::int64_t>(record, "first"),
                      .layers = expect_vector<std::int64_t>(record, "layers")};
  const Value* media_inputs = record.find("signals");
  if (media_inputs != nullptr) add_media_inputs(expect<Array>(*media_inputs, "signals"), batch);
  if (media_inputs != nullptr && record.find("tokens") == nullptr) return batch;
  batch.tokens = sequences_of(record, "tokens");
  add_facts(record, "types", &TokenIds::types, batch.tokens);
  add_facts(record, "texts", &TokenIds::texts, batch.tokens);
  read_roles(record, batch.tokens);
  if (media_inputs != nullptr) {
    if (batch.media_inputs.size() != batch.tokens.size()) refuse_field("signals");
  } else if (record.find("sources") != nullptr) {
    batch.sources = sequences_of(record, "sources");
    if (batch.sources.size() != batch.tokens.size()) refuse_field("sources");
  }
  if (record.find("scored") != nullptr) {
    batch.scored = sequences_of(record, "scored");
    const bool fits = std::equal(
        batch.scored.begin(), batch.scored.end(), batch.tokens.begin(), batch.tokens.end(),
        [](const auto& flags, const auto& ids) { return flags.size() == ids.size(); });
    if (!fits) refuse_field("scored");
  }
  return batch;
}

Value sequences_value(const Sequences& sequences) {
  const std::size_t length = sequences.front().size();
  const bool even = std::all_of(sequences.begin(), sequences.end(),
                                [&](const auto& ids) { return ids.size() == length; });
  if (!even) return Value::List(sequences.begin(), sequences.end());
  std::vector<std::int64_t> ids;
  for (const auto& sequence : sequences) ids.insert(ids.end(), sequence.begin(), sequence.end());
  return Array{{std::ssize(sequences), static_cast<std::int64_t>(length)}, std::move(ids)};
}

/// Adds the types or texts of tokens, if any sequence has them; those of the others are null.
void add_facts_of(const Sequences& sequences, std::vector<std::int64_t> TokenIds::*of,
                  const char* name, Record& record) {
  const bool any = std::any_of(sequences.begin(), sequences.end(),
                               [&](const TokenIds& ids) { return !(ids.*of).empty(); });
  if (!any) return;
  Value::List all;
  for (const TokenIds& ids : sequences) {
    all.push_back((ids.*of).empty() ? Value() : Value(ids.*of));
  }
  record.add(name, std::move(all));
}

/// Adds the message roles of tokens, if any sequence has them; those of the others are null.
void add_roles(const Sequences& sequences, Record& record) {
  const bool any = std::any_of(sequences.begin(), sequences.end(),
                               [](const TokenIds& ids) { return !ids.roles.empty(); });
  if (!any) return;
  Value::List all;
  for (const TokenIds& ids : sequences) {
    Value::List roles(ids.roles.begin(), ids.roles.end());
    all.push_back(roles.empty() ? Value() : Value(std::move(roles)));
  }
  record.add("roles", std::move(all));
}

Value batch_value(const std::optional<SequenceBatch>& batch) {
  if (!batch) return {};
  Record record = {{"first", batch->first}};
  if (!batch->tokens.empty()) record.add("tokens", sequences_value(batch->tokens));
  add_facts_of(batch->tokens, &TokenIds::types, "types", record);
  add_facts_of(batch->tokens, &TokenIds::texts, "texts", record);
  add_roles(batch->tokens, record);
  if (!batch->media_inputs.empty()) {
    Array all{.shape = batch->media_inputs.front().shape};
    all.shape.insert(all.shape.begin(), std::ssize(batch->media_inputs));
    std::vector<double> values;
    for (const MediaInput& each : batch->media_inputs) {
      values.insert(values.end(), each.values.begin(), each.values.end());
    }
    all.data = std::move(values);
    record.add("signals", std::move(all));
  }
  record.add("layers", batch->layers);
  if (!batch->sources.empty()) record.add("sources", sequences_value(batch->sources));
  if (!batch->scored.empty()) record.add("scored", sequences_value(batch->scored));
  return record;
}

std::optional<double> positive_number(const Record& record, std::string_view name) {
  if (record.find(name) == nullptr) return std::nullopt;
  const auto number = expect<double>(record, name);
  if (!(number > 0)) refuse_field(name);
  return number;
}

WorkItem item_of(const Record& record) {
  const auto model = expect<std::int64_t>(record, "model");
  if (model < 0) refuse_field("model");
  WorkItem item{.analysis = expect<std::string>(record, "analysis"),
                .parameters = expect<Record>(record, "parameters"),
                .model = static_cast<std::size_t>(model),
                .layer = optional_layer(record, "layer"),
                .earlier_layer = optional_layer(record, "earlier_layer"),
                .role = std::nullopt,
                .tensor = expect<std::string>(record, "tensor")};
  const Value* batch = record.find("batch");
  if (batch != nullptr && !batch->is_null()) item.batch = batch_of(expect<Record>(*batch, "batch"));
  if (record.find("experts") != nullptr) {
    item.experts = expect_vector<std::int64_t>(record, "experts");
    for (const std::int64_t expert : item.experts) {
      if (expert < 0) refuse_field("experts");
    }
  }
  if (record.find("latent_rms") != nullptr) {
    const auto& rms = expect<Record>(record, "latent_rms");
    item.latent_rms = {positive_number(rms, "q"), positive_number(rms, "kv")};
  }
  const Value* role = record.find("role");
  if (role == nullptr || role->is_null()) return item;
  item.role = role_from_name(expect<std::string>(*role, "role"));
  if (!item.role) refuse_field("role");
  return item;
}

}  // namespace

std::string WorkItem::matrix_name() const {
  if (role) return std::string(role_name(*role));
  if (!tensor.empty()) return tensor;
  if (batch) {
    const std::int64_t last = batch->first + batch->count() - 1;
    return "sequences " + std::to_string(batch->first) + "-" + std::to_string(last);
  }
  return earlier_layer ? "layer " + std::to_string(*earlier_layer) : "";
}

Record latent_rms_record(const LatentRms& rms) {
  Record record;
  if (rms.queries) record.add("q", *rms.queries);
  if (rms.keys_and_values) record.add("kv", *rms.keys_and_values);
  return record;
}

std::string work_item_text(const WorkItem& item) {
  Record record = {{"analysis", item.analysis},
                   {"parameters", item.parameters},
                   {"model", static_cast<std::int64_t>(item.model)},
                   {"layer", item.layer},
                   {"earlier_layer", item.earlier_layer},
                   {"role", item.role ? Value(role_name(*item.role)) : Value()},
                   {"tensor", item.tensor},
                   {"batch", batch_value(item.batch)}};
  if (!item.experts.empty()) record.add("experts", item.experts);
  if (item.latent_rms) record.add("latent_rms", latent_rms_record(*item.latent_rms));
  return record_text(record);
}

WorkItem parse_work_item(std::string_view text, std::string_view where) {
  try {
    return item_of(parse_record(text, where));
  } catch (const Error& error) {
    throw Error(ErrorKind::format, {.file = std::string(where),
                                    .problem = "not a work item: " + error.parts().problem});
  }
}

}  // namespace attnscope
