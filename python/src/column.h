// One column of a table, made from the values of its rows.
#pragma once

#include <string_view>
#include <vector>

#include "attnscope/rows/field.h"
#include "python/src/columns.h"

namespace attnscope::python {

/// A null pointer represents a row that lacks the field.
using Values = std::vector<const Value*>;

inline bool is_null(const Value* value) { return value == nullptr || value->is_null(); }

/// The declaration of a column's values: null for a field that no kind of row declares.
struct Declared {
  const Field* field = nullptr;
  int axes = 0;  // levels of lists

  bool is(FieldType type) const { return field != nullptr && axes == 0 && field->type == type; }
  bool is_record() const { return is(FieldType::record) && field->form == FieldForm::single; }
  /// Whether each entry of the list is a column, as in CSV: shape_0 and shape_1.
  bool is_split() const { return field != nullptr && axes == 1 && !field->columns.empty(); }
};

Declared declared_as(const Field* field);

/// The declaration of a record's field, or of one entry of a map by threshold, rank or fraction.
Declared inner(const Declared& outer, std::string_view name);

/// Makes a column of the type of its values. Nulls, and numbers without a fraction, get the
/// declared type. Values of mixed types become JSON texts.
Column column_of(const Values& values, const Declared& declared);

}  // namespace attnscope::python
