// Evidence in words: what a stage is limited by, what a batch cost its DataLoader worker, how loaded the host was.

import type { CounterSummary, Stage, WorkerCosts } from "../contract/report";
import type { Part } from "./causes";
import { formatBytes, formatCount, formatDuration, formatPercent, sig3 } from "./format";
import { shareWords } from "./shares";

const LIMITS: Readonly<Record<string, string>> = { cpu: "CPU-bound", starved: "starved of CPU", blocked: "blocked" };

export function limitWords(limit: string): string {
  return LIMITS[limit] ?? limit;
}

/** How the self time divides; undefined where the CPU time was not recorded. */
export type SelfParts = {
  readonly runningUs: number;
  readonly starvedUs: number | undefined;
  readonly blockedUs: number;
};

export function selfParts({ self_us: self, cpu_self_us: running, starved_us: starved }: Stage): SelfParts | undefined {
  if (running === undefined) return undefined;
  return { runningUs: running, starvedUs: starved, blockedUs: Math.max(0, self - running - (starved ?? 0)) };
}

/** "97.9 % running, 2.01 % without a core, 0.1 % blocked". */
export function selfWords(stage: Stage): string {
  const parts = selfParts(stage);
  if (parts === undefined) return "";
  const of = (us: number): string => shareWords(Math.min(us, stage.self_us), stage.self_us);
  const starved = parts.starvedUs === undefined ? "" : `, ${of(parts.starvedUs)} without a core (an estimate)`;
  const rest = parts.starvedUs === undefined ? "not running" : "blocked: storage, locks, other processes";
  return `Of its self time ${of(parts.runningUs)} running on a core${starved}, ${of(parts.blockedUs)} ${rest}.`;
}

export function bytesPerCall({ bytes, count }: Stage): number | undefined {
  return bytes === undefined || count === 0 ? undefined : bytes / count;
}

export type ByteUnit = { readonly name: string; readonly bytes: number };

const BYTE_UNITS: readonly ByteUnit[] = [
  { name: "GB", bytes: 1e9 },
  { name: "MB", bytes: 1e6 },
  { name: "kB", bytes: 1e3 },
  { name: "B", bytes: 1 },
];

/** The unit for a whole column: the largest that its largest value has ten of, so that small rows keep digits. */
export function chooseByteUnit(values: Iterable<number | undefined>): ByteUnit {
  let largest = 0;
  for (const value of values) largest = Math.max(largest, value ?? 0);
  return BYTE_UNITS.find((unit) => largest >= 10 * unit.bytes) ?? { name: "B", bytes: 1 };
}

export function inByteUnit(bytes: number, unit: ByteUnit): string {
  return sig3(bytes / unit.bytes, unit.bytes === 1 ? 0 : 2);
}

/** How the time of making batches divides in the worker's main thread; empty where the system did not tell. */
export function costParts({ wall_us: wall, cpu_share: cpu, run_delay_share: delay }: WorkerCosts): Part[] {
  if (cpu === undefined) return [];
  const running = { name: "running on a core", us: wall * cpu, token: "ink-muted" };
  const waiting =
    delay === undefined ? [] : [{ name: "ready, without a core", us: wall * delay, token: "rule-strong" }];
  const rest = {
    name: delay === undefined ? "not running" : "blocked",
    us: wall * Math.max(0, 1 - cpu - (delay ?? 0)),
    token: "wait",
  };
  return [running, ...waiting, rest].filter((part) => part.us > 0);
}

export type Fact = {
  readonly key: string;
  readonly name: string;
  readonly value: number;
  readonly text: string;
  readonly title: string;
};

/** What else the batches cost, per batch where it is an amount. */
export function costFacts(costs: WorkerCosts): Fact[] {
  const per = Math.max(1, costs.batches);
  const facts: (Fact | null)[] = [
    fact(
      "wall_us",
      "Time to make one",
      costs.wall_us,
      formatDuration(costs.wall_us / per),
      "From a batch's start to its finish, on average",
    ),
    fact(
      "threads",
      "Threads at work",
      costs.threads,
      threadWords(costs.threads),
      "CPU time of all threads of the process over that of its main thread; 1 means no hidden threads",
    ),
    fact(
      "read_chars",
      "Read",
      costs.read_chars,
      bytesText(costs.read_chars, per),
      "What reads returned, from storage or the page cache",
    ),
    fact(
      "read_bytes",
      "Read from storage",
      costs.read_bytes,
      bytesText(costs.read_bytes, per),
      "Bytes that came from storage",
    ),
    fact(
      "cached_share",
      "From the page cache",
      costs.cached_share,
      percentText(costs.cached_share),
      "Share of the bytes read that did not come from storage",
    ),
    fact(
      "voluntary_switches",
      "Core given away",
      costs.voluntary_switches,
      countText(costs.voluntary_switches, per),
      "Voluntary context switches of the main thread: it waited for something",
    ),
    fact(
      "involuntary_switches",
      "Core taken away",
      costs.involuntary_switches,
      countText(costs.involuntary_switches, per),
      "Involuntary context switches: another thread got the core",
    ),
    fact(
      "major_faults",
      "Faults from storage",
      costs.major_faults,
      countText(costs.major_faults, per),
      "Page faults that went to storage",
    ),
  ];
  return facts.filter((item) => item !== null);
}

function fact(key: string, name: string, value: number | undefined, text: string, title: string): Fact | null {
  return value === undefined ? null : { key, name, value, text, title };
}

function threadWords(value: number | undefined): string {
  return value === undefined ? "" : sig3(value, 2);
}

function bytesText(value: number | undefined, per: number): string {
  return value === undefined ? "" : `${formatBytes(value / per)} per batch`;
}

function percentText(value: number | undefined): string {
  return value === undefined ? "" : formatPercent(value);
}

function countText(value: number | undefined, per: number): string {
  if (value === undefined) return "";
  const each = value / per;
  const words = Number.isInteger(each) || each >= 100 ? formatCount(each) : sig3(each, 1);
  return `${words} per batch`;
}

type CounterWords = { readonly title: string; readonly unit: "%" | "bytes" | "bytes/s" | "us/s" | "" };

const COUNTERS: Readonly<Record<string, CounterWords>> = {
  "host::cpu": { title: "CPU", unit: "%" },
  "host::throttled": { title: "CPU withheld by quota", unit: "us/s" },
  "host::memory": { title: "Memory", unit: "bytes" },
  "host::disk": { title: "Disk", unit: "bytes/s" },
  "host::disk_busy": { title: "Disk busy", unit: "%" },
  "host::network": { title: "Network", unit: "bytes/s" },
  "host::reads": { title: "Reads of this job", unit: "bytes/s" },
  "device::utilisation": { title: "Device utilisation", unit: "%" },
  "device::memory": { title: "Device memory", unit: "bytes" },
};

/** One line of the table of host load; cores are one line together, with the least and the most loaded of them. */
export type LoadRow = {
  readonly name: string;
  readonly mean: number;
  readonly low: number;
  readonly high: number;
  readonly unit: string;
};

export function loadRows(load: readonly CounterSummary[]): LoadRow[] {
  const order = Object.keys(COUNTERS);
  const place = (name: string): number => (order.includes(name) ? order.indexOf(name) : order.length);
  const counters = [...new Set(load.map((one) => one.counter))].sort((a, b) => place(a) - place(b));
  return counters.flatMap((counter) => {
    const own = load.filter((one) => one.counter === counter);
    const { title, unit } = COUNTERS[counter] ?? { title: counter, unit: "" };
    if (counter === "host::cpu" && own.length > 1) return [joined(own, unit)];
    return own.map((one) => ({
      name: own.length === 1 ? title : `${title}: ${seriesWords(one.series)}`,
      mean: one.mean,
      low: one.low,
      high: one.high,
      unit,
    }));
  });
}

function joined(cores: readonly CounterSummary[], unit: string): LoadRow {
  const mean = cores.reduce((sum, core) => sum + core.mean, 0) / cores.length;
  return {
    name: `CPU, mean of ${cores.length} cores`,
    mean,
    low: Math.min(...cores.map((core) => core.low)),
    high: Math.max(...cores.map((core) => core.high)),
    unit,
  };
}

/** "read" of "read_bytes_per_s": the unit is said beside it. */
function seriesWords(series: string): string {
  if (series === "rchar_per_s") return "all";
  if (series === "read_bytes_per_s") return "from storage";
  return series.replace(/(_bytes)?(_per_s)?$/, "").replaceAll("_", " ") || series;
}
