import { expect, it } from "vitest";
import { poll } from "../../src/data/poll";

it("waits the delay of the moment after each turn, goes on after a failure, and stops", async () => {
  const delays: number[] = [];
  let next: () => void = () => undefined;
  let turns = 0;
  const timers = {
    after: (ms: number, call: () => void) => {
      delays.push(ms);
      next = call;
      return () => {
        next = () => undefined;
      };
    },
  };
  const stop = poll(
    async () => {
      turns += 1;
    },
    () => turns * 100,
    timers,
  );
  await Promise.resolve();
  await Promise.resolve();
  next();
  await Promise.resolve();
  await Promise.resolve();
  expect(delays).toEqual([100, 200]);
  stop();
  next();
  await Promise.resolve();
  expect(turns).toBe(2);
});
