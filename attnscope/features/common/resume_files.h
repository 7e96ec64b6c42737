// Intermediate results that a run keeps on disk, so that it can be resumed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <ostream>
#include <string>

#include "attnscope/features/common/changed_model.h"

namespace attnscope {

/// Files in a hidden folder next to the result of a run. They outlive this object, so that the next
/// run can resume; remove() deletes them.
class ResumeFiles {
 public:
  /// Uses the folder ".NAME.ending", with the name of `made`. `key`: a hash of everything that
  /// determines the contents. Files of runs with another key are deleted.
  ResumeFiles(const std::filesystem::path& made, const std::string& ending, std::string key);

  /// The path of the file with this name, which may not exist.
  std::filesystem::path path_of(const std::string& name) const;
  /// Writes the file atomically. Throws Error(io) if the disk is full or not writable.
  void write(const std::string& name, const std::function<void(std::ostream&)>& write) const;

  void remove() const;

 private:
  std::filesystem::path folder_;
  std::string key_;
};

// Finished layers of a changed model, kept until its folder is complete. A stopped run resumes
// after the last of them.

/// The files outlive this object, so that the next run can resume; remove() deletes them.
class FinishedLayers {
 public:
  /// `folder`: folder of the new model. `key`: a hash of everything that determines the layers.
  FinishedLayers(const std::filesystem::path& folder, const std::string& key)
      : files_(folder, "attnscope-layers", key) {}

  /// The following layers belong to the next model, which is derived from the previous one.
  void begin_next() { ++stage_; }

  /// Puts the tensors of the layer from an earlier run. Otherwise calls make(), which puts them,
  /// and saves them. Throws Error(io) if the disk is full.
  void put(ChangedModel& changed, std::int64_t layer, const std::function<void()>& make);

  /// Number of layers taken from an earlier run.
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
