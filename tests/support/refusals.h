// Many rejected commands of one kind, each with a name.
#pragma once

#include <string>
#include <vector>

#include "tests/support/program.h"

namespace attnscope::test {

struct Refusal {
  std::string what;
  Words arguments;
  Words said;  // texts that the line must contain
};

inline void expect_refusals(int exit_code, const std::vector<Refusal>& refusals,
                            const RunOptions& options = {}) {
  for (const auto& [what, arguments, said] : refusals) {
    SCOPED_TRACE(what);
    expect_refusal(arguments, exit_code, said, options);
  }
}

}  // namespace attnscope::test
