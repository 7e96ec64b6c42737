// attnscope._core: commands, reports and arrays for attnscope's Python files.
#include "attnscope/checkpoint/bus_error_guard.h"
#include "python/src/bindings.h"

NB_MODULE(_core, module) {
  using namespace attnscope::python;
  // Makes a weights file that is truncated while it is read an error instead of a crash.
  attnscope::install_bus_error_guard();
  module.attr("version") = ATTNSCOPE_VERSION;
  bind_errors(module);
  bind_descriptions(module);
  bind_report(module);
  bind_models(module);
  bind_run(module);
  bind_arrays(module);
  bind_charts(module);
  bind_live(module);
  bind_live_model(module);
  bind_live_attention(module);
  bind_live_layers(module);
  bind_program(module);
  bind_server(module);
}
