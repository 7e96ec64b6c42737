#include "attnscope/features/plan/plan_reader.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/features/plan/methods/methods.h"

namespace attnscope {

using nlohmann::json;

namespace {

std::int64_t checked_integer(const PlanReader& reader, const json& value, const std::string& path,
                             std::int64_t least, std::int64_t most) {
  const std::string expected =
      most == kUnlimitedCount
          ? "expected a whole number of at least " + std::to_string(least)
          : "expected a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  if (!value.is_number_integer()) reader.refuse(path, expected);
  // Above int64, nlohmann stores an unsigned number, which get() would wrap around.
  const bool large = value.is_number_unsigned() &&
                     value.get<std::uint64_t>() > static_cast<std::uint64_t>(kUnlimitedCount);
  if (large || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most) {
    reader.refuse(path, value.dump() + " is out of range, " + expected);
  }
  return value.get<std::int64_t>();
}

}  // namespace

std::string path_of(const PlanObject& place, const std::string& name) {
  return place.path.empty() ? name : place.path + "." + name;
}

void PlanReader::refuse(const std::string& field, const std::string& problem) const {
  throw Error(ErrorKind::format, {.file = file, .place = field, .problem = verbatim(problem)});
}

const json& PlanReader::field(const PlanObject& place, const std::string& name) const {
  if (!place.object.is_object()) refuse(place.path, "expected an object");
  const auto found = place.object.find(name);
  if (found == place.object.end()) refuse(path_of(place, name), "is missing");
  return *found;
}

PlanObject PlanReader::object(const PlanObject& place, const std::string& name) const {
  const json& value = field(place, name);
  if (!value.is_object()) refuse(path_of(place, name), "expected an object");
  return {value, path_of(place, name)};
}

void PlanReader::expect_fields(const PlanObject& place,
                               std::span<const std::string_view> names) const {
  if (!place.object.is_object()) refuse(place.path, "expected an object");
  for (const auto& [name, value] : place.object.items()) {
    if (std::ranges::find(names, std::string_view(name)) == names.end()) {
      refuse(path_of(place, name), "unknown field");
    }
  }
}

std::int64_t PlanReader::integer(const PlanObject& place, const std::string& name,
                                 std::int64_t least, std::int64_t most) const {
  return checked_integer(*this, field(place, name), path_of(place, name), least, most);
}

double PlanReader::number(const PlanObject& place, const std::string& name, double least,
                          double most) const {
  const json& value = field(place, name);
  const std::string expected =
      "expected a number from " + shortest_decimal(least) + " to " + shortest_decimal(most);
  if (!value.is_number()) refuse(path_of(place, name), expected);
  const auto number = value.get<double>();
  if (!(number >= least && number <= most)) {
    refuse(path_of(place, name), shortest_decimal(number) + " is out of range, " + expected);
  }
  return number;
}

std::optional<double> PlanReader::number_or_null(const PlanObject& place, const std::string& name,
                                                 double least, double most) const {
  const json& value = field(place, name);
  if (value.is_null()) return std::nullopt;
  if (!value.is_number()) {
    refuse(path_of(place, name), "expected a number from " + shortest_decimal(least) + " to " +
                                     shortest_decimal(most) + ", or null");
  }
  return number(place, name, least, most);
}

double PlanReader::number(const PlanObject& place, const std::string& name) const {
  const json& value = field(place, name);
  if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() < 0) {
    refuse(path_of(place, name), "expected a finite number of at least 0");
  }
  return value.get<double>();
}

std::string PlanReader::text(const PlanObject& place, const std::string& name) const {
  const json& value = field(place, name);
  if (!value.is_string()) refuse(path_of(place, name), "expected a string");
  return value.get<std::string>();
}

bool PlanReader::flag(const PlanObject& place, const std::string& name) const {
  const json& value = field(place, name);
  if (!value.is_boolean()) refuse(path_of(place, name), "expected true or false");
  return value.get<bool>();
}

void PlanReader::null(const PlanObject& place, const std::string& name) const {
  if (!field(place, name).is_null()) {
    refuse(path_of(place, name), "expected null: this method does not use it");
  }
}

std::vector<std::int64_t> PlanReader::integers(const PlanObject& place,
                                               const std::string& name) const {
  const json& value = field(place, name);
  const std::string path = path_of(place, name);
  if (!value.is_array()) refuse(path, "expected a list of whole numbers");
  std::vector<std::int64_t> out;
  for (const json& one : value) {
    const std::string own = path + "[" + std::to_string(out.size()) + "]";
    out.push_back(checked_integer(*this, one, own, 0, kUnlimitedCount));
  }
  return out;
}

Method PlanReader::method(const std::string& path, const std::string& name) const {
  const Method found = find_method(name);
  if (found == nullptr) refuse(path, "unknown method '" + name + "'");
  return found;
}

}  // namespace attnscope
