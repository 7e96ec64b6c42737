#include "attnscope/page/heads_page.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/page/encoding.h"

namespace attnscope {
namespace {

/// Colors and lines of smaller weights are invisible.
constexpr float kInvisible = 1.0F / 1024;

/// The maps of a page with access by head.
class Maps {
 public:
  explicit Maps(const HeadsPage& page) : page_(page) {
    causal_ = page.queries == page.keys;
    for (std::int64_t index = 0; causal_ && index < count(); ++index)
      causal_ = is_causal(at(index));
  }

  std::int64_t count() const { return std::ssize(page_.layers) * page_.heads; }
  bool causal() const { return causal_; }
  MatrixView<const float> at(std::int64_t index) const {
    const float* first = page_.maps.data() + index * page_.queries * page_.keys;
    return {first, page_.queries, page_.keys, page_.keys};
  }
  MapLocation location(std::int64_t index) const {
    return {page_.model, page_.layers[static_cast<std::size_t>(index / page_.heads)],
            index % page_.heads};
  }

  /// Returns all heads: the opened ones, the others of their layer, and the rest.
  std::vector<std::int64_t> by_importance() const {
    std::vector<std::int64_t> order(static_cast<std::size_t>(count()));
    for (std::int64_t index = 0; index < count(); ++index) {
      order[static_cast<std::size_t>(index)] = index;
    }
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      return std::pair(!is_opened(a), !is_of_layer(a)) < std::pair(!is_opened(b), !is_of_layer(b));
    });
    return order;
  }
  bool is_opened(std::int64_t index) const {
    return is_of_layer(index) &&
           std::count(page_.opened.begin(), page_.opened.end(), location(index).head) > 0;
  }

 private:
  static bool is_causal(MatrixView<const float> map) {
    for (std::int64_t query = 0; query < map.rows; ++query) {
      for (std::int64_t key = query + 1; key < map.cols; ++key) {
        if (map(query, key) != 0) return false;
      }
    }
    return true;
  }
  bool is_of_layer(std::int64_t index) const { return location(index).layer == page_.layer; }

  const HeadsPage& page_;
  bool causal_ = false;
};

std::vector<float> without_small(MatrixView<const float> map, float least) {
  std::vector<float> kept(static_cast<std::size_t>(map.rows * map.cols));
  for (std::size_t at = 0; at < kept.size(); ++at) {
    kept[at] = map.data[at] < least ? 0 : map.data[at];
  }
  return kept;
}

MatrixView<const float> view_of(const std::vector<float>& weights, const HeadsPage& page) {
  return {weights.data(), page.queries, page.keys, page.keys};
}

std::size_t packed_bytes(MatrixView<const float> map, bool causal) {
  return gzip(map_bytes(map, causal)).size();
}

/// Returns the smallest weight that is kept, so that the opened maps fit.
float least_weight(const HeadsPage& page, const Maps& maps, std::size_t most_bytes) {
  const auto fits = [&](float least) {
    std::size_t bytes = 0;
    for (std::int64_t index = 0; index < maps.count(); ++index) {
      if (!maps.is_opened(index)) continue;
      bytes += packed_bytes(view_of(without_small(maps.at(index), least), page), maps.causal());
    }
    return bytes <= most_bytes;
  };
  float least = 0;
  while (!fits(least) && least < 1) least = least == 0 ? kInvisible : 2 * least;
  return least;
}

/// Returns the largest side with which thumbnails of all heads fit, and their size in bytes.
std::pair<std::int64_t, std::size_t> thumbnail_side(const Maps& maps, std::size_t most_bytes) {
  constexpr std::array kSides = {64, 48, 32, 24, 16, 12, 8};
  for (const int side : kSides) {
    std::string all;
    for (std::int64_t index = 0; index < maps.count(); ++index) {
      const MatrixView<const float> map = maps.at(index);
      all += thumbnail_bytes(map, std::min<std::int64_t>(side, map.rows),
                             std::min<std::int64_t>(side, map.cols));
    }
    const std::size_t bytes = gzip(all).size();
    if (bytes <= most_bytes || side == kSides.back()) return {side, bytes};
  }
  return {};
}

/// Adds the maps to the file: all of them if they fit. Otherwise the opened ones, as many others as
/// fit, and for a grid thumbnails of the rest.
void add_maps(const HeadsPage& page, const Maps& maps, float least, std::size_t room,
              ReportFile& file) {
  const std::vector<std::int64_t> order = maps.by_importance();
  const auto whole = [&](std::int64_t index) { return without_small(maps.at(index), least); };
  std::vector<std::size_t> bytes;  // of the first maps in this order
  std::size_t sum = 0;
  for (const std::int64_t index : order) {
    bytes.push_back(packed_bytes(view_of(whole(index), page), maps.causal()));
    sum += bytes.back();
    if (sum > room && !maps.is_opened(index)) break;
  }
  const bool all_fit = bytes.size() == order.size() && sum <= room;
  std::int64_t side = 0;
  if (!all_fit && page.grid) {
    std::size_t of_opened = 0;
    for (std::size_t at = 0; at < bytes.size() && maps.is_opened(order[at]); ++at) {
      of_opened += bytes[at];
    }
    room -= std::min(room, of_opened);
    const auto [found, taken] = thumbnail_side(maps, room);
    side = found;
    room += of_opened;
    room -= std::min(room, taken);
  }
  for (std::size_t at = 0; at < order.size(); ++at) {
    const std::int64_t index = order[at];
    if (at < bytes.size() && (bytes[at] <= room || maps.is_opened(index))) {
      const std::vector<float> kept = whole(index);
      file.add_map(maps.location(index), view_of(kept, page), maps.causal());
      room -= std::min(room, bytes[at]);
    } else if (side > 0) {
      file.add_thumbnail(maps.location(index), maps.at(index), side);
    }
  }
}

std::string state_of(const HeadsPage& page) {
  std::vector<std::string> heads;
  for (const std::int64_t head : page.opened) heads.push_back(std::to_string(head));
  return std::string(page.grid ? "grid" : "heads") + "?l=" + std::to_string(page.layer) +
         "&h=" + join(heads, ",") + "&part=" + page.part;
}

}  // namespace

ReportFile heads_file(const HeadsPage& page, std::size_t most_bytes) {
  const Maps maps(page);
  const std::int64_t layers = 1 + *std::max_element(page.layers.begin(), page.layers.end());
  ReportFile file({{"version", page.version},
                   {"created", ""},
                   {"command", ""},
                   {"open", state_of(page)},
                   {"thresholds", std::vector<double>{0.9}}},
                  {Record{{"name", page.model}, {"layers", layers}, {"heads", page.heads}}});
  file.add_text(page.model, page.tokens, page.source, page.pair_texts);

  // Each map also has an entry among the results.
  constexpr std::int64_t kEntryBytes = 10;
  const std::size_t about_bytes =
      gzip(file.results(0)).size() + static_cast<std::size_t>(kEntryBytes * maps.count());
  std::size_t room = most_bytes - std::min(most_bytes, about_bytes);
  const float least = least_weight(page, maps, page.grid ? room / 2 : room);
  if (least > 0) file.add_about("least_weight", static_cast<double>(least));
  add_maps(page, maps, least, room, file);
  return file;
}

std::string heads_page(std::string_view page, const HeadsPage& content, std::size_t most_bytes) {
  if (page.empty()) {
    throw Error(ErrorKind::unsupported, "view", "not available in this build", "build with Node");
  }
  const std::size_t rest = most_bytes - std::min(most_bytes, page.size());
  std::ostringstream out;
  heads_file(content, rest / 4 * 3).write(page, /*seconds=*/0, out);  // base64: 4 bytes for 3
  return std::move(out).str();
}

}  // namespace attnscope
