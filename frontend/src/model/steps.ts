// The step chart: what a step's bar is made of, which steps get a bar, and the teeth of DataLoader workers.

import type { Step } from "../contract/report";
import { causeToken, causeWords, STACK_ORDER } from "./causes";
import { plural } from "./format";
import { shareWords } from "./shares";

export type StepPart = { readonly key: string; readonly label: string; readonly token: string; readonly us: number };

/** The stack of one step's bar, bottom first; sums to the step's duration. Without loader spans the wait is not known,
 * and nothing is called data wait. */
export function stepStack(step: Step, waitKnown: boolean): StepPart[] {
  const {
    device_busy_us: busy,
    idle_by_cause_us: causes,
    idle_data_wait_us: idleWait = 0,
    idle_other_us: idleOther = 0,
  } = step;
  if (busy === undefined) return hostStack(step, waitKnown);
  const head = { key: "busy", label: "device busy", token: "kernel", us: busy };
  if (causes !== undefined) {
    const idle = STACK_ORDER.map((cause) => ({
      key: cause,
      label: `idle: ${causeWords(cause)}`,
      token: causeToken(cause),
      us: causes[cause] ?? 0,
    }));
    return [head, ...idle.filter((part) => part.us > 0)];
  }
  if (!waitKnown) return [head, { key: "idle", label: "idle", token: "idle:unknown", us: idleWait + idleOther }];
  return [
    head,
    { key: "idle_other", label: "idle: other", token: "idle:unknown", us: idleOther },
    { key: "data_wait", label: "idle: data wait", token: "idle:data_wait", us: idleWait },
  ];
}

function hostStack(step: Step, waitKnown: boolean): StepPart[] {
  if (!waitKnown) return [{ key: "step", label: "step", token: "step", us: step.duration_us }];
  const wait = step.data_wait_us ?? 0;
  return [
    { key: "rest", label: "rest of the step", token: "step", us: Math.max(0, step.duration_us - wait) },
    { key: "wait", label: "data wait", token: "wait", us: wait },
  ];
}

/** The parts that occur in any of the steps, in the order of the stack. */
export function stackKeys(items: readonly Step[], waitKnown: boolean): Omit<StepPart, "us">[] {
  const found = new Map(
    items.flatMap((step) => stepStack(step, waitKnown)).map(({ key, label, token }) => [key, { key, label, token }]),
  );
  const order = ["busy", "idle", "idle_other", ...STACK_ORDER, "step", "rest", "wait"];
  return order.flatMap((key) => found.get(key) ?? []);
}

export type StepBar = { readonly step: Step; readonly of: number };

/** At most `maxBars` bars; a bar that stands for several steps shows the longest, so that a stall is never hidden. */
export function stepBars(items: readonly Step[], maxBars: number): StepBar[] {
  const per = Math.ceil(items.length / Math.max(1, maxBars));
  const bars: StepBar[] = [];
  for (let i = 0; i < items.length; i += per) {
    const group = items.slice(i, i + per);
    const longest = group.reduce((a, b) => (b.duration_us > a.duration_us ? b : a));
    bars.push({ step: longest, of: group.length });
  }
  return bars;
}

/** Steps that wait in turn because all DataLoader workers have their batches ready together. */
export type Sawtooth = {
  readonly period: number;
  readonly waitUs: number;
  readonly allUs: number;
  readonly numbers: ReadonlySet<number>;
};

/** Fewer teeth than this may be chance. */
const LEAST_TEETH = 3;
/** The teeth have at least this share of the wait; with two workers every other step has half of it by itself. */
const TOOTH_SHARE = { two: 0.85, more: 0.6 } as const;
/** Waits below this share of the steps are noise, whatever their pattern. */
const LEAST_WAIT = 0.02;

/** The sawtooth of `workers` DataLoader workers; null where one step in `workers` does not stand out. */
export function sawtoothOf(items: readonly Step[], workers: number | undefined): Sawtooth | null {
  if (workers === undefined || workers < 2 || items.length < LEAST_TEETH * workers) return null;
  const waits = items.map((step) => step.data_wait_us ?? 0);
  const allUs = sum(waits);
  if (allUs < LEAST_WAIT * sum(items.map((step) => step.duration_us))) return null;
  const phases = Array.from({ length: workers }, (_, phase) => sum(waits.filter((_, i) => i % workers === phase)));
  const waitUs = Math.max(...phases);
  if (waitUs < (workers === 2 ? TOOTH_SHARE.two : TOOTH_SHARE.more) * allUs) return null;
  const top = phases.indexOf(waitUs);
  const mean = allUs / items.length;
  const teeth = items.filter((_, i) => i % workers === top && (waits[i] ?? 0) > mean);
  if (teeth.length < LEAST_TEETH) return null;
  return { period: workers, waitUs, allUs, numbers: new Set(teeth.map((step) => step.number)) };
}

export function sawtoothWords({ period, waitUs, allUs }: Sawtooth): string {
  return (
    `1 step in ${period} has ${shareWords(waitUs, allUs)} of the data wait: the ${plural(period, "DataLoader worker")} ` +
    "have their batches ready at about the same time."
  );
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
