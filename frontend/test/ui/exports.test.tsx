// What a copied table has, and the screen has not: all rows, exact numbers, whole names.

import { act } from "preact/test-utils";
import { afterEach, expect, it, vi } from "vitest";
import { CaptureRows } from "../../src/contract/report";
import { type DataSource, httpSource, useSource } from "../../src/data/source";
import { captureRows, causeFilter, chosenSteps, whatIfChanges, whatIfs } from "../../src/state/atoms";
import { fileName } from "../../src/ui/save";
import { device, gap, stage } from "../build";
import { all, csvOf, find, markdownOf, open, plain } from "../page";

afterEach(() => {
  vi.unstubAllGlobals();
  useSource(httpSource);
});

it("copies all gaps that the report lists, each with its exact start and its cause", async () => {
  const gaps = Array.from({ length: 120 }, (_, at) =>
    gap({ start_us: 1000.125 + at, duration_us: 30, cause: "data_wait", idle_by_cause_us: { data_wait: 20 }, step: 3 }),
  );
  open({ devices: [device({ gaps, gap_count: 500, idle_us: 7000 })] }, "gaps");
  expect(all("gap-row").length).toBe(50);
  const lines = await csvOf("Idle gaps");
  expect(lines[0]).toBe("Start (µs),Duration (µs),Main cause,Of idle (%),Step,Main cause alone (µs)");
  expect(lines.length).toBe(121);
  expect(lines).toContain("1000.125,30,data wait,0.428571428571,3,20");
});

const STAGED = gap({
  start_us: 60,
  duration_us: 40,
  cause: "data_wait",
  idle_by_cause_us: { data_wait: 30 },
  stage: "decode::PIL.Image",
  stage_us: 12,
  step: 3,
});

it("copies gaps as Markdown as they stand on screen, without the columns of CSV alone", async () => {
  open({ devices: [device({ gaps: [STAGED] })] }, "gaps");
  const lines = (await markdownOf("Idle gaps")).map(plain);
  expect(lines[0]).toBe("| Start, µs | Duration, µs | Main cause | of idle | Data wait for | Step |");
  expect(lines[2]).toMatch(/^\| 60\S* \| 40\S* \| data wait 75\.0% \| 100% \| decode::PIL\.Image 40\.0% \| 3 \|$/);
});

it("copies the stage of a gap and that stage's share in columns of their own", async () => {
  open({ devices: [device({ gaps: [STAGED, gap({ start_us: 10, duration_us: 3, cause: "launch" })] })] }, "gaps");
  const lines = await csvOf("Idle gaps");
  expect(lines[0]).toMatch(/,Data wait for,Step,Main cause alone \(µs\),That stage's share of data wait \(%\)$/);
  expect(lines[1]).toBe("60,40,data wait,100,decode::PIL.Image,3,30,40");
  expect(lines[2]).toBe("10,3,launch,7.5,,,,");
});

it("says above a Markdown copy what its rows are narrowed to", async () => {
  const gaps = [STAGED, gap({ start_us: 10, duration_us: 3, cause: "launch" })];
  causeFilter.value = "data_wait";
  chosenSteps.value = "3..7";
  const selection = { first: 3, last: 7 };
  open({ devices: [device({ gaps })], selection }, "gaps");
  expect((await markdownOf("Idle gaps")).slice(0, 2)).toEqual(["Idle gaps, steps 3 to 7, data wait:", ""]);
  const subject = { name: "own/x", steps: "steps 3 to 7", words: "" };
  expect(fileName("Idle gaps", "csv", subject, "data wait")).toBe("own-x-idle-gaps-steps-3-to-7-data-wait.csv");
  causeFilter.value = null;
});

it("names doubts beside the capture in Markdown, which has no column for them", async () => {
  const row = { id: "a/x", run: "a", name: "x", state: "ready", doubtful: true, doubt_text: "few steps" };
  const listing = CaptureRows.fromJSON({ rows: [row] });
  useSource({ ...httpSource, captures: () => Promise.resolve({ kind: "ready", value: listing }) });
  captureRows.value = listing;
  open({}, "captures");
  const [head = "", , line = ""] = await markdownOf("All captures");
  expect(head).not.toContain("Doubtful");
  expect(line).toContain("| a / x doubtful: few steps |");
});

it("says the unit of each setting", async () => {
  const environment = { memory_bytes: 25276510208, cores: 4, recording_cost_us: 199, recording_cost_text: "4%; x: 1" };
  open({ environment, loader: { wait_us: 1 } }, "overview");
  const lines = await csvOf("Settings: Host");
  expect(lines).toContain("Name,Value,Unit");
  expect(lines).toContain("Memory,25276510208,B");
  expect(lines).toContain("Recording cost,199,µs");
});

it("names the column of times in a table of parts, and its shares are not rounded", async () => {
  open({ loader: { wait_us: 3000, wait_by_stage_us: { "read::a": 1000, "read::b": 2000 } } }, "overview");
  const lines = await csvOf("Data wait by stage");
  expect(lines[0]).toBe("What,Time (µs),Of data wait (%)");
  expect(lines).toContain("read::a,1000,33.3333333333");
});

it("does not pass the least that a step takes off as a prediction", async () => {
  const made = {
    name: "workers=4 *",
    step: { atLeastUs: 420_713.5 },
    memoryBytes: null,
    notes: [],
  };
  open({ loader: { wait_us: 1 }, stages: [stage(["read::a"], {})] }, "overview");
  const answer = { sentence: "s", doubts: [], limitTexts: [], basisText: "", predictions: [made] };
  act(() => {
    whatIfChanges.value = ["workers=4"];
    whatIfs.value = new Map([["exp1/c 10:1\nworkers=4", { kind: "ready", value: answer }]]);
  });
  expect(find("what-if-table").textContent).toContain("at least");
  const lines = await csvOf("What if");
  expect(lines[0]).toContain(`Change,Step (ms),90% interval from (µs),90% interval to (µs)`);
  expect(lines[1]).toMatch(/^workers=4 \*,,420713\.5,,/);
});

it("copies every capture with its id, rank and a time that sorts", async () => {
  const rows = Array.from({ length: 60 }, (_, at) => ({
    id: `ddp/vm_1.${at}`,
    run: "ddp",
    name: `vm_1.${1_795_635_834_987_858_873n + BigInt(at)}`,
    state: at === 59 ? "error" : "ready",
    error: "it is empty",
    rank: at,
    taken: 1_795_635_834.98,
    data_wait_share: at === 7 ? 0.25 : undefined,
    loop_wait: at === 7 ? "30% of the loop without its checkpoint" : "",
  }));
  const listing = CaptureRows.fromJSON({ rows });
  const captures: DataSource["captures"] = () => Promise.resolve({ kind: "ready", value: listing });
  useSource({ ...httpSource, captures });
  captureRows.value = listing;
  open({}, "captures");
  const lines = await csvOf("All captures");
  expect(lines.length).toBe(61);
  expect(lines[0]?.startsWith("Capture,Rank,When,")).toBe(true);
  expect(lines[8]).toMatch(/^ddp\/vm_1\.7,7,2026-11-25T\S+Z,/);
  expect(lines[0]).toContain(",Data wait: note");
  expect(lines[8]).toContain("30% of the loop without its checkpoint");
  expect(lines[60]).toMatch(/^ddp\/vm_1\.59,59,2026-11-25T\S+Z,it is empty,/);
});

it("sorts captures by time where the date stands below the name", () => {
  const rows = ["b", "a", "c"].map((name, at) => ({ id: name, run: ".", name, state: "ready", taken: 3 - at }));
  captureRows.value = CaptureRows.fromJSON({ rows });
  open({}, "captures");
  const names = (): string[] =>
    [...document.querySelectorAll("[data-testid=capture-row]")].map((row) => row.getAttribute("data-id") ?? "");
  const button = find("row-table").querySelector<HTMLButtonElement>(".head-below button");
  act(() => button?.click());
  expect(names()).toEqual(["b", "a", "c"]);
  act(() => button?.click());
  expect(names()).toEqual(["c", "a", "b"]);
});
