// Which form a smaller model takes, and what it leaves out: all that is needed to make it anew from
// the model and a text. See docs/plan.md.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "attnscope/base/role.h"
#include "attnscope/features/framework/selections.h"

namespace attnscope {

/// In the order of kFormNames.
enum class Form { layers, width, hidden, head_width, kv_heads, heads, latent, experts, ranks };

inline constexpr std::array<std::string_view, 9> kFormNames = {
    "layers", "width", "hidden", "head-width", "kv-heads", "heads", "latent", "experts", "ranks"};

constexpr std::string_view form_name(Form form) {
  return kFormNames[static_cast<std::size_t>(form)];
}

constexpr std::optional<Form> form_from_name(std::string_view name) {
  for (std::size_t index = 0; index < kFormNames.size(); ++index) {
    if (kFormNames[index] == name) return static_cast<Form>(index);
  }
  return std::nullopt;
}

/// Whether it may be one of several forms of a smaller model, each made of what the one before
/// left.
constexpr bool combines(Form form) {
  return form != Form::latent && form != Form::experts && form != Form::ranks;
}

/// One form at one size.
struct Choice {
  Form form = Form::layers;
  /// What is left, in the form's own unit: layers, neurons of an MLP, width of the stream, elements
  /// of a head, key/value heads, heads, experts of a layer. Of `latent`: rotary dimensions; of
  /// `ranks`: parameters that the factors have.
  std::int64_t size = 0;
  std::int64_t joint = 0;  // of `latent`: elements of the latent beside the rotary ones
  bool exact = false;  // of `latent`: all that is kept of keys turns, and values alone are joint
  /// The numbers that stay: of `layers` and `head_width` (rotary pairs) one list, of `width`,
  /// `heads` and `experts` one for each layer, empty where it has no experts, and of `width` of
  /// both stacks that share theirs (stack_of_same_width()); ascending.
  std::vector<std::vector<std::int64_t>> kept;
  std::map<MatrixPlace, std::int64_t> ranks;  // of `ranks`; a matrix that is not named stays

  bool operator==(const Choice&) const = default;
};

}  // namespace attnscope
