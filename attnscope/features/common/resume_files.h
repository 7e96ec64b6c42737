// What a run keeps on the disk while it is under way, so that the next one goes on should it be
// stopped.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <ostream>
#include <string>

#include "attnscope/features/common/changed_model.h"

namespace attnscope {

/// Files under a hidden name beside what the run makes: a destroyed one leaves them there for the
/// next run; remove() ends that.
class ResumeFiles {
 public:
  /// In ".NAME.ending", NAME that of `made`. `key`: a hash of all that decides what the files hold;
  /// what a run with another key left goes.
  ResumeFiles(const std::filesystem::path& made, const std::string& ending, std::string key);

  /// Where a file of that name is, if it is.
  std::filesystem::path path_of(const std::string& name) const;
  /// The file is whole or not there. Throws Error(io) where the disk is full or cannot be written.
  void write(const std::string& name, const std::function<void(std::ostream&)>& write) const;

  void remove() const;

 private:
  std::filesystem::path folder_;
  std::string key_;
};

// Layers of a changed model that a run finished, kept until its folder is whole: a run that was
// stopped goes on after the last of them.

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

  ResumeFiles files_;
  std::int64_t taken_ = 0;
  std::int64_t stage_ = 0;
};

}  // namespace attnscope
