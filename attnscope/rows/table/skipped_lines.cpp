#include "attnscope/rows/table/skipped_lines.h"

#include <fmt/format.h>

#include <cctype>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "attnscope/base/text.h"

namespace attnscope {
namespace {

using Numbers = std::set<std::int64_t>;

/// A reason without its numbers and quoted names: "tensor '' is missing".
std::string kind_of(const std::string& reason) {
  std::string kind;
  bool quoted = false;
  char before = ' ';
  for (const char c : reason) {
    // The apostrophe in "the model's" does not open a quotation.
    if (c == '\'') quoted = !quoted && (before == ' ' || before == '(');
    const bool is_digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!is_digit && (!quoted || c == '\'')) kind += c;
    before = c;
  }
  return kind;
}

/// Values by key, in insertion order of the keys.
template <class Key, class Value>
class InOrder {
 public:
  Value& operator[](const Key& key) {
    const auto [found, fresh] = index_.emplace(key, entries_.size());
    if (fresh) entries_.emplace_back(key, Value{});
    return entries_[found->second].second;
  }
  const std::vector<std::pair<Key, Value>>& entries() const { return entries_; }

 private:
  std::map<Key, std::size_t> index_;
  std::vector<std::pair<Key, Value>> entries_;
};

/// The first of several similar reasons, and all of them.
struct Reasons {
  std::string first;
  std::set<std::string> all;

  void add(const std::string& reason) {
    if (all.empty()) first = reason;
    all.insert(reason);
  }
  void add(const Reasons& others) {
    if (all.empty()) first = others.first;
    all.insert(others.all.begin(), others.all.end());
  }
};

struct Matrix {
  bool whole = false;
  Numbers heads;  // if it is not skipped as a whole
  Reasons reasons;
};

struct Layer {
  std::vector<std::string> matrices;
  Reasons reasons;
};

struct Line {
  Numbers layers;
  Reasons reasons;
};

// Each key starts with the model and the kind of reason; a tensor by name has no layer.
using MatrixKey = std::tuple<std::string, std::string, std::optional<std::int64_t>, std::string>;
using LayerKey = std::tuple<std::string, std::string, std::optional<std::int64_t>, Numbers>;
using LineKey = std::tuple<std::string, std::string, std::vector<std::string>, Numbers>;

InOrder<MatrixKey, Matrix> by_matrix(const std::vector<Skipped>& all) {
  InOrder<MatrixKey, Matrix> matrices;
  for (const Skipped& skipped : all) {
    Matrix& matrix =
        matrices[{skipped.model, kind_of(skipped.reason), skipped.layer, skipped.matrix}];
    if (skipped.head && matrix.whole) continue;
    if (skipped.head) {
      matrix.heads.insert(*skipped.head);
    } else {
      matrix = {.whole = true, .heads = {}, .reasons = {}};
    }
    matrix.reasons.add(skipped.reason);
  }
  return matrices;
}

InOrder<LineKey, Line> lines_of(const std::vector<Skipped>& all) {
  const InOrder<MatrixKey, Matrix> matrices = by_matrix(all);
  InOrder<LayerKey, Layer> layers;
  for (const auto& [key, matrix] : matrices.entries()) {
    const auto& [model, kind, layer, name] = key;
    Layer& of_layer = layers[{model, kind, layer, matrix.heads}];
    of_layer.matrices.push_back(name);
    of_layer.reasons.add(matrix.reasons);
  }
  InOrder<LineKey, Line> lines;
  for (const auto& [key, of_layer] : layers.entries()) {
    const auto& [model, kind, layer, heads] = key;
    Line& line = lines[{model, kind, of_layer.matrices, heads}];
    if (layer) line.layers.insert(*layer);
    line.reasons.add(of_layer.reasons);
  }
  return lines;
}

/// "layer 3", "layers 4–7, 9".
std::string numbered(const char* what, const Numbers& numbers) {
  std::vector<std::string> runs;
  for (auto at = numbers.begin(); at != numbers.end();) {
    const std::int64_t first = *at;
    std::int64_t last = first;
    while (++at != numbers.end() && *at == last + 1) ++last;
    runs.push_back(first == last ? std::to_string(first) : fmt::format("{}–{}", first, last));
  }
  return fmt::format("{}{} {}", what, numbers.size() == 1 ? "" : "s", join(runs));
}

}  // namespace

void write_skipped(const Report& report, std::ostream& out) {
  const InOrder<LineKey, Line> lines = lines_of(report.skipped);
  for (const auto& [key, line] : lines.entries()) {
    const auto& [model, kind, matrices, heads] = key;
    std::string place = printable(join(matrices, " "));
    if (!line.layers.empty()) {
      place += (place.empty() ? "" : " of ") + numbered("layer", line.layers);
    }
    if (!heads.empty()) place += ", " + numbered("head", heads);
    out << "skipped: " << model << ": " << place << ": " << line.reasons.first;
    if (line.reasons.all.size() > 1) out << ", the first of " << line.reasons.all.size();
    out << '\n';
  }
}

}  // namespace attnscope
