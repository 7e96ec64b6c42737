// What a run keeps on the disk while it is under way, so that the next one goes on should it be
// stopped.
#pragma once

#include <filesystem>
#include <functional>
#include <ostream>
#include <string>

namespace attnscope {

/// Files under a hidden name beside what the run makes: a destroyed one leaves them there for the
/// next run; remove() ends that.
class KeptFiles {
 public:
  /// In ".NAME.ending", NAME that of `made`. `key`: a hash of all that decides what the files hold;
  /// what a run with another key left goes.
  KeptFiles(const std::filesystem::path& made, const std::string& ending, std::string key);

  /// Where a file of that name is, if it is.
  std::filesystem::path path_of(const std::string& name) const;
  /// The file is whole or not there. Throws Error(io) where the disk is full or cannot be written.
  void write(const std::string& name, const std::function<void(std::ostream&)>& write) const;

  void remove() const;

 private:
  std::filesystem::path folder_;
  std::string key_;
};

}  // namespace attnscope
