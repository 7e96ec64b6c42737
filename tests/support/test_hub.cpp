#include "tests/support/test_hub.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

extern char** environ;

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

void write_file(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  // Written atomically, because the server may be reading.
  const fs::path fresh = path.string() + ".fresh";
  std::ofstream(fresh, std::ios::binary) << text;
  fs::rename(fresh, path);
}

std::string folder_name(std::string name) {
  for (std::size_t slash = name.find('/'); slash != name.npos; slash = name.find('/')) {
    name.replace(slash, 1, "%2F");
  }
  return name;
}

}  // namespace

TestHub::TestHub() {
  std::array<int, 2> input, output;
  if (pipe2(input.data(), O_CLOEXEC) != 0 || pipe2(output.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error("pipe");
  }
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, input[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, output[1], STDOUT_FILENO);
  std::string script = source_path("tests/hub/hub_server.py"), folder = folder_.path().string();
  std::string program = "python3";
  const std::array<char*, 4> words = {program.data(), script.data(), folder.data(), nullptr};
  const int error =
      posix_spawnp(&process_, program.c_str(), &files, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  close(input[0]);
  close(output[1]);
  input_ = input[1];
  if (error != 0) throw std::runtime_error("no python3");
  for (char letter = 0; read(output[0], &letter, 1) == 1 && letter != '\n';) address_ += letter;
  close(output[0]);
  if (address_.empty()) throw std::runtime_error("the test hub does not start");
}

TestHub::~TestHub() {
  close(input_);
  kill(process_, SIGTERM);
  waitpid(process_, nullptr, 0);
}

void TestHub::offer(const std::string& model, const std::string& data,
                    const std::string& revision) {
  const fs::path folder = folder_of(model, revision);
  fs::create_directories(folder.parent_path());
  fs::copy(data_path(data), folder, fs::copy_options::recursive);
}

void TestHub::set_options(const std::string& model, const json& options) {
  write_file(folder_.path() / "models" / (model + ".json"), options.dump());
}

void TestHub::set_faults(const std::vector<json>& faults) {
  write_file(folder_.path() / "faults.json", json(faults).dump());
}

std::vector<json> TestHub::requests() const {
  std::vector<json> all;
  const fs::path log = folder_.path() / "log.jsonl";
  if (!fs::exists(log)) return all;
  for (const std::string& line : lines_of(read_file(log))) all.push_back(json::parse(line));
  return all;
}

void TestHub::forget_requests() { fs::remove(folder_.path() / "log.jsonl"); }

std::uint64_t TestHub::sent_bytes() const {
  std::uint64_t sent = 0;
  for (const json& request : requests()) {
    if (request["host"] == "cdn") sent += request["sent"].get<std::uint64_t>();
  }
  return sent;
}

fs::path TestHub::folder_of(const std::string& model, const std::string& revision) const {
  return folder_.path() / "models" / model / folder_name(revision);
}

fs::path TestHub::cached(const std::string& model) const {
  std::string name = "models--" + model;
  if (const std::size_t slash = name.find('/'); slash != name.npos) name.replace(slash, 1, "--");
  return home() / "hub" / name;
}

RunOptions TestHub::options() const {
  return {.folder = folder_.path(),
          .environment = {{"HF_HOME", home().string()},
                          {"HF_ENDPOINT", address_},
                          {"HF_HUB_OFFLINE", std::nullopt},
                          {"TRANSFORMERS_OFFLINE", std::nullopt},
                          {"HF_HUB_CACHE", std::nullopt},
                          {"HUGGINGFACE_HUB_CACHE", std::nullopt},
                          {"HF_TOKEN", std::nullopt},
                          {"HUGGING_FACE_HUB_TOKEN", std::nullopt},
                          {"no_proxy", "*"}}};
}

RunOptions TestHub::offline() const {
  RunOptions out = options();
  out.environment["HF_HUB_OFFLINE"] = "1";
  return out;
}

}  // namespace attnscope::test
