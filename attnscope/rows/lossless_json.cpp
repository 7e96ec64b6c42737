#include "attnscope/rows/lossless_json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "attnscope/base/error.h"

namespace attnscope {
namespace {

using nlohmann::json;

constexpr const char* kList = "$list";
constexpr std::string_view kEmptyList = R"({"$list":[]})";
constexpr std::size_t kMaxDepth = 64;

// ---- Writing ------------------------------------------------------------------------------------

/// Whether the text needs no escaping. True for nearly every name and text; the general path of the
/// library is slow.
bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return ' ' <= c && c <= '~' && c != '"' && c != '\\'; });
}

void append_text(std::string& out, const std::string& text) {
  if (is_plain(text)) {
    out += '"';
    out += text;
    out += '"';
    return;
  }
  out += json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

void append_number(std::string& out, double number) {
  if (!std::isfinite(number)) {
    out += "null";
    return;
  }
  std::array<char, 32> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  const std::string_view digits(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  out += digits;
  if (digits.find_first_of(".e") == std::string_view::npos) out += ".0";
}

/// Whether the list, written without a type marker, would be read as an array of float64.
bool is_float64_list(const Value::List& list) {
  return std::all_of(list.begin(), list.end(), [](const Value& value) {
    return value.is_null() || value.get<double>() != nullptr;
  });
}

void append_record(std::string& out, const Record& record);

void append_value(std::string& out, const Value& value);

template <class Elements, class Append>
void append_array(std::string& out, const Elements& elements, Append append) {
  out += '[';
  bool first = true;
  for (const auto& element : elements) {
    if (!std::exchange(first, false)) out += ',';
    append(out, element);
  }
  out += ']';
}

template <class T>
void append_part(std::string& out, const ArrayPart<T>& part) {
  if (!part.is_vector()) {
    out += '[';
    for (std::int64_t i = 0; i < part.shape.front(); ++i) {
      if (i > 0) out += ',';
      append_part(out, part[i]);
    }
    out += ']';
  } else if constexpr (std::is_integral_v<T>) {
    // "[]" is read as an array of float64.
    if (part.values.empty()) {
      out += kEmptyList;
      return;
    }
    append_array(out, part.values,
                 [](std::string& to, std::int64_t number) { to += std::to_string(number); });
  } else {
    append_array(out, part.values, append_number);
  }
}

void append_value(std::string& out, const Value& value) {
  std::visit(
      [&](const auto& held) {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::monostate>) {
          out += "null";
        } else if constexpr (std::is_same_v<Held, bool>) {
          out += held ? "true" : "false";
        } else if constexpr (std::is_same_v<Held, std::int64_t>) {
          out += std::to_string(held);
        } else if constexpr (std::is_same_v<Held, double>) {
          append_number(out, held);
        } else if constexpr (std::is_same_v<Held, std::string>) {
          append_text(out, held);
        } else if constexpr (std::is_same_v<Held, Array>) {
          visit_array(held, [&](const auto& part) { append_part(out, part); });
        } else if constexpr (std::is_same_v<Held, Value::List>) {
          const bool marked = is_float64_list(held);
          if (marked) out += R"({"$list":)";
          append_array(out, held, append_value);
          if (marked) out += '}';
        } else {
          append_record(out, held);
        }
      },
      value.data());
}

void append_record(std::string& out, const Record& record) {
  out += '{';
  bool first = true;
  for (const auto& [name, value] : record.fields()) {
    if (!std::exchange(first, false)) out += ',';
    append_text(out, name.starts_with('$') ? '$' + name : name);  // else it would be a marker
    out += ':';
    append_value(out, value);
  }
  out += '}';
}

// ---- Reading ------------------------------------------------------------------------------------

/// Appends the numbers of `more` to `data`; false if they have another type.
bool append_numbers(decltype(Array::data)& data, const decltype(Array::data)& more) {
  if (more.index() != data.index()) return false;
  std::visit(
      [&](auto& values) {
        const auto& added = std::get<std::decay_t<decltype(values)>>(more);
        values.insert(values.end(), added.begin(), added.end());
      },
      data);
  return true;
}

/// Builds an array from elements that are numbers or arrays of one shape; none if they are not.
std::optional<Array> array_of(const Value::List& list) {
  if (is_float64_list(list)) {
    std::vector<double> numbers;
    for (const Value& value : list) {
      const double* number = value.get<double>();
      numbers.push_back(number == nullptr ? std::numeric_limits<double>::quiet_NaN() : *number);
    }
    return Array{{std::ssize(list)}, std::move(numbers)};
  }
  if (list.front().get<std::int64_t>() != nullptr) {
    std::vector<std::int64_t> numbers;
    for (const Value& value : list) {
      const auto* number = value.get<std::int64_t>();
      if (number == nullptr) return std::nullopt;
      numbers.push_back(*number);
    }
    return Array{{std::ssize(list)}, std::move(numbers)};
  }
  const Array* first = list.front().get<Array>();
  if (first == nullptr) return std::nullopt;
  Array out = *first;
  out.shape.insert(out.shape.begin(), std::ssize(list));
  for (auto value = list.begin() + 1; value != list.end(); ++value) {
    const Array* next = value->get<Array>();
    if (next == nullptr || next->shape != first->shape || !append_numbers(out.data, next->data)) {
      return std::nullopt;
    }
  }
  return out;
}

/// Builds a Value from the events of the JSON parser, which preserve key order and distinguish
/// integers from other numbers.
class ValueBuilder : public nlohmann::json_sax<json> {
 public:
  explicit ValueBuilder(std::string_view where) : where_(where) {}

  bool null() override { return put(Value()); }
  bool boolean(bool value) override { return put(Value(value)); }
  bool number_integer(number_integer_t value) override { return put(Value(std::int64_t{value})); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      refuse("number out of range");
    }
    return put(Value(static_cast<std::int64_t>(value)));
  }
  bool number_float(number_float_t value, const string_t&) override { return put(Value(value)); }
  bool string(string_t& value) override { return put(Value(std::move(value))); }
  bool binary(binary_t&) override { refuse("binary data"); }
  bool start_object(std::size_t) override { return open(true); }
  bool start_array(std::size_t) override { return open(false); }
  bool key(string_t& name) override {
    open_.back().name = std::move(name);
    return true;
  }
  bool end_array() override {
    Open closed = close();
    if (auto array = array_of(closed.list)) return put(Value(std::move(*array)));
    return put(Value(std::move(closed.list)));
  }
  bool end_object() override {
    Open object = close();
    if (object.list.empty()) return put(Value(std::move(object.record)));
    if (object.list.size() > 1 || !object.record.fields().empty())
      refuse("type marker next to other fields");
    return put(std::move(object.list.front()));
  }
  bool parse_error(std::size_t position, const std::string&, const json::exception&) override {
    refuse("invalid JSON at byte " + std::to_string(position));
  }

  [[noreturn]] void refuse(const std::string& problem) const {
    throw Error(ErrorKind::format, {.file = where_, .problem = "damaged stored row: " + problem});
  }

  Record take() {
    const Record* record = root_.get<Record>();
    if (record == nullptr) refuse("not a JSON object");
    return *record;
  }

 private:
  /// An array or object that is still open.
  struct Open {
    bool is_object = false;
    std::string name;  // name of the object's next value
    Record record;
    Value::List list;  // for an object: the list that its type marker denotes
  };

  bool open(bool is_object) {
    if (open_.size() >= kMaxDepth) refuse("nested too deeply");
    open_.push_back({.is_object = is_object});
    return true;
  }

  Open close() {
    Open last = std::move(open_.back());
    open_.pop_back();
    return last;
  }

  bool put(Value value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return true;
    }
    Open& around = open_.back();
    if (!around.is_object) {
      around.list.push_back(std::move(value));
    } else if (around.name == kList) {
      around.list.push_back(as_list(std::move(value)));
    } else if (around.name.starts_with('$') && !around.name.starts_with("$$")) {
      refuse("unknown type marker");
    } else {
      around.record.add(around.name.substr(around.name.starts_with('$') ? 1 : 0), std::move(value));
    }
    return true;
  }

  Value as_list(Value value) const {
    const auto* array = value.get<Array>();
    const auto* numbers =
        array == nullptr ? nullptr : std::get_if<std::vector<double>>(&array->data);
    if (numbers == nullptr || array->shape.size() != 1)
      refuse("type marker on a value that does not need one");
    Value::List list;
    for (const double number : *numbers) list.emplace_back(number);  // NaN becomes null
    return list;
  }

  std::string where_;
  std::vector<Open> open_;
  Value root_;
};

}  // namespace

std::string record_text(const Record& record) {
  std::string out;
  append_record(out, record);
  return out;
}

Record parse_record(std::string_view text, std::string_view where) {
  ValueBuilder builder(where);
  // The library stops at a NUL byte and would ignore the text after it.
  if (const auto nul = text.find('\0'); nul != std::string_view::npos) {
    builder.refuse("invalid JSON at byte " + std::to_string(nul + 1));
  }
  json::sax_parse(text, &builder);
  return builder.take();
}

}  // namespace attnscope
