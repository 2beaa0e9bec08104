import { afterEach, expect, it } from "vitest";
import { CaptureRows, Comparison } from "../../src/contract/report";
import { EMBEDDED_ID, embeddedSource, sourceOf } from "../../src/data/embedded";
import { capture, timeline } from "../build";

afterEach(() => document.body.replaceChildren());

const NOTHING = {
  captures: [],
  timelines: [],
  whatIfs: [],
  suggestions: [],
  comparisons: [],
  title: "",
  problems: [],
};

const slice = (start: number, end: number) => ({ ...timeline([]), start_us: start, end_us: end });

it("is absent where the page carries no data", () => {
  expect(embeddedSource(document)).toBeNull();
});

it("reads what the exporter wrote, escapes included", async () => {
  const element = document.createElement("script");
  element.id = EMBEDDED_ID;
  element.type = "application/json";
  element.textContent =
    '{"title": "x", "problems": ["b is cut"], "report": {"captures": [{"name": "run/a\\u003c/script>", "mode": "train"}]}, "timelines": [{"slices": []}]}';
  document.body.append(element);
  const found = embeddedSource(document);
  const runs = await found?.runs();
  expect(runs?.kind === "ready" && runs.value.captures.map((item) => [item.id, item.run, item.name])).toEqual([
    ["0", "run/a<", "script>"],
  ]);
  expect(runs?.kind === "ready" && runs.value.problems).toEqual(["b is cut"]);
  expect((await found?.timeline({ id: "0", width: 100 }))?.kind).toBe("failed");
});

it("lists captures in the order of their rows, with when each was taken", async () => {
  const rows = CaptureRows.fromJSON({ rows: [{ id: "1", taken: 7, taken_by: "trace" }, { id: "0" }] });
  const runs = await sourceOf({ ...NOTHING, captures: [capture({}), capture({})], rows }).runs();
  expect(runs.kind === "ready" && runs.value.captures.map((item) => [item.id, item.taken])).toEqual([
    ["1", 7],
    ["0", 0],
  ]);
});

it("answers with the shortest slice that reaches as far as the range", async () => {
  const source = sourceOf({
    ...NOTHING,
    captures: [capture({})],
    timelines: [[slice(0, 100), slice(0, 50), slice(40, 90)]],
  });
  const asked = async (startUs?: number, endUs?: number) => {
    const answer = await source.timeline({
      id: "0",
      width: 100,
      ...(startUs === undefined ? {} : { startUs }),
      ...(endUs === undefined ? {} : { endUs }),
    });
    return answer.kind === "ready" ? [answer.value.start_us, answer.value.end_us] : answer.kind;
  };
  expect(await asked()).toEqual([0, 100]);
  expect(await asked(10, 20)).toEqual([0, 50]);
  expect(await asked(60, 70)).toEqual([40, 90]);
  expect(await asked(45, 95)).toEqual([0, 100]);
});

it("answers with the comparisons that it carries, in whichever order the captures of a side are named", async () => {
  const value = Comparison.fromJSON({ sentence: "Faster." });
  const source = sourceOf({
    ...NOTHING,
    suggestions: [null, { before: ["1"], after: ["0"] }, { before: ["2"], after: ["0"] }],
    comparisons: [{ before: ["1", "2"], after: ["0"], value }],
  });
  expect(await source.comparison(["2", "1"], ["0"])).toEqual({ kind: "ready", value });
  expect((await source.comparison(["1"], ["0"])).kind).toBe("failed");
  expect(await source.suggestion("0")).toEqual({ kind: "ready", value: { before: [], after: [] } });
  expect(await source.suggestion("1")).toEqual({ kind: "ready", value: { before: ["1"], after: ["0"] } });
});

it("says which command makes a comparison that it had no room for", async () => {
  const command = "tb-dataplugin compare '/logs/a 1/x.json' /logs/b/y.json";
  const source = sourceOf({ ...NOTHING, suggestions: [{ before: ["0"], after: ["1"], command }] });
  expect(await source.comparison(["0"], ["1"])).toMatchObject({
    message: expect.stringContaining(`\`${command}\``) as string,
  });
});

it("has no traces and no other comparisons, and says where they are", async () => {
  const source = sourceOf(NOTHING);
  expect(source.live).toBe(false);
  expect(await source.comparison([], [])).toMatchObject({
    kind: "failed",
    message: expect.stringContaining("tb-dataplugin compare") as string,
  });
  expect((await source.report("0", null)).kind).toBe("failed");
});
