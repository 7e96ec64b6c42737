#include "attnscope/checkpoint/pytorch/pickle.h"

#include <unordered_map>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/checkpoint/pytorch/pickle_allowlist.h"

namespace attnscope {
namespace {

constexpr std::size_t kMaxBytes = 100'000'000;
constexpr std::size_t kMaxNodes = 4'000'000;  // also the limit of the stack and the memo
constexpr std::size_t kMaxMarks = 1000;
constexpr std::uint8_t kNewestProtocol = 5;

/// The stack machine that executes a pickle. Each opcode produces a description of the object that
/// Python would have created.
class Machine {
 public:
  Machine(std::span<const std::byte> bytes, const FileLocation& where, const NeedBytes& need)
      : in_(bytes.first(std::min(bytes.size(), kMaxBytes)), where, "the pickle", need) {}

  Pickle run() {
    while (!step(in_.take_number<std::uint8_t>())) {
    }
    pickle_.root = pop();
    if (!stack_.empty() || !marks_.empty()) refuse("ends with more than one value");
    pickle_.bytes = in_.position();
    return std::move(pickle_);
  }

 private:
  [[noreturn]] void refuse(std::string problem, std::string hint = "") const {
    attnscope::refuse(in_.where(),
                      "the pickle " + problem + ", at byte " + std::to_string(in_.position()),
                      std::move(hint));
  }

  /// True at the end.
  bool step(std::uint8_t opcode) {
    if (opcode == '.') return true;
    if (push_scalar(opcode) || push_text(opcode) || make_container(opcode) ||
        fill_container(opcode) || use_memo(opcode) || describe_object(opcode) || frame(opcode)) {
      return false;
    }
    constexpr std::string_view kDigits = "0123456789abcdef";
    refuse(std::string("has opcode 0x") + kDigits[opcode / 16] + kDigits[opcode % 16] +
               ", which is not supported",
           "not written by torch.save?");
  }

  // ---- The stack

  void push(PickleRef ref) {
    if (stack_.size() >= kMaxNodes) refuse("has more than 4000000 values on the stack");
    stack_.push_back(ref);
  }

  PickleNode& push_new(PickleNode node) {
    if (pickle_.nodes.size() >= kMaxNodes) refuse("contains more than 4000000 values");
    push(static_cast<PickleRef>(pickle_.nodes.size()));
    return pickle_.nodes.emplace_back(std::move(node));
  }

  /// Returns the first stack position inside the innermost open mark.
  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }

  PickleRef top() const {
    if (stack_.size() <= floor()) refuse("takes a value from an empty stack");
    return stack_.back();
  }

  PickleRef pop() {
    const PickleRef ref = top();
    stack_.pop_back();
    return ref;
  }

  /// Returns all values since the innermost mark, and closes it.
  std::vector<PickleRef> pop_marked() {
    if (marks_.empty()) refuse("closes a mark that was not opened");
    const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<PickleRef> items(first, stack_.end());
    stack_.erase(first, stack_.end());
    marks_.pop_back();
    return items;
  }

  std::vector<PickleRef> pop_several(std::size_t count) {
    std::vector<PickleRef> items(count);
    while (count-- > 0) items[count] = pop();
    return items;
  }

  // ---- Opcodes, by function. Each function returns false for opcodes of another group.

  bool push_scalar(std::uint8_t opcode) {
    using enum PickleKind;
    switch (opcode) {
      case 'N': push_new({none}); return true;
      case 0x88: push_new({boolean, 1}); return true;
      case 0x89: push_new({boolean, 0}); return true;
      case 'J': push_new({integer, in_.take_number<std::int32_t>()}); return true;
      case 'K': push_new({integer, in_.take_number<std::uint8_t>()}); return true;
      case 'M': push_new({integer, in_.take_number<std::uint16_t>()}); return true;
      case 0x8a: push_long(in_.take_number<std::uint8_t>()); return true;
      case 0x8b: push_long(in_.take_number<std::uint32_t>()); return true;
      case 'G': push_real(); return true;
      default: return false;
    }
  }

  void push_long(std::uint32_t bytes) {
    const std::string_view stored = in_.take_text(bytes);
    if (stored.size() > sizeof(std::int64_t)) {
      push_new({.kind = PickleKind::long_integer, .text = stored});
      return;
    }
    // The last byte has the sign.
    std::uint64_t value = !stored.empty() && (stored.back() & 0x80) != 0 ? UINT64_MAX : 0;
    for (std::size_t index = stored.size(); index-- > 0;) {
      value = value << 8 | static_cast<std::uint8_t>(stored[index]);
    }
    push_new({PickleKind::integer, static_cast<std::int64_t>(value)});
  }

  /// The only big-endian number.
  void push_real() {
    const auto stored = in_.take(sizeof(double));
    push_new({.kind = PickleKind::real,
              .real = load_number<double>(stored.data(), /*big_endian=*/true)});
  }

  bool push_text(std::uint8_t opcode) {
    using enum PickleKind;
    switch (opcode) {
      case 'U':  // a str of Python 2
      case 0x8c: push_bytes(text, in_.take_number<std::uint8_t>()); return true;
      case 'T':  // a str of Python 2
      case 'X': push_bytes(text, in_.take_number<std::uint32_t>()); return true;
      case 0x8d: push_bytes(text, in_.take_number<std::uint64_t>()); return true;
      case 'C': push_bytes(bytes, in_.take_number<std::uint8_t>()); return true;
      case 'B': push_bytes(bytes, in_.take_number<std::uint32_t>()); return true;
      case 0x8e:
      case 0x96: push_bytes(bytes, in_.take_number<std::uint64_t>()); return true;
      default: return false;
    }
  }

  void push_bytes(PickleKind kind, std::uint64_t count) {
    push_new({.kind = kind, .text = in_.take_text(count)});
  }

  bool make_container(std::uint8_t opcode) {
    using enum PickleKind;
    switch (opcode) {
      case '(':
        if (marks_.size() >= kMaxMarks) refuse("opens more than 1000 marks");
        marks_.push_back(stack_.size());
        return true;
      case ')': push_new({tuple}); return true;
      case ']': push_new({list}); return true;
      case '}': push_new({dict}); return true;
      case 0x8f: push_new({set}); return true;
      case 't': push_new({.kind = tuple, .items = pop_marked()}); return true;
      case 0x85: push_new({.kind = tuple, .items = pop_several(1)}); return true;
      case 0x86: push_new({.kind = tuple, .items = pop_several(2)}); return true;
      case 0x87: push_new({.kind = tuple, .items = pop_several(3)}); return true;
      case 0x91: push_new({.kind = set, .items = pop_marked()}); return true;
      default: return false;
    }
  }

  bool fill_container(std::uint8_t opcode) {
    switch (opcode) {
      case 's': set_items(pop_several(2)); return true;
      case 'u': set_items(pop_marked()); return true;
      case 'a': append(pop_several(1)); return true;
      case 'e':
      case 0x90: append(pop_marked()); return true;
      default: return false;
    }
  }

  void set_items(const std::vector<PickleRef>& pairs) {
    PickleNode& target = pickle_.nodes[top()];
    if (target.kind != PickleKind::dict && target.kind != PickleKind::object) {
      refuse("sets items of an object that is not a dict");
    }
    if (pairs.size() % 2 != 0) refuse("sets a key without a value");
    target.items.insert(target.items.end(), pairs.begin(), pairs.end());
  }

  void append(const std::vector<PickleRef>& items) {
    PickleNode& target = pickle_.nodes[top()];
    if (target.kind == PickleKind::object) return;  // for example a deque, which is skipped
    if (target.kind != PickleKind::list && target.kind != PickleKind::set) {
      refuse("appends to an object that is not a list");
    }
    target.items.insert(target.items.end(), items.begin(), items.end());
  }

  bool use_memo(std::uint8_t opcode) {
    switch (opcode) {
      case 'q': remember(in_.take_number<std::uint8_t>()); return true;
      case 'r': remember(in_.take_number<std::uint32_t>()); return true;
      case 0x94: remember(memo_.size()); return true;
      case 'h': recall(in_.take_number<std::uint8_t>()); return true;
      case 'j': recall(in_.take_number<std::uint32_t>()); return true;
      default: return false;
    }
  }

  void remember(std::size_t place) {
    if (memo_.size() >= kMaxNodes) refuse("stores more than 4000000 values in the memo");
    memo_[place] = top();
  }

  void recall(std::size_t place) {
    const auto found = memo_.find(place);
    if (found == memo_.end()) {
      refuse("recalls value " + std::to_string(place) + ", which is not in the memo");
    }
    push(found->second);
  }

  bool describe_object(std::uint8_t opcode) {
    switch (opcode) {
      case 'c': {
        const std::string_view module = in_.take_until('\n');
        push_global(module, in_.take_until('\n'));
        return true;
      }
      case 0x93: {
        const PickleRef name = pop_text(), module = pop_text();
        push_global(pickle_.at(module).text, pickle_.at(name).text);
        return true;
      }
      case 'R':     // callee(*arguments)
      case 0x81: {  // callee.__new__(callee, *arguments)
        const PickleRef arguments = pop_tuple(), callee = pop();
        push_new({.kind = PickleKind::object, .callee = callee, .arguments = arguments});
        return true;
      }
      case 'b': {
        const PickleRef state = pop();
        PickleNode& target = pickle_.nodes[top()];
        if (target.kind != PickleKind::object)
          refuse("sets the state of a value that is not an object");
        target.state = state;
        return true;
      }
      case 'Q': push_new({.kind = PickleKind::persistent, .arguments = pop_tuple()}); return true;
      default: return false;
    }
  }

  PickleRef pop_text() {
    if (pickle_.at(top()).kind != PickleKind::text)
      refuse("names a global with a value that is not text");
    return pop();
  }

  PickleRef pop_tuple() {
    if (pickle_.at(top()).kind != PickleKind::tuple)
      refuse("calls a function with a value that is not a tuple");
    return pop();
  }

  void push_global(std::string_view module, std::string_view name) {
    const std::string whole = std::string(module) + "." + std::string(name);
    if (!may_be_named(module, name)) {
      refuse("names '" + verbatim(whole) + "', which is not allowed in a checkpoint",
             "no code of the file was run; do not load this file with Python");
    }
    push_new({.kind = PickleKind::global, .text = *pickle_.names.insert(whole).first});
  }

  bool frame(std::uint8_t opcode) {
    switch (opcode) {
      case 0x80:
        if (const auto protocol = in_.take_number<std::uint8_t>(); protocol > kNewestProtocol) {
          refuse("has protocol " + std::to_string(protocol) + ", expected at most 5");
        }
        return true;
      case 0x95:
        if (in_.take_number<std::uint64_t>() > in_.left())
          refuse("has a frame that exceeds the file");
        return true;
      default: return false;
    }
  }

  ByteReader in_;
  Pickle pickle_;
  std::vector<PickleRef> stack_;
  std::vector<std::size_t> marks_;  // for each open mark, the height of the stack
  std::unordered_map<std::size_t, PickleRef> memo_;
};

}  // namespace

Pickle read_pickle(std::span<const std::byte> bytes, const FileLocation& where,
                   const NeedBytes& need) {
  return Machine(bytes, where, need).run();
}

}  // namespace attnscope
