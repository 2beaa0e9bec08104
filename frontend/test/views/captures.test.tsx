import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, it } from "vitest";
import { CaptureRows } from "../../src/contract/report";
import { type DataSource, httpSource, useSource } from "../../src/data/source";
import { currentPlace, showPlace } from "../../src/state/actions";
import { captureId, captureRows, chosenRun, runs, view } from "../../src/state/atoms";
import { fieldsOfPlace, placeOfFields, placeOfView, START } from "../../src/state/place";
import { readTable } from "../../src/ui/table-reader";
import { entry, runsOf } from "../build";
import { all, choose, click, draw, find, open, plain } from "../page";

const listing = CaptureRows.fromJSON({
  sentence: "Device idle in 3 captures: most a/x, 80.0% of the window, least b/z, 10.0%.",
  run_sentences: { a: "Device idle in 1 capture: x, 80.0% of the window." },
  waiting: 1,
  rows: [
    {
      id: "a/x",
      run: "a",
      name: "x",
      state: "ready",
      idle_share: 0.8,
      data_wait_share: 0.5,
      lost_share: 0.8,
      taken: 3,
      verdict: "Disk.",
    },
    {
      id: "a/y",
      run: "a",
      name: "y",
      state: "ready",
      data_wait_share: 0.6,
      lost_share: 0.6,
      taken: 2,
      finding: "Decode less",
      gain_text: "saves `x`",
    },
    {
      id: "b/z",
      run: "b",
      name: "z",
      state: "ready",
      idle_share: 0.1,
      data_wait_share: 0.05,
      lost_share: 0.1,
      taken: 1,
    },
    { id: "new", run: ".", name: "new", state: "queued" },
    { id: "bad", run: ".", name: "bad", state: "error", error: "cannot read bad: it is cut off" },
  ],
});

beforeEach(() => {
  const captures: DataSource["captures"] = () => Promise.resolve({ kind: "ready", value: listing });
  useSource({ ...httpSource, captures });
  captureRows.value = listing;
});

afterEach(() => useSource(httpSource));

const ids = (): Array<string | undefined> => all("capture-row").map((row) => row.dataset.id);

it("lists every capture in the report's order, with what is known of it", () => {
  open({}, "captures");
  expect(ids()).toEqual(["a/x", "a/y", "b/z", "new", "bad"]);
  expect(plain(find("all-captures").textContent)).toContain("Device idle in 3 captures");
  expect(plain(find("rows-waiting").textContent)).toContain("1 capture not analysed yet");
  const [worst, noDevice, , queued, bad] = all("capture-row");
  expect(worst?.querySelector<HTMLElement>('[data-column="idle"]')?.dataset.value).toBe("0.8");
  expect(noDevice?.querySelector('[data-column="idle"]')?.textContent).toBe("–");
  expect(queued?.textContent).toContain("not analysed yet");
  expect(bad?.textContent).toContain("cut off");
});

it("says in a few words why a capture is doubtful", () => {
  const [row] = listing.rows;
  captureRows.value = CaptureRows.fromJSON({ rows: [{ ...row, doubtful: true, doubt_text: "few steps" }] });
  open({}, "captures");
  expect(find("row-doubt").textContent).toBe("doubtful: few steps");
  expect(find("row-doubt").closest("th"), "it is the capture that is, and no sentence").not.toBeNull();
});

it("has the leading finding's gain in one line, and all of it on hover", () => {
  const [, row] = listing.rows;
  const gain = {
    gain_us_per_step: 26_700,
    gain_step_share: 0.784,
    gain_text: "saves up to 26.7 ms per step (78.4% of it)",
  };
  captureRows.value = CaptureRows.fromJSON({ rows: [{ ...row, ...gain }, row] });
  const root = open({}, "captures");
  const lines = [...root.querySelectorAll(".gain-brief")];
  expect(lines.map((line) => plain(line.textContent))).toEqual(["up to 26.7 of 34.1 ms per step (78.4%)", "saves `x`"]);
  expect(lines[0]?.closest("td")?.title).toContain(gain.gain_text);
});

it("says beside the idle time of a row why it may be none", () => {
  const [row] = listing.rows;
  const note = "no kernels were recorded: any compute counts as idle";
  captureRows.value = CaptureRows.fromJSON({
    rows: [
      { ...row, idle_note: note },
      { ...row, id: "b" },
    ],
  });
  const [first, second] = open({}, "captures").querySelectorAll('td[data-column="idle"]');
  expect(first?.textContent).toContain("no kernels were recorded");
  expect(first?.querySelector("button")?.title).toBe(`${note}.`);
  expect(second?.querySelector("button")).toBeNull();
  const { rows } = readTable(find("row-table") as HTMLTableElement);
  expect(rows[0]?.map(({ text }) => text).find((text) => text.includes("no kernels"))).toMatch(/^[\d.]+; no kernels/);
});

it("says of which step the gain is, and the data wait of the verdict, where these are without something", () => {
  const [, row] = listing.rows;
  const without = {
    gain_us_per_step: 201,
    gain_step_share: 0.014,
    gains_of: "a step of 14.4 ms, without the epoch's end",
    loop_wait: "5.41% without the epoch's end",
  };
  captureRows.value = CaptureRows.fromJSON({ rows: [{ ...row, ...without }, row] });
  const root = open({}, "captures");
  expect(plain(root.querySelector(".gain-brief")?.textContent)).toBe(
    "up to 201 µs per step (1.40% of a step of 14.4 ms, without the epoch's end)",
  );
  const [first, second] = root.querySelectorAll('[data-column="wait"]');
  expect(first?.textContent).toContain("5.41% of the loop");
  expect(first?.querySelector("button")?.title).toBe("5.41% without the epoch's end.");
  expect(second?.querySelector("button")).toBeNull();
});

it("says where there is a trend when the run in view has none, and leads there", () => {
  captureRows.value = CaptureRows.fromJSON({
    rows: listing.rows.map((row) => ({ ...(row as object), taken: 10 * row.taken })),
  });
  captureId.value = "b/z";
  chosenRun.value = "b";
  open({}, "captures");
  expect(all("trend")).toEqual([]);
  expect(plain(find("no-trend").textContent)).toContain("No trend of b: ");
  click(find("no-trend").querySelector("button"));
  expect(chosenRun.value).toBe("a");
  expect(all("trend").length).toBe(1);
  expect(all("no-trend")).toEqual([]);
});

it("offers no run as another than itself where the trend is of other programs in it, and leads to one of these", () => {
  const [row] = listing.rows;
  const of = (id: string, taken: number, program: number, run = "gpu") => ({
    ...row,
    id,
    name: id,
    run,
    taken,
    program,
  });
  captureRows.value = CaptureRows.fromJSON({
    rows: [of("alexnet", 10, 1), of("old", 20, 2), of("new", 30, 2), of("x", 1, 1, "b"), of("y", 9, 1, "b")],
  });
  runs.value = runsOf({ captures: ["alexnet", "new"].map((id) => entry({ id, run: "gpu" })) });
  captureId.value = "alexnet";
  view.value = "captures";
  draw();
  const words = plain(find("no-trend").textContent);
  expect(words).toContain("No trend of gpu for the program of alexnet: that takes two captures of one program");
  expect(words).toContain("Of another program in it, that of new. Of another run: b");
  click(find("no-trend").querySelector("button"));
  expect([captureId.value, view.value, all("trend").length, all("no-trend")]).toEqual(["new", "captures", 1, []]);
});

it("has a choice of all runs that no folder called all is taken for", () => {
  const [row] = listing.rows;
  captureRows.value = CaptureRows.fromJSON({ rows: [row, { ...row, id: "all/x", run: "all" }] });
  open({}, "captures");
  const options = [...(find("run-choice") as HTMLSelectElement).options].map(({ text }) => text);
  expect(options).toEqual(["(all runs)", "a", "all"]);
});

it("sorts by any column, what is unknown last, and goes back to the worst first", () => {
  open({}, "captures");
  const head = (): HTMLElement | null => document.querySelector<HTMLElement>('[data-head="wait"] button');
  click(head());
  expect(ids()).toEqual(["a/y", "a/x", "b/z", "new", "bad"]);
  click(head());
  expect(ids()).toEqual(["b/z", "a/x", "a/y", "new", "bad"]);
  click(head());
  expect(ids()[0]).toBe("a/x");
});

it("sorts by the time of capture, the newest first", () => {
  open({}, "captures");
  click(document.querySelector<HTMLElement>('[data-head="when"] button'));
  expect(ids().slice(0, 3)).toEqual(["a/x", "a/y", "b/z"]);
  click(document.querySelector<HTMLElement>('[data-head="when"] button'));
  expect(ids().slice(0, 3)).toEqual(["b/z", "a/y", "a/x"]);
});

it("narrows to a run and to words", () => {
  open({}, "captures");
  choose(find("run-choice"), "a");
  expect([ids(), chosenRun.value]).toEqual([["a/x", "a/y"], "a"]);
  const search = find("search") as HTMLInputElement;
  act(() => {
    search.value = "DECODE";
    search.dispatchEvent(new Event("input", { bubbles: true }));
  });
  expect(ids()).toEqual(["a/y"]);
  expect(find("search-count").textContent).toBe("1 of 5");
});

it("has the sentence of the run that is chosen", () => {
  open({}, "captures");
  expect(find("captures-sentence").textContent).toContain("in 3 captures: most a/x");
  choose(find("run-choice"), "a");
  expect(find("captures-sentence").textContent).toBe("Device idle in 1 capture: x, 80.0% of the window.");
  choose(find("run-choice"), "b");
  expect(all("captures-sentence"), "there is none of it, and that of all is of others").toEqual([]);
});

it("draws the trend of a run with two captures or more", () => {
  chosenRun.value = "a";
  open({}, "captures");
  expect(plain(find("trend").getAttribute("aria-label"))).toContain("2 captures");
  const strokes = [...find("trend").querySelectorAll("path")].map((line) => line.getAttribute("class"));
  expect(strokes).toEqual(["trend-line line-main", "trend-line line-second"]);
  act(() => {
    chosenRun.value = "b";
  });
  expect(all("trend")).toEqual([]);
});

it("draws the mean step as well: a share may stay where all becomes faster", () => {
  const [row] = listing.rows;
  const rows = [650_000, 450_000].map((step_us, at) => ({ ...row, id: `a/${at}`, step_us, taken: 10 * at + 10 }));
  captureRows.value = CaptureRows.fromJSON({ rows });
  chosenRun.value = "a";
  open({}, "captures");
  const figure = find("trend").closest("figure");
  const choices = [...(figure?.querySelectorAll<HTMLElement>(".toggle button") ?? [])];
  expect(choices.map((choice) => choice.textContent)).toEqual(["share of the window", "mean step"]);
  click(choices[1]);
  const [oldest, newest, ...axis] = [...find("trend").querySelectorAll("text")]
    .map((label) => plain(label.textContent))
    .toSorted((a, b) => Number(b.includes(":")) - Number(a.includes(":")));
  expect(axis).toEqual(["0 ms", "500 ms", "1,000 ms"]);
  expect(
    [oldest, newest].map((when) => /:(\d\d)\D*$/.exec(when ?? "")?.[1]),
    "when they were recorded",
  ).toEqual(["10", "20"]);
  expect(find("trend").getAttribute("aria-label")).toContain("Mean step");
  const link = fieldsOfPlace(placeOfView(currentPlace()));
  click(choices[0]);
  expect(find("trend").getAttribute("aria-label"), "an address without the choice").toContain("device idle");
  act(() => showPlace(placeOfFields(link) ?? START));
  expect(find("trend").getAttribute("aria-label"), "a link has the choice").toContain("Mean step");
  expect(
    fieldsOfPlace(placeOfView({ ...currentPlace(), view: "gaps" })).trend,
    "only where it is seen",
  ).toBeUndefined();
});

it("draws no trend of captures of which nobody knows when they were taken", () => {
  captureRows.value = { ...listing, rows: listing.rows.map((row) => ({ ...row, taken: 0 })) };
  open({}, "captures");
  expect(all("trend")).toEqual([]);
});

it("draws no trend of captures of one moment, and that of one rank", () => {
  chosenRun.value = "a";
  const at = (taken: number, rank?: number) => listing.rows.map((row) => ({ ...row, taken, rank }));
  captureRows.value = { ...listing, rows: at(5).map((row) => ({ ...row, taken_by: "file" })) };
  open({}, "captures");
  expect(all("trend")).toEqual([]);
  const rows = [...at(5, 0), ...at(5, 1), ...at(9, 1).map((row) => ({ ...row, lost_share: 1 }))].filter(
    (row) => row.id === "a/x",
  );
  act(() => {
    captureRows.value = { ...listing, rows };
  });
  expect(plain(find("trend").closest("figure")?.textContent)).toContain("2 captures of rank 1");
});

it("says where the order of a trend is only by files", () => {
  chosenRun.value = "a";
  const rows = listing.rows.map((row) => ({ ...row, taken_by: row.id === "a/x" ? "file" : "trace" }));
  captureRows.value = { ...listing, rows };
  open({}, "captures");
  const words = () => plain(find("trend").closest("figure")?.textContent);
  expect(words()).toContain("2 captures, oldest first (1 by when its file was changed)");
  act(() => {
    captureRows.value = { ...listing, rows: rows.map((row) => ({ ...row, taken_by: "file" })) };
  });
  expect(words()).toContain("2 captures, oldest first by when their files were changed");
});

it("draws the trend of one program, and of no other run than that in view", () => {
  chosenRun.value = "a";
  const [worst, , other] = listing.rows;
  const of = (id: string, taken: number, program: number) => ({ ...worst, id, taken, program });
  captureRows.value = CaptureRows.fromJSON({ rows: [of("1", 10, 1), of("2", 20, 2), of("3", 30, 1), other] });
  open({}, "captures");
  const words = plain(find("trend").closest("figure")?.textContent);
  expect(words).toContain("2 captures, oldest first");
  expect(words).toContain("1 of another program is left out");
  act(() => {
    chosenRun.value = null;
  });
  expect(all("trend"), "the capture in view is of a run without a course").toEqual([]);
});

it("cuts sentences of many captures only", () => {
  open({}, "captures");
  expect(find("row-table").className).toBe("rows");
  const rows = Array.from({ length: 11 }, (_, at) => ({ ...listing.rows[0], id: `${at}` }));
  act(() => {
    captureRows.value = CaptureRows.fromJSON({ rows });
  });
  expect(find("row-table").className).toBe("rows rows-cut");
});

it("leads from a row to its capture", () => {
  open({}, "captures");
  click(all("capture-row")[2]?.querySelector("button"));
  expect([captureId.value, view.value]).toEqual(["b/z", "overview"]);
});

it("marks the column by which the rows are in order as they come, and turns it round at the first press", () => {
  const rows = [0.9, 0.5, 0.1].map((share, at) => ({
    id: `${at}`,
    state: "ready",
    data_wait_share: share,
    lost_share: share,
  }));
  captureRows.value = CaptureRows.fromJSON({ rows });
  open({}, "captures");
  const head = (name: string): HTMLElement | null => document.querySelector<HTMLElement>(`[data-head="${name}"]`);
  expect([head("wait")?.ariaSort ?? head("wait")?.getAttribute("aria-sort"), ids()]).toEqual([
    "descending",
    ["0", "1", "2"],
  ]);
  expect(find("row-order").textContent).toBe("Worst first: by data wait.");
  click(head("wait")?.querySelector<HTMLElement>("button"));
  expect(all("row-order")).toEqual([]);
  expect([head("wait")?.getAttribute("aria-sort"), ids()]).toEqual(["ascending", ["2", "1", "0"]]);
  click(head("wait")?.querySelector<HTMLElement>("button"));
  captureRows.value = listing;
  open({}, "captures");
  expect(head("idle")?.getAttribute("aria-sort"), "of mixed numbers no column has the order").toBe("none");
  expect(find("row-order").textContent).toBe(
    "Worst first: by device idle, where there is no device by data wait; then what is not analysed.",
  );
});

it("marks no column where a replay comes last with the largest number", () => {
  const row = { state: "ready", data_wait_share: 0.5, lost_share: 0.5 };
  const replay = { ...row, mode: "replay", data_wait_share: 0.9, lost_share: 0.9 };
  captureRows.value = CaptureRows.fromJSON({ rows: [row, { ...row, data_wait_share: 0.4, lost_share: 0.4 }, replay] });
  open({}, "captures");
  expect(document.querySelector('[data-head="wait"]')?.getAttribute("aria-sort")).toBe("none");
  expect(find("row-order").textContent).toBe("Worst first: by data wait; then replays.");
});

it("says nothing of all runs above the captures of one", () => {
  open({}, "captures");
  choose(find("run-choice"), "a");
  expect(find("all-captures").textContent).not.toContain("Worst of 3");
});

it("parts a finding from its gain in a copy of the table, and keeps code as code", () => {
  open({}, "captures");
  const { rows } = readTable(find("row-table") as HTMLTableElement);
  expect(rows[1]?.at(-1)?.text).toBe("Decode less; saves `x`");
});
