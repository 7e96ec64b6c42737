// Search of commands, options, fields and terms by words, for `explain`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attnscope {

/// A command, an option, a field or a term of the glossary that fits a query.
struct SearchHit {
  std::string name;       // "sink_mass", "ablate --receiver"
  std::string meaning;    // one line
  std::string field;      // the field's name; empty for anything else
  double score = 0;       // above 0; the best hits come first
  bool is_term = false;   // an entry of the glossary
  bool is_exact = false;  // the query is its name
};

struct SearchResult {
  std::vector<SearchHit> hits;       // at most 10, the best first
  std::vector<std::string> unknown;  // words of the query that no entry has, printable
  bool complete = false;             // the best hit has all other words of the query
};

/// Returns what fits a query such as "path patching". Case, hyphens, underscores, plurals and
/// endings such as -ing and -ed do not matter. Rare words count more than common ones. If no entry
/// has all known words of the query, entries that have most of them are returned.
SearchResult search_help(std::string_view query);

}  // namespace attnscope
