// The functions of all rules, each in the file of its name. rules.cpp lists them with their names.
#pragma once

#include "analyzer/rules/rule.h"

namespace stepscope::analyzer {

void find_device_error(RuleInput const& input, std::vector<Finding>& findings);
void find_hung_collective(RuleInput const& input, std::vector<Finding>& findings);
void find_input_bound(RuleInput const& input, std::vector<Finding>& findings);
void find_host_bound_launches(RuleInput const& input, std::vector<Finding>& findings);
void find_launch_latency(RuleInput const& input, std::vector<Finding>& findings);
void find_blocking_sync(RuleInput const& input, std::vector<Finding>& findings);
void find_exposed_communication(RuleInput const& input, std::vector<Finding>& findings);
void find_small_buckets(RuleInput const& input, std::vector<Finding>& findings);
void find_unbucketed_gradients(RuleInput const& input, std::vector<Finding>& findings);
void find_apparent_bandwidth(RuleInput const& input, std::vector<Finding>& findings);
void find_straggler(RuleInput const& input, std::vector<Finding>& findings);
void find_slow_link(RuleInput const& input, std::vector<Finding>& findings);
void find_unequal_workers(RuleInput const& input, std::vector<Finding>& findings);
void find_pipeline_bubble(RuleInput const& input, std::vector<Finding>& findings);
void find_load_imbalance(RuleInput const& input, std::vector<Finding>& findings);
void find_allocation_in_step(RuleInput const& input, std::vector<Finding>& findings);
void find_pageable_copies(RuleInput const& input, std::vector<Finding>& findings);
void find_serialized_copies(RuleInput const& input, std::vector<Finding>& findings);
void find_unfused_attention(RuleInput const& input, std::vector<Finding>& findings);
void find_misaligned_matrices(RuleInput const& input, std::vector<Finding>& findings);
void find_elementwise_dominated(RuleInput const& input, std::vector<Finding>& findings);
void find_tensor_cores_unused(RuleInput const& input, std::vector<Finding>& findings);
void find_small_grids(RuleInput const& input, std::vector<Finding>& findings);
void find_serialized_streams(RuleInput const& input, std::vector<Finding>& findings);
void find_memory_pressure(RuleInput const& input, std::vector<Finding>& findings);
void find_throttling(RuleInput const& input, std::vector<Finding>& findings);
void find_memory_fragmentation(RuleInput const& input, std::vector<Finding>& findings);
void find_memory_leak(RuleInput const& input, std::vector<Finding>& findings);
void find_step_outliers(RuleInput const& input, std::vector<Finding>& findings);
void find_warmup_in_measurement(RuleInput const& input, std::vector<Finding>& findings);
void find_oversubscribed_host(RuleInput const& input, std::vector<Finding>& findings);
void find_profiler_overhead(RuleInput const& input, std::vector<Finding>& findings);
void find_unexplained_idle(RuleInput const& input, std::vector<Finding>& findings);
void find_trace_integrity(RuleInput const& input, std::vector<Finding>& findings);

}  // namespace stepscope::analyzer
