// A pickle, then the tensors and hyperparameters if it is a state dict.
#include "attnscope/checkpoint/pytorch/pickle.h"

#include <cstdint>

#include "attnscope/base/error.h"
#include "attnscope/checkpoint/pytorch/pickled_tensor.h"
#include "attnscope/checkpoint/pytorch/pytorch.h"
#include "attnscope/checkpoint/pytorch/state_dict.h"

using namespace attnscope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const FileLocation where = {"input"};
  try {
    const Pickle pickle = read_pickle(std::as_bytes(std::span(data, size)), where);
    config_of_hparams(pickle);
    for (const PickledName& named : find_state_dict(pickle, where)) {
      const PickledTensor tensor = describe_tensor(pickle, named.tensor, where);
      if (tensor.shape.size() != tensor.strides.size()) __builtin_trap();
    }
  } catch (const Error&) {
  }
  return 0;
}
