// Notes of a report for the person who creates it.
#include <algorithm>

#include "attnscope/base/text.h"
#include "attnscope/page/report_file.h"

namespace attnscope {
namespace {

/// The id in words: "attention without first".
std::string words_of(std::string id) {
  std::replace(id.begin(), id.end(), '_', ' ');
  return id;
}

std::string place_words(const Skipped& skipped) {
  std::string place = skipped.matrix;
  if (skipped.layer) {
    place += (place.empty() ? "layer " : " of layer ") + std::to_string(*skipped.layer);
  }
  if (skipped.head) place += ", head " + std::to_string(*skipped.head);
  return place;
}

/// Lines in the order of first occurrence, each with the words collected for it.
class Gathered {
 public:
  void add(const std::string& key, std::string word) {
    const auto found = std::find_if(lines_.begin(), lines_.end(),
                                    [&](const Line& line) { return line.key == key; });
    Line& line = found == lines_.end() ? lines_.emplace_back(Line{key, {}}) : *found;
    line.words.push_back(std::move(word));
  }

  struct Line {
    std::string key;
    std::vector<std::string> words;
  };
  const std::vector<Line>& lines() const { return lines_; }

 private:
  std::vector<Line> lines_;
};

}  // namespace

std::vector<std::string> ReportFile::notes() const {
  Gathered skipped_analyses, skipped, notes;
  for (const LeftOut& entry : left_out_) {
    skipped_analyses.add(" of " + entry.model + ": " + entry.why, words_of(entry.part));
  }
  std::map<std::string, std::string> first_skipped;  // per model
  for (const PackedPart& part : parts_) {
    for (const std::string& note : part.notes) notes.add(note, "");
    if (part.skipped.empty()) continue;
    skipped.add(part.model, words_of(part.id) + " (" + std::to_string(part.skipped.size()) + ")");
    const Skipped& first = part.skipped.front();
    first_skipped.emplace(part.model, place_words(first) + ": " + first.reason);
  }
  std::vector<std::string> out;
  for (const auto& [of, parts] : skipped_analyses.lines())
    out.push_back("skipped analyses: " + join(parts) + of);
  for (const auto& [model, parts] : skipped.lines()) {
    out.push_back("skipped matrices or heads of " + model + ": in " + join(parts) +
                  "; first: " + first_skipped.at(model));
  }
  constexpr std::size_t kShown = 10;  // some notes are about single matrices
  const std::size_t shown = std::min(kShown, notes.lines().size());
  for (std::size_t at = 0; at < shown; ++at) out.push_back(notes.lines()[at].key);
  const std::size_t more = notes.lines().size() - shown;
  if (more > 0) out.push_back("and " + std::to_string(more) + " more notes");
  return out;
}

}  // namespace attnscope
