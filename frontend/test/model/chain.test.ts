import { expect, it } from "vitest";
import type { Chain } from "../../src/contract/report";
import {
  batchOfChain,
  chainRows,
  gapOfBox,
  gapsOfCause,
  noWaitWords,
  queueWords,
  rowOfPlace,
  stageShareWords,
  whyNotChosen,
} from "../../src/model/chain";
import type { BoxInfo } from "../../src/model/hover";
import { buildTimeline } from "../../src/model/lanes";
import { batch, gap, lane, timeline } from "../build";

const link = (name: string, start_us: number, duration_us: number, laneId: string) => ({
  name,
  start_us,
  duration_us,
  lane: laneId,
});
const chain: Chain = {
  launch: link("cudaLaunchKernel", 38, 1, "thread:1"),
  wait: link("wait", 12, 25, "thread:1"),
  batch: link("batch 4", 2, 33, "worker:7"),
  batch_number: 4,
  epoch: 0,
  loader: 0,
  worker: 3,
  sample: link("sample::D", 5, 20, "worker:7"),
  sample_index: 19,
  stage: link("decode::PIL", 8, 15, "worker:7"),
  operator: undefined,
  call: undefined,
  files: [],
};
const whole = gap({
  start_us: 10,
  duration_us: 30,
  cause: "data_wait",
  stage: "decode::PIL",
  step: 2,
  exposed_wait_us: 25,
  chain,
});

it("follows a gap to the sample, every link a place in a lane", () => {
  const rows = chainRows(whole, "gaps:1");
  expect(rows.map((row) => row.key)).toEqual(["gap", "launch", "wait", "batch", "worker", "sample", "stage"]);
  expect(rows.map((row) => row.place?.laneId)).toEqual([
    "gaps:1",
    "thread:1",
    "thread:1",
    "worker:7",
    "worker:7",
    "worker:7",
    "worker:7",
  ]);
  expect(rows.map((row) => row.name)).toEqual([
    "in step 2",
    "cudaLaunchKernel",
    "training thread",
    "batch 4",
    "number 3",
    "index 19",
    "decode::PIL",
  ]);
});

it("shows a launch with what it led to, and a worker with the wait for its batch", () => {
  const of = (key: string) => chainRows(whole, "gaps:0").find((row) => row.key === key)?.range;
  expect(of("launch")).toEqual({ startUs: 38, endUs: 40 });
  expect(of("worker")).toEqual({ startUs: 2, endUs: 37 });
  expect(of("stage")).toEqual({ startUs: 8, endUs: 23 });
});

it("names the operator that the host was in where the loader is not the cause, and none of the loader's links", () => {
  const operator = link("aten::batch_norm", 5, 34, "thread:1");
  const launched = gap({
    start_us: 10,
    duration_us: 30,
    cause: "launch",
    chain: { launch: chain.launch, wait: undefined, batch: undefined, sample: undefined, stage: undefined, operator },
  });
  const rows = chainRows(launched, "gaps:0");
  expect(rows.map(({ label, name }) => [label, name])).toEqual([
    ["Gap", "outside any step"],
    ["Launch call", "cudaLaunchKernel"],
    ["Host was in", "aten::batch_norm"],
  ]);
  expect([rows[2]?.durationUs, rows[2]?.insideUs]).toEqual([34, 29]);
  expect(rows[2]?.range).toEqual({ startUs: 5, endUs: 40 });
});

it("names the runtime call that most of the gap passed in, behind the operator or before the loader's links", () => {
  const call = link("cudaFree", 6, 30, "calls:1");
  const none = { launch: chain.launch, wait: undefined, batch: undefined, sample: undefined, stage: undefined };
  const launched = chainRows(gap({ start_us: 10, duration_us: 30, cause: "launch", chain: { ...none, call } }), "idle");
  expect(launched.map(({ label, name }) => [label, name]).at(-1)).toEqual(["Runtime call", "cudaFree"]);
  const waited = chainRows(gap({ ...whole, chain: { ...chain, call } }), "idle");
  expect(waited.map(({ key }) => key).slice(0, 4)).toEqual(["gap", "launch", "call", "wait"]);
});

it("keeps rows whose links are absent, each with its reason, and says why none is of the loader", () => {
  const quiet = gap({ cause: "launch", exposed_wait_us: 0 });
  const rows = chainRows(quiet, "gaps:0");
  expect(rows.map((row) => row.key)).toEqual(["gap", "launch", "operator"]);
  expect(rows.slice(1).every((row) => row.place === null && row.reason.endsWith("."))).toBe(true);
  expect(noWaitWords(quiet)).toContain("did not wait for data");
  expect(noWaitWords(gap({ exposed_wait_us: 4 }))).toContain("not what kept the device idle");
  expect([noWaitWords(gap({ exposed_wait_us: undefined })), noWaitWords(whole)]).toEqual(["", ""]);
});

it("says that a loader without workers builds its batches in the wait itself", () => {
  const { wait, sample, stage } = chain;
  const rows = chainRows(
    gap({
      exposed_wait_us: 9,
      stage: "decode::PIL",
      chain: { launch: undefined, wait, batch: undefined, sample, stage, operator: undefined },
    }),
    "gaps:0",
  );
  expect(rows.find((row) => row.key === "batch")?.reason).toContain("built the batch itself");
  expect(rows.find((row) => row.key === "stage")?.place).not.toBeNull();
});

it("says since when a batch was ready that the wait received, and what the wait went to", () => {
  const ready = gap({
    stage: "transfer::serialise",
    stage_us: 20,
    chain: {
      ...chain,
      sample: undefined,
      sample_index: undefined,
      stage: undefined,
      wait: link("wait", 452_300, 25, "thread:1"),
      in_queue_us: 4000,
    },
  });
  expect(queueWords(ready)).toBe(
    "Batch 4 was ready in the queue at 448.3\u00a0ms, 4.00\u00a0ms before this data wait began.",
  );
  expect([queueWords(whole), queueWords(gap({}))]).toEqual(["", ""]);
  const [sample, stage] = chainRows(ready, "gaps:0").slice(-2);
  expect(sample?.reason).toContain("finished before this data wait began");
  expect([stage?.name, stage?.place]).toEqual(["transfer::serialise", null]);
  expect(stage?.reason).toBe("The data wait went to transfer::serialise, which has no span.");
});

it("does not deny the span of a stage that another batch has, nor a sample that was over", () => {
  const elsewhere = gap({ stage: "decode::PIL", chain: { ...chain, stage: undefined } });
  expect(chainRows(elsewhere, "gaps:0").at(-1)?.reason).toContain("no span of it belongs to this batch");
  const before = gap({
    stage: "decode::PIL",
    chain: { ...chain, sample: undefined, stage: link("decode::PIL", 3, 5, "w") },
  });
  expect(chainRows(before, "gaps:0").at(-2)?.reason).toContain("was over before this data wait began");
});

it("says so when the wait went to what is no stage", () => {
  const rows = chainRows(
    gap({ stage: "starved", exposed_wait_us: 9, chain: { ...chain, sample: undefined, stage: undefined } }),
    "gaps:0",
  );
  expect(rows.at(-1)?.reason).toContain("no index yet (not drawn)");
});

it("takes a click in the gap lane for the longest gap under the box that the report lists", () => {
  const gaps = [
    gap({ start_us: 50, duration_us: 9 }),
    gap({ start_us: 10, duration_us: 5 }),
    gap({ start_us: 20, duration_us: 4 }),
  ];
  const box = { startUs: 8, durationUs: 20 } as BoxInfo;
  expect(gapOfBox(gaps, box)?.start_us).toBe(10);
  expect(gapOfBox(gaps, { startUs: 70, durationUs: 5 } as BoxInfo)).toBeNull();
});

it("says why a click chooses no gap", () => {
  const gaps = [gap({ start_us: 10, duration_us: 30 })];
  const at = (startUs: number, merged = 1) => ({ startUs, durationUs: 2, merged, name: "launch" }) as BoxInfo;
  expect(whyNotChosen(gaps, 5000, at(100))).toBe(
    "That gap of 2.00\u00a0µs (launch) is not among the 1 longest of 5,000, and the report keeps the chain for those only.",
  );
  expect(whyNotChosen(gaps, 5000, at(100, 12))).toMatch(/^Those 12 gaps are not among/);
  expect(whyNotChosen(gaps, 5000, at(20))).toMatch(/a different main cause/);
});

it("filters gaps by their main cause", () => {
  const gaps = [gap({ cause: "sync" }), gap({ cause: "launch" }), gap({ cause: "" })];
  expect(gapsOfCause(gaps, null)).toBe(gaps);
  expect(gapsOfCause(gaps, "sync")).toEqual([gaps[0]]);
  expect(gapsOfCause(gaps, "unknown")).toEqual([gaps[2]]);
});

it("finds the chain's batch among those of the report", () => {
  const batches = [batch({ number: 4, worker: 3, epoch: 1 }), batch({ number: 4, worker: 3 })];
  expect(batchOfChain({ batches }, whole)).toBe(batches[1]);
  expect(batchOfChain({ batches: [] }, whole)).toBeNull();
});

it("finds the row that shows a span, and none where it was joined with others", () => {
  const model = buildTimeline(
    timeline([
      {
        ...lane([
          [0, 100, 0],
          [10, 20, 1],
          [40, 20, 1],
        ]),
        merged: [1, 1, 3],
      },
    ]),
  );
  const [only] = model.lanes;
  const rowAt = (startUs: number, endUs: number) =>
    only === undefined ? null : rowOfPlace(only, { laneId: "l", name: "volta", startUs, endUs }, model.names);
  expect(rowAt(10, 30)).toBe(1);
  expect(rowAt(0, 100)).toBe(0);
  expect(rowAt(40, 60)).toBeNull();
});

it("says of work that was launched already for most of the gap that the host was not late", () => {
  const reasonOf = (start_us: number, queued_us: number): string | undefined => {
    const launch = link("cudaLaunchKernel", start_us, 1, "thread:1");
    const queued = gap({ start_us: 60, duration_us: 10, cause: "launch", queued_us, chain: { files: [], launch } });
    return chainRows(queued, "idle").find(({ key }) => key === "operator")?.reason;
  };
  expect(reasonOf(59, 10)).toContain("The host was not late: what ended the gap was launched before it began");
  expect(reasonOf(61, 8)).toContain("was launched in less than half of it");
  expect(reasonOf(61, 4)).toContain("No operator of the host");
});

it("says how much of a gap's data wait its stage is, where others have much of it", () => {
  const words = (stage_us: number): string =>
    stageShareWords(gap({ duration_us: 30, stage: "decode::PIL", stage_us, idle_by_cause_us: { data_wait: 25 } }));
  expect(words(10)).toContain("40.0% of the data wait in this gap");
  expect([words(24), words(0)]).toEqual(["", ""]);
});

it("says of a wait in iter(loader) that no batch came yet", () => {
  const starting = {
    ...whole,
    stage: "startup",
    chain: { ...chain, batch: undefined, sample: undefined, stage: undefined },
  };
  const row = chainRows(starting, "gaps:1").find(({ key }) => key === "batch");
  expect(row?.reason).toBe("It waited in iter(loader), where DataLoader workers start: no batch came yet.");
});
