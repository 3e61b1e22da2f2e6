#include "cache/redis/codec.h"

#include <hiredis/hiredis.h>
#include <hiredis/read.h>

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"

namespace counter::redis {
namespace {

// hiredis builds a tree through these: the root is ours to delete, children live in their parent.
Reply* Place(const redisReadTask* task) {
  if (task->parent == nullptr) return new Reply();
  auto* parent = static_cast<Reply*>(task->parent->obj);
  return &parent->elements[static_cast<size_t>(task->idx)];
}

void* CreateString(const redisReadTask* task, char* text, size_t length) {
  Reply* reply = Place(task);
  reply->kind = task->type == REDIS_REPLY_ERROR    ? Reply::Kind::kError
                : task->type == REDIS_REPLY_STATUS ? Reply::Kind::kStatus
                                                   : Reply::Kind::kText;
  reply->text.assign(text, length);
  return reply;
}

void* CreateArray(const redisReadTask* task, int elements) {
  Reply* reply = Place(task);
  reply->kind = Reply::Kind::kArray;
  reply->elements.resize(static_cast<size_t>(elements));
  return reply;
}

void* CreateInteger(const redisReadTask* task, long long number) {
  Reply* reply = Place(task);
  reply->kind = Reply::Kind::kInteger;
  reply->integer = number;
  return reply;
}

void* CreateNil(const redisReadTask* task) { return Place(task); }

// Only ever called with a root.
void FreeObject(void* reply) { delete static_cast<Reply*>(reply); }

redisReplyObjectFunctions& Functions() {
  static redisReplyObjectFunctions functions = {CreateString, CreateArray, CreateInteger, CreateNil,
                                                FreeObject};
  return functions;
}

}  // namespace

void AppendCommand(absl::Span<const absl::string_view> parts, std::string& bytes) {
  std::vector<const char*> texts(parts.size());
  std::vector<size_t> lengths(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    texts[i] = parts[i].data();
    lengths[i] = parts[i].size();
  }
  char* formatted = nullptr;
  const int length = redisFormatCommandArgv(&formatted, static_cast<int>(parts.size()),
                                            texts.data(), lengths.data());
  if (length < 0) std::abort();  // Out of memory.
  bytes.append(formatted, static_cast<size_t>(length));
  redisFreeCommand(formatted);
}

struct ReplyReader::Hiredis {
  Hiredis() : reader(redisReaderCreateWithFunctions(&Functions())) {
    if (reader == nullptr) std::abort();  // Out of memory.
  }
  ~Hiredis() { redisReaderFree(reader); }
  Hiredis(const Hiredis&) = delete;
  Hiredis& operator=(const Hiredis&) = delete;

  redisReader* const reader;
};

ReplyReader::ReplyReader(const ReplyBounds& bounds)
    : guard_(bounds), hiredis_(std::make_unique<Hiredis>()) {}

ReplyReader::~ReplyReader() = default;

absl::Status ReplyReader::Feed(absl::string_view bytes, std::vector<Reply>& replies) {
  absl::Status checked = guard_.Check(bytes);
  if (!checked.ok()) return checked;
  if (redisReaderFeed(hiredis_->reader, bytes.data(), bytes.size()) != REDIS_OK) {
    return absl::InternalError("a reply of the cache could not be read");
  }
  while (true) {
    void* whole = nullptr;
    if (redisReaderGetReply(hiredis_->reader, &whole) != REDIS_OK) {
      return absl::InternalError(
          absl::StrCat("a reply of the cache could not be read: ", hiredis_->reader->errstr));
    }
    if (whole == nullptr) return absl::OkStatus();
    const std::unique_ptr<Reply> reply(static_cast<Reply*>(whole));
    replies.push_back(std::move(*reply));
  }
}

}  // namespace counter::redis
