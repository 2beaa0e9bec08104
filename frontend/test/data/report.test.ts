import { expect, it } from "vitest";
import { readCaptures, readComparison } from "../../src/data/report";

const NBSP = "\u00a0";

it("keeps number and unit of every sentence on one line", () => {
  const [capture] = readCaptures({
    captures: [
      {
        verdict: { sentence: "It waits 4.00 ms, 1.05 s in all.", evidence: [{ text: "p50 12.3 µs, 25.3 GB/s" }] },
        findings: [{ title: "3 samples of 5 min", advice: "Wait 2 s.", stage: "user::a 3 s", code: "sleep(3) # 3 s" }],
      },
    ],
  });
  expect(capture?.verdict?.sentence).toBe(`It waits 4.00${NBSP}ms, 1.05${NBSP}s in all.`);
  expect(capture?.verdict?.evidence[0]?.text).toBe(`p50 12.3${NBSP}µs, 25.3${NBSP}GB/s`);
  const [finding] = capture?.findings ?? [];
  expect([finding?.title, finding?.advice]).toEqual([`3 samples of 5${NBSP}min`, `Wait 2${NBSP}s.`]);
  expect([finding?.stage, finding?.code]).toEqual(["user::a 3 s", "sleep(3) # 3 s"]);
});

it("does so in comparisons, too", () => {
  expect(readComparison({ sentence: "1.00 ms faster." }).sentence).toBe(`1.00${NBSP}ms faster.`);
});
