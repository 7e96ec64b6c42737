// The option `edits`: edits of activations in a JSON file, applied to every run of a command.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "attnscope/features/common/options/shared_options.h"
#include "attnscope/features/common/sequence_batches.h"
#include "attnscope/features/framework/session.h"
#include "attnscope/interventions/activation_edits.h"

namespace attnscope {

/// edits.
Parameter edits_parameter();

/// The context of a command, whose runs apply the edits that were requested.
class EditingContext {
 public:
  /// Reads the file. Throws Error(format) for a file in another format.
  EditingContext(const Arguments& arguments, const Session& session, const Context& context);
  EditingContext(const EditingContext&) = delete;
  EditingContext& operator=(const EditingContext&) = delete;

  operator const Context&() const { return context_; }

  /// The edits of a context (Context::watchers). Empty if there are none.
  static const std::vector<ActivationEdit>& edits_in(std::span<BatchWatcher* const> watchers);

 private:
  class Watcher;
  std::shared_ptr<PassWatcher> watcher_;
  Context context_;
};

/// Hooks that apply the edits of a context to one run.
class RunEdits {
 public:
  /// Checks the edits. All must outlive this object. `next`, `prompt`: see EditHooks. Throws like
  /// check_edits().
  RunEdits(const ForwardPass& pass, std::span<BatchWatcher* const> watchers,
           ForwardHooks* next = nullptr, std::optional<std::int64_t> prompt = std::nullopt);

  /// Null without edits and other hooks.
  ForwardHooks* hooks() { return hooks_ ? &*hooks_ : next_; }

 private:
  std::optional<EditHooks> hooks_;
  ForwardHooks* next_;
};

}  // namespace attnscope
