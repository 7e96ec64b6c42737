// What a store holds, as rows of their own: `export --list`.
#pragma once

#include "attnscope/results/sink.h"
#include "attnscope/store/store.h"

namespace attnscope {

/// A row for each model of each set. Throws as the store does.
void send_contents(Store& store, RowSink& sink);

}  // namespace attnscope
