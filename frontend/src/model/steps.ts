// The step chart: what a step's bar is made of, and which steps get a bar.

import type { Step } from "../contract/report";
import { causeLabel, causeToken, STACK_ORDER } from "./causes";

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
      label: `idle: ${causeLabel(cause)}`,
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

/** `first`, `last`: numbers of the steps that it stands for. */
export type StepBar = { readonly step: Step; readonly of: number; readonly first: number; readonly last: number };

/** At most `maxBars` bars; a bar for several steps shows the longest, so that a stall is never hidden. */
export function stepBars(items: readonly Step[], maxBars: number): StepBar[] {
  const per = Math.ceil(items.length / Math.max(1, maxBars));
  const bars: StepBar[] = [];
  for (let i = 0; i < items.length; i += per) {
    const group = items.slice(i, i + per);
    const longest = group.reduce((a, b) => (b.duration_us > a.duration_us ? b : a));
    const numbers = group.map(({ number }) => number);
    bars.push({ step: longest, of: group.length, first: Math.min(...numbers), last: Math.max(...numbers) });
  }
  return bars;
}
