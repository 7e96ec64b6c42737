// The table of `circuits --composition`: the pairs of heads with the strongest composition.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "attnscope/features/all_tables.h"
#include "attnscope/rows/field.h"
#include "attnscope/rows/table/cells.h"
#include "attnscope/rows/table/models.h"
#include "attnscope/rows/table/skipped_lines.h"
#include "attnscope/rows/table/style.h"

namespace attnscope {
namespace {

constexpr std::size_t kStrongestPairs = 20;  // maximum number of pairs in the table

struct Pair {
  std::int64_t layer = 0, head = 0, receiver_layer = 0, receiver_head = 0;
  std::string kind;
  double score = 0, excess = 0;
};

/// The strongest pairs of a model. Pairs with equal excess stay in row order.
struct Strongest {
  std::vector<Pair> pairs;  // by decreasing excess
  std::size_t count = 0;    // number of all pairs

  void add(Pair pair) {
    ++count;
    const auto place =
        std::upper_bound(pairs.begin(), pairs.end(), pair,
                         [](const Pair& a, const Pair& b) { return a.excess > b.excess; });
    if (place == pairs.end() && pairs.size() == kStrongestPairs) return;
    pairs.insert(place, std::move(pair));
    if (pairs.size() > kStrongestPairs) pairs.pop_back();
  }
};

class CompositionTable : public ReportCollector {
 public:
  CompositionTable(const WriteOptions& options, std::ostream& out)
      : style_(options.color), out_(out) {}

  void add_row(Record row) override {
    const auto score = number_field(row, "score"), excess = number_field(row, "excess");
    if (!excess || repeats_another(row)) return;
    strongest_[text_field(row, "model")].add(
        {.layer = integer_field(row, "layer"),
         .head = integer_field(row, "head"),
         .receiver_layer = integer_field(row, "receiver_layer"),
         .receiver_head = integer_field(row, "receiver_head"),
         .kind = text_field(row, "kind"),
         .score = score.value_or(0),
         .excess = *excess});
  }

  void end() override {
    for (const Record& model : report().models) {
      out_ << style_.bold(text_field(model, "name")) << "  " << style_.dim(model_title(model))
           << "\n\n";
      write(strongest_[text_field(model, "name")], shares_weights(model));
    }
    write_skipped(report(), out_);
    out_ << style_.dim(fmt::format(
                "Score: Frobenius norm of the later head's circuit (query, key or value input) "
                "times the earlier head's OV circuit, divided by the norms of both "
                "circuits.\nExcess: score minus 1/sqrt(hidden_size), the expected score of random "
                "heads. Variant: {}.",
                variant_text(report().parameters)))
         << '\n';
  }

 private:
  /// Whether an earlier row already covers the same pair of heads in layers that share weights.
  bool repeats_another(const Record& row) {
    const std::string name = text_field(row, "model"), kind = text_field(row, "kind");
    for (const Record& model : report().models) {
      if (text_field(model, "name") != name || !shares_weights(model)) continue;
      const std::int64_t from = first_with_same(model, "ov", integer_field(row, "layer"));
      const std::int64_t to =
          first_with_same(model, kind == "v" ? "ov" : "qk", integer_field(row, "receiver_layer"));
      return !shared_[name]
                  .emplace(kind, from, integer_field(row, "head"), to,
                           integer_field(row, "receiver_head"))
                  .second;
    }
    return false;
  }

  void write(const Strongest& strongest, bool shared) {
    std::vector<std::vector<std::string>> lines(1);
    for (const char* field : {"layer", "receiver_layer", "kind", "score", "excess"}) {
      lines[0].push_back(style_.bold(heading("composition", field)));
    }
    for (const Pair& pair : strongest.pairs) {
      lines.push_back({fmt::format("layer {} head {}", pair.layer, pair.head),
                       fmt::format("layer {} head {}", pair.receiver_layer, pair.receiver_head),
                       pair.kind, style_.shade(pair.score, fmt::format("{:.3f}", pair.score)),
                       fmt::format("{:+.3f}", pair.excess)});
    }
    out_ << align(lines, /*left_columns=*/3) << '\n';
    if (strongest.count > strongest.pairs.size()) {
      out_ << style_.dim(fmt::format("the strongest {} of {} {}pairs; csv and json contain all",
                                     strongest.pairs.size(), strongest.count,
                                     shared ? "distinct " : ""))
           << "\n\n";
    }
  }

  Style style_;
  std::ostream& out_;
  std::map<std::string, Strongest> strongest_;  // by model
  /// For models with shared weights, by name: kind, then layer and head of the earlier and the
  /// later head. The first layer with the same weights represents all of them.
  using Heads = std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
  std::map<std::string, std::set<Heads>> shared_;
};

}  // namespace

std::unique_ptr<RowSink> make_composition_table(const WriteOptions& options, std::ostream& out) {
  return std::make_unique<CompositionTable>(options, out);
}

}  // namespace attnscope
