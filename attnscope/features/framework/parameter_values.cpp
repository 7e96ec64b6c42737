// Parses texts by the type of their parameter.
#include "attnscope/features/framework/parameter_values.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/features/framework/parameter.h"

namespace attnscope {
namespace {

[[noreturn]] void refuse_value(const Parameter& parameter, const std::string& problem,
                               const std::string& hint = "") {
  throw Error(ErrorKind::usage, {.parameter = parameter.name, .problem = problem, .hint = hint});
}

std::int64_t whole_number(const Parameter& parameter, const std::string& text, std::int64_t least,
                          std::int64_t most) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || number < least || number > most) {
    refuse_value(parameter, "'" + text + "' is not an integer from " + std::to_string(least) +
                                " to " + std::to_string(most));
  }
  return number;
}

std::string choice_of(const Parameter& parameter, const std::string& text) {
  const auto& choices = parameter.choices;
  if (std::find(choices.begin(), choices.end(), text) != choices.end()) return text;
  if (parameter.noun.empty())
    refuse_value(parameter, "'" + text + "' is not supported; expected " + choices_text(parameter));
  refuse_value(parameter, "'" + text + "' is not a " + parameter.noun + suggestion(text, choices) +
                              "; " + parameter.noun + "s: " + join(choices));
}

/// The role's name in other spellings: "Q", "W_Q" and "q_proj" are "q"; "W_in" and "W_out" are "up"
/// and "down". Case does not matter.
std::string canonical_role_name(const std::string& spelling) {
  std::string name = spelling;
  std::ranges::transform(name, name.begin(), [](char each) {
    return 'A' <= each && each <= 'Z' ? static_cast<char>(each - 'A' + 'a') : each;
  });
  if (name == "w_in") return "up";
  if (name == "w_out") return "down";
  if (name.starts_with("w_")) name.erase(0, 2);
  if (name.ends_with("_proj")) name.resize(name.size() - std::string_view("_proj").size());
  return name;
}

Role role_of(const Parameter& parameter, const std::string& spelling) {
  const std::string canonical = canonical_role_name(spelling);
  const auto role = role_from_name(canonical);
  const std::string& text = role ? canonical : spelling;  // errors show what the user wrote
  if (!role) {
    const auto names = role_names();
    refuse_value(parameter, "'" + text + "' is not a matrix" + suggestion(text, names) +
                                "; supported: " + join(names));
  }
  const auto& choices = parameter.choices;
  if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
    std::string problem = parameter.rejected_role.empty()
                              ? "'*' is not supported here; supported: " + join(choices)
                              : parameter.rejected_role;
    refuse_value(parameter, problem.replace(problem.find('*'), 1, text));
  }
  return *role;
}

/// The values of a list without duplicates, in the order given.
template <class Read>
auto each_once(const std::string& text, Read&& read) {
  std::vector<decltype(read(text))> values;
  for (const std::string& part : list_parts(text)) {
    auto value = read(part);
    if (std::find(values.begin(), values.end(), value) == values.end()) {
      values.push_back(std::move(value));
    }
  }
  return values;
}

double share_of(const Parameter& parameter, const std::string& text) {
  double share = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, share);
  if (error != std::errc() || stop != end || !(share > 0 && share < 1)) {
    refuse_value(parameter,
                 "'" + text + "' is not a share of the energy (expected a number between 0 and 1)",
                 "for example: 0.9,0.99");
  }
  return share;
}

std::vector<double> shares_of(const Parameter& parameter, const std::string& text) {
  auto shares = each_once(text, [&](const std::string& part) { return share_of(parameter, part); });
  std::sort(shares.begin(), shares.end());
  return shares;
}

/// Removes the signed number at the start of `text` and returns it.
std::optional<std::int64_t> take_number(std::string_view& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

std::optional<LayerRange> layer_range(std::string_view text) {
  const auto first = take_number(text);
  if (!first) return std::nullopt;
  if (text.empty()) return LayerRange{*first, *first};
  if (text.front() != '-') return std::nullopt;
  text.remove_prefix(1);
  if (text.empty()) return LayerRange{*first, -1};  // `4-`: to the end
  const auto last = take_number(text);
  if (!last || !text.empty()) return std::nullopt;
  return LayerRange{*first, *last};
}

LayerSelection layers_of(const Parameter& parameter, const std::string& text) {
  LayerSelection layers;
  for (const std::string& part : list_parts(text)) {
    const auto range = layer_range(part);
    if (!range) {
      refuse_value(parameter, "'" + part + "' is not a layer or a range of layers",
                   "for example: 0-3,-4-");
    }
    layers.ranges.push_back(*range);
  }
  return layers;
}

/// "L5H3", "5.3" or "5,3".
HeadIndex head_of(const Parameter& parameter, const std::string& text) {
  std::vector<std::string> parts = list_parts(text);
  if (parts.size() == 1) {
    const std::string head = parts.front();
    const bool named = head.starts_with('L') || head.starts_with('l');
    const std::size_t first = named ? 1 : 0, end = head.find_first_of(named ? "Hh" : ".");
    if (end != std::string::npos) parts = {head.substr(first, end - first), head.substr(end + 1)};
  }
  const bool numbered = parts.size() == 2 && !parts[0].empty() && !parts[1].empty() &&
                        parts[1].find_first_not_of("0123456789") == std::string::npos;
  if (!numbered) {
    const bool receiver = parameter.type == ParameterType::receiver;
    refuse_value(
        parameter, "'" + text + "' is not a head",
        receiver ? "for example: L5H3, L5H3.q for its queries, or logits" : "for example: L5H3");
  }
  return {whole_number(parameter, parts[0], -kMaxSize, kMaxSize),
          whole_number(parameter, parts[1], 0, kMaxSize)};
}

/// A head, or one of its inputs: "L5H3.q". Or the logits.
HeadInput receiver_of(const Parameter& parameter, const std::string& text) {
  if (text == "logits") return {.head = {}, .input = {}, .logits = true};
  for (const Role role : {Role::query, Role::key, Role::value}) {
    const std::string input = "." + std::string(role_name(role));
    if (!text.ends_with(input)) continue;
    return {.head = head_of(parameter, text.substr(0, text.size() - input.size())), .input = role};
  }
  return {.head = head_of(parameter, text), .input = {}};
}

/// One receiver or several. "5,3" is one head.
std::vector<HeadInput> receivers_of(const Parameter& parameter, const std::string& text) {
  if (text.find_first_not_of("-0123456789, ") == std::string::npos) {
    return {receiver_of(parameter, text)};
  }
  std::vector<HeadInput> receivers;
  for (const std::string& part : list_parts(text)) {
    receivers.push_back(receiver_of(parameter, part));
  }
  return receivers;
}

BinCount bins_of(const Parameter& parameter, const std::string& text) {
  if (text == "fd") return {.freedman_diaconis = true};
  if (text.find_first_not_of("0123456789") != std::string::npos) {
    refuse_value(parameter, "'" + text + "' is neither a number of bins nor fd");
  }
  return {.bins = whole_number(parameter, text, 1, kMaxBins)};
}

std::optional<double> finite_number(const std::string& text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || !std::isfinite(number)) return std::nullopt;
  return number;
}

ValueRange range_of(const Parameter& parameter, const std::string& text) {
  const std::vector<std::string> parts = list_parts(text);
  if (parts.size() == 2) {
    const auto low = finite_number(parts[0]), high = finite_number(parts[1]);
    if (low && high && *low < *high && std::isfinite(*high - *low)) return {*low, *high};
  }
  refuse_value(parameter, "'" + text + "' is not a range (expected two ascending numbers)",
               "for example: -0.8,0.8");
}

}  // namespace

ParameterValue value_from_text(const Parameter& parameter, const std::string& text) {
  switch (parameter.type) {
    case ParameterType::flag: return true;
    case ParameterType::integer:
      return whole_number(parameter, text, parameter.least, parameter.most);
    case ParameterType::bytes: return parse_byte_size(parameter.name, text);
    case ParameterType::choice: return choice_of(parameter, text);
    case ParameterType::several:
      return each_once(text, [&](const std::string& part) { return choice_of(parameter, part); });
    case ParameterType::role: return role_of(parameter, text);
    case ParameterType::roles:
      return each_once(text, [&](const std::string& part) { return role_of(parameter, part); });
    case ParameterType::layers: return layers_of(parameter, text);
    case ParameterType::head: return head_of(parameter, text);
    case ParameterType::heads:
      return each_once(text, [&](const std::string& part) { return head_of(parameter, part); });
    case ParameterType::receiver: return receivers_of(parameter, text);
    case ParameterType::shares: return shares_of(parameter, text);
    case ParameterType::ranks:
      return each_once(text, [&](const std::string& part) { return parse_rank(part); });
    case ParameterType::bins: return bins_of(parameter, text);
    case ParameterType::range: return range_of(parameter, text);
    case ParameterType::text:
    case ParameterType::file: return text;
    case ParameterType::texts:
    case ParameterType::models: return std::vector<std::string>{text};
  }
  refuse_value(parameter, "has no type");
}

namespace {

struct Unit {
  std::string_view name;
  double base;
  int power;
};
constexpr std::array kUnits = {
    Unit{"B", 1024, 0},   Unit{"K", 1024, 1},   Unit{"M", 1024, 2},   Unit{"G", 1024, 3},
    Unit{"T", 1024, 4},   Unit{"KiB", 1024, 1}, Unit{"MiB", 1024, 2}, Unit{"GiB", 1024, 3},
    Unit{"TiB", 1024, 4}, Unit{"KB", 1000, 1},  Unit{"MB", 1000, 2},  Unit{"GB", 1000, 3},
    Unit{"TB", 1000, 4},
};

constexpr double kMaxBytes = 0x1p62;

bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

[[noreturn]] void refuse_size(const std::string& parameter, const std::string& text,
                              const std::string& meant = "") {
  throw Error(ErrorKind::usage,
              {.parameter = parameter,
               .problem = "'" + text + "' is not a memory size" +
                          (meant.empty() ? " (for example: 2G, 512M, 1.5GiB)" : meant)});
}

}  // namespace

std::uint64_t parse_byte_size(const std::string& parameter, const std::string& text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc() || !(number > 0) || std::isinf(number)) refuse_size(parameter, text);
  const std::string_view unit(stop, static_cast<std::size_t>(end - stop));
  const std::string digits(text.data(), stop);
  if (unit.empty())
    refuse_size(parameter, text, ": the unit is missing (did you mean '" + digits + "G'?)");
  std::vector<std::string> known;
  for (const Unit& candidate : kUnits) {
    if (same_letters(unit, candidate.name)) {
      const double bytes = number * std::pow(candidate.base, candidate.power);
      if (bytes < 1 || bytes > kMaxBytes) refuse_size(parameter, text);
      return static_cast<std::uint64_t>(bytes);
    }
    known.push_back(digits + std::string(candidate.name));
  }
  refuse_size(parameter, text, suggestion(text, known));
}

}  // namespace attnscope
