// Which columns the stage table has, in which units, and what their heads explain.

import type { Capture, Stage } from "../../contract/report";
import { LIMITS } from "../../contract/words";
import { bytesPerCall } from "../../model/costs";
import { type ByteUnit, chooseByteUnit, chooseTimeUnit, type TimeUnit } from "../../model/format";

/** Which columns of evidence any stage has something for. */
export type Known = { readonly replay: boolean; readonly limits: boolean; readonly bytes: boolean };

export function knownOf(stages: readonly Stage[]): Known {
  return {
    replay: stages.some((stage) => stage.replay_ratio !== undefined),
    limits: stages.some((stage) => stage.limited_by !== "" || stage.cpu_self_us !== undefined),
    bytes: stages.some((stage) => stage.bytes !== undefined),
  };
}

export type Units = {
  readonly sums: TimeUnit;
  readonly calls: TimeUnit;
  readonly wait: TimeUnit;
  readonly replay: TimeUnit;
  readonly bytes: ByteUnit;
};

/** Sums, single calls and data wait differ by orders of magnitude: each group of columns has its own unit. */
export function unitsOf(stages: readonly Stage[]): Units {
  return {
    sums: chooseTimeUnit(stages.map((stage) => stage.total_us)),
    calls: chooseTimeUnit(stages.map((stage) => stage.max_us)),
    wait: chooseTimeUnit(stages.map((stage) => stage.blame_us)),
    replay: chooseTimeUnit(stages.map((stage) => stage.replay_mean_us)),
    bytes: chooseByteUnit(stages.map(bytesPerCall)),
  };
}

const BUILT_BY_WORKERS =
  "Each moment that the training thread waits for a batch counts for the innermost stage that the DataLoader worker building this batch is in at that moment.";
const BUILT_BY_THREAD =
  "Each moment that the training thread waits counts for the innermost stage that it is in at that moment, as it builds the batches itself.";

export function waitTitle({ workers }: Capture): string {
  return `Data wait that the stage caused. ${workers.length > 0 ? BUILT_BY_WORKERS : BUILT_BY_THREAD}`;
}

export const LIMIT_TITLE = LIMITS.map(({ label, meaning }) => `${label}: ${meaning}`).join("\n");
export const CALLS_TITLE =
  "Calls that began in the window: of one that began before it, the parts that follow still count";
export const BYTES_TITLE = "Size of the stage's result, per call";
export function replayTitle(name: string): string {
  return `Mean self time of a call in the replay ${name}: the same dataset alone, without training and without DataLoader workers`;
}

export const RATIO_TITLE =
  "Mean self time of a call in this run over that in the replay: what contention costs. At 1.7x a call takes 1.7 times as long while DataLoader workers and the training share CPUs, memory and disk.";
