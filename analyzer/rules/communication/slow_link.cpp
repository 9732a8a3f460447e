// slow-link: messages of the same operation and size take clearly longer on one link (two devices,
// or a communicator) than on the others. Or one of several links takes longer than usual now and
// then. Cost: how much shorter a step would be if they took as long as the others'
// (message_replay.h). It is taken on the device that is exposed to them most, and is at most what
// their excess exposes there.
#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "analyzer/rules/communication/message_replay.h"
#include "analyzer/rules/rules.h"

namespace stepscope::analyzer {
namespace {

/// Medians of equal links agree within some per cent; half as long again is another link, or a
/// shared one.
constexpr double kSlowLink = 1.5;
/// With two links alone it is unknown which one is unusual, unless one takes more than twice as
/// long.
constexpr double kSlowOfTwo = 2;
/// A median of fewer messages is chance.
constexpr size_t kFewestOfLink = 4;
/// A message that takes twice as long as a quarter of its kind does not vary, it was disturbed: …
constexpr double kSlowMessage = 2;
/// … a congested link is so for a good part of them; below that these are single hiccups.
constexpr double kLeastSlowMessages = 0.2;
/// A quarter and a fifth of fewer messages are chance.
constexpr size_t kFewestOfKind = 20;
/// As for all costs: below, gains are within what step times vary by.
constexpr double kLeastLinkShare = kWarningShare;

/// A message, or a collective, with all its participants.
struct LinkSample {
  model::CollectiveOp op;
  uint32_t participants;
  uint64_t bytes;
  uint64_t link_high, link_low;  ///< which link: two devices, or a communicator
  int64_t transfer_ns;
  uint32_t collective;

  [[nodiscard]] auto kind() const { return std::tuple(op, participants, bytes); }
  [[nodiscard]] auto link() const { return std::tuple(link_high, link_low); }
};

uint64_t number_of(DeviceRef ref) {
  return (static_cast<uint64_t>(static_cast<uint32_t>(ref.rank_index)) << 32) |
         static_cast<uint32_t>(ref.device);
}

MeasuredDevice const* link_device(RuleInput const& input, DeviceRef ref) {
  auto const at =
      std::lower_bound(input.measured.begin(), input.measured.end(), ref,
                       [](MeasuredDevice const& device, DeviceRef r) { return device.ref < r; });
  return at == input.measured.end() || at->ref != ref ? nullptr : &*at;
}

/// Whether a message is so small that its time is latency, by the line through the messages of its
/// communicator and operation. Its time then shows only what delayed its start, not the link.
bool is_latency(RuleInput const& input, CollectiveStats const& facts) {
  auto const fit =
      std::find_if(input.facts.links.begin(), input.facts.links.end(), [&](LinkFit const& line) {
        return line.communicator == facts.communicator && line.op == facts.op;
      });
  return fit != input.facts.links.end() &&
         static_cast<double>(facts.bytes) < fit->half_bandwidth_bytes;
}

/// Samples by kind, link and transfer: whole messages that begin in measured time on all measured
/// devices.
std::vector<LinkSample> link_samples(RuleInput const& input) {
  std::vector<LinkSample> samples;
  for (uint32_t c = 0; c < input.facts.collectives.size(); ++c) {
    CollectiveStats const& facts = input.facts.collectives[c];
    if (!facts.busbw_gbps || facts.participants.size() < 2 || is_latency(input, facts)) continue;
    MeasuredDevice const* const device = link_device(input, facts.participants[0].ref);
    if (device == nullptr || !device->is_measured(facts.participants[0].when.end - 1)) continue;

    LinkSample sample{facts.op, facts.expected_participants, facts.bytes,
                      0,        facts.communicator,          facts.transfer_ns,
                      c};

    if (model::is_point_to_point(facts.op)) {
      auto const [a, b] = std::minmax(facts.participants[0].ref, facts.participants[1].ref);
      sample.op = model::CollectiveOp::kSend;
      sample.link_high = number_of(a);
      sample.link_low = number_of(b);
    }

    samples.push_back(sample);
  }

  std::sort(samples.begin(), samples.end(), [](LinkSample const& a, LinkSample const& b) {
    return std::tuple(a.kind(), a.link(), a.transfer_ns, a.collective) <
           std::tuple(b.kind(), b.link(), b.transfer_ns, b.collective);
  });
  return samples;
}

/// The messages of one kind on one link, by transfer.
struct Link {
  LinkSample const *first, *last;
  [[nodiscard]] size_t size() const { return static_cast<size_t>(last - first); }
  [[nodiscard]] int64_t quantile(size_t of_hundred) const {
    return first[(size() - 1) * of_hundred / 100].transfer_ns;
  }
  [[nodiscard]] int64_t median() const { return quantile(50); }
};

/// What a link's messages take longer than they should.
struct Slowness {
  Link link;
  int64_t reference_ns;  ///< what they should take
  double slow_share;     ///< of them: longer than kSlowLink or kSlowMessage times that
};

/// Calls `see` with first and last of each stretch of samples with the same key.
template <class Key, class See>
void for_each_stretch(LinkSample const* first, LinkSample const* last, Key key, See see) {
  while (first != last) {
    LinkSample const* const end =
        std::find_if(first, last, [&](LinkSample const& s) { return key(s) != key(*first); });
    see(first, end);
    first = end;
  }
}

double share_above(Link const& link, double limit) {
  auto const above = std::partition_point(link.first, link.last, [&](LinkSample const& s) {
    return static_cast<double>(s.transfer_ns) <= limit;
  });
  return static_cast<double>(link.last - above) / static_cast<double>(link.size());
}

/// The lower median of the sorted values but one that is `own`; of at least two values.
int64_t median_of_others(std::vector<int64_t> const& sorted, int64_t own) {
  size_t const middle = (sorted.size() - 2) / 2;
  return sorted[middle] < own ? sorted[middle] : sorted[middle + 1];
}

/// Finds links that are slower than others with the same kind of messages, and links that are slow
/// at times.
void compare_links(std::vector<Link> const& links, std::vector<Slowness>& slow) {
  std::vector<int64_t> medians;
  for (Link const& link : links)
    if (link.size() >= kFewestOfLink) medians.push_back(link.median());
  std::sort(medians.begin(), medians.end());
  if (medians.size() < 2)
    return;  // a link alone is as fast as it is: no other tells what it should be

  for (Link const& link : links) {
    if (link.size() < kFewestOfLink) continue;

    auto const reference = static_cast<double>(median_of_others(medians, link.median()));
    double const limit = (medians.size() == 2 ? kSlowOfTwo : kSlowLink) * reference;
    if (static_cast<double>(link.median()) > limit) {
      slow.push_back(
          {link, static_cast<int64_t>(reference), share_above(link, kSlowLink * reference)});
      continue;
    }

    if (link.size() < kFewestOfKind) continue;
    int64_t const steady = link.quantile(25);
    double const share = share_above(link, kSlowMessage * static_cast<double>(steady));
    if (share >= kLeastSlowMessages) slow.push_back({link, steady, share});
  }
}

std::vector<Slowness> slow_links(std::vector<LinkSample> const& samples) {
  std::vector<Slowness> slow;
  auto const kind = [](LinkSample const& s) { return s.kind(); };
  auto const link = [](LinkSample const& s) { return s.link(); };

  std::vector<Link> links;
  for_each_stretch(samples.data(), samples.data() + samples.size(), kind,
                   [&](LinkSample const* first, LinkSample const* last) {
                     links.clear();
                     for_each_stretch(first, last, link,
                                      [&](LinkSample const* a, LinkSample const* b) {
                                        links.push_back({a, b});
                                      });
                     compare_links(links, slow);
                   });

  return slow;
}

/// What a device loses to slow links, and which costs it most.
struct LinkLoss {
  std::vector<Interval> late;  ///< the last of each slow message, by what it takes longer; messages
                               ///< may be under way at once
  double total_ns = 0;         ///< the union
  double most_ns = 0;
  Slowness const* most = nullptr;
};

std::vector<LinkLoss> losses_of(RuleInput const& input, std::vector<Slowness> const& slow) {
  std::vector<LinkLoss> losses(input.measured.size());
  std::vector<double> of_link(input.measured.size());
  std::vector<size_t> devices;

  for (Slowness const& slowness : slow) {
    devices.clear();
    for (LinkSample const* sample = slowness.link.first; sample != slowness.link.last; ++sample) {
      int64_t const excess = sample->transfer_ns - slowness.reference_ns;
      for (auto const& participant : input.facts.collectives[sample->collective].participants) {
        MeasuredDevice const* const device = link_device(input, participant.ref);
        if (device == nullptr || !device->is_measured(participant.when.end - 1)) continue;
        auto const place = static_cast<size_t>(device - input.measured.data());
        int64_t const lost = std::min(excess, participant.exposed_transfer_ns);
        if (lost <= 0) continue;
        if (of_link[place] == 0) devices.push_back(place);
        of_link[place] += static_cast<double>(lost);
        losses[place].late.push_back({participant.when.end - lost, participant.when.end});
      }
    }

    for (size_t const place : devices) {
      if (of_link[place] > losses[place].most_ns)
        losses[place].most_ns = of_link[place], losses[place].most = &slowness;
      of_link[place] = 0;
    }
  }

  for (LinkLoss& loss : losses)
    loss.total_ns = static_cast<double>(model::measure(model::unite(std::move(loss.late))));
  return losses;
}

/// What the device's measured steps together would be shorter if slow messages took no longer than
/// the others, ns. No more than `exposed_ns`.
int64_t gain_without(RuleInput const& input, std::vector<Slowness> const& slow,
                     MeasuredDevice const& device, int64_t exposed_ns) {
  std::vector<int64_t> shorter(input.facts.collectives.size());
  for (Slowness const& slowness : slow)
    for (LinkSample const* sample = slowness.link.first; sample != slowness.link.last; ++sample)
      shorter[sample->collective] =
          std::max<int64_t>(0, sample->transfer_ns - slowness.reference_ns);
  std::vector<int64_t> const gained = replay_with_shorter(input, shorter);
  if (gained.empty()) return exposed_ns;
  return std::min(exposed_ns, gained[static_cast<size_t>(&device - input.measured.data())]);
}

/// "3, 4": the ranks at the ends of the link, or the devices where both are of one process.
void name_link(Finding& finding, RuleInput const& input, Link const& link) {
  CollectiveStats const& facts = input.facts.collectives[link.first->collective];
  finding.subjects.emplace_back("op", model::to_string(link.first->op));

  if (!model::is_point_to_point(facts.op)) {
    finding.subjects.emplace_back("communicator", fmt::format("{:#x}", facts.communicator));
    return;
  }

  auto const [a, b] = std::minmax(facts.participants[0].ref, facts.participants[1].ref);
  auto const rank = [&](DeviceRef ref) {
    return input.run.ranks[static_cast<size_t>(ref.rank_index)].trace.info().rank;
  };

  if (a.rank_index == b.rank_index) {
    finding.subjects.emplace_back("devices", fmt::format("{}, {}", a.device, b.device));
  } else {
    finding.subjects.emplace_back("ranks", fmt::format("{}, {}", rank(a), rank(b)));
  }
}

void add_slow_messages(Finding& finding, RuleInput const& input, Slowness const& slowness,
                       DeviceRef ref) {
  for (LinkSample const* sample = slowness.link.first; sample != slowness.link.last; ++sample)
    for (auto const& own : input.facts.collectives[sample->collective].participants)
      if (own.ref == ref)
        finding.evidence.push_back(
            {ref, {own.when.begin + own.wait_ns, own.when.end}, std::nullopt});
  keep_longest(finding.evidence);
}

}  // namespace

void find_slow_link(RuleInput const& input, std::vector<Finding>& findings) {
  std::vector<LinkSample> const samples = link_samples(input);
  std::vector<Slowness> const slow = slow_links(samples);
  std::vector<LinkLoss> const losses = losses_of(input, slow);

  MeasuredDevice const* worst = nullptr;
  double most = 0;
  for (size_t d = 0; d < losses.size(); ++d) {
    auto const total = static_cast<double>(input.measured[d].total_ns);
    if (total <= 0 || losses[d].total_ns / total <= most) continue;
    most = losses[d].total_ns / total;
    worst = &input.measured[d];
  }

  if (worst == nullptr || most < kLeastLinkShare) return;
  LinkLoss const& loss = losses[static_cast<size_t>(worst - input.measured.data())];
  int64_t const gain = gain_without(input, slow, *worst, static_cast<int64_t>(loss.total_ns));
  if (static_cast<double>(gain) < kLeastLinkShare * static_cast<double>(worst->total_ns)) return;

  Link const& link = loss.most->link;
  Finding finding = make_cost_finding("slow-link", *worst, worst->per_step(gain));

  finding.metrics.emplace_back("exposed_share", most);
  finding.metrics.emplace_back("slow_links", static_cast<double>(slow.size()));
  finding.metrics.emplace_back(
      "ratio", static_cast<double>(link.median()) / static_cast<double>(loss.most->reference_ns));
  finding.metrics.emplace_back("slow_share", loss.most->slow_share);
  finding.metrics.emplace_back("bytes", static_cast<double>(link.first->bytes));
  finding.metrics.emplace_back("median_ns", static_cast<double>(link.median()));
  finding.metrics.emplace_back("reference_ns", static_cast<double>(loss.most->reference_ns));

  name_link(finding, input, link);
  add_slow_messages(finding, input, *loss.most, worst->ref);
  findings.push_back(std::move(finding));
}

}  // namespace stepscope::analyzer
