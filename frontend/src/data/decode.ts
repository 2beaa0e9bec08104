// JSON of a report -> the generated contract types, with proto3's defaults filled in.

import type {
  Abstention, Batch, Capture, Chain, Copies, CounterSummary, Device, Diagnostic, Environment, Finding, Gap,
  IdleByCause, Link, Loader, QueueDepth, Report, SlowSample, Stage, Step, Steps, Throughput, Verdict, Worker,
  WorkerCosts,
} from "../contract/report";
import { message, number, numberMap, numbers, objects, optBoolean, optNumber, text, textMap, texts, asObject } from "./json";
import type { JsonObject } from "./json";

const idleByCause = (o: JsonObject): IdleByCause => ({
  data_wait: optNumber(o, "data_wait"),
  h2d: optNumber(o, "h2d"),
  sync: optNumber(o, "sync"),
  launch: optNumber(o, "launch"),
  host: optNumber(o, "host"),
  comm: optNumber(o, "comm"),
  unknown: optNumber(o, "unknown"),
});

const step = (o: JsonObject): Step => ({
  number: number(o, "number"),
  start_us: number(o, "start_us"),
  duration_us: number(o, "duration_us"),
  data_wait_us: optNumber(o, "data_wait_us"),
  device_busy_us: optNumber(o, "device_busy_us"),
  idle_data_wait_us: optNumber(o, "idle_data_wait_us"),
  idle_other_us: optNumber(o, "idle_other_us"),
  idle_by_cause_us: message(o, "idle_by_cause_us", idleByCause),
});

const steps = (o: JsonObject): Steps => ({
  count: number(o, "count"),
  mean_us: number(o, "mean_us"),
  p50_us: number(o, "p50_us"),
  p95_us: number(o, "p95_us"),
  items: objects(o, "items", step),
});

const link = (o: JsonObject): Link => ({
  name: text(o, "name"),
  start_us: number(o, "start_us"),
  duration_us: number(o, "duration_us"),
  lane: text(o, "lane"),
});

const chain = (o: JsonObject): Chain => ({
  launch: message(o, "launch", link),
  wait: message(o, "wait", link),
  batch: message(o, "batch", link),
  batch_number: optNumber(o, "batch_number"),
  epoch: optNumber(o, "epoch"),
  loader: optNumber(o, "loader"),
  worker: optNumber(o, "worker"),
  sample: message(o, "sample", link),
  sample_index: optNumber(o, "sample_index"),
  stage: message(o, "stage", link),
});

const gap = (o: JsonObject): Gap => ({
  start_us: number(o, "start_us"),
  duration_us: number(o, "duration_us"),
  cause: text(o, "cause"),
  stage: text(o, "stage"),
  step: optNumber(o, "step"),
  data_wait_us: optNumber(o, "data_wait_us"),
  idle_by_cause_us: message(o, "idle_by_cause_us", idleByCause),
  chain: message(o, "chain", chain),
});

const copies = (o: JsonObject): Copies => ({
  count: number(o, "count"),
  pageable: number(o, "pageable"),
  pinned: number(o, "pinned"),
  launched: number(o, "launched"),
  blocking: optNumber(o, "blocking"),
  copy_us: number(o, "copy_us"),
  overlapped_us: optNumber(o, "overlapped_us"),
  host_us: optNumber(o, "host_us"),
  bytes: optNumber(o, "bytes"),
  gb_per_s: optNumber(o, "gb_per_s"),
});

const device = (o: JsonObject): Device => ({
  id: number(o, "id"),
  name: text(o, "name"),
  busy_us: number(o, "busy_us"),
  kernel_busy_us: optNumber(o, "kernel_busy_us"),
  idle_us: number(o, "idle_us"),
  gap_count: number(o, "gap_count"),
  longest_gap_us: number(o, "longest_gap_us"),
  idle_by_cause_us: message(o, "idle_by_cause_us", idleByCause),
  idle_by_stage_us: numberMap(o, "idle_by_stage_us"),
  gaps: objects(o, "gaps", gap),
  idle_queued_us: optNumber(o, "idle_queued_us"),
  h2d: message(o, "h2d", copies),
});

const loader = (o: JsonObject): Loader => ({
  wait_us: number(o, "wait_us"),
  wait_count: number(o, "wait_count"),
  exposed_wait_us: optNumber(o, "exposed_wait_us"),
  hidden_wait_us: optNumber(o, "hidden_wait_us"),
  first_batch_wait_us: optNumber(o, "first_batch_wait_us"),
  wait_by_stage_us: numberMap(o, "wait_by_stage_us"),
  wait_p50_us: optNumber(o, "wait_p50_us"),
  wait_max_us: optNumber(o, "wait_max_us"),
  num_workers: optNumber(o, "num_workers"),
  batch_size: optNumber(o, "batch_size"),
  prefetch_factor: optNumber(o, "prefetch_factor"),
  pin_memory: optBoolean(o, "pin_memory"),
  persistent_workers: optBoolean(o, "persistent_workers"),
  in_order: optBoolean(o, "in_order"),
  start_method: text(o, "start_method"),
  dataset: text(o, "dataset"),
});

const stage = (o: JsonObject): Stage => ({
  kind: text(o, "kind"),
  label: text(o, "label"),
  parent: text(o, "parent"),
  count: number(o, "count"),
  total_us: number(o, "total_us"),
  self_us: number(o, "self_us"),
  cpu_us: optNumber(o, "cpu_us"),
  p50_us: number(o, "p50_us"),
  p95_us: number(o, "p95_us"),
  max_us: number(o, "max_us"),
  bytes: optNumber(o, "bytes"),
  blame_us: optNumber(o, "blame_us"),
  path: texts(o, "path"),
  replay_mean_us: optNumber(o, "replay_mean_us"),
  replay_ratio: optNumber(o, "replay_ratio"),
  block_count: numbers(o, "block_count"),
  block_self_us: numbers(o, "block_self_us"),
  block_cpu_us: numbers(o, "block_cpu_us"),
  block_worker: numbers(o, "block_worker"),
  cpu_self_us: optNumber(o, "cpu_self_us"),
  starved_us: optNumber(o, "starved_us"),
  limited_by: text(o, "limited_by"),
});

const worker = (o: JsonObject): Worker => ({
  worker: number(o, "worker"),
  pid: number(o, "pid"),
  batches: number(o, "batches"),
  busy_us: number(o, "busy_us"),
  idle_us: number(o, "idle_us"),
  starved_us: optNumber(o, "starved_us"),
  startup_us: optNumber(o, "startup_us"),
  loader: number(o, "loader"),
  skew: optNumber(o, "skew"),
  dropped_spans: optNumber(o, "dropped_spans"),
});

const batch = (o: JsonObject): Batch => ({
  number: number(o, "number"),
  epoch: number(o, "epoch"),
  loader: number(o, "loader"),
  worker: number(o, "worker"),
  drawn_us: optNumber(o, "drawn_us"),
  started_us: optNumber(o, "started_us"),
  finished_us: optNumber(o, "finished_us"),
  arrived_us: optNumber(o, "arrived_us"),
  consumed_us: optNumber(o, "consumed_us"),
  wait_us: optNumber(o, "wait_us"),
  delay_us: optNumber(o, "delay_us"),
  blocked_us: optNumber(o, "blocked_us"),
});

const queueDepth = (o: JsonObject): QueueDepth => ({
  time_us: numbers(o, "time_us"),
  ready: numbers(o, "ready"),
  in_flight: numbers(o, "in_flight"),
  loader: number(o, "loader"),
});

const workerCosts = (o: JsonObject): WorkerCosts => ({
  batches: number(o, "batches"),
  wall_us: number(o, "wall_us"),
  cpu_share: optNumber(o, "cpu_share"),
  run_delay_share: optNumber(o, "run_delay_share"),
  process_cpu_share: optNumber(o, "process_cpu_share"),
  threads: optNumber(o, "threads"),
  read_bytes: optNumber(o, "read_bytes"),
  read_chars: optNumber(o, "read_chars"),
  cached_share: optNumber(o, "cached_share"),
  voluntary_switches: optNumber(o, "voluntary_switches"),
  involuntary_switches: optNumber(o, "involuntary_switches"),
  major_faults: optNumber(o, "major_faults"),
});

const counterSummary = (o: JsonObject): CounterSummary => ({
  counter: text(o, "counter"),
  series: text(o, "series"),
  samples: number(o, "samples"),
  mean: number(o, "mean"),
  low: number(o, "low"),
  high: number(o, "high"),
});

const slowSample = (o: JsonObject): SlowSample => ({
  index: number(o, "index"),
  duration_us: number(o, "duration_us"),
  worker: number(o, "worker"),
  batch: number(o, "batch"),
  epoch: number(o, "epoch"),
  stage: text(o, "stage"),
  stage_us: number(o, "stage_us"),
  loader: number(o, "loader"),
});

const throughput = (o: JsonObject): Throughput => ({
  samples_per_s: optNumber(o, "samples_per_s"),
  read_per_s: optNumber(o, "read_per_s"),
  prepare_per_s: optNumber(o, "prepare_per_s"),
  device_per_s: optNumber(o, "device_per_s"),
  samples: optNumber(o, "samples"),
  load_per_s: optNumber(o, "load_per_s"),
  limited_by: text(o, "limited_by"),
});

const verdict = (o: JsonObject): Verdict => ({
  bound: text(o, "bound"),
  sentence: text(o, "sentence"),
  evidence: texts(o, "evidence"),
});

const finding = (o: JsonObject): Finding => ({
  rule: text(o, "rule"),
  severity: text(o, "severity"),
  title: text(o, "title"),
  advice: text(o, "advice"),
  stage: text(o, "stage"),
  gain_us_per_step: optNumber(o, "gain_us_per_step"),
  evidence: texts(o, "evidence"),
  code: text(o, "code"),
  confidence: text(o, "confidence"),
  confidence_reason: text(o, "confidence_reason"),
});

const abstention = (o: JsonObject): Abstention => ({
  rule: text(o, "rule"),
  reason: text(o, "reason"),
});

export const diagnostic = (o: JsonObject): Diagnostic => ({
  code: text(o, "code"),
  count: number(o, "count"),
  message: text(o, "message"),
  topic: text(o, "topic"),
});

const environment = (o: JsonObject): Environment => ({
  cores: optNumber(o, "cores"),
  cpu_quota: optNumber(o, "cpu_quota"),
  memory_bytes: optNumber(o, "memory_bytes"),
  shm_bytes: optNumber(o, "shm_bytes"),
  torch_threads: optNumber(o, "torch_threads"),
  versions: textMap(o, "versions"),
  dropped_spans: optNumber(o, "dropped_spans"),
  recorder_overhead_us: optNumber(o, "recorder_overhead_us"),
  marker_count: optNumber(o, "marker_count"),
  worker_overhead_us: optNumber(o, "worker_overhead_us"),
  worker_span_count: optNumber(o, "worker_span_count"),
});

const capture = (o: JsonObject): Capture => ({
  name: text(o, "name"),
  mode: text(o, "mode"),
  rank: optNumber(o, "rank"),
  world_size: optNumber(o, "world_size"),
  host: text(o, "host"),
  torch_version: text(o, "torch_version"),
  window_us: optNumber(o, "window_us"),
  window_start_us: number(o, "window_start_us"),
  steps: message(o, "steps", steps),
  devices: objects(o, "devices", device),
  loader: message(o, "loader", loader),
  stages: objects(o, "stages", stage),
  workers: objects(o, "workers", worker),
  throughput: message(o, "throughput", throughput),
  verdict: message(o, "verdict", verdict),
  findings: objects(o, "findings", finding),
  diagnostics: objects(o, "diagnostics", diagnostic),
  environment: message(o, "environment", environment),
  file: text(o, "file"),
  batches: objects(o, "batches", batch),
  batch_count: optNumber(o, "batch_count"),
  queues: objects(o, "queues", queueDepth),
  slow_samples: objects(o, "slow_samples", slowSample),
  worker_costs: message(o, "worker_costs", workerCosts),
  host_load: objects(o, "host_load", counterSummary),
  abstained: objects(o, "abstained", abstention),
});

export function decodeReport(value: unknown): Report {
  const o = asObject(value);
  return { schema_version: number(o, "schema_version"), captures: objects(o, "captures", capture) };
}
