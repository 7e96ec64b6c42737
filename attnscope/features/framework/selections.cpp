#include "attnscope/features/framework/selections.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/model/model_spec.h"

namespace attnscope {
namespace {

[[noreturn]] void refuse_selection(std::string problem) {
  throw Error(ErrorKind::usage, {.parameter = "layers", .problem = std::move(problem)});
}

[[noreturn]] void refuse_place(const Model& model, const char* parameter, const char* what,
                               std::int64_t count) {
  throw Error(ErrorKind::usage,
              {.parameter = parameter,
               .problem = model.name() + " has " + what + " 0 to " + std::to_string(count - 1)});
}

}  // namespace

std::string LayerRange::text() const {
  const std::string start = std::to_string(first);
  if (first == last) return start;
  return start + "-" + (last == -1 ? "" : std::to_string(last));
}

Value LayerSelection::parameter() const {
  if (ranges.empty()) return {};
  std::vector<std::string> texts;
  for (const LayerRange& range : ranges) texts.push_back(range.text());
  return join(texts, ",");
}

std::vector<std::int64_t> LayerSelection::resolve(std::int64_t layers,
                                                  std::string_view model) const {
  std::set<std::int64_t> chosen;
  if (ranges.empty()) {
    for (std::int64_t layer = 0; layer < layers; ++layer) chosen.insert(layer);
  }
  for (const LayerRange& range : ranges) {
    const auto from_start = [&](std::int64_t layer) {
      const std::int64_t counted = layer < 0 ? layer + layers : layer;
      if (counted < 0 || counted >= layers) {
        refuse_selection('\'' + range.text() + "': " + std::string(model) + " has layers 0 to " +
                         std::to_string(layers - 1));
      }
      return counted;
    };
    const std::int64_t first = from_start(range.first), last = from_start(range.last);
    if (first > last) {
      refuse_selection('\'' + range.text() + "' is an empty range of layers in " +
                       std::string(model));
    }
    for (std::int64_t layer = first; layer <= last; ++layer) chosen.insert(layer);
  }
  return {chosen.begin(), chosen.end()};
}

std::string head_text(const HeadIndex& place) { return head_name(place.layer, place.head); }

std::string heads_text(const std::vector<HeadIndex>& places) {
  std::vector<std::string> texts;
  for (const HeadIndex& place : places) texts.push_back(head_text(place));
  return join(texts, ",");
}

std::string receiver_text(const HeadInput& receiver) {
  if (receiver.logits) return "logits";
  const std::string input = receiver.input ? "." + std::string(role_name(*receiver.input)) : "";
  return head_text(receiver.head) + input;
}

HeadIndex place_in(const Model& model, HeadIndex place, const char* parameter) {
  const Dimensions& dimensions = model.dimensions();
  if (place.layer < -dimensions.layers || place.layer >= dimensions.layers) {
    refuse_place(model, parameter, "layers", dimensions.layers);
  }
  if (place.layer < 0) place.layer += dimensions.layers;
  const std::int64_t heads = model.spec().dimensions_of(place.layer).heads.heads;
  if (place.head >= heads) refuse_place(model, parameter, "heads", heads);
  if (!dimensions.attends(place.layer)) {
    throw Error(ErrorKind::usage, {.parameter = parameter,
                                   .problem = model.name() + ": " +
                                              why_not_mixed(dimensions, Role::query, place.layer)});
  }
  return place;
}

std::int64_t Rank::resolve(std::int64_t width) const {
  const double rank = of_width ? std::round(number * static_cast<double>(width)) : number;
  return std::max(std::int64_t{1}, static_cast<std::int64_t>(rank));
}

std::string Rank::text() const {
  if (!of_width) return std::to_string(static_cast<std::int64_t>(number));
  // Written without an exponent, as parse_rank() reads it. The smallest float64 has some 340
  // characters.
  std::array<char, 400> buffer;
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), number, std::chars_format::fixed)
          .ptr;
  return std::string(buffer.data(), end) + "D";
}

Rank parse_rank(std::string_view text) {
  const bool of_width = text.ends_with('D');
  const char* end = text.data() + text.size() - (of_width ? 1 : 0);
  double number = 0;
  const auto [stop, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  const bool whole =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  const bool fits = of_width ? number > 0 && number <= 1
                             : whole && number >= 1 && number <= static_cast<double>(kMaxSize);
  if (error != std::errc() || stop != end || !fits) {
    throw Error(ErrorKind::usage, {.parameter = "rank",
                                   .problem = '\'' + verbatim(text) +
                                              "' is neither a rank nor a share of the hidden size",
                                   .hint = "for example: 512,0.1D"});
  }
  return {.number = number, .of_width = of_width};
}

}  // namespace attnscope
