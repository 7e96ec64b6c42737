#include "attnscope/engine/outcome_buffer.h"

#include <utility>

#include "attnscope/engine/outcome.h"

namespace attnscope {
namespace {

/// Returns the approximate memory of a value.
std::size_t bytes_of(const Value& value) {
  constexpr std::size_t kEach = sizeof(Value);
  if (const auto* record = value.get<Record>()) {
    std::size_t total = kEach;
    for (const auto& [name, inner] : record->fields()) total += sizeof name + bytes_of(inner);
    return total;
  }
  if (const auto* list = value.get<Value::List>()) {
    std::size_t total = kEach;
    for (const Value& inner : *list) total += bytes_of(inner);
    return total;
  }
  if (const auto* array = value.get<Array>()) {
    return kEach + visit_array(*array, [](const auto& all) { return all.values.size_bytes(); });
  }
  if (const auto* text = value.get<std::string>()) return kEach + text->size();
  return kEach;
}

std::size_t bytes_of(const std::vector<Outcome>& outcomes) {
  std::size_t total = 0;
  for (const Outcome& outcome : outcomes) {
    total += sizeof outcome + outcome.skipped.size() + outcome.note.size() +
             bytes_of(Value(outcome.fields));
  }
  return total;
}

}  // namespace

void OutcomeBuffer::put(std::size_t job, std::vector<Outcome> outcomes) {
  Entry entry{.buffered_bytes = bytes_of(outcomes)};
  const std::scoped_lock lock(mutex_);
  if (buffered_bytes_ + entry.buffered_bytes <= memory_bytes_) {
    buffered_bytes_ += entry.buffered_bytes;
    entry.outcomes = std::move(outcomes);
  } else {
    const std::string text = outcomes_text(outcomes);
    entry.buffered_bytes = 0;
    entry.offset = spool_.append(text);
    entry.length = text.size();
  }
  entries_.insert_or_assign(job, std::move(entry));
}

bool OutcomeBuffer::has(std::size_t job) const {
  const std::scoped_lock lock(mutex_);
  return entries_.contains(job);
}

std::vector<Outcome> OutcomeBuffer::get(std::size_t job) {
  const std::scoped_lock lock(mutex_);
  const Entry& entry = entries_.at(job);
  if (entry.length == 0) return entry.outcomes;
  return parse_outcomes(spool_.read(entry.offset, entry.length), "temporary file");
}

void OutcomeBuffer::drop(std::size_t job) {
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(job);
  buffered_bytes_ -= found->second.buffered_bytes;
  entries_.erase(found);
}

}  // namespace attnscope
