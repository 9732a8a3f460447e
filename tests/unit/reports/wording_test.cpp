#include "reports/words/wording.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/rules/rule.h"
#include "reports/words/labels.h"
#include "tests/support/paths.h"
#include "tests/unit/reports/sample.h"
#include "trace/model/build/trace_builder.h"

namespace stepscope::reports {
namespace {

TEST(Wording, every_rule_of_the_analyzer_has_words) {
  auto const worded = worded_rules();
  for (analyzer::Rule const& rule : analyzer::all_rules())
    EXPECT_NE(std::find(worded.begin(), worded.end(), rule.name), worded.end())
        << rule.name << " needs words in reports/words/wording.cpp";
}

TEST(Wording, no_words_are_left_over_from_a_rule_that_is_gone) {
  auto const rules = analyzer::all_rules();
  for (std::string_view const worded : worded_rules())
    EXPECT_TRUE(std::any_of(rules.begin(), rules.end(), [&](analyzer::Rule const& rule) {
      return worded == rule.name;
    })) << worded;
}

TEST(Wording, every_rule_has_a_section_in_the_documentation) {
  std::ifstream file(support::source_path("docs/reference/FINDINGS.md"));
  ASSERT_TRUE(file.is_open()) << "docs/reference/FINDINGS.md is missing";
  std::stringstream text;
  text << file.rdbuf();
  for (analyzer::Rule const& rule : analyzer::all_rules())
    EXPECT_NE(text.str().find(std::string("## ") + rule.name), std::string::npos)
        << "docs/reference/FINDINGS.md has no section on " << rule.name;
}

TEST(Wording, words_of_every_rule_are_whole_sentences_even_without_any_number) {
  Sample const sample = make_sample();
  for (analyzer::Rule const& rule : analyzer::all_rules()) {
    analyzer::Finding finding;
    finding.rule = rule.name;
    FindingWords const words = words_of(sample.run, sample.analysis, finding);

    EXPECT_FALSE(words.title.empty()) << rule.name;
    EXPECT_NE(words.title.back(), '.') << rule.name;
    EXPECT_EQ(words.explanation.back(), '.') << rule.name << ": " << words.explanation;
    EXPECT_EQ(words.advice.back(), '.') << rule.name;
  }
}

TEST(Wording, what_is_wrong_with_the_recording_decides_what_helps) {
  auto const words_with = [](std::vector<std::pair<std::string, double>> const& metrics) {
    analyzer::Finding finding;
    finding.rule = "trace-quality";
    for (auto const& [name, value] : metrics) finding.metrics.emplace_back(name, value);
    return words_of({}, {}, finding);
  };

  FindingWords const missing =
      words_with({{"score", 79}, {"unmatched_launches", 3}, {"missing_ranks", 1}});
  EXPECT_EQ(missing.title, "Not all ranks are in this run");
  EXPECT_NE(
      missing.explanation.find(
          "It scores 79 of 100 points: 1 missing rank, 3 launches without their device operation."),
      std::string::npos)
      << missing.explanation;
  EXPECT_NE(missing.advice.find("the traces of all ranks"), std::string::npos);

  FindingWords const ends =
      words_with({{"score", 99}, {"unmatched_launches", 0}, {"unmatched_ops", 128}});
  EXPECT_EQ(ends.title, "Some events do not fit together");
  EXPECT_NE(ends.explanation.find("99 of 100 points: 128 device operations without their launch."),
            std::string::npos);

  FindingWords const lost = words_with({{"score", 60}, {"dropped", 12'345}, {"missing_ranks", 2}});
  EXPECT_EQ(lost.title, "The recording is incomplete");
  EXPECT_NE(lost.explanation.find("12,345 lost events, 2 missing ranks."), std::string::npos)
      << lost.explanation;
  EXPECT_NE(lost.advice.find("larger buffers"), std::string::npos);
}

TEST(Wording, what_can_be_hidden_has_two_gains) {
  analyzer::Finding finding;
  EXPECT_EQ(gains_of(finding), "");
  finding.gain_ceiling = 1.0;
  EXPECT_EQ(gains_of(finding), "if removed: at most 2.0 × as fast");
  finding.gain_if_hidden = 0.1;
  EXPECT_EQ(gains_of(finding),
            "if hidden: at most 10.0 % faster; if removed: at most 2.0 × as fast");
  finding.gain_if_hidden = 1.0;
  EXPECT_EQ(gains_of(finding), "if hidden or removed: at most 2.0 × as fast");
}

TEST(Wording, a_replayed_gain_stands_for_the_ceiling) {
  analyzer::Finding finding;
  finding.gain_ceiling = 1.0;
  finding.gain_alone = finding.gain_after_above = 0.25;
  EXPECT_EQ(gains_of(finding), "if fixed, by replay: 25.0 % faster");

  finding.gain_after_above = 0.1;
  EXPECT_EQ(gains_of(finding),
            "if fixed, by replay: 25.0 % faster; after the fixes above: 10.0 % faster");
  finding.gain_alone = 0;
  EXPECT_EQ(gains_of(finding),
            "if fixed, by replay: nothing; after the fixes above: 10.0 % faster");
  finding.gain_after_above = 0;
  EXPECT_EQ(gains_of(finding), "if fixed, by replay: nothing");
}

std::string advice_of(char const* rule, char const* tool, char const* device,
                      std::pair<std::string, std::string> const& subject,
                      char const* call = "cudaLaunchKernel") {
  model::Run run;
  model::TraceBuilder builder;
  builder.info().tool = tool;
  builder.intern(call);
  run.ranks.push_back({std::move(builder).finish(), 0, ""});

  analyzer::Analysis analysis;
  analysis.devices.emplace_back().name = device;

  analyzer::Finding finding;
  finding.rule = rule;
  finding.subjects.push_back(subject);

  return words_of(run, analysis, finding).advice;
}

TEST(Wording, advice_fits_the_framework_and_the_vendor) {
  std::string const torch =
      advice_of("host-bound-launches", "PyTorch profiler (Kineto)", "NVIDIA H100", {});
  EXPECT_NE(torch.find("CUDA graph"), std::string::npos);

  std::string const long_work = advice_of("host-bound-launches", "PyTorch profiler (Kineto)",
                                          "NVIDIA H100", {"gaps", "long"});
  EXPECT_EQ(long_work.find("graph"), std::string::npos)
      << "a graph makes many launches cheaper, not one piece of work";
  EXPECT_NE(long_work.find("off the launching thread"), std::string::npos);

  std::string const amd =
      advice_of("host-bound-launches", "PyTorch profiler (Kineto)", "AMD Instinct MI300X", {});
  EXPECT_NE(amd.find("HIP graph"), std::string::npos);
  EXPECT_EQ(amd.find("CUDA"), std::string::npos);

  // The name of the device may say nothing.
  std::string const by_calls =
      advice_of("host-bound-launches", "PyTorch profiler (Kineto)", "GPU 2", {}, "hipLaunchKernel");
  EXPECT_NE(by_calls.find("HIP graph"), std::string::npos);

  for (char const* rule : {"host-bound-launches", "launch-latency"}) {
    std::string const jax = advice_of(rule, "XLA profiler (XPlane)", "AMD GPU 0", {});
    EXPECT_NE(jax.find("jax.jit"), std::string::npos) << rule;
    EXPECT_EQ(jax.find("graph"), std::string::npos) << rule;
  }
}

TEST(Wording, advice_on_unexplained_idle_time_asks_for_the_calls_that_are_not_recorded) {
  auto const asks_for_calls = [](std::string const& advice) {
    return advice.find("--sys-trace") != std::string::npos;
  };
  EXPECT_TRUE(asks_for_calls(advice_of("unexplained-idle", "rocprofv3", "AMD Instinct", {})));
  EXPECT_FALSE(asks_for_calls(advice_of("unexplained-idle", "XLA profiler (XPlane)", "TPU", {})))
      << "no other file of XLA has more";

  analyzer::Analysis with_calls;
  with_calls.devices.emplace_back().launches = 1;
  analyzer::Finding finding;
  finding.rule = "unexplained-idle";
  EXPECT_FALSE(asks_for_calls(words_of(model::Run(), with_calls, finding).advice));
}

TEST(Wording, advice_about_copies_fits_what_is_copied) {
  auto const advice = [](char const* rule, std::pair<std::string, std::string> const& subject) {
    return advice_of(rule, "PyTorch profiler (Kineto)", "NVIDIA H100", subject);
  };

  EXPECT_NE(advice("serialized-copies", {"copies", "host"}).find("non_blocking=True"),
            std::string::npos);
  EXPECT_EQ(advice("serialized-copies", {"copies", "within_device"}).find("pinned"),
            std::string::npos);
  EXPECT_NE(advice("serialized-copies", {"memory", "pinned"}).find("already page-locked"),
            std::string::npos);

  EXPECT_NE(advice("pageable-copies", {}).find("pin_memory=True"), std::string::npos);
  EXPECT_NE(advice("pageable-copies", {"memory", "pinned"}).find("already page-locked"),
            std::string::npos);
}

TEST(Wording, weak_evidence_and_the_bottleneck_are_told) {
  Sample const sample = make_sample();
  analyzer::Finding finding;
  finding.rule = "tensor-cores-unused";
  finding.severity = analyzer::Severity::kWarning;
  finding.metrics = {{"steps", 2}};
  EXPECT_EQ(words_of(sample.run, sample.analysis, finding).explanation.find("weak evidence"),
            std::string::npos);

  finding.metrics = {{"steps", 1}, {"busy_share", 0.012}};
  finding.subjects = {{"bottleneck", "host"}};
  std::string const text = words_of(sample.run, sample.analysis, finding).explanation;

  EXPECT_NE(text.find("The device is busy only 1.2 % of the time"), std::string::npos);
  EXPECT_NE(text.find("pays off only once the host is faster"), std::string::npos);
  EXPECT_NE(text.find("Only one step was measured, so the evidence is weak."), std::string::npos);
}

TEST(Wording, a_device_whose_host_makes_the_others_wait_names_that_finding) {
  model::Run run;
  run.ranks.resize(2);
  analyzer::Analysis analysis;
  analyzer::Finding late, idle;
  late.rule = "straggler";
  late.where = idle.where = analyzer::DeviceRef{1, 0};
  late.subjects = {{"cause", "host"}, {"host_op", "log"}};
  idle.rule = "host-bound-launches";
  idle.subjects = {{"host_op", "log"}};
  late.cost_ns_per_step = idle.cost_ns_per_step = 4'000'000;
  analysis.findings = {{}, late, idle};

  auto const names_it = [&](analyzer::Finding const& finding) {
    return words_of(run, analysis, finding)
               .explanation.find("This makes it late: “One device makes the others wait” has") !=
           std::string::npos;
  };
  EXPECT_TRUE(names_it(idle));

  idle.where = analyzer::DeviceRef{0, 0};
  EXPECT_FALSE(names_it(idle)) << "another device";
  idle.where = late.where;
  idle.subjects = {{"host_op", "other"}};
  EXPECT_FALSE(names_it(idle)) << "another cause";
  idle.subjects = {};
  EXPECT_FALSE(names_it(idle)) << "no known cause";
  idle.rule = "input-bound";
  idle.subjects = late.subjects;
  EXPECT_FALSE(names_it(idle)) << "late by its host, not by its input";
}

TEST(Wording, a_slow_host_device_is_not_sent_to_a_gpu_s_clocks) {
  model::Run run;
  run.ranks.resize(1);
  analyzer::Analysis analysis;
  analysis.devices.resize(1);
  analysis.devices[0].ref = {0, 0};
  analyzer::Finding late;
  late.rule = "straggler";
  late.where = analysis.devices[0].ref;
  late.subjects = {{"cause", "compute"}};

  analysis.devices[0].name = "NVIDIA H100";
  EXPECT_NE(words_of(run, analysis, late).advice.find("nvidia-smi"), std::string::npos);
  analysis.devices[0].name = "host (2 threads)";
  std::string const advice = words_of(run, analysis, late).advice;
  EXPECT_EQ(advice.find("nvidia-smi"), std::string::npos);
  EXPECT_NE(advice.find("end other programs on the machine"), std::string::npos);
}

TEST(Wording, large_gains_are_factors) {
  EXPECT_EQ(gain_text(0.478), "47.8 % faster");
  EXPECT_EQ(gain_text(1.507), "2.5 × as fast");
  EXPECT_EQ(gain_text(769.6), "771 × as fast");
  EXPECT_EQ(gain_text(1e300), "1,000,000,000,000,000 × as fast");
}

TEST(Wording, a_rule_that_nobody_described_still_reads_sensibly) {
  Sample const sample = make_sample();
  analyzer::Finding finding;
  finding.rule = "cold-cache";
  finding.cost_ns_per_step = 2'500'000;
  FindingWords const words = words_of(sample.run, sample.analysis, finding);
  EXPECT_EQ(words.title, "Cold cache");
  EXPECT_NE(words.explanation.find("2.50 ms"), std::string::npos) << words.explanation;
}

TEST(Wording, findings_of_a_run_name_their_cost_and_the_host_operation) {
  Sample const sample = make_slow_sample();
  ASSERT_FALSE(sample.analysis.findings.empty());
  analyzer::Finding const& finding = sample.analysis.findings[0];
  EXPECT_EQ(finding.rule, "input-bound");
  FindingWords const words = words_of(sample.run, sample.analysis, finding);
  EXPECT_NE(words.explanation.find("a step"), std::string::npos) << words.explanation;
  for (auto const& [role, name] : finding.subjects)
    EXPECT_NE(words.explanation.find(name), std::string::npos) << words.explanation;
}

TEST(Wording, hostile_names_are_made_printable) {
  Sample const sample = make_hostile_sample();
  for (auto const& finding : sample.analysis.findings) {
    FindingWords const words = words_of(sample.run, sample.analysis, finding);
    EXPECT_EQ((words.title + words.explanation + words.advice).find('\x1b'), std::string::npos);
  }
}

TEST(Wording, metrics_are_read_with_the_unit_of_their_key) {
  EXPECT_EQ(metric_words("wait_ns", 1.2e6).value, "1.20 ms");
  EXPECT_EQ(metric_words("wait_ns", 1.2e6).label, "wait");
  EXPECT_EQ(metric_words("waiting_ns_per_step", 980).value, "980 ns");
  EXPECT_EQ(metric_words("latency_us", 12.4).value, "12.4 µs");

  EXPECT_EQ(metric_words("peak_bytes", 1536).value, "1.50 KiB");
  EXPECT_EQ(metric_words("busbw_gbps", 12.34).value, "12.3 GB/s");
  EXPECT_EQ(metric_words("share_of_waits", 0.25).value, "25.0 %");
  EXPECT_EQ(metric_words("gaps_per_step", 12).value, "12");
  EXPECT_EQ(metric_words("gaps_per_step", 12).label, "gaps per step");
  EXPECT_EQ(metric_words("compute_ratio", 1.3123).value, "1.31");
}

TEST(Wording, metrics_that_are_no_number_are_not_available) {
  for (char const* key : {"wait_ns", "peak_bytes", "share", "anything"})
    EXPECT_EQ(metric_words(key, std::numeric_limits<double>::quiet_NaN()).value, "n/a") << key;
  EXPECT_EQ(metric_words("bytes_per_step", std::numeric_limits<double>::infinity()).value, "n/a");
}

TEST(Wording, advice_about_a_hung_collective_fits_what_is_known_of_the_ranks) {
  auto const advice = [](std::vector<std::pair<std::string, std::string>> const& subjects) {
    analyzer::Finding finding;
    finding.rule = "hung-collective";
    finding.subjects = {{"op", "all_reduce"}};
    finding.subjects.insert(finding.subjects.end(), subjects.begin(), subjects.end());
    return words_of({}, {}, finding).advice;
  };

  EXPECT_NE(advice({{"waiting", "0, 1"}, {"missing", "2"}}).find("ranks that did not call it"),
            std::string::npos);

  std::string const all_called = advice({{"waiting", "0, 1, 2"}});
  EXPECT_EQ(all_called.find("did not call"), std::string::npos);
  EXPECT_NE(all_called.find("NCCL_DEBUG"), std::string::npos);
  EXPECT_NE(all_called.find("sizes and types between ranks"), std::string::npos);

  EXPECT_NE(advice({{"waiting", "1"}, {"completed", "0"}}).find("that are still in it"),
            std::string::npos);
  EXPECT_NE(advice({{"waiting", "0"}, {"unrecorded", "1"}}).find("ranks without a recording"),
            std::string::npos);
  EXPECT_NE(advice({{"waiting", "0"}, {"different", "all_reduce on 0"}, {"missing", "1"}})
                .find("different orders"),
            std::string::npos);
}

TEST(Wording, advice_about_communication_fits_the_framework_and_the_kind_of_program) {
  for (char const* rule : {"exposed-communication", "small-buckets", "unbucketed-gradients"}) {
    std::string const jax = advice_of(rule, "XLA profiler (XPlane)", "NVIDIA H100", {});
    EXPECT_NE(jax.find("XLA"), std::string::npos) << rule;
    EXPECT_EQ(jax.find("DistributedDataParallel"), std::string::npos) << rule;
  }

  for (char const* rule : {"exposed-communication", "small-buckets", "step-outliers"}) {
    std::string const served =
        advice_of(rule, "PyTorch profiler (Kineto)", "NVIDIA H100", {"program", "inference"});
    for (char const* word : {"gradient", "training", "checkpoint"})
      EXPECT_EQ(served.find(word), std::string::npos) << rule << word;
  }

  EXPECT_NE(advice_of("exposed-communication", "PyTorch profiler (Kineto)", "NVIDIA H100", {})
                .find("bucket"),
            std::string::npos);
}

TEST(Wording, a_loader_in_the_training_thread_is_told_to_have_workers) {
  std::string const advice = advice_of("input-bound", "PyTorch profiler (Kineto)", "NVIDIA H100",
                                       {"loader", "training_thread"});
  EXPECT_TRUE(advice.starts_with("Set num_workers")) << advice;
  std::string const with_workers =
      advice_of("input-bound", "PyTorch profiler (Kineto)", "NVIDIA H100", {});
  EXPECT_TRUE(with_workers.starts_with("Raise num_workers")) << with_workers;
}

/// A user of PyTorch reads its options, one of JAX those of XLA.
TEST(Wording, advice_names_options_of_the_framework_that_made_the_trace) {
  struct Option {
    char const *rule, *of_pytorch, *of_xla;
  };

  for (Option const& option : {Option{"input-bound", "prefetch_factor", "tf.data"},
                               {"host-bound-launches", "torch.compile", "jax.jit"},
                               {"blocking-sync", ".item()", "block_until_ready()"},
                               {"elementwise-dominated", "torch.compile", "jax.jit"},
                               {"exposed-communication", "bucket_cap_mb", "XLA_FLAGS"},
                               {"memory-pressure", "torch.utils.checkpoint", "jax.checkpoint"}}) {
    auto const advice = [&](char const* tool) {
      return advice_of(option.rule, tool, "NVIDIA H100", {});
    };

    EXPECT_THAT(advice("PyTorch profiler (Kineto)"), testing::HasSubstr(option.of_pytorch));
    EXPECT_THAT(advice("XLA profiler (XPlane)"), testing::HasSubstr(option.of_xla));
    EXPECT_THAT(advice("XLA profiler (XPlane)"),
                testing::Not(testing::HasSubstr(option.of_pytorch)));
  }
}

/// Nsight Systems records any program: kernels tell what made them.
TEST(Wording, advice_knows_pytorch_by_its_kernels) {
  Sample sample = make_sample();
  analyzer::Finding const finding{.rule = "blocking-sync"};
  auto const advice = [&] { return words_of(sample.run, sample.analysis, finding).advice; };
  EXPECT_THAT(advice(), testing::Not(testing::HasSubstr(".item()")));

  sample.analysis.kernels.push_back({.name = "void at::native::reduce_kernel<512>(float*)"});
  EXPECT_THAT(advice(), testing::HasSubstr(".item()"));
}

TEST(Wording, where_cores_are_enough_fewer_devices_are_not_the_first_advice) {
  Sample const sample = make_sample();
  auto const words_with = [&](double threads) {
    analyzer::Finding finding{.rule = "oversubscribed-host"};
    finding.metrics = {{"share", 0.1}, {"threads", threads}, {"cores", 2}};
    return words_of(sample.run, sample.analysis, finding);
  };

  FindingWords const enough = words_with(2);
  EXPECT_NE(enough.explanation.find("of this program or of others"), std::string::npos);
  EXPECT_TRUE(enough.advice.starts_with("End other programs")) << enough.advice;

  FindingWords const scarce = words_with(3);
  EXPECT_NE(scarce.explanation.find("2 cores for their 3 threads."), std::string::npos);
  EXPECT_TRUE(scarce.advice.starts_with("Use fewer devices")) << scarce.advice;
}

TEST(Wording, counts_of_one_are_singular) {
  Sample const sample = make_sample();
  auto const explanation = [&](char const* rule,
                               std::vector<std::pair<std::string, double>> const& metrics) {
    analyzer::Finding finding;
    finding.rule = rule;
    for (auto const& [name, value] : metrics) finding.metrics.emplace_back(name, value);
    return words_of(sample.run, sample.analysis, finding).explanation;
  };

  EXPECT_NE(explanation("step-outliers", {{"outliers", 1}, {"steps", 13}, {"median_step_ns", 1e6}})
                .find("One of 13 steps takes"),
            std::string::npos);
  EXPECT_NE(explanation("step-outliers", {{"outliers", 2}, {"steps", 13}, {"median_step_ns", 1e6}})
                .find("2 of 13 steps take"),
            std::string::npos);

  EXPECT_NE(explanation("pageable-copies", {{"pageable_copies", 1}}).find("One copy uses"),
            std::string::npos);
  EXPECT_NE(
      explanation("exposed-communication", {{"overlap", 0}}).find("No communication is hidden."),
      std::string::npos);
}

}  // namespace
}  // namespace stepscope::reports
