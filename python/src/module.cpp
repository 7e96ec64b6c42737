// attnscope._core: commands, reports and arrays, as attnscope's Python files use them.
#include "attnscope/checkpoint/bus_error_guard.h"
#include "python/src/bindings.h"

NB_MODULE(_core, module) {
  using namespace attnscope::python;
  // A weights file that shrinks while it is read is an error then, and not the interpreter's end.
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
  bind_program(module);
}
