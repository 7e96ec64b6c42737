#include "attnscope/cli/search.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <set>

#include "attnscope/base/text.h"
#include "attnscope/cli/command_line.h"
#include "attnscope/cli/terms.h"
#include "attnscope/features/all_commands.h"
#include "attnscope/rows/field.h"

namespace attnscope {
namespace {

constexpr std::size_t kMostHits = 10;
constexpr std::size_t kMostPartialHits = 4;  // entries that lack a word of the query

/// Words of questions; a query such as "convert MHA to GQA" is about the other ones. W is part of
/// names of matrices, such as W_OV.
constexpr std::array<std::string_view, 36> kCommonWords = {
    "a",       "an",    "and",  "are",   "between", "by",   "compute", "convert", "do",
    "for",     "from",  "find", "get",   "how",     "i",    "in",      "is",      "me",
    "measure", "model", "my",   "of",    "on",      "or",   "per",     "run",     "show",
    "the",     "to",    "use",  "using", "w",       "what", "where",   "which",   "with"};

/// Removes the suffix of a word, so that prune, pruned and pruning are equal. Both sides of every
/// comparison go through here: the result need not be a word.
std::string stem(std::string word) {
  constexpr std::array<std::string_view, 13> kEndings = {
      "izations", "ization", "izing", "izers", "izer", "ized", "izes",
      "ize",      "ing",     "ed",    "ions",  "ion",  "er"};
  if (word.size() > 3 && word.ends_with('s') && !word.ends_with("ss")) word.pop_back();
  constexpr std::size_t kShortest = 4;
  for (const std::string_view ending : kEndings) {
    if (word.ends_with(ending) && word.size() >= ending.size() + kShortest) {
      word.resize(word.size() - ending.size());
      break;
    }
  }
  if (word.size() > kShortest && word.ends_with('e')) word.pop_back();
  return word;
}

/// Lower-case stems of the words, in order, with the words as typed.
struct StemmedWords {
  std::vector<std::string> stems, typed;

  explicit StemmedWords(std::string_view text) {
    std::string word;
    const auto end_word = [&] {
      if (!word.empty()) {
        typed.push_back(word);
        stems.push_back(stem(word));
      }
      word.clear();
    };
    for (const char each : text) {
      const auto byte = static_cast<unsigned char>(each);
      if (std::isalnum(byte) != 0 || byte >= 0x80 || each == '%') {
        word += static_cast<char>(std::tolower(byte));
      } else {
        end_word();
      }
    }
    end_word();
  }

  /// Without the words that most questions have, unless nothing is left.
  void remove_common() {
    std::vector<std::string> rare_stems, rare_typed;
    for (std::size_t at = 0; at < stems.size(); ++at) {
      if (std::ranges::find(kCommonWords, typed[at]) != kCommonWords.end()) continue;
      rare_stems.push_back(stems[at]);
      rare_typed.push_back(typed[at]);
    }
    if (rare_stems.empty()) return;
    stems = std::move(rare_stems);
    typed = std::move(rare_typed);
  }

  [[nodiscard]] bool has(const std::string& word) const {
    return std::ranges::find(stems, word) != stems.end();
  }
  [[nodiscard]] bool has_phrase(const std::vector<std::string>& phrase) const {
    return std::search(stems.begin(), stems.end(), phrase.begin(), phrase.end()) != stems.end();
  }
};

StemmedWords query_words(std::string_view text) {
  StemmedWords words(text);
  words.remove_common();
  return words;
}

struct Entry {
  std::vector<StemmedWords> names;  // the name and its synonyms
  StemmedWords meaning;
  SearchHit hit;

  [[nodiscard]] bool name_has(const std::string& word) const {
    return std::ranges::any_of(names, [&](const StemmedWords& name) { return name.has(word); });
  }
};

/// " [field of attention, lens]"
std::string place_of_field(const std::vector<const FieldLocation*>& places) {
  std::set<std::string> commands;
  for (const FieldLocation* place : places)
    commands.insert(place->kind == nullptr ? "" : std::string(place->kind->command));
  if (commands.contains("")) return " [field of all reports]";
  const std::vector<std::string> list(commands.begin(), commands.end());
  return " [field of " + join(list, ", ") + "]";
}

using FieldPlaces = std::map<std::string_view, std::vector<const FieldLocation*>>;

FieldPlaces field_places(const std::vector<FieldLocation>& locations) {
  FieldPlaces places;
  for (const FieldLocation& location : locations) places[location.field->name].push_back(&location);
  return places;
}

void add_terms(std::vector<Entry>& entries, const FieldPlaces& fields) {
  for (const Term& term : kTerms) {
    std::string meaning(term.meaning);
    const auto field = fields.find(term.use);
    if (field != fields.end()) meaning += place_of_field(field->second);
    std::vector<StemmedWords> names;
    for (const std::string& name : split(std::string(term.names), ';'))
      names.push_back(query_words(name));
    entries.push_back({std::move(names),
                       StemmedWords(term.meaning),
                       {.name = std::string(term.use),
                        .meaning = std::move(meaning),
                        .field = field == fields.end() ? "" : std::string(term.use),
                        .is_term = true}});
  }
}

void add_commands(std::vector<Entry>& entries) {
  struct Option {
    const Command* first;
    std::string name, help;
    std::vector<std::string> commands;
  };
  std::vector<Option> options;
  std::map<std::string, std::size_t> known;  // by name and help
  for (const Command& command : all_commands()) {
    entries.push_back({{query_words(command.name)},
                       StemmedWords(command.summary),
                       {.name = command.name, .meaning = command.summary}});
    const SpellParameter spell = spelling(command);
    for (const Parameter& parameter : command.parameters) {
      const std::string help = spell_parameters(full_help(parameter), spell);
      const std::string name = spell(parameter.name);
      const auto [place, is_new] = known.try_emplace(name + help, options.size());
      if (is_new) options.push_back({&command, name, help, {}});
      options[place->second].commands.push_back(command.name);
    }
  }
  constexpr std::size_t kFewCommands = 4;
  for (const Option& option : options) {
    const bool shared = option.commands.size() > 1;
    const std::string commands = option.commands.size() > kFewCommands
                                     ? std::to_string(option.commands.size()) + " commands"
                                     : join(option.commands, ", ");
    entries.push_back({{query_words(option.name)},
                       StemmedWords(option.help),
                       {.name = shared ? option.name : option.first->name + " " + option.name,
                        .meaning = option.help + (shared ? " [option of " + commands + "]" : "")}});
  }
}

/// Standard errors are left out: there is one for most fields, with the same meaning.
void add_fields(std::vector<Entry>& entries, const FieldPlaces& fields) {
  for (const auto& [name, places] : fields) {
    constexpr std::string_view kError = "_error";
    if (name.ends_with(kError) && fields.contains(name.substr(0, name.size() - kError.size()))) {
      continue;
    }
    const Field& field = *places.front()->field;
    entries.push_back({{query_words(name)},
                       StemmedWords(std::string(field.meaning) + " " + std::string(field.heading)),
                       {.name = std::string(name),
                        .meaning = std::string(field.meaning) + place_of_field(places),
                        .field = std::string(name)}});
  }
}

const std::vector<Entry>& all_entries() {
  static const std::vector<Entry> entries = [] {
    std::vector<Entry> all;
    const std::vector<FieldLocation> locations = field_locations();
    const FieldPlaces fields = field_places(locations);
    add_terms(all, fields);
    add_commands(all);
    add_fields(all, fields);
    return all;
  }();
  return entries;
}

// Scores, from the best fit to the worst. What the glossary names answers a question better than a
// text that holds the same words, and fields come before options.
constexpr double kExact = 100, kPhraseInName = 60, kPhraseInMeaning = 40, kAllWords = 20;
constexpr double kTermBonus = 5, kFieldBonus = 1;
constexpr double kFewestWords = 0.3;    // share of the query's weight that an entry must have
constexpr double kMeaningWeight = 0.6;  // a word in a meaning, compared with one in a name

double score_of(const Entry& entry, const StemmedWords& query,
                const std::map<std::string, double>& weights) {
  const bool exact = std::ranges::any_of(
      entry.names, [&](const StemmedWords& name) { return name.stems == query.stems; });
  if (exact) return kExact;
  const bool in_name = std::ranges::any_of(
      entry.names, [&](const StemmedWords& name) { return name.has_phrase(query.stems); });
  if (in_name) return kPhraseInName;
  if (entry.meaning.has_phrase(query.stems)) return kPhraseInMeaning;
  double found = 0, fit = 0, all = 0;
  for (const std::string& word : query.stems) {
    const double weight = weights.at(word);
    all += weight;
    if (entry.name_has(word)) {
      found += weight;
      fit += weight;
    } else if (entry.meaning.has(word)) {
      found += weight;
      fit += kMeaningWeight * weight;
    }
  }
  if (found >= all) return kAllWords * (1 + fit / all) / 2 + kAllWords / 2;
  return found < kFewestWords * all ? 0 : kAllWords * fit / all / 2;
}

/// Weight of each word of the query: the logarithm of the inverse share of entries that have it.
/// Words of no entry are removed from the query and returned.
std::vector<std::string> weigh_words(StemmedWords& query, std::map<std::string, double>& weights) {
  const std::vector<Entry>& entries = all_entries();
  StemmedWords known("");
  std::vector<std::string> unknown;
  for (std::size_t at = 0; at < query.stems.size(); ++at) {
    const std::string& word = query.stems[at];
    const auto with = std::ranges::count_if(entries, [&](const Entry& entry) {
      return entry.name_has(word) || entry.meaning.has(word);
    });
    if (with == 0) {
      unknown.push_back(printable(query.typed[at]));
      continue;
    }
    weights[word] = std::log(static_cast<double>(entries.size() + 1) / static_cast<double>(with));
    known.stems.push_back(word);
    known.typed.push_back(query.typed[at]);
  }
  query = std::move(known);
  return unknown;
}

}  // namespace

SearchResult search_help(std::string_view text) {
  StemmedWords query = query_words(text);
  SearchResult result;
  std::map<std::string, double> weights;
  result.unknown = weigh_words(query, weights);
  // A mistyped name is not a list of words.
  const bool is_name = text.find(' ') == std::string_view::npos;
  if (query.stems.empty() || (is_name && !result.unknown.empty())) return result;

  for (const Entry& entry : all_entries()) {
    const double score = score_of(entry, query, weights);
    if (score == 0) continue;
    SearchHit hit = entry.hit;
    hit.is_exact = score == kExact;
    hit.score = score + (hit.is_term ? kTermBonus : !hit.field.empty() ? kFieldBonus : 0);
    result.hits.push_back(std::move(hit));
  }
  std::ranges::stable_sort(result.hits, std::greater(), &SearchHit::score);
  result.complete = !result.hits.empty() && result.hits.front().score >= kAllWords;
  if (is_name || result.complete) {
    std::erase_if(result.hits, [](const SearchHit& hit) { return hit.score < kAllWords; });
  }
  std::set<std::string> seen;  // several terms may have the same answer
  std::erase_if(result.hits, [&](const SearchHit& hit) { return !seen.insert(hit.name).second; });
  const bool partial = !result.complete || !result.unknown.empty();
  const std::size_t most = partial ? kMostPartialHits : kMostHits;
  if (result.hits.size() > most) result.hits.resize(most);
  return result;
}

}  // namespace attnscope
