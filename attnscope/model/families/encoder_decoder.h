// Families whose models have several stacks of layers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "attnscope/model/architecture.h"

namespace attnscope {

/// Each stack is described as a model of its own.
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

/// An encoder, for whose states there is a decoder.
inline Architecture as_encoder(Architecture stack) {
  const std::string why = "what comes next is foretold by its decoder";
  stack.head.none = why;
  for (Architecture& layout : stack.layouts) layout.head.none = why;
  return stack;
}

/// The attention of a decoder's layers to what the encoder gives.
inline Architecture as_cross(Architecture stack) {
  stack.stack = "cross";
  stack.causal = {"", false};
  return stack;
}

}  // namespace attnscope
