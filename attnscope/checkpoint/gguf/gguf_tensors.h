// The tensors of GGUF files in the form of transformers: its names, its row order, one tensor per
// expert.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/checkpoint/file_formats.h"
#include "attnscope/checkpoint/gguf/gguf_config.h"

namespace attnscope {

class GgufTensors {
 public:
  /// `parts` (all parts of the checkpoint) and `family` must outlive the object. `tied`: skips the
  /// LM head.
  GgufTensors(std::span<const GgufFile> parts, const GgufFamily& family, const GgufHeads& heads,
              bool tied);

  /// Returns the tensors whose first bytes are in that part, ordered by the position of their
  /// bytes. Throws Error(format) for a tensor that cannot be converted back.
  std::vector<NamedTensor> of_part(const GgufFile& part);

  /// The number of tensors without a name in the family. They keep their GGUF names.
  std::size_t unknown() const { return unknown_; }

 private:
  void add_numbered(const GgufFile& part, const GgufTensor& tensor, const std::string& name,
                    std::vector<NamedTensor>& out);
  std::optional<NamedTensor> joined(const GgufFile& part, const GgufTensor& tensor) const;

  const GgufFamily& family_;
  GgufHeads heads_;
  bool tied_;
  std::map<std::string_view, const GgufTensor*> by_name_;
  std::set<std::string, std::less<>> seconds_;  // tensors that are joined to another one
  std::size_t numbered_ = 0;                    // tensors created from stacked ones
  std::size_t unknown_ = 0;
};

}  // namespace attnscope
