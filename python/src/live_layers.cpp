// Forward passes of the library whose layers a Python object runs: LiveLayers in
// attnscope/live_model/_layers.py.
#include "python/src/live_layers.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/forward/layers_elsewhere.h"
#include "attnscope/forward/matrix_buffers.h"
#include "python/src/elsewhere.h"

namespace attnscope::python {
namespace {

using ChangedRows = nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using ChangedMaps = nb::ndarray<float, nb::ndim<4>, nb::c_contig, nb::device::cpu>;
using StreamRows = nb::ndarray<nb::numpy, const float, nb::ndim<2>>;

MatrixView<float> changed_view(const ChangedRows& rows) {
  return {rows.data(), static_cast<std::int64_t>(rows.shape(0)),
          static_cast<std::int64_t>(rows.shape(1)), static_cast<std::int64_t>(rows.shape(1))};
}

/// Returns a read-only array of rows that stay in place. None without data.
nb::object rows_array(MatrixView<const float> rows) {
  if (rows.data == nullptr) return nb::none();
  const std::size_t shape[] = {static_cast<std::size_t>(rows.rows),
                               static_cast<std::size_t>(rows.cols)};
  const std::int64_t strides[] = {rows.row_stride, rows.col_stride};
  return nb::cast(StreamRows(rows.data, 2, shape, nb::handle(), strides), nb::rv_policy::reference);
}

/// One pass through the layers, as Python sees it.
class LayersPass {
 public:
  explicit LayersPass(const LayersRequest& request) : request_(request) {}

  std::string stack() const { return request_.pass.model().stack(); }
  bool is_causal() const { return request_.pass.model().spec().causal; }
  bool stopped() const { return request_.compute.stop.stop_requested(); }

  nb::list sequences() const {
    nb::list out;
    for (const TokenIds& ids : request_.sequences) {
      out.append(nb::cast(static_cast<const std::vector<std::int64_t>&>(ids)));
    }
    return out;
  }
  nb::list types() const {
    nb::list out;
    for (const TokenIds& ids : request_.sequences) out.append(nb::cast(ids.types));
    return out;
  }
  nb::list past() const {
    nb::list out;
    for (const auto& ids : request_.rows.past) {
      out.append(nb::cast(std::vector<std::int64_t>(ids.begin(), ids.end())));
    }
    return out;
  }
  bool caches() const { return !request_.caches.empty(); }

  nb::object encoder_states() const {
    return request_.encoder_output == nullptr ? nb::none()
                                              : rows_array(request_.encoder_output->states.view());
  }
  std::vector<std::int64_t> encoder_lengths() const {
    return request_.encoder_output == nullptr ? std::vector<std::int64_t>()
                                              : request_.encoder_output->lengths;
  }

  std::int64_t first_layer() const { return request_.start.layer; }
  std::int64_t end_layer() const { return attnscope::end_layer(request_); }
  nb::object stream() const { return rows_array(request_.start.stream); }
  nb::object heads() const { return rows_array(request_.start.heads); }
  nb::object cross_heads() const { return rows_array(request_.start.cross_heads); }

  std::vector<NamedActivation> wanted() const { return wanted_activations(request_); }

  /// Returns false if the run was stopped meanwhile.
  bool show(const std::string& name, std::int64_t layer, const ChangedRows& rows) const {
    return shown([&] { show_activation(request_, {name, layer}, changed_view(rows)); });
  }
  /// Takes maps (N, H, T, S), with padding after the tokens of each sequence.
  bool show_maps(const std::string& name, std::int64_t layer, const ChangedMaps& maps) const {
    const auto heads = static_cast<std::int64_t>(maps.shape(1));
    const auto queries = static_cast<std::int64_t>(maps.shape(2));
    const auto keys = static_cast<std::int64_t>(maps.shape(3));
    std::vector<MatrixView<float>> views;
    for (std::size_t at = 0; at < request_.rows.length.size(); ++at) {
      for (std::int64_t head = 0; head < heads; ++head) {
        float* first =
            maps.data() + (static_cast<std::int64_t>(at) * heads + head) * queries * keys;
        views.push_back({first, request_.rows.length[at], request_.rows.tokens(at), keys});
      }
    }
    return shown([&] { attnscope::show_maps(request_, {name, layer}, views); });
  }

 private:
  template <class Show>
  static bool shown(const Show& show) {
    const nb::gil_scoped_release release;
    try {
      show();
    } catch (const Stopped&) {
      return false;
    }
    return true;
  }

  const LayersRequest& request_;
};

class PythonLayers : public LayersElsewhere {
 public:
  PythonLayers(PyObject* layers, PythonExceptions exceptions)
      : layers_(layers), exceptions_(exceptions) {}

  Matrix<float> run(const LayersRequest& request) const override {
    const nb::gil_scoped_acquire lock;
    const LayersPass run(request);
    const nb::object found = call("run", [&](const auto& function) {
      return function(nb::cast(&run, nb::rv_policy::reference));
    });
    if (found.is_none()) {
      request.compute.check_stop();
      return {};
    }
    return copied(MatrixView<const float>(changed_view(nb::cast<ChangedRows>(found))));
  }

  bool multiply_by_vocabulary(const Model& model, MatrixView<const float> states,
                              MatrixView<float> out) const override {
    const nb::gil_scoped_acquire lock;
    const nb::object found = call("multiply_by_vocabulary", [&](const auto& function) {
      return function(model.stack(), rows_array(states), out.cols);
    });
    if (found.is_none()) return false;
    copy_into(out, MatrixView<const float>(changed_view(nb::cast<ChangedRows>(found))));
    return true;
  }

 private:
  /// Calls use(method) with a method of the Python object.
  template <class Use>
  nb::object call(const char* method, const Use& use) const {
    try {
      return use(nb::handle(layers_).attr(method));
    } catch (const nb::python_error& error) {
      if (exceptions_ == PythonExceptions::as_errors) throw_as_error(error);
      throw;
    }
  }

  PyObject* layers_;  // kept alive by the caller of the run
  PythonExceptions exceptions_;
};

}  // namespace

void run_layers_in_python(std::vector<Model>& stacks, const nb::object& layers,
                          PythonExceptions exceptions) {
  Model::run_layers_by(stacks, std::make_shared<const PythonLayers>(layers.ptr(), exceptions));
}

void bind_live_layers(nb::module_& module) {
  nb::class_<LayersPass>(
      module, "LayersPass",
      "One pass through the layers of a stack. Arrays are valid during the pass.")
      .def_prop_ro("stack", &LayersPass::stack)
      .def_prop_ro("is_causal", &LayersPass::is_causal)
      .def_prop_ro("stopped", &LayersPass::stopped)
      .def_prop_ro("sequences", &LayersPass::sequences,
                   nb::sig("def sequences(self) -> list[list[int]]"))
      .def_prop_ro("types", &LayersPass::types, nb::sig("def types(self) -> list[list[int]]"))
      .def_prop_ro("past", &LayersPass::past, nb::sig("def past(self) -> list[list[int]]"),
                   "Earlier tokens of each sequence.")
      .def_prop_ro("caches", &LayersPass::caches, "Whether later passes continue the sequences.")
      .def_prop_ro(
          "encoder_states", &LayersPass::encoder_states,
          nb::sig("def encoder_states(self) -> numpy.typing.NDArray[numpy.float32] | None"))
      .def_prop_ro("encoder_lengths", &LayersPass::encoder_lengths)
      .def_prop_ro("first_layer", &LayersPass::first_layer)
      .def_prop_ro("end_layer", &LayersPass::end_layer)
      .def_prop_ro("stream", &LayersPass::stream,
                   nb::sig("def stream(self) -> numpy.typing.NDArray[numpy.float32] | None"),
                   "The input of the first layer, if the pass starts there.")
      .def_prop_ro("heads", &LayersPass::heads,
                   nb::sig("def heads(self) -> numpy.typing.NDArray[numpy.float32] | None"),
                   "Head outputs of the first layer, which replace its own.")
      .def_prop_ro("cross_heads", &LayersPass::cross_heads,
                   nb::sig("def cross_heads(self) -> numpy.typing.NDArray[numpy.float32] | None"))
      .def("wanted", &LayersPass::wanted, "Return the names and layers of the wanted activations.")
      .def("show", &LayersPass::show, nb::arg("name"), nb::arg("layer"),
           nb::arg("rows").noconvert(),
           nb::sig("def show(self, name: str, layer: int, rows: "
                   "numpy.typing.NDArray[numpy.float32]) -> bool"),
           "Pass an activation on, which may be modified in place. False: the run was stopped.")
      .def("show_maps", &LayersPass::show_maps, nb::arg("name"), nb::arg("layer"),
           nb::arg("maps").noconvert(),
           nb::sig("def show_maps(self, name: str, layer: int, maps: "
                   "numpy.typing.NDArray[numpy.float32]) -> bool"),
           "Pass attention scores or weights (N, H, T, S) on, as show() does.");
}

}  // namespace attnscope::python
