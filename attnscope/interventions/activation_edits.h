// Edits of activations: replace, add, scale, or project out a direction, while a model runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/forward/hooks.h"
#include "attnscope/inputs/text/score_positions.h"

namespace attnscope {

enum class EditHow {
  set,          // x = value
  add,          // x = x + value
  scale,        // x = value · x
  project_out,  // x = x − (x · u) u for the unit vector u of the value, over the last axis
};

/// Numbers with the axes of the edited part, which broadcast like NumPy's: positions, heads (unless
/// one head is selected), columns. For maps: heads (unless one is selected), queries, keys.
struct EditValue {
  Shape shape;  // empty: one number
  std::vector<float> numbers;
};

struct ActivationEdit {
  HookPoint point = HookPoint::resid_post;
  std::vector<std::int64_t> layers;  // ascending; empty: all that have the activation
  std::vector<std::int64_t> heads;   // in the order of the value; empty: all
  bool one_head = false;             // `heads` is one number, not a list
  /// Positions in the prompt; for maps, of queries. Empty: all, and every generated token.
  std::vector<PositionRange> positions;
  bool each_new = false;                    // every generated token, instead of positions
  std::optional<std::int64_t> tokens = {};  // required number of tokens of the prompt
  EditHow how = EditHow::set;
  EditValue value;
  std::string where;  // names the edit in errors: "edit 0 ('z')"
};

/// The positions of a prompt that an edit selects, each once, in the order given.
Positions edited_positions(const ActivationEdit& edit, std::int64_t tokens);

/// Throws Error(usage) with the parameter `edits`, whose problem begins with the edit's `where`.
[[noreturn]] void refuse_edit(const ActivationEdit& edit, std::string problem,
                              std::string hint = "");

/// Throws Error(usage) with the parameter `edits` if the model has no such activation, layer or
/// head, if the value does not fit, or if the activation cannot be edited.
void check_edits(const ForwardPass& pass, const std::vector<ActivationEdit>& edits);

/// Applies edits, in the order given, and then calls other hooks. Keeps no state, so several runs
/// may use it together.
class EditHooks : public ForwardHooks {
 public:
  /// All must outlive this object; `next` may be null. `prompt`: the number of tokens of the
  /// prompt; nothing: every run is a prompt.
  EditHooks(const ForwardPass& pass, const std::vector<ActivationEdit>& edits,
            ForwardHooks* next = nullptr, std::optional<std::int64_t> prompt = std::nullopt)
      : pass_(pass), edits_(edits), next_(next), prompt_(prompt) {}

  bool wants(HookPoint point, std::int64_t layer) const override;
  bool changes(HookPoint point, std::int64_t layer) const override;
  void visit(const HookedValues& values) override;

 private:
  void edit(const ActivationEdit& edit, const HookedValues& values) const;
  void edit_maps(const ActivationEdit& edit, const HookedValues& values) const;

  const ForwardPass& pass_;
  const std::vector<ActivationEdit>& edits_;
  ForwardHooks* next_;
  std::optional<std::int64_t> prompt_;
};

}  // namespace attnscope
