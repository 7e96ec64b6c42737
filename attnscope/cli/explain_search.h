// Search of `explain`: from words of the field to commands, options and fields.
#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope {

/// A command, an option, a field or a term of the glossary that fits a query.
struct SearchHit {
  std::string name;     // "sink_mass", "ablate --receiver"
  std::string meaning;  // one line
  int score = 0;        // above 0; the best hits come first
};

/// Score of a name that equals the query; terms of the glossary score above it.
inline constexpr int kExactScore = 100;

/// The best hits of a query such as "path patching", at most `most`. Case, hyphens, underscores and
/// a plural s do not matter. Empty if nothing fits.
std::vector<SearchHit> search_help(std::string_view query, std::size_t most);

void write_hits(const std::vector<SearchHit>& hits, std::ostream& out);
void write_hits_json(const std::vector<SearchHit>& hits, std::ostream& out);

}  // namespace attnscope
