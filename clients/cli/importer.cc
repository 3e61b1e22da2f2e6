#include "clients/cli/importer.h"

#include <chrono>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "clients/cli/own_error.h"
#include "clients/cli/patience.h"

namespace counter::cli {
namespace {

using client::Error;

constexpr absl::Duration kCallDeadline = absl::Seconds(10);
constexpr std::chrono::milliseconds kProgressEvery(200);

std::string ErrorLine(int64_t number, const std::string& fault, const std::string& text) {
  return absl::StrCat(number, "\t", fault, "\t", text);
}

}  // namespace

Importer::Write Importer::WriteLikesOf(const client::Client& client) {
  return [&client](const std::vector<client::Mutation>& mutations) {
    return client.WriteLikes(mutations, {.deadline = kCallDeadline});
  };
}

Importer::Importer(Write write, std::istream& input, ImportLedger& ledger, Options options)
    : write_(std::move(write)),
      input_(input),
      ledger_(ledger),
      options_(options),
      line_number_(ledger.totals().lines),
      offset_(ledger.offset()) {}

std::optional<Error> Importer::Run(const Progress& progress) {
  std::vector<std::thread> threads;
  workers_ = options_.calls_max;
  for (int i = 0; i < options_.calls_max; ++i) threads.emplace_back([this] { Work(); });
  absl::Time recorded = absl::Now();
  std::unique_lock lock(mutex_);
  while (workers_ > 0) {
    changed_.wait_for(lock, kProgressEvery, [this] { return workers_ == 0; });
    progress(ledger_.offset(), ledger_.totals());
    if (absl::Now() - recorded < options_.record_every) continue;
    recorded = absl::Now();
    const std::string fault = ledger_.Record();
    if (!fault.empty() && !error_.has_value()) error_ = OwnError(fault);
  }
  lock.unlock();
  for (std::thread& thread : threads) thread.join();
  const std::string fault = ledger_.Record();
  if (!fault.empty() && !error_.has_value()) error_ = OwnError(fault);
  if (!error_.has_value()) ledger_.Finish();
  return error_;
}

void Importer::Work() {
  while (std::optional<Batch> batch = Next()) {
    std::optional<Error> error = Apply(*batch);
    const std::lock_guard lock(mutex_);
    --running_;
    alone_ = false;
    if (error.has_value()) {
      if (!error_.has_value()) error_ = std::move(error);
    } else {
      const std::string fault = ledger_.End(batch->number, std::move(batch->end));
      if (!fault.empty() && !error_.has_value()) error_ = OwnError(fault);
    }
    changed_.notify_all();
  }
  const std::lock_guard lock(mutex_);
  --workers_;
  changed_.notify_all();
}

std::optional<Importer::Batch> Importer::Next() {
  std::unique_lock lock(mutex_);
  while (true) {
    if (error_.has_value()) return std::nullopt;
    if (!waiting_.has_value()) {
      Batch batch = Read();
      if (batch.end.totals.lines == 0) return std::nullopt;
      waiting_ = std::move(batch);
    }
    if (running_ == 0 || (!waiting_->alone && !alone_)) break;
    changed_.wait(lock);
  }
  Batch batch = *std::move(waiting_);
  waiting_.reset();
  ++running_;
  alone_ = batch.alone;
  return batch;
}

Importer::Batch Importer::Read() {
  Batch batch;
  batch.number = batches_;
  std::string text;
  while (batch.end.totals.lines < options_.batch_lines_max && std::getline(input_, text)) {
    ++line_number_;
    offset_ += static_cast<int64_t>(text.size()) + 1;
    ++batch.end.totals.lines;
    ImportLine line = ParseImportLine(text, options_.format);
    if (line.mutation.has_value()) {
      batch.alone = batch.alone || line.mutation->action == client::Action::kUnlike;
      batch.lines.push_back({*std::move(line.mutation), text, line_number_});
    } else if (!line.fault.empty()) {
      batch.end.errors.push_back(ErrorLine(line_number_, line.fault, text));
      ++batch.end.totals.refused;
    }
  }
  if (batch.end.totals.lines > 0) ++batches_;
  batch.end.end_offset = offset_;
  return batch;
}

std::optional<Error> Importer::Apply(Batch& batch) const {
  Pauses pauses(options_.patience);
  std::vector<Line> lines = std::move(batch.lines);
  while (!lines.empty()) {
    std::vector<client::Mutation> mutations;
    mutations.reserve(lines.size());
    for (const Line& line : lines) mutations.push_back(line.mutation);
    const auto written = write_(mutations);
    std::optional<Error> again;  // The last failure that may pass.
    if (!written.ok()) {
      if (!MayPass(written.error().kind)) return written.error();
      again = written.error();
    } else {
      std::vector<Line> left;
      for (size_t i = 0; i < lines.size(); ++i) {
        const auto& result = written->results[i];
        if (result.ok()) {
          ++(result->changed ? batch.end.totals.changed : batch.end.totals.unchanged);
        } else if (MayPass(result.error().kind)) {
          again = result.error();
          left.push_back(std::move(lines[i]));
        } else {
          ++batch.end.totals.refused;
          batch.end.errors.push_back(
              ErrorLine(lines[i].number, result.error().message, lines[i].text));
        }
      }
      lines = std::move(left);
    }
    if (again.has_value() && !pauses.Wait(*again)) return again;
  }
  return std::nullopt;
}

}  // namespace counter::cli
