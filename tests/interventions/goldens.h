// Goldens of tools/golden_interventions.py, and rows held against them.
#pragma once

#include <cmath>

#include "tests/features/attention/attention_model.h"

namespace attnscope::test {

inline json intervention_golden(const std::string& name) {
  return json::parse(read_file(source_path("tests/golden/interventions/" + name + ".json")));
}

/// The golden's text, as windows of a shard.
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

/// Float32 passes stray by 2e-6 from float64 ones on these texts.
inline void expect_near(const json& got, const json& wanted, double absolute, double relative) {
  if (!wanted.is_number_float()) {
    EXPECT_EQ(got, wanted);
    return;
  }
  const double value = wanted.get<double>();
  EXPECT_NEAR(got.get<double>(), value, absolute + relative * std::abs(value));
}

/// Every field that the golden row has.
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
