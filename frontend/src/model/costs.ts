// What a stage's self time and a batch's build time went to, as parts and facts.

import type { Stage, WorkerCosts } from "../contract/report";
import { COSTS, LIMITS } from "../contract/words";
import type { Part } from "./causes";
import { formatBytes, formatCount, formatDuration, formatPercent, significant } from "./format";
import { labelOf } from "./words";

export function bytesPerCall({ bytes, count }: Stage): number | undefined {
  return bytes === undefined || count === 0 ? undefined : bytes / count;
}

/** Dark is running, grey is waiting for a CPU, hatched is the rest. */
function divided(
  wholeUs: number,
  runningUs: number,
  delayUs: number | undefined,
  blockedUs: number | undefined,
): Part[] {
  const rest = { name: delayUs === undefined ? "not running" : "blocked", token: "wait" };
  return [
    { name: "running on a CPU", us: runningUs, token: "ink-muted" },
    { name: "waiting for a CPU", us: delayUs ?? 0, token: "rule-strong" },
    { ...rest, us: blockedUs ?? Math.max(0, wholeUs - runningUs) },
  ].filter((part) => part.us > 0);
}

/** How the self time divides; empty where the CPU time was not recorded. */
export function selfParts({ self_us, cpu_self_us, run_delay_us, blocked_us }: Stage): Part[] {
  return cpu_self_us === undefined ? [] : divided(self_us, cpu_self_us, run_delay_us, blocked_us);
}

/** Mean self time of a call, below which nothing is said to limit it (analyses/occupancy.py). */
const TOO_SHORT_US = 100;

/** What limits the stage, or why that is not said; undefined where it was not recorded. */
export function limitWords(stage: Stage): string | undefined {
  return selfParts(stage).length === 0 ? undefined : limitOf(stage);
}

export function limitOf(stage: Stage): string {
  if (stage.limited_by !== "") return labelOf(LIMITS, stage.limited_by);
  if (stage.self_us < TOO_SHORT_US * stage.count) return "too short to tell";
  return mayBeLimited(stage) ? "not known" : "mixed";
}

/** Whether waiting for a CPU, or being blocked, may take two thirds of it: their sum is known, and not which it was. */
function mayBeLimited({ self_us, cpu_self_us, run_delay_us, blocked_us }: Stage): boolean {
  if (run_delay_us !== undefined && blocked_us !== undefined) return false;
  return 3 * (self_us - (cpu_self_us ?? 0)) >= 2 * self_us;
}

/** How the build time divides in the worker's main thread; empty where it was not measured. */
export function costParts({ wall_us: wall, cpu_share, run_delay_share, blocked_share }: WorkerCosts): Part[] {
  const part = (share: number | undefined): number | undefined => (share === undefined ? undefined : wall * share);
  return cpu_share === undefined ? [] : divided(wall, wall * cpu_share, part(run_delay_share), part(blocked_share));
}

type CostKey = (typeof COSTS)[number]["id"];
export type Fact = {
  readonly key: CostKey;
  readonly name: string;
  readonly value: number;
  readonly text: string;
  readonly title: string;
};

const bytesWords = (value: number, batches: number): string => `${formatBytes(value / batches)} per batch`;
const countWords = (value: number, batches: number): string => `${eachWords(value / batches)} per batch`;

const WORDS: Readonly<Record<CostKey, (value: number, batches: number) => string>> = {
  build_us: formatDuration,
  threads: (value) => significant(value, 2),
  read_chars: bytesWords,
  read_bytes: bytesWords,
  cached_share: formatPercent,
  voluntary_switches: countWords,
  involuntary_switches: countWords,
  major_faults: countWords,
  system_share: formatPercent,
  minor_faults: countWords,
};

/** What else the batches cost, per batch where it is an amount; only what is known. */
export function costFacts(costs: WorkerCosts): Fact[] {
  const batches = Math.max(1, costs.batches);
  return COSTS.flatMap(({ id: key, label: name, meaning: title }) => {
    const value = costs[key];
    return value === undefined ? [] : [{ key, name, value, text: WORDS[key](value, batches), title }];
  });
}

function eachWords(each: number): string {
  return Number.isInteger(each) || each >= 100 ? formatCount(each) : significant(each, 1);
}
