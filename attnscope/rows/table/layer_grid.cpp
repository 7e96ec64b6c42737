#include "attnscope/rows/table/layer_grid.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "attnscope/base/text.h"
#include "attnscope/rows/table/cells.h"

namespace attnscope {

void LayerGrid::set(const std::string& model, std::int64_t layer, std::int64_t head,
                    const std::string& column, std::string text) {
  if (std::find(columns_.begin(), columns_.end(), column) == columns_.end()) {
    columns_.push_back(column);
  }
  models_[model][{layer, head}][column] = std::move(text);
}

void LayerGrid::set_skipped(const Report& report, const std::vector<std::string>& suffixes) {
  for (const Skipped& skipped : report.skipped) {
    for (const std::string& suffix : suffixes) {
      set(skipped.model, skipped.layer.value_or(0), skipped.head.value_or(kWhole),
          skipped.matrix + suffix, "-");
    }
  }
}

std::string LayerGrid::lines_of(const std::vector<Column>& columns, bool name_models,
                                const Style& style, std::size_t width) const {
  std::set<LayerHead> places;
  std::vector<std::vector<std::string>> lines(name_models ? 2 : 1);
  lines[0].push_back(style.bold("layer"));
  if (name_models) lines[1].emplace_back();
  for (const Column& column : columns) {
    lines[0].push_back(style.bold(*column.name));
    if (name_models) lines[1].push_back(style.dim(*column.model));
    for (const auto& [place, cells] : models_.at(*column.model)) places.insert(place);
  }
  for (const LayerHead& place : places) {
    auto& line = lines.emplace_back();
    line.push_back(place.second == kWhole ? std::to_string(place.first)
                                          : style.dim(fmt::format("  head {}", place.second)));
    for (const Column& column : columns) {
      const Cells& cells = models_.at(*column.model);
      const auto found = cells.find(place);
      const bool has = found != cells.end() && found->second.contains(*column.name);
      line.push_back(has ? found->second.at(*column.name) : "");
    }
  }
  // Columns of one matrix, such as "q within" and "q across", stay together.
  const auto matrix_of = [&](std::size_t at) {
    const std::string& name = *columns[at].name;
    return name.substr(0, name.find(' '));
  };
  std::vector<std::size_t> groups;
  for (std::size_t at = 0; at < columns.size(); ++at) {
    if (at == 0 || matrix_of(at) != matrix_of(at - 1)) groups.push_back(0);
    ++groups.back();
  }
  return fold(lines, width, std::move(groups));
}

void LayerGrid::write(const Report& report, const WriteOptions& options, std::ostream& out) const {
  const Style style(options.color);
  const auto width = static_cast<std::size_t>(options.width);
  std::vector<std::pair<std::string, std::string>> names;  // models with cells, and their titles
  for (const Record& model : report.models) {
    const std::string name = text_field(model, "name");
    if (models_.contains(name)) names.emplace_back(name, model_title(model));
  }
  const auto columns_of = [&](const std::string& model) {
    std::vector<Column> columns;
    for (const std::string& column : columns_) {
      const Cells& cells = models_.at(model);
      const bool has = std::any_of(cells.begin(), cells.end(), [&](const auto& entry) {
        return entry.second.contains(column);
      });
      if (has) columns.push_back({&model, &column});
    }
    return columns;
  };
  if (names.size() > 1) {
    std::vector<Column> together;
    for (const std::string& column : columns_) {
      for (const auto& [name, title] : names) {
        for (const Column& own : columns_of(name)) {
          if (*own.name == column) together.push_back(own);
        }
      }
    }
    const std::string lines = lines_of(together, true, style, SIZE_MAX);
    if (width_of(lines) <= width) {
      for (const auto& [name, title] : names) {
        out << style.bold(name) << "  " << style.dim(title) << '\n';
      }
      out << '\n' << lines << '\n';
      return;
    }
  }
  for (const auto& [name, title] : names) {
    out << style.bold(name) << "  " << style.dim(title) << "\n\n"
        << lines_of(columns_of(name), false, style, width) << '\n';
  }
}

std::string sparkline(const Record& row, const Style& style) {
  constexpr std::size_t kBars = 8;
  const Value* field = row.find("histogram");
  const Record* histogram = field == nullptr ? nullptr : field->get<Record>();
  if (histogram == nullptr || !style.color()) return "";
  const auto& counts = expect_vector<std::int64_t>(*histogram, "counts");
  if (counts.empty()) return "";
  std::vector<double> bars(std::min(kBars, counts.size()), 0.0);
  for (std::size_t bin = 0; bin < counts.size(); ++bin) {
    bars[bin * bars.size() / counts.size()] += static_cast<double>(counts[bin]);
  }
  const double highest = *std::max_element(bars.begin(), bars.end());
  if (highest == 0) return "";
  std::string out = " ";
  for (const double bar : bars) out += bar == 0 ? " " : style.bar(bar / highest);
  return out;
}

std::string number_text(const Record& row, std::string_view name, const char* format) {
  const auto number = number_field(row, name);
  if (!number) return "-";
  const std::string text = fmt::format(fmt::runtime(format), *number);
  // "-0.000" is printed as "0.000".
  const bool vanishes = text.find_first_of("123456789") == std::string::npos;
  return vanishes && text.starts_with('-') ? text.substr(1) : text;
}

std::string mean_and_std(const Record& row, const char* mean_format, const char* std_format) {
  const std::string mean = number_text(row, "mean", mean_format);
  return mean == "-" ? mean : mean + " ±" + number_text(row, "std", std_format);
}

namespace {

struct LayerParts {
  const Record *attention = nullptr, *mixer = nullptr, *mlp = nullptr;
  std::vector<const Record*> heads;
};

}  // namespace

std::string part_grid(const std::vector<const Record*>& rows, const PartCell& cell,
                      const Style& style, int width) {
  std::map<std::int64_t, LayerParts> layers;
  for (const Record* row : rows) {
    LayerParts& layer = layers[integer_field(*row, "layer")];
    const std::string component = text_field(*row, "component");
    if (component == "mlp") {
      layer.mlp = row;
    } else if (component == "attention") {
      layer.attention = row;
    } else if (component == "mixer") {
      layer.mixer = row;
    } else {
      layer.heads.push_back(row);
    }
  }
  std::size_t heads = 0;
  bool mixes = false;
  for (const auto& [number, layer] : layers) {
    heads = std::max(heads, layer.heads.size());
    mixes |= layer.mixer != nullptr;
  }
  std::vector<std::vector<std::string>> lines(1);
  lines[0] = {style.bold("layer"), style.bold("attention")};
  if (mixes) lines[0].push_back(style.bold("mixer"));
  lines[0].push_back(style.bold("mlp"));
  for (std::size_t head = 0; head < heads; ++head) {
    lines[0].push_back(style.bold((head == 0 ? "head 0" : std::to_string(head))));
  }
  for (const auto& [number, layer] : layers) {
    auto& line = lines.emplace_back();
    line.push_back(std::to_string(number));
    line.push_back(layer.attention == nullptr ? "" : cell(*layer.attention));
    if (mixes) line.push_back(layer.mixer == nullptr ? "" : cell(*layer.mixer));
    line.push_back(layer.mlp == nullptr ? "" : cell(*layer.mlp));
    for (const Record* head : layer.heads) line.push_back(cell(*head));
    line.resize(lines[0].size());
  }
  return fold(lines, static_cast<std::size_t>(width));
}

std::string part_title(const Record& row) {
  const std::string component = text_field(row, "component");
  const std::int64_t layer = integer_field(row, "layer");
  if (component != "head") return fmt::format("{} {}", component, layer);
  return head_text(row);
}

}  // namespace attnscope
