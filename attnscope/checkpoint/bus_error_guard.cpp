#include "attnscope/checkpoint/bus_error_guard.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <utility>

namespace attnscope {

/// A node of the list that the signal handler walks. Nodes are reused and never freed, because a
/// handler may be reading any of them.
struct GuardedRange::Node {
  std::atomic<std::uint64_t> changes{0};  // odd while begin and end are being changed
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<std::uintptr_t> end{0};
  std::atomic<bool> cut{false};
  Node* next = nullptr;       // next in the list of all nodes; set before the node is published
  Node* next_free = nullptr;  // next in the list of unused nodes; the handler does not use it
};

namespace {

using Node = GuardedRange::Node;

std::atomic<Node*> all_nodes{nullptr};
static_assert(std::atomic<Node*>::is_always_lock_free);  // a handler must not wait for a lock
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
std::mutex free_mutex;
Node* free_nodes = nullptr;

// Set before the handler is installed.
struct sigaction previous_action;
std::uintptr_t page_bytes = 4096;

Node* take_node() {
  {
    const std::scoped_lock lock(free_mutex);
    if (free_nodes != nullptr) return std::exchange(free_nodes, free_nodes->next_free);
  }
  Node* node = new Node;
  node->next = all_nodes.load();
  while (!all_nodes.compare_exchange_weak(node->next, node)) {
  }
  return node;
}

void set_range(Node& node, std::uintptr_t begin, std::uintptr_t end) {
  ++node.changes;
  node.begin.store(begin);
  node.end.store(end);
  ++node.changes;
}

/// Returns the node that watches the address; null if none does. A node that changes at the same
/// time belongs to another thread's file, not to the one being read here.
Node* find_node(std::uintptr_t address) {
  for (Node* node = all_nodes.load(); node != nullptr; node = node->next) {
    const std::uint64_t changes = node->changes.load();
    const bool inside = address >= node->begin.load() && address < node->end.load();
    if (inside && changes % 2 == 0 && changes == node->changes.load()) return node;
  }
  return nullptr;
}

/// Passes the signal to the previous handler.
void pass_on(int signal, siginfo_t* info, void* context, bool is_fault) {
  if ((previous_action.sa_flags & SA_SIGINFO) != 0) {
    previous_action.sa_sigaction(signal, info, context);
  } else if (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN) {
    previous_action.sa_handler(signal);
  } else if (is_fault || previous_action.sa_handler == SIG_DFL) {
    // A hardware fault cannot be ignored: it ends the process when the instruction runs again.
    std::signal(signal, SIG_DFL);
    if (!is_fault) raise(signal);
  }
}

void on_bus_error(int signal, siginfo_t* info, void* context) {
  const bool is_fault = info->si_code > 0;  // the signal was not sent by a process
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  if (Node* node = is_fault ? find_node(address) : nullptr) {
    const int saved_errno = errno;
    void* page = reinterpret_cast<void*>(address & ~(page_bytes - 1));
    const void* mapped =
        mmap(page, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    errno = saved_errno;
    if (mapped == page) {
      node->cut.store(true);
      return;
    }
  }
  pass_on(signal, info, context, is_fault);
}

}  // namespace

void install_bus_error_guard() {
  static const bool installed = [] {
    page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    struct sigaction action = {};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    return sigaction(SIGBUS, nullptr, &previous_action) == 0 &&
           sigaction(SIGBUS, &action, nullptr) == 0;
  }();
  (void)installed;
}

GuardedRange::GuardedRange(std::span<const std::byte> bytes) : node_(take_node()) {
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
  node_->cut.store(false);
  set_range(*node_, begin, begin + bytes.size());
}

GuardedRange::~GuardedRange() {
  if (node_ == nullptr) return;
  set_range(*node_, 0, 0);
  const std::scoped_lock lock(free_mutex);
  node_->next_free = std::exchange(free_nodes, node_);
}

GuardedRange::GuardedRange(GuardedRange&& other) noexcept
    : node_(std::exchange(other.node_, nullptr)) {}

GuardedRange& GuardedRange::operator=(GuardedRange&& other) noexcept {
  GuardedRange taken(std::move(other));
  std::swap(node_, taken.node_);
  return *this;
}

bool GuardedRange::was_cut() const { return node_ != nullptr && node_->cut.load(); }

}  // namespace attnscope
