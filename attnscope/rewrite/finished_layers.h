// Layers of a changed model that a run finished, kept until its folder is whole: a run that was
// stopped goes on after the last of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "attnscope/rewrite/changed_model.h"
#include "attnscope/rewrite/kept_files.h"

namespace attnscope {

/// A destroyed one leaves them for the next run; remove() ends that.
class FinishedLayers {
 public:
  /// `folder`: of the new model. `key`: a hash of all that decides the layers.
  FinishedLayers(const std::filesystem::path& folder, const std::string& key)
      : files_(folder, "attnscope-layers", key) {}

  /// Layers that follow are those of the next model, made of the one before.
  void begin_next() { ++stage_; }

  /// Puts the tensors of the layer that a run before made, or calls make(), which puts them, and
  /// keeps those. Throws Error(io) for a full disk.
  void put(ChangedModel& changed, std::int64_t layer, const std::function<void()>& make);

  /// Layers that a run before had made.
  std::int64_t taken() const { return taken_; }

  void remove() const { files_.remove(); }

 private:
  std::string name_of(std::int64_t layer) const;
  bool take(ChangedModel& changed, std::int64_t layer) const;
  void keep(const std::map<std::string, TensorView>& before, const ChangedModel& changed,
            std::int64_t layer) const;

  KeptFiles files_;
  std::int64_t taken_ = 0;
  std::int64_t stage_ = 0;
};

}  // namespace attnscope
