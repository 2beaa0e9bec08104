import { expect, it } from "vitest";
import { type StepPart, stackKeys, stepBars, stepStack } from "../../src/model/steps";
import { step } from "../build";

const sum = (parts: readonly StepPart[]): number => parts.reduce((total, part) => total + part.us, 0);

it("stacks a step so that its parts sum to its duration", () => {
  expect(sum(stepStack(step({ duration_us: 100, data_wait_us: 10 }), true))).toBe(100);
  expect(
    sum(stepStack(step({ duration_us: 100, device_busy_us: 70, idle_data_wait_us: 10, idle_other_us: 20 }), true)),
  ).toBe(100);
  const causes = { data_wait: 10, launch: 15, host: 5, sync: 0 };
  expect(sum(stepStack(step({ duration_us: 100, device_busy_us: 70, idle_by_cause_us: causes }), true))).toBe(100);
});

it("puts the data wait on top, so that its ups and downs stand on level ground", () => {
  const parts = stepStack(
    step({ device_busy_us: 70, idle_by_cause_us: { data_wait: 10, launch: 15, host: 5, sync: 0 } }),
    true,
  );
  expect(parts.map((part) => part.key)).toEqual(["busy", "launch", "host", "data_wait"]);
});

it("calls nothing data wait where the wait is not known", () => {
  const labels = (over: Parameters<typeof step>[0]): string[] => stepStack(step(over), false).map((part) => part.label);
  expect(labels({ device_busy_us: 70, idle_data_wait_us: 0, idle_other_us: 30 })).toEqual(["device busy", "idle"]);
  expect(labels({ data_wait_us: 0 })).toEqual(["step"]);
});

it("names in the legend what occurs in any of the steps", () => {
  const steps = [
    step({ device_busy_us: 1, idle_by_cause_us: { launch: 1 } }),
    step({ device_busy_us: 1, idle_by_cause_us: { data_wait: 1 } }),
  ];
  expect(stackKeys(steps, true).map((part) => part.token)).toEqual(["kernel", "idle:launch", "idle:data_wait"]);
});

it("keeps the longest step of each group when there are more steps than room", () => {
  const items = Array.from({ length: 100 }, (_, n) => step({ number: n, duration_us: n === 42 ? 999 : 10 }));
  const bars = stepBars(items, 30);
  expect(bars.length).toBeLessThanOrEqual(30);
  expect(bars.some((bar) => bar.step.number === 42)).toBe(true);
  expect(bars.reduce((total, bar) => total + bar.of, 0)).toBe(100);
});
