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
  /// Reads the file. Throws the errors of read_edits().
  EditingContext(const Arguments& arguments, const Session& session, const Context& context);
  EditingContext(const EditingContext&) = delete;
  EditingContext& operator=(const EditingContext&) = delete;

  operator const Context&() const { return context_; }

 private:
  std::shared_ptr<PassWatcher> watcher_;
  Context context_;
};

/// Adds `edits_hash`, a hash of the edits of a context, to the parameters of its rows. Stores and
/// readers of reports tell rows of other edits apart by it. Adds nothing if there are no edits.
void add_edits_hash(Record& parameters, const Context& context, std::span<const Model> models);

/// Hooks that apply the edits of a context to one run.
class RunEdits {
 public:
  /// Checks the edits. All must outlive this object. `next`, `prompt`: see EditHooks. Edits that
  /// take values from another run compute it, once per command. Throws like
  /// check_edits().
  RunEdits(const ForwardPass& pass, std::span<BatchWatcher* const> watchers, const Compute& compute,
           ForwardHooks* next = nullptr, std::optional<std::int64_t> prompt = std::nullopt);

  /// The edits, in their order; empty if there are none.
  std::span<const ActivationEdit> edits() const { return edits_; }
  /// Null without edits and other hooks.
  ForwardHooks* hooks() { return hooks_ ? &*hooks_ : next_; }

 private:
  std::span<const ActivationEdit> edits_;
  std::optional<EditHooks> hooks_;
  ForwardHooks* next_;
};

}  // namespace attnscope
