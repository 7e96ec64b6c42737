#include "attnscope/features/attention/heatmap_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "attnscope/base/text.h"
#include "attnscope/features/all_tables.h"
#include "attnscope/rows/table/alignment.h"
#include "attnscope/rows/table/cells.h"
#include "attnscope/rows/table/skipped_lines.h"
#include "attnscope/rows/table/style.h"

namespace attnscope {
namespace {

constexpr std::int64_t kLabelColumns = 10;      // maximum width of a row label
constexpr std::size_t kLabelLines = 8;          // maximum height of a column label
constexpr std::int64_t kLeastColumns = 16;      // minimum width of a map, even on narrow terminals
constexpr std::int64_t kLargestMagnified = 64;  // maximum number of columns for enlarged cells
constexpr double kDecades = 4;                  // range of the logarithmic scale

struct Rgb {
  int red, green, blue;
};

/// Color map from dark violet (0) through green to yellow (1): matplotlib's viridis (CC0), sampled
/// at eighths.
Rgb ramp(double share) {
  constexpr std::array kColors = {Rgb{68, 1, 84},    Rgb{71, 44, 122},  Rgb{59, 81, 139},
                                  Rgb{44, 113, 142}, Rgb{33, 144, 141}, Rgb{39, 173, 129},
                                  Rgb{92, 200, 99},  Rgb{170, 220, 50}, Rgb{253, 231, 37}};
  const double place = std::clamp(share, 0.0, 1.0) * static_cast<double>(kColors.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(place), kColors.size() - 2);
  const double part = place - static_cast<double>(below);
  const auto mix = [&](int from, int to) {
    return static_cast<int>(std::lround(from + part * (to - from)));
  };
  const Rgb &from = kColors[below], &to = kColors[below + 1];
  return {mix(from.red, to.red), mix(from.green, to.green), mix(from.blue, to.blue)};
}

/// The nearest color of the 6 × 6 × 6 cube of 256-color terminals.
int cube_color(const Rgb& color) {
  const auto step = [](int value) { return value < 48 ? 0 : value < 115 ? 1 : (value - 35) / 40; };
  return 16 + 36 * step(color.red) + 6 * step(color.green) + step(color.blue);
}

std::string cell_weight_text(double weight) { return fmt::format("{:.2g}", weight); }

}  // namespace

HeatMap::HeatMap(std::int64_t size, const WriteOptions& options, std::vector<std::string> labels)
    : options_(options), size_(size), column_labels_(std::move(labels)) {
  index_width_ = std::ssize(std::to_string(size - 1));
  const std::int64_t room =
      std::max(kLeastColumns, options.width - index_width_ - kLabelColumns - 2);
  block_ = (size + room - 1) / room;
  cells_ = (size + block_ - 1) / block_;
  for (const std::int64_t columns : {2, 4}) {
    const std::int64_t most = columns == 2 ? room : std::min(room, kLargestMagnified);
    if (cells_ * columns <= most) cell_columns_ = columns;
  }
  if (!options.color) cell_columns_ = std::min<std::int64_t>(cell_columns_, 2);
}

void HeatMap::add_row(std::span<const double> weights, const std::string& label) {
  if (std::ssize(weights) != size_) return;
  const std::int64_t row = rows_++ / block_;
  largest_.resize(static_cast<std::size_t>(row_cells() * cells_));
  if (row == std::ssize(labels_)) labels_.push_back(label);
  for (std::int64_t key = 0; key < size_; ++key) {
    double& cell = largest_[static_cast<std::size_t>(row * cells_ + key / block_)];
    cell = std::max(cell, weights[static_cast<std::size_t>(key)]);
    top_ = std::max(top_, cell);
  }
}

double HeatMap::share(double weight, bool log_scale) const {
  if (weight <= 0) return -1;
  const double linear = weight / top_;
  return log_scale ? std::max(0.0, 1 + std::log10(linear) / kDecades) : linear;
}

std::string HeatMap::row_label(std::int64_t cell) const {
  const std::string index = std::to_string(cell * block_);
  const std::string text = cell < std::ssize(labels_)
                               ? fitted_text(labels_[static_cast<std::size_t>(cell)], kLabelColumns)
                               : std::string(static_cast<std::size_t>(kLabelColumns), ' ');
  return Style(options_.color)
             .dim(pad_left(index, static_cast<std::size_t>(index_width_)) + " " + text) +
         " ";
}

std::string HeatMap::color(double share, bool background) const {
  const Rgb rgb = ramp(share);
  const int ground = background ? 48 : 38;
  if (!options_.true_color) return fmt::format("\x1b[{};5;{}m", ground, cube_color(rgb));
  return fmt::format("\x1b[{};2;{};{};{}m", ground, rgb.red, rgb.green, rgb.blue);
}

/// Writes each token vertically above its column. Blocks of several tokens have no labels.
void HeatMap::draw_column_labels(std::ostream& out) const {
  if (block_ > 1) return;
  std::vector<std::vector<std::string>> characters;
  std::size_t lines = 0;
  for (const std::string& label : column_labels_.empty() ? labels_ : column_labels_) {
    characters.push_back(characters_of(label, kLabelLines, cell_columns_));
    lines = std::max(lines, characters.back().size());
  }
  const Style style(options_.color);
  const std::string margin(static_cast<std::size_t>(index_width_ + kLabelColumns + 2), ' ');
  for (std::size_t line = 0; line < lines; ++line) {
    std::string text;
    for (const auto& label : characters) {
      const std::size_t empty = lines - label.size();
      text += line < empty ? std::string(static_cast<std::size_t>(cell_columns_), ' ')
                           : fitted_text(label[line - empty], cell_columns_);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out << margin << style.dim(text) << '\n';
  }
}

/// Writes key positions, as densely as fits.
void HeatMap::draw_ticks(std::ostream& out) const {
  const std::int64_t apart = (index_width_ + 3 + cell_columns_) / cell_columns_;
  // Counting from every fifth or tenth cell is easier than from every seventh.
  const std::int64_t each = apart <= 5 ? 5 : 10;
  std::string text;
  for (std::int64_t cell = 0; cell < cells_; cell += each) {
    text = pad_right(text, static_cast<std::size_t>(cell * cell_columns_)) +
           std::to_string(cell * block_);
  }
  out << std::string(static_cast<std::size_t>(index_width_ + kLabelColumns + 2), ' ')
      << Style(options_.color).dim(text) << '\n';
}

void HeatMap::draw_half_blocks(bool log_scale, std::ostream& out) const {
  const std::int64_t half_lines = row_cells() * cell_columns_;
  for (std::int64_t upper = 0; upper < half_lines; upper += 2) {
    const std::int64_t row = upper / cell_columns_, below = (upper + 1) / cell_columns_;
    const bool begins = upper % cell_columns_ == 0;
    out << (begins ? row_label(row)
                   : std::string(static_cast<std::size_t>(index_width_ + kLabelColumns + 2), ' '));
    std::string line, now;  // now: the active colors
    for (std::int64_t col = 0; col < cells_; ++col) {
      const auto share_at = [&](std::int64_t at) {
        return at >= row_cells()
                   ? -1
                   : share(largest_[static_cast<std::size_t>(at * cells_ + col)], log_scale);
      };
      const double top = share_at(row), bottom = share_at(below);
      std::string colors = "\x1b[0m";
      if (top >= 0) colors += color(top, /*background=*/false);
      if (bottom >= 0) colors += color(bottom, /*background=*/top >= 0);
      if (colors != now) line += colors;
      now = colors;
      const char* character = top >= 0 ? "▀" : bottom >= 0 ? "▄" : " ";
      for (std::int64_t times = 0; times < cell_columns_; ++times) line += character;
    }
    out << line << "\x1b[0m\n";
  }
}

void HeatMap::draw_characters(bool log_scale, std::ostream& out) const {
  for (std::int64_t row = 0; row < row_cells(); ++row) {
    std::string line = row_label(row);
    for (std::int64_t col = 0; col < cells_; ++col) {
      const double found = share(largest_[static_cast<std::size_t>(row * cells_ + col)], log_scale);
      line.append(static_cast<std::size_t>(cell_columns_), density_character(std::max(0.0, found)));
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  }
}

void HeatMap::draw(bool log_scale, std::ostream& out) const {
  draw_column_labels(out);
  draw_ticks(out);
  if (options_.color) {
    draw_half_blocks(log_scale, out);
  } else {
    draw_characters(log_scale, out);
  }
}

void HeatMap::draw_scale(bool log_scale, std::ostream& out) const {
  constexpr int kSteps = 10;
  const Style style(options_.color);
  std::string scale;
  for (int step = 0; step < kSteps; ++step) {
    const double share = (step + 0.5) / kSteps;
    scale += options_.color ? color(share, /*background=*/true) + " "
                            : std::string(1, density_character(share));
  }
  if (options_.color) scale += "\x1b[0m";
  const double lowest = log_scale ? top_ * std::pow(10, -kDecades) : 0;
  out << style.dim("weights " + cell_weight_text(lowest)) << (options_.color ? " " : " [") << scale
      << (options_.color ? " " : "] ")
      << style.dim(cell_weight_text(top_) + (log_scale ? ", logarithmic" : ", linear") +
                   (options_.color ? "; exact zeros are blank" : ""))
      << '\n';
  if (block_ > 1) {
    out << style.dim(fmt::format("Each cell is the maximum of {0} × {0} weights.", block_)) << '\n';
  }
}

// The table of `attention --heatmap`: a drawing of the attention map.
namespace {

class AttentionMapTable : public ReportCollector {
 public:
  AttentionMapTable(const WriteOptions& options, std::ostream& out)
      : options_(options), out_(out) {}

  void add_row(Record row) override {
    const std::vector<double>& weights = expect_vector<double>(row, "weights");
    const auto [found, fresh] = maps_.try_emplace(text_field(row, "model"));
    Drawn& drawn = found->second;
    if (fresh) {
      const std::int64_t keys = std::ssize(weights);
      drawn.map.emplace(keys, options_, column_labels(row, keys));
      const bool of_tokens = integer_field(row, "token", /*fallback=*/-1) >= 0;
      drawn.title = fmt::format("layer {} head {}: {} {}", integer_field(row, "layer"),
                                integer_field(row, "head"), grouped(keys),
                                noun_for(keys, of_tokens ? "token" : "position"));
    }
    drawn.map->add_row(weights, row_label(row));
  }

  void end() override {
    const Style style(options_.color);
    const Value* log = report().parameters.find("log");
    const bool log_scale = log != nullptr && log->get<bool>() != nullptr && *log->get<bool>();
    for (const Record& model : report().models) {
      const auto found = maps_.find(text_field(model, "name"));
      if (found == maps_.end()) continue;
      out_ << style.bold(found->first) << "  " << style.dim(model_title(model)) << '\n'
           << style.bold(found->second.title) << style.dim(", rows: queries, columns: keys")
           << "\n\n";
      found->second.map->draw(log_scale, out_);
      out_ << '\n';
      found->second.map->draw_scale(log_scale, out_);
    }
    write_skipped(report(), out_);
  }

 private:
  static std::string row_label(const Record& row) {
    const std::string text = text_field(row, "text");
    if (!text.empty()) return printable(text);
    return std::to_string(integer_field(row, "token", integer_field(row, "query")));
  }

  /// For cross-attention: the tokens of the source, or the frame numbers of audio. Otherwise empty.
  std::vector<std::string> column_labels(const Record& row, std::int64_t keys) const {
    const std::string name = text_field(row, "model");
    std::vector<std::string> labels;
    for (const Record& model : report().models) {
      const Value* source =
          text_field(model, "name") == name ? model.find("source_tokens") : nullptr;
      if (source == nullptr) continue;
      for (const Value& token : expect<Value::List>(*source, "source_tokens")) {
        const Record& own = expect<Record>(token, "source_tokens");
        const std::string text = text_field(own, "text");
        labels.push_back(printable(text.empty() ? std::to_string(integer_field(own, "id")) : text));
      }
    }
    if (!labels.empty() || text_field(row, "stack") != "cross") return labels;
    for (std::int64_t key = 0; key < keys; ++key) labels.push_back(std::to_string(key));
    return labels;
  }

  struct Drawn {
    std::optional<HeatMap> map;
    std::string title;
  };

  WriteOptions options_;
  std::ostream& out_;
  std::map<std::string, Drawn> maps_;
};

}  // namespace

std::unique_ptr<RowSink> make_attention_map_table(const WriteOptions& options, std::ostream& out) {
  return std::make_unique<AttentionMapTable>(options, out);
}

}  // namespace attnscope
