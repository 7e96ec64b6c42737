// Golden files of tools/golden_interventions.py, and comparisons with their rows.
#pragma once

#include <cmath>

#include "tests/features/attention/attention_model.h"

namespace attnscope::test {

inline json intervention_golden(const std::string& name) {
  return json::parse(read_file(source_path("tests/golden/interventions/" + name + ".json")));
}

/// The text of the golden file, as windows of a shard.
inline Words windows_of(const json& golden, const TempFolder& folder) {
  std::vector<std::uint16_t> tokens;
  for (const json& sequence : golden["tokens"]) {
    for (const json& token : sequence) tokens.push_back(token);
  }
  return {source_path(golden["model"]),
          "--token-file",
          folder.write("tokens.bin", shard_bytes(tokens)).string(),
          "--sequences",
          std::to_string(golden["tokens"].size()),
          "--length",
          std::to_string(golden["tokens"][0].size())};
}

/// On these texts, float32 passes differ from float64 by 2e-6.
inline void expect_near(const json& got, const json& wanted, double absolute, double relative) {
  if (!wanted.is_number_float()) {
    EXPECT_EQ(got, wanted);
    return;
  }
  const double value = wanted.get<double>();
  EXPECT_NEAR(got.get<double>(), value, absolute + relative * std::abs(value));
}

/// Compares every field of the golden rows.
inline void expect_rows(const json& rows, const json& wanted, double absolute, double relative) {
  ASSERT_EQ(rows.size(), wanted.size());
  for (std::size_t at = 0; at < rows.size(); ++at) {
    for (const auto& [name, value] : wanted[at].items()) {
      SCOPED_TRACE(name + " of " + wanted[at].dump());
      expect_near(rows[at].at(name), value, absolute, relative);
    }
  }
}

}  // namespace attnscope::test
