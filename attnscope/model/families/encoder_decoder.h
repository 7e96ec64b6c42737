// Families whose models have several stacks.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "attnscope/model/architecture.h"

namespace attnscope {

/// Each stack is described as its own model.
inline Architecture of_stacks(const std::string& name, const std::string& family,
                              std::vector<Architecture> stacks) {
  for (Architecture& stack : stacks) {
    stack.name = name;
    for (Architecture& layout : stack.layouts) layout.name = name;
  }
  return {
      .name = name, .model_types = {name}, .class_families = {family}, .stacks = std::move(stacks)};
}

inline void set_not_run(Architecture& stack, const std::string& why) {
  stack.not_run = why;
  for (Architecture& layout : stack.layouts) layout.not_run = why;
}

/// The encoder of an encoder-decoder.
inline Architecture as_encoder(Architecture stack) {
  const std::string why = "its decoder predicts the tokens";
  stack.head.none = why;
  for (Architecture& layout : stack.layouts) layout.head.none = why;
  return stack;
}

/// The decoder's cross-attention to the encoder output.
inline Architecture as_cross(Architecture stack) {
  stack.stack = "cross";
  stack.causal = {"", false};
  return stack;
}

}  // namespace attnscope
