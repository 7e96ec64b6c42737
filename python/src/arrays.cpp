// Analyses of Python arrays from any library that supports DLPack.
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "attnscope/engine/work_queue.h"
#include "attnscope/features/all_commands.h"
#include "attnscope/features/attention/map_rank.h"
#include "attnscope/features/framework/command.h"
#include "attnscope/features/spectrum/run.h"
#include "attnscope/features/spectrum/stored_spectrum.h"
#include "attnscope/numerics/kernel_choice.h"
#include "python/src/array_view.h"
#include "python/src/bindings.h"
#include "python/src/interruptible.h"
#include "python/src/open_model.h"
#include "python/src/table_report.h"

namespace attnscope::python {
namespace {

using Maps = nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

/// Throws ValueError unless the array is a matrix of real numbers.
TensorView matrix_of(const AnyArray& array) {
  const TensorView matrix = view_of(array);
  if (dtype_info(matrix.dtype).kind != DTypeClass::real) {
    throw nb::value_error("expected a matrix of real numbers");
  }
  if (array.ndim() != 2 || array.size() == 0) {
    throw nb::value_error("expected an array with two axes, neither of them empty");
  }
  return matrix;
}

/// `arguments`: energy, rank, values, threads, … of the command `spectrum`.
std::unique_ptr<TableReport> spectrum_of(const nb::object& object, ArgumentTexts arguments) {
  struct Work {
    TensorView matrix;
    Arguments arguments;
    ReportCollector rows;
  };
  const AnyArray array = array_of(object);
  arguments.emplace_back("models", "array");  // required by the command
  const auto work = std::make_shared<Work>(matrix_of(array),
                                           arguments_of(find_command_named("spectrum"), arguments));
  run_interruptibly(
      [work](const Waiter& waiter) {
        // A single matrix is always processed, whatever its size, so free memory is not checked.
        const auto threads = work->arguments.integer("threads");
        const Context context{.threads = threads ? static_cast<int>(*threads) : default_threads(),
                              .kernels = kernels_of_environment(),
                              .stop = waiter.stop};
        run_array_spectrum(work->matrix, spectrum_options(work->arguments), context, work->rows);
      },
      nb::none(), nb::cast(array));
  return std::make_unique<TableReport>(work->rows.take());
}

std::vector<std::int64_t> attention_rank(const Maps& maps, double energy) {
  struct Work {
    std::vector<MatrixView<const float>> views;
    std::vector<std::int64_t> ranks;
  };
  const auto work = std::make_shared<Work>();
  const auto order = static_cast<std::int64_t>(maps.shape(1));
  if (order != static_cast<std::int64_t>(maps.shape(2)) || order == 0) {
    throw nb::value_error("maps: expected square maps (..., T, T)");
  }
  for (std::size_t map = 0; map < maps.shape(0); ++map) {
    const auto index = static_cast<std::int64_t>(map);
    work->views.push_back({maps.data() + index * order * order, order, order, order});
  }
  run_interruptibly(
      [work, energy](const Waiter& waiter) {
        const Context context{
            .threads = default_threads(), .kernels = kernels_of_environment(), .stop = waiter.stop};
        LentTeam team(context);
        work->ranks = map_energy_ranks(work->views, energy, team.compute());
      },
      nb::none(), nb::cast(maps));
  return work->ranks;
}

}  // namespace

void bind_arrays(nb::module_& module) {
  module.def("spectrum_of", &spectrum_of, nb::arg("array"), nb::arg("arguments"),
             nb::sig("def spectrum_of(array: typing.Any, arguments: "
                     "collections.abc.Sequence[tuple[str, str]]) -> Report"));
  module.def("attention_rank", &attention_rank, nb::arg("maps"), nb::arg("energy"),
             nb::sig("def attention_rank(maps: numpy.typing.NDArray[numpy.float32], energy: float) "
                     "-> list[int]"));
}

}  // namespace attnscope::python
