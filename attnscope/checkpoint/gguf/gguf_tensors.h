// The tensors of GGUF files as transformers has them: its names, its order of rows, one tensor for
// each expert.
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
  /// `parts`, all of the checkpoint, and `family` must outlive it. Tied: a head is left out.
  GgufTensors(std::span<const GgufFile> parts, const GgufFamily& family, const GgufHeads& heads,
              bool tied);

  /// Those whose first bytes are in that part, in the order of their bytes. Throws Error(format)
  /// for a tensor that cannot be converted back.
  std::vector<NamedTensor> of_part(const GgufFile& part);

  /// How many the family has no name for: they keep theirs.
  std::size_t unknown() const { return unknown_; }

 private:
  void add_numbered(const GgufFile& part, const GgufTensor& tensor, const std::string& name,
                    std::vector<NamedTensor>& out);
  std::optional<NamedTensor> joined(const GgufFile& part, const GgufTensor& tensor) const;

  const GgufFamily& family_;
  GgufHeads heads_;
  bool tied_;
  std::map<std::string_view, const GgufTensor*> by_name_;
  std::set<std::string, std::less<>> seconds_;  // of tensors that are joined to another
  std::size_t numbered_ = 0;                    // tensors made of stacked ones
  std::size_t unknown_ = 0;
};

}  // namespace attnscope
