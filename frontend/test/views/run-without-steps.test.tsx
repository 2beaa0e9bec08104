import { afterEach, expect, it } from "vitest";
import { WholeRuns } from "../../src/contract/report";
import { type DataSource, httpSource, useSource } from "../../src/data/source";
import { chosenRun, runs, wholeRuns } from "../../src/state/atoms";
import { entry, runsOf } from "../build";
import { choose, click, draw, find, open } from "../page";

const STEPLESS = { run: "audio", reason_text: "no batch of a DataLoader was seen" };

/** The Run view of a capture in the folder `audio`. */
function openRun(value: WholeRuns): void {
  const answers: Partial<DataSource> = { wholeRuns: () => Promise.resolve({ kind: "ready", value }) };
  useSource({ ...httpSource, ...answers });
  wholeRuns.value = value;
  open({}, "run");
  runs.value = runsOf({ captures: [entry({ run: "audio" })] });
  draw();
}

afterEach(() => useSource(httpSource));

it("says why the run of the capture in view has no step, where annotate.watch has recorded it", () => {
  openRun(WholeRuns.fromJSON({ runs: [{ run: "exp1", steps: 1 }], runs_without_steps: [STEPLESS] }));
  expect(find("unavailable-state").textContent).toContain(
    "The run audio has nothing to show: no step was recorded (no batch of a DataLoader was seen). Another run is there:",
  );
});

it("says why no run that was recorded has a step", () => {
  openRun(WholeRuns.fromJSON({ runs_without_steps: [STEPLESS] }));
  expect(find("unavailable-state").textContent).toContain("No step was recorded");
  expect(find("run-without-steps").textContent).toBe("audio: no batch of a DataLoader was seen.");
});

it("offers runs without a step beside the others, and says of a chosen one why", () => {
  const [one, other] = [
    { run: "audio", steps: 1 },
    { ...STEPLESS, run: "zipped" },
  ];
  openRun(WholeRuns.fromJSON({ runs: [one], runs_without_steps: [other] }));
  expect(find("whole-run-choice").textContent).toBe("audiozipped (no step was recorded)");
  choose(find("whole-run-choice"), "1");
  expect(chosenRun.value).toBe("zipped");
  expect(find("unavailable-state").textContent).toContain(
    "The run zipped has nothing to show: no step was recorded (no batch of a DataLoader was seen). Another run is there:",
  );
  click(find("other-run"));
  expect(find("run-sentence")).toBeTruthy();
});
