#include "python/src/columns.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "attnscope/rows/field.h"
#include "python/src/column.h"

namespace attnscope::python {
namespace {

/// The columns of one field: one column, or several if its values are records or split lists.
class FieldColumns {
 public:
  FieldColumns(const Field* field, std::size_t rows) : whole_(declared_as(field)), rows_(rows) {}

  void add(std::size_t row, const Value& value) { add("", whole_, row, value); }

  /// Appends the columns, with names that begin with the field's name.
  void move_to(const std::string& name, std::vector<std::pair<std::string, Column>>& out) {
    if (order_.size() == 1 && (whole_.is_record() || whole_.is_split())) add_parts();
    for (const std::string& suffix : order_) {
      const Part& part = parts_.at(suffix);
      const bool has_values = !std::all_of(part.values.begin(), part.values.end(), is_null);
      // A null in a field that has several columns gets no column of its own.
      if (suffix.empty() && order_.size() > 1 && !has_values) continue;
      out.emplace_back(name + suffix, column_of(part.values, part.declared));
    }
  }

 private:
  struct Part {
    Declared declared;
    Values values;
  };

  Values& values_of(const std::string& suffix, const Declared& declared) {
    const auto [found, fresh] = parts_.try_emplace(suffix, Part{declared, {}});
    if (fresh) {
      order_.push_back(suffix);
      found->second.values.resize(rows_);
    }
    return found->second.values;
  }

  void add(const std::string& suffix, const Declared& declared, std::size_t row,
           const Value& value) {
    if (const Record* record = value.get<Record>()) {
      for (const auto& [name, own] : record->fields()) {
        add(suffix + "_" + name, inner(declared, name), row, own);
      }
      return;
    }
    const Array* array = declared.is_split() ? value.get<Array>() : nullptr;
    if (array == nullptr || array->shape.size() != 1) {
      values_of(suffix, declared)[row] = &value;
      return;
    }
    std::visit(
        [&](const auto& numbers) {
          for (std::size_t index = 0; index < numbers.size(); ++index) {
            using T = typename std::decay_t<decltype(numbers)>::value_type;
            using Widest = std::conditional_t<std::is_same_v<T, float>, double, T>;
            const Value& entry = entries_.emplace_back(static_cast<Widest>(numbers[index]));
            const std::string own = suffix + "_" + std::to_string(index);
            values_of(own, {.field = declared.field})[row] = &entry;
          }
        },
        array->data);
  }

  /// Adds the declared columns of a field that is null in all rows.
  void add_parts() {
    if (!order_.front().empty()) return;
    if (whole_.is_split()) {
      for (const std::string_view index : whole_.field->columns) {
        values_of("_" + std::string(index), {.field = whole_.field});
      }
      return;
    }
    for (const Field& field : whole_.field->fields) {
      if (field.optional || !field.with.empty()) continue;
      values_of("_" + std::string(field.name), declared_as(&field));
    }
  }

  Declared whole_;
  std::size_t rows_;
  std::vector<std::string> order_;  // suffixes, in order of appearance
  std::map<std::string, Part> parts_;
  std::deque<Value> entries_;  // of split lists
};

/// Commands whose rows are of heads and of whole matrices or layers.
constexpr std::array<std::string_view, 6> kMixed = {"spectrum",  "weights", "circuits",
                                                    "attention", "ablate",  "diff"};

Value scope_of(const Record& row) {
  const auto has = [&](const char* name) { return !is_null(row.find(name)); };
  if (has("head")) return "head";
  if (has("matrix") || has("circuit")) return "matrix";
  return has("layer") ? "layer" : "model";
}

/// Returns what each row describes: a head, a matrix or a layer.
Column scope_column(const std::vector<Record>& rows) {
  std::deque<Value> scopes;
  Values values;
  for (const Record& row : rows) values.push_back(&scopes.emplace_back(scope_of(row)));
  return column_of(values, {});
}

}  // namespace

bool mixes_scopes(const RowKind& kind) {
  return std::find(kMixed.begin(), kMixed.end(), kind.command) != kMixed.end() &&
         std::any_of(kind.place.begin(), kind.place.end(), [](const Field& field) {
           return field.name == "head" && field.nulls != Nulls::none;
         });
}

const RowKind* kind_of(const Report& report) {
  try {
    return &row_kind_of(report.command, report.parameters);
  } catch (const std::out_of_range&) {
    return nullptr;
  }
}

std::vector<std::pair<std::string, Column>> columns_of(const Report& report) {
  const RowKind* kind = kind_of(report);
  std::map<std::string_view, const Field*> declared;
  if (kind != nullptr) {
    for (const Field* field : fields_of_rows(*kind)) declared.emplace(field->name, field);
  }
  std::vector<std::string> names;
  std::map<std::string, FieldColumns> fields;
  for (std::size_t row = 0; row < report.rows.size(); ++row) {
    for (const auto& [name, value] : report.rows[row].fields()) {
      const auto known = declared.find(name);
      const Field* field = known == declared.end() ? nullptr : known->second;
      const auto [found, fresh] = fields.try_emplace(name, field, report.rows.size());
      if (fresh) names.push_back(name);
      found->second.add(row, value);
    }
  }
  std::vector<std::pair<std::string, Column>> columns;
  for (const std::string& name : names) {
    fields.at(name).move_to(name, columns);
    if (name == "head" && kind != nullptr && mixes_scopes(*kind)) {
      columns.emplace_back("scope", scope_column(report.rows));
    }
  }
  return columns;
}

}  // namespace attnscope::python
