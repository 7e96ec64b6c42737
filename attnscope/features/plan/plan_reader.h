// Reads JSON fields of a plan, with errors that name the file and the field.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/features/plan/methods/method.h"
#include "attnscope/features/plan/plan_file.h"

namespace attnscope {

/// An object of the report, and its place in the file for errors: "models[0].plan".
struct PlanObject {
  const nlohmann::json& object;
  std::string path;
};

inline constexpr std::int64_t kUnlimitedCount = std::numeric_limits<std::int64_t>::max();

/// Reads fields. Throws Error(format) with the name of a field that is missing, has another type,
/// or is out of range.
struct PlanReader {
  std::string file;

  [[noreturn]] void refuse(const std::string& field, const std::string& problem) const;

  const nlohmann::json& field(const PlanObject& place, const std::string& name) const;
  PlanObject object(const PlanObject& place, const std::string& name) const;
  /// Rejects fields that are not in `names`.
  void expect_fields(const PlanObject& place, std::span<const std::string_view> names) const;

  std::int64_t integer(const PlanObject& place, const std::string& name, std::int64_t least,
                       std::int64_t most = kUnlimitedCount) const;
  /// A finite number in a closed range.
  double number(const PlanObject& place, const std::string& name, double least, double most) const;
  /// The same, but null stands for an unknown number.
  std::optional<double> number_or_null(const PlanObject& place, const std::string& name,
                                       double least, double most) const;
  double number(const PlanObject& place, const std::string& name) const;  // at least 0
  std::string text(const PlanObject& place, const std::string& name) const;
  bool flag(const PlanObject& place, const std::string& name) const;
  void null(const PlanObject& place, const std::string& name) const;
  std::vector<std::int64_t> integers(const PlanObject& place, const std::string& name) const;

  Method method(const std::string& path, const std::string& name) const;
};

/// "models[0].plan.size"; the root has an empty path.
std::string path_of(const PlanObject& place, const std::string& name);

/// Reads all fields of row `at` in a plan with `rows` rows.
PlanRow read_plan_row(const PlanReader& reader, const nlohmann::json& value, std::size_t at,
                      std::int64_t rows);

}  // namespace attnscope
