// The texts of the chats that a command ran, for its report.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "attnscope/features/framework/arguments.h"
#include "attnscope/inputs/text/chat_template.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// Throws Error(usage) if an option of chats is given without `chat`.
void check_chat_options(const Arguments& arguments);

/// Filled while a command reads its input.
class RenderedChats {
 public:
  void add(const std::string& model, std::chrono::year_month_day date,
           std::vector<RenderedChat> chats);

  /// Adds `text` to the facts of models with one chat, and the options of chats to the parameters.
  void describe(ReportHead& head, const Arguments& arguments) const;

  /// A note that names models whose templates change the messages; empty if there are none.
  std::string note() const;

 private:
  std::map<std::string, std::vector<RenderedChat>, std::less<>> of_model_;
  std::string date_;
};

/// Forwards everything, and adds what is known about the chats.
class ChatRows : public RowSink {
 public:
  ChatRows(RowSink& sink, const RenderedChats& chats, const Arguments& arguments)
      : sink_(sink), chats_(chats), arguments_(arguments) {}

  void begin(const ReportHead& head) override;
  void add_row(Record row) override { sink_.add_row(std::move(row)); }
  void add_skipped(Skipped skipped) override { sink_.add_skipped(std::move(skipped)); }
  void add_note(std::string note) override { sink_.add_note(std::move(note)); }
  void end() override { sink_.end(); }

 private:
  RowSink& sink_;
  const RenderedChats& chats_;
  const Arguments& arguments_;
};

}  // namespace attnscope
