import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, it } from "vitest";
import { RanksList, WholeRuns } from "../../src/contract/report";
import { type DataSource, httpSource, useSource } from "../../src/data/source";
import { captureId, chosenRank, chosenRun, ranksList, runs, shownStage, view, wholeRuns } from "../../src/state/atoms";
import { readTable } from "../../src/ui/table-reader";
import { entry, runsOf } from "../build";
import { all, choose, click, draw, find, open, plain } from "../page";

const recorded = WholeRuns.fromJSON({
  runs: [
    {
      run: "exp1",
      began: 1_700_000_000,
      seconds: 40,
      steps: 400,
      step_us: 1e5,
      p95_us: 2e5,
      longest_us: 25e6,
      data_wait_share: 0.25,
      data_wait_note: "of the step time",
      samples_per_s: 80,
      epochs: 2,
      sentence: "400 steps in 40.0 s: 25.0% of the step time is data wait; 1 stall, the longest 25.0 s.",
      points: [0, 10, 20, 30].map((from) => ({
        from_s: from,
        to_s: from + 10,
        steps: 100,
        step_us: 1e5,
        data_wait_share: from / 100,
        rss_bytes: 1e9,
        epochs: from === 20 ? 1 : 0,
      })),
      marks: [
        {
          at_s: 12,
          change: "stall",
          what: "data wait",
          took_us: 25e6,
          usual_us: 2e4,
          capture: "c",
          captured_after: true,
          note: "The data wait is as usual.",
        },
        {
          at_s: 22,
          change: "slow",
          what: "step time",
          took_us: 2e5,
          usual_us: 1e5,
          capture: "gone",
          sentence: "Late.",
        },
      ],
      mark_count: 2,
      growth: [{ what: "/dev/shm", text: "/dev/shm: from 1 GB to 2 GB" }],
      raised: 2,
      measured_samples: 160,
      other_samples: 720,
      troubles: [{ stage: "read::s3", failures: 6, samples: 880, retries: 4, text: "6 times" }],
      slow_samples: [{ index: 12345, took_us: 1e6, times: 2, epoch: 2, batch: 3, files: ["a/b.png"] }],
    },
    { run: "exp2", rank: 3, seconds: 1, steps: 1, sentence: "1 step." },
  ],
});

const ranks = RanksList.fromJSON({
  ranks: [
    {
      run: "exp1",
      rank_time_us: 1000,
      lost_us: 400,
      collectives: 7,
      matched_by: "step",
      sentence: "Rank 1 holds up the others.",
      rows: [
        { rank: 0, host: "a", capture: "exp1/c", step_us: 20, data_wait_us: 2, inherited_us: 400 },
        { rank: 1, host: "b", capture: "exp1/d", step_us: 20, data_wait_us: 18, exposed_wait_us: 9, owned_us: 400 },
      ],
      owners: [{ rank: 1, cause: "decode::jpeg", lost_us: 400, share: 0.4, pattern: "fixed", times_others: 9 }],
      clocks: [{ rank: 1, ahead_us: -2e6, error_us: 10, applied: true }],
      waste: [{ kind: "no_sharding", share: 0.5, sentence: "All 2 ranks read the same samples." }],
      note_texts: ["Rank 2 has no capture."],
    },
  ],
});

beforeEach(() => {
  const answers: Partial<DataSource> = {
    wholeRuns: () => Promise.resolve({ kind: "ready", value: recorded }),
    ranks: () => Promise.resolve({ kind: "ready", value: ranks }),
  };
  useSource({ ...httpSource, ...answers });
  wholeRuns.value = recorded;
  ranksList.value = ranks;
});

afterEach(() => useSource(httpSource));

const key = (name: string): void => {
  act(() => {
    find("run-chart").dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }));
  });
};

it("shows a run's numbers and says what it came to", () => {
  open({}, "run");
  expect(plain(find("run-sentence").textContent)).toContain("25.0% of the step time is data wait");
  expect(find("run-wait").dataset.value).toBe("0.25");
  expect(find("run-step").textContent).toContain("100");
  expect(all("run-note").map((note) => plain(note.textContent))).toEqual([
    "2 exceptions came to the loop in place of a batch.",
    "Memory grows. /dev/shm: from 1 GB to 2 GB.",
  ]);
});

it("says what of a run is outside of its steps, and whose loader is made anew", () => {
  const [run] = recorded.runs;
  const outside = { share: 0.62, outside_us: 38e6, text: "62.0% of the run", made_text: "The DataLoader is made anew" };
  wholeRuns.value = WholeRuns.fromJSON({ runs: [{ ...run, growth: [], raised: 0, outside }] });
  open({}, "run");
  expect(find("run-outside").dataset.value).toBe("0.62");
  expect(plain(find("run-outside").nextElementSibling?.textContent)).toBe("of the run, 38.0 s");
  expect(all("run-note").map((note) => plain(note.textContent))).toEqual([
    "Outside of steps: 62.0% of the run.",
    "The DataLoader is made anew.",
  ]);
});

it("shows which stages failed, and which samples were slow", () => {
  open({}, "run");
  expect(plain(find("run-troubles").textContent)).toContain("read::s368804");
  expect(plain(document.body.textContent)).toContain("Of 880 samples; retries are of the 160 measured ones.");
  expect(plain(document.body.textContent)).toContain("Of 880 samples that were looked at.");
  expect(plain(find("run-slow-samples").textContent)).toContain("123451.00 s232a/b.png");
});

it("opens the capture of a stall, by the table and by its mark", () => {
  open({}, "run");
  expect(all("run-mark")).toHaveLength(2);
  expect(all("open-mark")).toHaveLength(1);
  expect(find("whole-run").textContent).toContain("gone (not here)");
  expect(find("open-mark").textContent).toBe("open the steps after it");
  click(find("open-mark"));
  expect([captureId.value, view.value]).toEqual(["exp1/c", "overview"]);
  open({}, "run");
  act(() => {
    find("run-triangle").dispatchEvent(new MouseEvent("click", { bubbles: true }));
  });
  expect(view.value).toBe("overview");
});

it("has the numbers of a slow time in columns, and the rest in a note", () => {
  open({}, "run");
  const { heads, rows } = readTable(find("run-marks") as HTMLTableElement);
  expect(heads).toContain("Usual");
  const text = plain(rows[0]?.map((cell) => cell.text).join(" | "));
  expect(text).toContain("20.0 ms | 0 | 0 | The data wait is as usual. | c");
  expect(plain(find("run-marks").textContent)).not.toContain("usually");
});

it("sorts the stalls by how long they took", () => {
  open({}, "run");
  const took = document.querySelector<HTMLElement>('[data-testid="run-marks"] [data-head="took"] button');
  click(took);
  click(took);
  expect(all("run-mark").map((row) => row.querySelector("th")?.textContent)).toEqual(["slow", "stall"]);
});

it("reads out the moments of a run by arrow keys", () => {
  open({}, "run");
  key("ArrowRight");
  expect(plain(find("run-readout").textContent)).toContain("0:00:00 to 0:00:10: 100 steps, data wait 0%");
  key("End");
  expect(plain(find("run-chart").getAttribute("aria-valuetext"))).toContain("data wait 30.0%");
  key("ArrowLeft");
  expect(plain(find("run-readout").textContent)).toContain("1 epoch begun");
});

it("chooses among runs, and a run too short for a picture says so", () => {
  open({}, "run");
  choose(find("whole-run-choice"), "1");
  expect([chosenRun.value, chosenRank.value]).toEqual(["exp2", 3]);
  expect(find("whole-run").textContent).toContain("Too short for a picture");
});

it("says how to record a run where there is none", () => {
  wholeRuns.value = WholeRuns.fromJSON({ hint_text: "Start it with ANNOTATE_WATCH=FOLDER." });
  open({}, "run");
  expect(find("unavailable-state").textContent).toContain("ANNOTATE_WATCH");
});

it("shows a run without any capture", () => {
  runs.value = { ...runsOf({ captures: [] }), wholeRuns: 2 };
  view.value = "run";
  draw();
  expect(find("whole-run").textContent).toContain("exp1");
  expect(document.querySelector(".page")?.className, "no column for captures").toBe("page alone");
});

it("shows who holds up the other ranks, and opens a rank's capture", () => {
  open({}, "ranks");
  runs.value = runsOf({ captures: [entry({ id: "exp1/c", run: "exp1", name: "c" })] });
  draw();
  expect(find("ranks-sentence").textContent).toContain("Rank 1 holds up the others");
  expect(all("rank-row").map((row) => row.dataset.rank)).toEqual(["0", "1"]);
  expect(
    all("rank-bar").map((bar) => [...bar.querySelectorAll("rect")].map((rect) => rect.getAttribute("height"))),
  ).toEqual([
    ["0", "70", "172"],
    ["70", "0", "172"],
  ]);
  expect(find("rank-waste").dataset.value).toBe("0.5");
  expect(plain(find("owner-row").textContent)).toContain("decode::jpeg");
  expect(plain(find("clock-table").textContent)).toContain("−2.00 s");
  expect(all("stage-ref"), "rank 1, whose stage it is, is not in the list").toEqual([]);
  expect(all("open-rank")).toHaveLength(1);
  click(find("open-rank"));
  expect(view.value).toBe("overview");
});

it("says what part of the lost time the straggler owns, and has no column that no rank has a number for", () => {
  const rows = ranks.ranks[0]?.rows.map((row) => ({ ...row, exposed_wait_us: undefined }));
  const owners = [{ rank: 1, cause: "host", lost_us: 300, pattern: "fixed" }];
  const heads = (): string => plain(find("rank-table").querySelector("thead")?.textContent);
  open({}, "ranks");
  expect(plain(find("ranks-pattern").closest(".number")?.textContent)).toContain("fixed; owns 100% of the lost time");
  expect(heads()).toContain("Exposed data wait");
  ranksList.value = RanksList.fromJSON({ ranks: [{ ...ranks.ranks[0], rows, owners }] });
  open({}, "ranks");
  expect(plain(find("ranks-pattern").closest(".number")?.textContent)).toContain("fixed; owns 75.0% of the lost time");
  expect(heads()).not.toContain("Exposed data wait");
  expect(find("rank-row").querySelectorAll("td")).toHaveLength(7);
});

it("draws few ranks as wide as their heading, with bars no wider than elsewhere", () => {
  open({}, "ranks");
  const targets = all("rank-bar").map((bar) => bar.querySelector("rect:last-of-type"));
  const ends = targets.map((slot) => Number(slot?.getAttribute("x")) + Number(slot?.getAttribute("width")));
  expect(ends.at(-1), "the right end of the chart").toBe(Number(find("rank-chart").getAttribute("width")) - 8);
  expect(Number(find("rank-bar").querySelector("rect")?.getAttribute("width"))).toBeCloseTo(67.2);
});

it("leads from the stage that holds up the other ranks to its page in that rank's capture", () => {
  const sentence = "Rank 1 holds up the others, because decode::jpeg takes 17 times as long there.";
  ranksList.value = RanksList.fromJSON({ ranks: [{ ...ranks.ranks[0], sentence }] });
  const captures = ["c", "d"].map((name, rank) => entry({ id: `exp1/${name}`, run: "exp1", name, rank }));
  const showRanks = (): void => {
    runs.value = runsOf({ captures, rankRuns: 1 });
  };
  for (const testId of ["owner-row", "ranks-sentence", "ranks-line"]) {
    open({}, testId === "ranks-line" ? "overview" : "ranks");
    act(showRanks);
    click(find(testId).querySelector<HTMLElement>("[data-testid=stage-ref]"));
    expect([captureId.value, view.value, shownStage.value]).toEqual(["exp1/d", "stages", "decode::jpeg"]);
  }
  open({}, "overview");
  act(showRanks);
  click(find("to-ranks"));
  expect(view.value).toBe("ranks");
});

it("knows a rank's capture that is named without its folder, as in an HTML report", () => {
  const rows = [{ ...ranks.ranks[0]?.rows[0], capture: "c" }];
  ranksList.value = RanksList.fromJSON({ ranks: [{ ...ranks.ranks[0], rows }] });
  open({}, "ranks");
  click(find("open-rank"));
  expect(view.value).toBe("overview");
});

it("says nothing of other ranks where there are none", () => {
  open({}, "overview");
  expect(all("ranks-line")).toEqual([]);
});

it("says of a rank that is alone in its folder that the others are not there, whatever other folders have", () => {
  const others = ["a", "b"].map((name, rank) => entry({ id: `ddp/${name}`, run: "ddp", name, rank }));
  open({ rank: 3, world_size: 8 }, "overview");
  act(() => {
    runs.value = runsOf({ captures: [entry({ rank: 3 }), ...others], rankRuns: 1 });
  });
  expect(all("to-ranks")).toEqual([]);
  expect(plain(find("rank-alone").textContent)).toContain("Rank 3 of 8: captures of the other ranks are not in this");
  act(() => {
    runs.value = runsOf({ captures: [entry({ rank: 3 }), entry({ id: "exp1/d", state: "queued" })], rankRuns: 1 });
  });
  expect(all("rank-alone"), "one is not read yet").toEqual([]);
});

it("says how to capture ranks where there are none", () => {
  ranksList.value = RanksList.fromJSON({ hint_text: "Capture all ranks of one run." });
  open({}, "ranks");
  expect(find("unavailable-state").textContent).toContain("all ranks");
});

it("says so where the run in view is not that of the capture that the list marks", () => {
  open({}, "run");
  expect(all("of-another-run")).toEqual([]);
  runs.value = runsOf({ captures: [entry({ run: "audio" })] });
  draw();
  expect(all("run-sentence")).toEqual([]);
  expect(find("unavailable-state").textContent).toContain(
    "The run audio was not recorded with annotate.watch. Other runs are there:",
  );
  const others = all("other-run");
  expect(others.map((button) => plain(button.textContent))).toEqual(["Show exp1", "Show exp2, rank 3"]);
  click(find("other-run"));
  expect(find("of-another-run").textContent).toBe("The run audio was not recorded with annotate.watch. Below is exp1.");
  expect(all("run-sentence")).toHaveLength(1);
  act(() => {
    view.value = "ranks";
  });
  expect(find("of-another-run").textContent).toBe("The run audio has no captures of several ranks. Below is exp1.");
});

it("offers the ranks of another run, and shows them only to those who ask", () => {
  runs.value = runsOf({ captures: [entry({ run: "audio" })] });
  open({}, "ranks");
  runs.value = runsOf({ captures: [entry({ run: "audio" })] });
  draw();
  expect(all("ranks-sentence")).toEqual([]);
  expect(plain(find("unavailable-state").textContent)).toContain("audio has no captures of several ranks");
  click(find("other-run"));
  expect(all("ranks-sentence")).toHaveLength(1);
});

it("explains each sign of the chart by itself", () => {
  open({}, "run");
  expect([...find("run-legend").querySelectorAll("li")].map((item) => plain(item.textContent))).toEqual([
    "4 points",
    "ticks below: points in which epochs begin",
    "triangles: stalls and slow times, filled where a capture opens",
  ]);
});

it("says why a line is broken", () => {
  const words = (): string => plain(find("run-chart").closest("figure")?.textContent);
  open({}, "run");
  expect(words()).not.toContain("broken");
  const [run] = recorded.runs;
  const points = (run?.points ?? []).map((point, number) => ({ ...point, gil_share: number === 1 ? 0 : undefined }));
  wholeRuns.value = WholeRuns.fromJSON({ runs: [{ ...run, points }] });
  open({}, "run");
  expect(words()).toContain("lines are broken where a value was not measured");
  expect(words()).toContain("Python, of the time");
});

it("says of one epoch no average, when the run ended, and what of a step took so long", () => {
  const [run] = recorded.runs;
  const once = { epochs: 1, first_batch_us: 64_100, first_batch_epochs: 1, ended: true };
  wholeRuns.value = WholeRuns.fromJSON({ runs: [{ ...run, ...once }] });
  open({}, "run");
  expect(plain(find("run-epochs").nextElementSibling?.textContent)).toBe("first batch 64.1 ms");
  expect(plain(find("run-began").textContent)).toMatch(/^Began .*\d.*; ended .*\d/);
  const marks = all("run-mark").map((row) => row.textContent);
  expect(marks.join()).toContain(run?.marks[0]?.what);
});

it("frames what the run recorded, and says what the rate is of", () => {
  const [run] = recorded.runs;
  const text = "1.85 s of it to record windows";
  const phases = [{ from_s: 10, to_s: 20, kind: "recorded", text: "recorded: c" }];
  const recordedRun = { ...run, phases, samples_per_s_of: "of the whole run, without", recording_text: text };
  wholeRuns.value = WholeRuns.fromJSON({ runs: [recordedRun] });
  open({}, "run");
  expect(find("run-phase-recorded").textContent).toBe("recorded: c");
  expect(plain(find("run-chart").closest("figure")?.textContent)).toContain(
    "a window was recorded; its steps are not timed, and samples/s are without the intervals that it lies in",
  );
  expect(find("run-rate").parentElement?.textContent).toContain("of the whole run, without");
  expect(plain(find("run-steps").parentElement?.textContent)).toContain(`in 40.0 s, ${text}`);
});

it("shows the run of the capture in view where it was recorded", () => {
  runs.value = runsOf({ captures: [entry({ run: "exp2" })] });
  captureId.value = "exp1/c";
  view.value = "run";
  draw();
  expect(find("run-sentence").textContent).toBe("1 step.");
});

it("explains why a rank comes last, and has one unit for what is lost", () => {
  const owner = { rank: 1, lost_us: 365_000, pattern: "fixed" };
  const owners = [
    { ...owner, cause: "host" },
    { ...owner, cause: "decode::jpeg", lost_us: 900 },
  ];
  ranksList.value = RanksList.fromJSON({ ranks: [{ ...ranks.ranks[0], owners }] });
  open({}, "ranks");
  const [host, stage] = all("owner-row").map((row) => [...(row as HTMLTableRowElement).cells]);
  expect(host?.map((cell) => cell.querySelector<HTMLElement>("button")?.title.slice(0, 9))).toContain("The train");
  expect(stage?.[1]?.querySelector("button")).toBeNull();
  expect([host?.[2]?.textContent, stage?.[2]?.textContent]).toEqual(["365", "0.900"]);
});
