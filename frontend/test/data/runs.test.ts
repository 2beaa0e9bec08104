import { expect, it } from "vitest";
import { decodeRuns } from "../../src/data/runs";

it("reads capture entries with states and modes it knows", () => {
  const [item] = decodeRuns({ captures: [{ id: "a", name: "a", run: "", state: "odd", mode: "odd" }] }).captures;
  expect(item).toMatchObject({ run: ".", state: "queued", mode: null, error: null, bytes: 0 });
  const [plain] = decodeRuns({ captures: [{ id: "b", state: "error", error: "why", mode: "unannotated" }] }).captures;
  expect(plain).toMatchObject({ state: "error", error: "why", mode: "unannotated" });
});

it("reads folders of repeated runs", () => {
  const [found] = decodeRuns({
    repeated_runs: [{ folder: "before", ids: ["before/r1/a", "before/r2/a"] }],
  }).repeatedRuns;
  expect(found).toEqual({ folder: "before", ids: ["before/r1/a", "before/r2/a"] });
});

it("survives answers of another shape", () => {
  expect(decodeRuns([1]).captures).toEqual([]);
  expect(decodeRuns(null)).toMatchObject({ logdir: "", scanning: false, problems: [] });
});
