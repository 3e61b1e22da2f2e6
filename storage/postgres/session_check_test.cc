#include "storage/postgres/session_check.h"

#include <catch2/catch.hpp>

namespace counter::postgres {
namespace {

SessionFacts Fit() {
  SessionFacts facts;
  facts.server_version = 150020;
  facts.fsync = "on";
  facts.full_page_writes = "on";
  facts.synchronous_commit = "on";
  facts.settings_kept = true;
  facts.same_backend = true;
  facts.migrated = true;
  facts.migration = 2;
  facts.item_types = {1, 2, 3};
  return facts;
}

SessionNeeds Needs(Durability durability = Durability::kLocal) {
  SessionNeeds needs;
  needs.durability = durability;
  needs.migration = 2;
  needs.item_types = {1, 3};
  return needs;
}

TEST_CASE("a sound session is neither refused nor warned of") {
  const SessionVerdict verdict = CheckSession(Fit(), Needs());
  CHECK(verdict.refusals.empty());
  CHECK(verdict.warnings.empty());
}

TEST_CASE("each setting that loses acknowledged likes is a lasting refusal") {
  std::string SessionFacts::*settings[] = {&SessionFacts::fsync, &SessionFacts::full_page_writes,
                                           &SessionFacts::synchronous_commit};
  for (const auto setting : settings) {
    SessionFacts facts = Fit();
    facts.*setting = "off";
    CHECK(CheckSession(facts, Needs()).refusals.size() == 1);
    CHECK(CheckSession(facts, Needs()).lasting);
    const SessionVerdict unsafe = CheckSession(facts, Needs(Durability::kUnsafe));
    CHECK(unsafe.refusals.empty());
    CHECK(unsafe.warnings.size() == 1);
  }
  for (const char* weak : {"local", "remote_write", "off"}) {
    SessionFacts facts = Fit();
    facts.synchronous_commit = weak;
    CHECK(CheckSession(facts, Needs()).refusals.size() == 1);
  }
}

TEST_CASE("replicated durability needs a synchronous standby") {
  SessionFacts facts = Fit();
  CHECK(CheckSession(facts, Needs(Durability::kReplicated)).refusals.size() == 1);
  facts.synchronous_standby_names = "s1";
  CHECK(CheckSession(facts, Needs(Durability::kReplicated)).refusals.empty());
}

TEST_CASE("a database behind this binary is refused with what to do, one ahead is told of") {
  SessionFacts facts = Fit();
  facts.migration = 1;
  const SessionVerdict behind = CheckSession(facts, Needs());
  REQUIRE(behind.refusals.size() == 1);
  CHECK(behind.refusals[0].find("counterd migrate up") != std::string::npos);
  CHECK(behind.lasting);
  facts = Fit();
  facts.migrated = false;
  CHECK(CheckSession(facts, Needs()).refusals.size() == 1);
  facts = Fit();
  facts.migration = 3;
  CHECK(CheckSession(facts, Needs()).refusals.empty());
  CHECK(CheckSession(facts, Needs()).warnings.size() == 1);
}

TEST_CASE("an item type without a partition is refused") {
  SessionFacts facts = Fit();
  facts.item_types = {1, 2};
  CHECK(CheckSession(facts, Needs()).refusals.size() == 1);
}

TEST_CASE("a standby is refused, but not for ever: it may be promoted") {
  SessionFacts facts = Fit();
  facts.in_recovery = true;
  CHECK(CheckSession(facts, Needs()).refusals.size() == 1);
  CHECK_FALSE(CheckSession(facts, Needs()).lasting);
  facts = Fit();
  facts.read_only = true;
  CHECK(CheckSession(facts, Needs()).refusals.size() == 1);
}

TEST_CASE("a server older than 15 is refused") {
  SessionFacts facts = Fit();
  facts.server_version = 140011;
  CHECK(CheckSession(facts, Needs()).refusals.size() == 1);
}

TEST_CASE("a pooler shows by lost settings or by another server process") {
  CHECK_FALSE(BehindPooler(Fit()));
  SessionFacts facts = Fit();
  facts.settings_kept = false;
  CHECK(BehindPooler(facts));
  facts = Fit();
  facts.same_backend = false;
  CHECK(BehindPooler(facts));
}

}  // namespace
}  // namespace counter::postgres
