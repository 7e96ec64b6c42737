// The server of a live report, on a thread of this process.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/cli/command_line.h"
#include "attnscope/features/framework/session.h"
#include "attnscope/numerics/kernel_choice.h"
#include "attnscope/serve/serve.h"
#include "python/src/bindings.h"
#include "python/src/elsewhere.h"
#include "python/src/open_model.h"

namespace attnscope::python {
namespace {

/// Serves an open model until stop() is called. Not thread-safe.
class Server {
 public:
  /// `elsewhere`: computes items, see Elsewhere; None: this process. Returns as soon as clients can
  /// connect. Throws what serve() throws.
  Server(const OpenModel& model, const ArgumentTexts& given, nb::object elsewhere)
      : models_(model.models), elsewhere_(std::move(elsewhere)) {
    ArgumentTexts texts = given;
    texts.emplace_back("models", model.name);
    thread_ = std::thread([this, texts] { run(texts); });
    const nb::gil_scoped_release without_interpreter;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !address_.empty() || failure_ != nullptr; });
    if (failure_ == nullptr) return;
    lock.unlock();
    thread_.join();
    std::rethrow_exception(failure_);
  }
  ~Server() { stop(); }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void stop() {
    const nb::gil_scoped_release without_interpreter;
    stop_.request_stop();
    if (thread_.joinable()) thread_.join();
  }

  const std::string& address() const { return address_; }

 private:
  void run(const ArgumentTexts& texts) {
    try {
      const Command& command = *find_command(all_commands(), "serve");
      const Arguments arguments = arguments_of(command, texts);
      Session session{.context = context_of(arguments)};
      session.context.stop = stop_.get_token();
      session.context.kernels = kernels_of_environment();
      session.spell = keyword;
      session.files = files_of(command.parameters, arguments);
      session.find_open_model = [this](const std::string&, const std::string&) { return models_; };
      session.command_line = command_line_of;
      if (!elsewhere_.is_none()) {
        std::vector<std::string> stacks;
        for (const Model& model : models_) stacks.push_back(model.name());
        session.context.compute_elsewhere = Elsewhere(elsewhere_.ptr(), std::move(stacks));
      }
      serve(arguments, session, [this](const std::string& address) {
        const std::scoped_lock lock(mutex_);
        address_ = address;
        changed_.notify_all();
      });
    } catch (const Stopped&) {
    } catch (...) {
      const std::scoped_lock lock(mutex_);
      failure_ = std::current_exception();
      changed_.notify_all();
    }
  }

  std::vector<Model> models_;
  nb::object elsewhere_;
  std::stop_source stop_;
  std::mutex mutex_;  // guards the next three
  std::condition_variable changed_;
  std::string address_;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace

void bind_server(nb::module_& module) {
  nb::class_<Server>(module, "Server", "The server of a live report, on a thread of this process.")
      .def(nb::init<const OpenModel&, const ArgumentTexts&, nb::object>(), nb::arg("model"),
           nb::arg("arguments"), nb::arg("elsewhere").none(),
           nb::sig("def __init__(self, model: OpenModel, arguments: "
                   "collections.abc.Sequence[tuple[str, str]], elsewhere: "
                   "collections.abc.Callable[[str, str, collections.abc.Callable[[], bool]], "
                   "str | None] | None) -> None"))
      .def("stop", &Server::stop, "End the server and its running jobs.")
      .def_prop_ro("address", &Server::address);
}

}  // namespace attnscope::python
