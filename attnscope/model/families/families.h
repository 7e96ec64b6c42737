// One function per family, each in the file of its name (close relatives share one).
#pragma once

#include "attnscope/model/architecture.h"

namespace attnscope {

Architecture albert();
Architecture bert();
Architecture distilbert();
Architecture gemma();
Architecture gemma2();
Architecture gemma3();
Architecture gpt2();
Architecture gpt_neo();
Architecture gpt_neox();
Architecture llama();
Architecture mistral();
Architecture opt();
Architecture phi();
Architecture phi3();
Architecture qwen2();
Architecture qwen3();
Architecture roberta();

}  // namespace attnscope
