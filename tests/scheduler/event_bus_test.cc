#include "schedfw/scheduler/event_bus.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "schedfw/scheduler/events.h"

namespace schedfw {
namespace {

// What the bus is for knows nothing of pods.
struct Number {
  int value = 0;
};
struct Text {
  std::string value;
};
template <int kNumber>
struct Tag {
  int value = kNumber;
};

using Log = std::vector<std::string>;

// A handler that notes its name and the number.
std::function<void(const Number&)> Note(Log& log, const std::string& name) {
  return [&log, name](const Number& event) { log.push_back(name + std::to_string(event.value)); };
}

std::string What(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& caught) {
    return caught.what();
  } catch (...) {
    return "?";
  }
}

TEST(A6, HandlersRunInOrderOfSubscription) {
  EventBus bus;
  Log log;
  bus.Publish(Number{0});
  const Subscription a = bus.Subscribe<Number>(Note(log, "a"));
  Subscription b = bus.Subscribe<Number>(Note(log, "b"));
  const Subscription c = bus.Subscribe<Number>(Note(log, "c"));
  bus.Publish(Number{1});
  bus.Publish(Text{"of another type"});
  b.Reset();
  bus.Publish(Number{2});
  b = bus.Subscribe<Number>(Note(log, "b"));
  bus.Publish(Number{3});
  EXPECT_EQ(log, (Log{"a1", "b1", "c1", "a2", "c2", "a3", "c3", "b3"}));
}

TEST(A6, NobodyListensNothingIsWanted) {
  EventBus bus;
  EXPECT_FALSE(bus.Wanted<Number>());
  Subscription subscription = bus.Subscribe<Number>([](const Number&) {});
  EXPECT_TRUE(bus.Wanted<Number>());
  EXPECT_TRUE(subscription.active());
  subscription.Reset();
  EXPECT_FALSE(bus.Wanted<Number>());
  EXPECT_FALSE(subscription.active());
  subscription.Reset();  // once more does nothing

  EXPECT_FALSE(bus.Subscribe<Number>(nullptr).active());
  EXPECT_FALSE(bus.Wanted<Number>());
  EXPECT_FALSE(Subscription().active());
}

template <int... kNumbers>
void ManyTypes(std::integer_sequence<int, kNumbers...> /*numbers*/) {
  EventBus bus;
  std::vector<int> calls(sizeof...(kNumbers));
  std::vector<Subscription> subscriptions;
  (subscriptions.push_back(bus.Subscribe<Tag<kNumbers>>([&](const Tag<kNumbers>& event) {
    EXPECT_EQ(event.value, kNumbers);
    ++calls[kNumbers];
  })),
   ...);
  (bus.Publish(Tag<kNumbers>{}), ...);
  EXPECT_EQ(calls, std::vector<int>(sizeof...(kNumbers), 1));
  // Every second goes; the others, some of which share its slot, stay.
  for (std::size_t i = 0; i < subscriptions.size(); i += 2) subscriptions[i].Reset();
  (bus.Publish(Tag<kNumbers>{}), ...);
  for (std::size_t i = 0; i < calls.size(); ++i) EXPECT_EQ(calls[i], i % 2 == 0 ? 1 : 2) << i;
}

TEST(A6, TypesThatShareASlotAreToldApart) {
  ManyTypes(std::make_integer_sequence<int, 130>());  // more than twice as many as there are slots
}

TEST(A6, SubscriptionsEndWithTheirScope) {
  EventBus bus;
  Log log;
  {
    const Subscription a = bus.Subscribe<Number>(Note(log, "a"));
    bus.Publish(Number{1});
  }
  bus.Publish(Number{2});
  Subscription b = bus.Subscribe<Number>(Note(log, "b"));
  Subscription c = std::move(b);
  EXPECT_FALSE(b.active());  // NOLINT(bugprone-use-after-move): it is empty, as documented
  b.Reset();
  bus.Publish(Number{3});
  c = bus.Subscribe<Number>(Note(log, "c"));  // ends what it held
  bus.Publish(Number{4});
  EXPECT_EQ(log, (Log{"a1", "b3", "c4"}));
}

TEST(A6, SubscriptionsMayOutliveTheBus) {
  auto bus = std::make_unique<EventBus>();
  const auto held = std::make_shared<int>(1);
  Subscription a = bus->Subscribe<Number>([held](const Number&) {});
  Subscription b = bus->Subscribe<Text>([held](const Text&) {});
  EXPECT_EQ(held.use_count(), 3);
  bus.reset();
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_FALSE(a.active());
  a.Reset();
}

TEST(A6, HandlersCanBeAddedAndRemovedInsideHandlers) {
  EventBus bus;
  Log log;
  Subscription added, self, later;
  const Subscription first = bus.Subscribe<Number>([&](const Number& event) {
    log.push_back("first" + std::to_string(event.value));
    if (event.value == 1) added = bus.Subscribe<Number>(Note(log, "added"));
    if (event.value == 3) later.Reset();
  });
  self = bus.Subscribe<Number>([&](const Number& event) {
    log.push_back("self" + std::to_string(event.value));
    if (event.value == 2) {
      self.Reset();
      bus.Publish(Number{20});  // it is gone for nested events at once
    }
  });
  later = bus.Subscribe<Number>(Note(log, "later"));
  bus.Publish(Number{1});  // the one that is added doesn't get it
  EXPECT_EQ(log, (Log{"first1", "self1", "later1"}));
  log.clear();
  bus.Publish(Number{2});
  EXPECT_EQ(log, (Log{"first2", "self2", "first20", "later20", "added20", "later2", "added2"}));
  log.clear();
  bus.Publish(Number{3});  // the one that is removed before its turn doesn't either
  EXPECT_EQ(log, (Log{"first3", "added3"}));
}

// The publisher never stops; handlers come and go, and none is called after it went.
TEST(A6, HandlersCanBeAddedAndRemovedWhileRunning) {
  EventBus bus;
  std::atomic<bool> stop = false;
  std::atomic<int> calls = 0;
  std::atomic<int> late = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; !stop; ++n) bus.Publish(Number{n});
    });
  }
  std::vector<std::thread> churners;
  for (int i = 0; i < 2; ++i) {
    churners.emplace_back([&] {
      for (int n = 0; n < 300; ++n) {
        auto gone = std::make_unique<std::atomic<bool>>(false);
        std::atomic<int> mine = 0;
        Subscription subscription = bus.Subscribe<Number>([&, flag = gone.get()](const Number&) {
          if (*flag) ++late;
          ++mine;
          ++calls;
        });
        if (n % 10 == 0) {
          while (mine == 0) std::this_thread::yield();
        }
        subscription.Reset();
        *gone = true;
        gone.reset();  // a later call would be a use after free
      }
    });
  }
  for (std::thread& thread : churners) thread.join();
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(calls, 60);
  EXPECT_EQ(late, 0);
  EXPECT_FALSE(bus.Wanted<Number>());
}

TEST(A6, ResetWaitsForTheRunningHandler) {
  EventBus bus;
  std::latch entered(1), resetting(1);
  std::atomic<bool> ended = false;
  std::atomic<bool> returned = false;
  Subscription subscription = bus.Subscribe<Number>([&](const Number&) {
    entered.count_down();
    resetting.wait();
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();  // gives Reset a chance to be wrong
    EXPECT_FALSE(returned);
    ended = true;
  });
  std::thread publisher([&] { bus.Publish(Number{1}); });
  entered.wait();
  resetting.count_down();
  subscription.Reset();
  EXPECT_TRUE(ended);
  returned = true;
  publisher.join();
}

TEST(A6, TwoThreadsMayResetOneSubscription) {
  EventBus bus;
  for (int round = 0; round < 200; ++round) {
    auto held = std::make_shared<int>(1);
    const std::weak_ptr<int> watched = held;
    Subscription subscription = bus.Subscribe<Number>([held = std::move(held)](const Number&) {});
    std::latch start(3);
    const auto reset = [&] {
      start.arrive_and_wait();
      subscription.Reset();
      EXPECT_TRUE(watched.expired());
    };
    std::thread a(reset), b(reset);
    start.arrive_and_wait();
    bus.Publish(Number{round});
    a.join();
    b.join();
  }
}

// The owner ends a subscription just when the handler ends it too.
TEST(A6, AHandlerMayRemoveItselfWhileItsOwnerWaits) {
  EventBus bus;
  std::latch entered(1), resetting(1);
  auto subscription = std::make_unique<Subscription>();
  *subscription = bus.Subscribe<Number>([&, self = subscription.get()](const Number&) {
    entered.count_down();
    resetting.wait();
    self->Reset();
  });
  std::thread publisher([&] { bus.Publish(Number{1}); });
  entered.wait();
  resetting.count_down();
  subscription.reset();
  publisher.join();
  EXPECT_FALSE(bus.Wanted<Number>());
}

TEST(A6, ResetDestroysTheHandler) {
  EventBus bus;
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = held;
  Subscription subscription = bus.Subscribe<Number>([held = std::move(held)](const Number&) {});
  EXPECT_FALSE(watched.expired());
  subscription.Reset();
  EXPECT_TRUE(watched.expired());

  // From inside, the end of the run destroys it, not the call of Reset.
  held = std::make_shared<int>(2);
  const std::weak_ptr<int> inside = held;
  subscription = bus.Subscribe<Number>([&, held](const Number&) {
    subscription.Reset();
    EXPECT_EQ(*held, 2);
  });
  held.reset();
  bus.Publish(Number{1});
  EXPECT_TRUE(inside.expired());
}

TEST(A6, AHandlerMayOwnItsSubscription) {
  Log log;
  {
    EventBus bus;
    auto own = std::make_shared<Subscription>();
    *own = bus.Subscribe<Number>([&log, own](const Number& event) {
      log.push_back("once" + std::to_string(event.value));
      own->Reset();
    });
    own.reset();
    bus.Publish(Number{1});
    bus.Publish(Number{2});
    // The bus frees one that never runs.
    own = std::make_shared<Subscription>();
    *own = bus.Subscribe<Text>([own](const Text&) {});
  }
  EXPECT_EQ(log, (Log{"once1"}));
}

TEST(A6, EventsMayBeNested) {
  EventBus bus;
  Log log;
  const Subscription down = bus.Subscribe<Number>([&](const Number& event) {
    log.push_back("enter" + std::to_string(event.value));
    if (event.value > 0) bus.Publish(Number{event.value - 1});
    bus.Publish(Text{std::to_string(event.value)});
    log.push_back("leave" + std::to_string(event.value));
  });
  const Subscription text =
      bus.Subscribe<Text>([&](const Text& event) { log.push_back("text" + event.value); });
  bus.Publish(Number{1});
  EXPECT_EQ(log, (Log{"enter1", "enter0", "text0", "leave0", "text1", "leave1"}));
}

// A handler of an inner event may remove the handler that published it.
TEST(A6, AnOuterHandlerCanBeRemovedFromAnInnerOne) {
  EventBus bus;
  Log log;
  Subscription outer = bus.Subscribe<Number>([&](const Number&) {
    log.emplace_back("outer");
    bus.Publish(Text{});
    log.emplace_back("still");
  });
  const Subscription inner = bus.Subscribe<Text>([&](const Text&) { outer.Reset(); });
  bus.Publish(Number{1});
  bus.Publish(Number{2});
  EXPECT_EQ(log, (Log{"outer", "still"}));
}

TEST(A6, AHandlerThatThrowsDoesNotStopTheOthers) {
  EventBus bus;
  Log log;
  const Subscription bad =
      bus.Subscribe<Number>([](const Number&) { throw std::runtime_error("no luck"); });
  const Subscription worse = bus.Subscribe<Number>([](const Number&) { throw 42; });
  const Subscription good = bus.Subscribe<Number>(Note(log, "good"));
  bus.Publish(Number{1});  // nobody hears of it
  EXPECT_EQ(log, (Log{"good1"}));
  log.clear();

  const Subscription failing = bus.Subscribe<HandlerFailed>([&](const HandlerFailed& event) {
    log.push_back(event.event + ": " + What(event.error));
    throw std::logic_error("this too");
  });
  const Subscription last = bus.Subscribe<HandlerFailed>(
      [&](const HandlerFailed& event) { log.push_back("last " + event.event); });
  bus.Publish(Number{2});
  EXPECT_EQ(log, (Log{"Number: no luck", "last Number", "Number: ?", "last Number", "good2"}));
}

// One that throws runs no more when its failure is published, so it can be removed there.
TEST(A6, AHandlerThatThrowsCanBeRemoved) {
  EventBus bus;
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = held;
  Subscription bad = bus.Subscribe<Number>(
      [held = std::move(held)](const Number&) { throw std::runtime_error("no luck"); });
  int failures = 0;
  const Subscription guard = bus.Subscribe<HandlerFailed>([&](const HandlerFailed&) {
    ++failures;
    bad.Reset();
    EXPECT_TRUE(watched.expired());
  });
  bus.Publish(Number{1});
  bus.Publish(Number{2});
  EXPECT_EQ(failures, 1);
}

TEST(A6, EventsHaveNames) {
  EXPECT_EQ(internal::TypeName<PodAdded>(), "PodAdded");
  EXPECT_EQ(internal::FullTypeName<PodAdded>(), "schedfw::PodAdded");
  EXPECT_EQ(internal::TypeName<NodeChanged>(), "NodeChanged");
  EXPECT_EQ(internal::TypeName<Number>(), "Number");
  EXPECT_EQ(internal::TypeName<int>(), "int");
}

TEST(A6, EventsOfASchedulerCarryWhatHappened) {
  EventBus bus;
  Log log;
  std::vector<PodPtr> kept;
  std::vector<Subscription> subscriptions;
  const auto on = [&]<typename E>(std::type_identity<E> /*event*/, auto handler) {
    subscriptions.push_back(bus.Subscribe<E>(handler));
  };
  on(std::type_identity<PodAdded>(), [&](const PodAdded& event) { kept.push_back(event.pod); });
  on(std::type_identity<CycleStarted>(), [&](const CycleStarted& event) {
    EXPECT_EQ(event.pod, kept.at(0));
    log.emplace_back("started");
  });
  on(std::type_identity<CycleFinished>(), [&](const CycleFinished& event) {
    log.push_back("finished " + std::string(event.node) + event.status.message());
  });
  on(std::type_identity<PodRejected>(),
     [&](const PodRejected& event) { log.push_back("rejected " + event.status.message()); });
  on(std::type_identity<PodAssumed>(),
     [&](const PodAssumed& event) { log.push_back("assumed " + std::string(event.node)); });
  on(std::type_identity<PodBound>(),
     [&](const PodBound& event) { log.push_back("bound " + std::string(event.node)); });
  on(std::type_identity<BindFailed>(), [&](const BindFailed& event) {
    log.push_back("failed " + std::string(event.node) + " " + event.status.message());
  });
  on(std::type_identity<PodPreempted>(), [&](const PodPreempted& event) {
    log.push_back(std::string(event.preemptor ? "by a pod " : "by a group ") +
                  std::string(event.node));
  });
  on(std::type_identity<StageChanged>(), [&](const StageChanged& event) {
    log.push_back(std::string(event.stage) + " " + std::to_string(event.old_priority) + " " +
                  std::to_string(event.new_priority));
  });
  on(std::type_identity<NodeChanged>(), [&](const NodeChanged& event) {
    log.push_back(std::string(event.node) +
                  (event.kind == NodeChanged::Kind::kDeleted ? " deleted" : " is there"));
  });

  const auto pod = std::make_shared<const PodInfo>();
  bus.Publish(PodAdded{pod});
  bus.Publish(CycleStarted{pod});
  bus.Publish(CycleFinished{pod, Status(), "n1"});
  bus.Publish(CycleFinished{pod, Status::Unschedulable("full"), ""});
  bus.Publish(PodRejected{pod, Status::Unschedulable("full")});
  bus.Publish(PodAssumed{pod, "n1"});
  bus.Publish(PodBound{pod, "n1"});
  bus.Publish(BindFailed{pod, "n1", Status::Error("down")});
  bus.Publish(PodPreempted{pod, pod, "n1"});
  bus.Publish(PodPreempted{pod, nullptr, "n2"});
  bus.Publish(StageChanged{pod, "Train", 100, 120});
  bus.Publish(NodeChanged{NodeChanged::Kind::kDeleted, "n1"});
  EXPECT_EQ(kept, (std::vector<PodPtr>{pod}));
  EXPECT_EQ(log, (Log{"started", "finished n1", "finished full", "rejected full", "assumed n1",
                      "bound n1", "failed n1 down", "by a pod n1", "by a group n2", "Train 100 120",
                      "n1 deleted"}));
}

// Everything at once, for the sanitizers.
TEST(A6, PublishersAndSubscribersMayRace) {
  EventBus bus;
  std::atomic<int> numbers = 0, texts = 0, failures = 0;
  const Subscription count = bus.Subscribe<Number>([&](const Number&) { ++numbers; });
  const Subscription chain = bus.Subscribe<Number>([&](const Number& event) {
    if (event.value % 7 == 0) bus.Publish(Text{"seven"});
    if (event.value % 11 == 0) throw std::runtime_error("eleven");
  });
  const Subscription text = bus.Subscribe<Text>([&](const Text&) { ++texts; });
  const Subscription failed =
      bus.Subscribe<HandlerFailed>([&](const HandlerFailed&) { ++failures; });
  constexpr int kThreads = 4, kEvents = 500;
  std::latch start(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      start.arrive_and_wait();
      for (int n = 1; n <= kEvents; ++n) {
        // A subscription of this thread that removes itself, in whichever thread it runs first.
        auto own = std::make_shared<Subscription>();
        *own = bus.Subscribe<Text>([](const Text&) {});
        Subscription once = bus.Subscribe<Number>([own](const Number&) { own->Reset(); });
        bus.Publish(Number{n});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(numbers, kThreads * kEvents);
  EXPECT_EQ(texts, kThreads * (kEvents / 7));
  EXPECT_EQ(failures, kThreads * (kEvents / 11));
}

static_assert(!std::is_copy_constructible_v<Subscription>);
static_assert(std::is_nothrow_move_constructible_v<Subscription>);
static_assert(!std::is_copy_constructible_v<EventBus> && !std::is_move_constructible_v<EventBus>);

}  // namespace
}  // namespace schedfw
