#include "attnscope/base/strict_json.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"

namespace attnscope {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxDepth = 64;

/// A number that the JSON library does not parse, by Python's name for it.
struct NamedNumber {
  std::string_view name;
  double value;
};

constexpr NamedNumber kNamedNumbers[] = {{"NaN", std::numeric_limits<double>::quiet_NaN()},
                                         {"Infinity", std::numeric_limits<double>::infinity()},
                                         {"-Infinity", -std::numeric_limits<double>::infinity()}};

/// Where the text contains such a name.
struct NamedLocation {
  std::size_t string = 0;  // number of strings (keys included) that begin before it
  std::size_t byte = 0;    // counted from 1
  double value = 0;
};

/// Replaces the names of such numbers by strings of the same length. The library can then parse the
/// text, and errors report the right byte.
std::vector<NamedLocation> replace_names(std::string& text) {
  constexpr std::string_view kBefore = "[:, \t\r\n", kAfter = "]}, \t\r\n";
  std::vector<NamedLocation> places;
  std::size_t strings = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '"') {
      ++strings;
      for (++at; at < text.size() && text[at] != '"'; ++at) at += text[at] == '\\' ? 1 : 0;
      continue;
    }
    const bool may_begin = at == 0 || kBefore.find(text[at - 1]) != std::string_view::npos;
    if (!may_begin) continue;
    for (const NamedNumber& number : kNamedNumbers) {
      const std::size_t end = at + number.name.size();
      const bool is_name = text.compare(at, number.name.size(), number.name) == 0 &&
                           (end == text.size() || kAfter.find(text[end]) != std::string_view::npos);
      if (!is_name) continue;
      places.push_back({strings++, at + 1, number.value});
      text[at] = text[end - 1] = '"';
      at = end - 1;
      break;
    }
  }
  return places;
}

/// Builds the document from the library's SAX events. The library's DOM parser with a callback
/// takes quadratic time: it searches the parent's members at the end of every object.
class StrictBuilder : public nlohmann::json_sax<json> {
 public:
  StrictBuilder(std::string_view file, std::string_view place,
                std::vector<NamedLocation> named = {})
      : file_(file), place_(place), named_(std::move(named)) {}

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool binary(binary_t& value) override { return add(std::move(value)); }

  bool string(string_t& value) override {
    if (const NamedLocation* number = next_string()) return add(number->value);
    return add(std::move(value));
  }

  bool key(string_t& value) override {
    if (const NamedLocation* number = next_string()) refuse_at(number->byte);
    const auto [member, is_new] = open_.back()->get_ref<json::object_t&>().emplace(value, nullptr);
    if (!is_new) throw error("duplicate key '" + verbatim(value) + "' in JSON");
    member_ = &member->second;
    return true;
  }

  bool start_object(std::size_t) override { return start(json::value_t::object); }
  bool start_array(std::size_t) override { return start(json::value_t::array); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }

  bool parse_error(std::size_t, const std::string&, const json::exception& problem) override {
    const auto* syntax = dynamic_cast<const json::parse_error*>(&problem);
    if (syntax != nullptr) refuse_at(syntax->byte);
    throw error("JSON number out of range");  // of float64
  }

  json take() { return std::move(document_); }

  Error error(std::string problem) const {
    return Error(ErrorKind::format,
                 {.file = file_, .place = place_, .problem = std::move(problem)});
  }

  [[noreturn]] void refuse_at(std::size_t byte) const {
    throw error("not JSON (at byte " + std::to_string(byte) + ")");
  }

 private:
  /// The position of a named number if this string stands for one.
  const NamedLocation* next_string() {
    const std::size_t own = strings_++;
    if (next_named_ == named_.size() || named_[next_named_].string != own) return nullptr;
    return &named_[next_named_++];
  }

  json* put(json value) {
    if (open_.empty()) {
      document_ = std::move(value);
      return &document_;
    }
    if (open_.back()->is_array()) {
      auto& elements = open_.back()->get_ref<json::array_t&>();
      elements.push_back(std::move(value));
      return &elements.back();
    }
    *member_ = std::move(value);
    return member_;
  }

  bool add(json value) {
    put(std::move(value));
    return true;
  }

  bool start(json::value_t kind) {
    if (open_.size() == kMaxDepth) {
      throw error("JSON is nested deeper than " + std::to_string(kMaxDepth) + " levels");
    }
    open_.push_back(put(kind));
    return true;
  }

  bool end() {
    open_.pop_back();
    return true;
  }

  std::string file_, place_;
  std::vector<NamedLocation> named_;
  std::size_t strings_ = 0, next_named_ = 0;
  json document_;
  std::vector<json*>
      open_;  // open containers, outermost first; each is the last element of the previous one
  json* member_ = nullptr;  // where the next value goes
};

json parse(std::string_view text, StrictBuilder& builder) {
  // The library stops at a NUL byte and would ignore what follows.
  if (const auto nul = text.find('\0'); nul != std::string_view::npos) builder.refuse_at(nul + 1);
  json::sax_parse(text, &builder);
  return builder.take();
}

void write_python(const json& value, int indent, std::size_t depth, std::string& out) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    const double number = value.get<double>();
    out += std::isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity";
    return;
  }
  if (!value.is_structured() || value.empty()) {
    out += value.dump(-1, ' ', /*ensure_ascii=*/true);
    return;
  }
  const auto new_line = [&](std::size_t levels) {
    if (indent < 0) return;
    out += '\n';
    out.append(levels * static_cast<std::size_t>(indent), ' ');
  };
  out += value.is_object() ? '{' : '[';
  bool first = true;
  for (const auto& [key, member] : value.items()) {
    if (!first) out += ',';
    first = false;
    new_line(depth + 1);
    if (value.is_object()) {
      out += json(key).dump(-1, ' ', /*ensure_ascii=*/true) + (indent < 0 ? ":" : ": ");
    }
    write_python(member, indent, depth + 1, out);
  }
  new_line(depth);
  out += value.is_object() ? '}' : ']';
}

}  // namespace

json parse_json(std::string_view text, std::string_view file, std::string_view place) {
  StrictBuilder builder(file, place);
  return parse(text, builder);
}

json parse_python_json(std::string_view text, std::string_view file) {
  std::string readable(text);
  StrictBuilder builder(file, "", replace_names(readable));
  return parse(readable, builder);
}

std::string python_json_text(const json& value, int indent) {
  std::string out;
  write_python(value, indent, 0, out);
  return out;
}

}  // namespace attnscope
