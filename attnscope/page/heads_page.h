// A small page with the attention maps of one text: a grid of all heads, and lines between tokens.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attnscope/page/report_file.h"

namespace attnscope {

struct HeadsPage {
  std::string version;  // of attnscope
  std::string model;
  std::vector<std::int64_t> layers;  // numbers of the L layers
  std::int64_t heads = 0, queries = 0, keys = 0;
  std::span<const float> maps = {};  // (L, H, T, S)
  ShownText tokens, source;          // of T and, for cross-attention, of S
  std::vector<std::int64_t> pair_texts;
  std::int64_t layer = 0;                 // opens first
  std::vector<std::int64_t> opened = {};  // heads that open first; their maps are complete
  std::string part = "all";               // all, or from one text of a pair to another: a_to_b, …
  bool grid = false;                      // shows all heads, at least as thumbnails
};

/// Returns the file of a page. Maps that do not fit in `most_bytes`, the compressed size of all
/// maps, become thumbnails, or are left out without a grid. If even the opened heads do not fit,
/// their smallest weights become 0.
ReportFile heads_file(const HeadsPage& page, std::size_t most_bytes);

/// Returns the page of at most about `most_bytes`. `page`: heads_template().
std::string heads_page(std::string_view page, const HeadsPage& content, std::size_t most_bytes);

}  // namespace attnscope
