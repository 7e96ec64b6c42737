// `explain`: fields, options and terms, by name or by search.
#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/base/text.h"
#include "attnscope/cli/command_line.h"
#include "attnscope/cli/own_commands.h"
#include "attnscope/cli/terms.h"
#include "attnscope/features/all_commands.h"
#include "attnscope/model/known_architectures.h"
#include "attnscope/rows/explain.h"
#include "attnscope/rows/field.h"
#include "attnscope/rows/sink.h"

namespace attnscope {
namespace {

using enum ParameterType;

// Search: from words of the field to commands, options and fields.

/// A command, an option, a field or a term of the glossary that fits a query.
struct SearchHit {
  std::string name;     // "sink_mass", "ablate --receiver"
  std::string meaning;  // one line
  int score = 0;        // above 0; the best hits come first
};

/// Score of a name that equals the query; terms of the glossary score above it.
constexpr int kExactScore = 100;

/// Lower case, words separated by one space, without a plural s: "attention sink".
std::string normalized(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char each : text) {
    const auto byte = static_cast<unsigned char>(each);
    if (std::isalnum(byte) != 0 || byte >= 0x80 || each == '%') {
      words.back() += static_cast<char>(std::tolower(byte));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  std::erase_if(words, [](const std::string& word) {
    constexpr std::array<std::string_view, 9> kSkipped = {"",   "a",  "and", "for", "in",
                                                          "of", "on", "the", "to"};
    return std::ranges::find(kSkipped, word) != kSkipped.end();
  });
  for (std::string& word : words) {
    if (word.size() > 3 && word.ends_with('s') && !word.ends_with("ss")) word.pop_back();
  }
  return join(words, " ");
}

bool has_phrase(std::string_view text, std::string_view phrase) {
  return (" " + std::string(text) + " ").find(" " + std::string(phrase) + " ") != std::string::npos;
}

/// Score of an entry with all words of the query, in any order.
constexpr int kAllWords = 20;

/// How well a name and its meaning fit; 0: not at all. Entries that lack words of the query score
/// below kAllWords, by the share of words that they have, which is at least a half.
int score_of(const std::string& query, std::string_view name, std::string_view meaning) {
  const std::string own = normalized(name), text = normalized(meaning);
  if (own == query) return kExactScore;
  if (has_phrase(own, query)) return 60;
  if (has_phrase(text, query)) return 40;
  const std::vector<std::string> words = split(query, ' ');
  const std::string all = own + " " + text;
  const auto found =
      std::ranges::count_if(words, [&](const std::string& word) { return has_phrase(all, word); });
  const auto share = static_cast<int>(kAllWords * found / std::ssize(words));
  return 2 * share >= kAllWords ? share : 0;
}

class Search {
 public:
  explicit Search(std::string_view query)
      : query_(normalized(query)), is_name_(query.find(' ') == std::string_view::npos) {}

  void add(std::string name, std::string_view meaning, int score) {
    if (score == 0 || !seen_.insert(name).second) return;
    hits_.push_back({.name = std::move(name), .meaning = std::string(meaning), .score = score});
  }

  void add_terms() {
    for (const Term& term : kTerms) {
      int best = 0;
      for (const std::string& name : split(std::string(term.names), ';')) {
        best = std::max(best, score_of(query_, name, term.meaning));
      }
      std::string all(term.names);
      std::ranges::replace(all, ';', ' ');
      best = std::max(best, std::min(kAllWords, score_of(query_, all, term.meaning)));
      // What the glossary names answers a question better than a text that holds the same words.
      add(std::string(term.use), term.meaning, best == 0 ? 0 : best + 5);
    }
  }

  void add_commands() {
    for (const Command& command : commands()) {
      add(command.name, command.summary, score_of(query_, command.name, command.summary));
      const SpellParameter spell = spelling(command);
      for (const Parameter& parameter : command.parameters) {
        const std::string help = spell_parameters(full_help(parameter), spell);
        const std::string option = spell(parameter.name);
        // Most options are those of several commands: each is shown once, of its first.
        if (!options_.insert(option + help).second) continue;
        // Fields come before options that fit as well.
        const int score = score_of(query_, parameter.name, help);
        add(command.name + " " + option, help,
            score > kAllWords ? std::max(kAllWords, score * 9 / 10) : score);
      }
    }
  }

  void add_fields() {
    for (const FieldLocation& location : field_locations()) {
      const Field& field = *location.field;
      const std::string text = std::string(field.meaning) + " " + std::string(field.heading);
      const std::string of =
          location.kind == nullptr ? "all reports" : std::string(location.kind->command);
      add(std::string(field.name), std::string(field.meaning) + " [field of " + of + "]",
          score_of(query_, field.name, text));
    }
  }

  std::vector<SearchHit> best(std::size_t most) {
    std::ranges::stable_sort(hits_, std::greater(), &SearchHit::score);
    // Entries that lack a word of the query are shown only if no entry has all words. A mistyped
    // name is not a list of words.
    if (is_name_ || (!hits_.empty() && hits_.front().score >= kAllWords)) {
      std::erase_if(hits_, [](const SearchHit& hit) { return hit.score < kAllWords; });
    }
    hits_.resize(std::min(hits_.size(), most));
    return std::move(hits_);
  }

 private:
  std::string query_;
  bool is_name_ = false;
  std::set<std::string> seen_, options_;
  std::vector<SearchHit> hits_;
};

/// The best hits of a query such as "path patching", at most `most`. Case, hyphens, underscores and
/// a plural s do not matter. Empty if nothing fits.
std::vector<SearchHit> search_help(std::string_view query, std::size_t most) {
  if (normalized(query).empty()) return {};
  Search search(query);
  search.add_terms();
  search.add_commands();
  search.add_fields();
  return search.best(most);
}

void write_hits(const std::vector<SearchHit>& hits, std::ostream& out) {
  for (const SearchHit& hit : hits) out << hit.name << "\n  " << hit.meaning << '\n';
}

void write_hits_json(const std::vector<SearchHit>& hits, std::ostream& out) {
  using nlohmann::ordered_json;
  ordered_json matches = ordered_json::array();
  for (const SearchHit& hit : hits)
    matches.push_back({{"name", hit.name}, {"meaning", hit.meaning}});
  out << ordered_json{{"schema", kSchema}, {"matches", matches}}.dump(1) << '\n';
}

// The command.

constexpr std::size_t kMostHits = 10;

/// "effective rank" is the field effective_rank, too.
std::string field_name(std::string text) {
  if (text.empty() || !find_fields(text).empty()) return text;
  std::string name = text;
  for (char& each : name) {
    if (each == ' ' || each == '-') each = '_';
    each = static_cast<char>(std::tolower(static_cast<unsigned char>(each)));
  }
  return find_fields(name).empty() ? text : name;
}

/// Terms of the glossary that a field's name also stands for: "see also: predict MODEL
/// --perplexity".
void write_related(std::string_view field, std::ostream& out) {
  std::vector<std::string> related;
  for (const SearchHit& hit : search_help(field, kMostHits)) {
    if (hit.score > kExactScore && hit.name != field) related.push_back(hit.name);
  }
  if (!related.empty()) out << "see also: " << join(related, "; ") << '\n';
}

void print_explanation(const Arguments& arguments, const Session&, std::ostream& out) {
  const std::string field = field_name(arguments.text("field"));
  const bool json = arguments.text("format") == "json";
  if (arguments.flag("schema")) {
    out << json_schema_text();
    return;
  }
  if (arguments.flag("families")) {
    out << family_table();
    return;
  }
  if (!field.empty() && find_fields(field).empty()) {
    const std::vector<SearchHit> hits = search_help(field, kMostHits);
    if (!hits.empty()) return json ? write_hits_json(hits, out) : write_hits(hits, out);
  }
  if (json) return write_explanation_json(field, out);
  write_explanation(field, spelling(explain_command()), out);
  if (!field.empty()) write_related(field, out);
}

}  // namespace

Command explain_command() {
  return {
      .name = "explain",
      .summary = "Explain a field, option or term",
      .examples = {{{"field", "energy_rank"}},
                   {{"field", "path patching"}},
                   {{"schema", ""}},
                   {{"families", ""}}},
      .parameters = {{.name = "field",
                      .type = text,
                      .help =
                          "field of a report, or words to search for (default: list all fields)",
                      .positional = true,
                      .metavariable = "TERM"},
                     {.name = "format",
                      .type = choice,
                      .group = OptionGroup::output,
                      .metavariable = "FORMAT",
                      .choices = {"table", "json"},
                      .default_text = "table",
                      .noun = "format"},
                     {.name = "schema",
                      .type = flag,
                      .group = OptionGroup::mode,
                      .help = "print the JSON Schema of all reports"},
                     {.name = "families",
                      .type = flag,
                      .group = OptionGroup::mode,
                      .help = "list the supported model families"}},
      .exclusions = {{"schema", {"field", "format", "families"}, "describes all fields"},
                     {"families", {"field", "format"}, "describes no field"}},
      .write = print_explanation};
}

}  // namespace attnscope
