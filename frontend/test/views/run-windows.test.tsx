import { act } from "preact/test-utils";
import { expect, it } from "vitest";
import { WholeRuns } from "../../src/contract/report";
import { captureId, runs, view, wholeRuns } from "../../src/state/atoms";
import { entry, runsOf } from "../build";
import { all, find, open, plain } from "../page";

it("opens the capture of a recorded window by its frame and by a button, where it is here", () => {
  const phases = ["c", "gone"].map((capture, place) => ({
    from_s: 10 * place,
    to_s: 10 * place + 5,
    kind: "recorded",
    text: `recorded: ${capture}`,
    capture,
  }));
  const points = [0, 10].map((from) => ({ from_s: from, to_s: from + 10, steps: 50, step_us: 1e5 }));
  wholeRuns.value = WholeRuns.fromJSON({ runs: [{ run: "exp1", steps: 100, seconds: 20, points, phases }] });
  runs.value = runsOf({ captures: [entry({ run: "exp1", name: "c", id: "exp1/c" })] });
  for (const way of ["run-phase-recorded", "open-window"]) {
    open({}, "run");
    expect(all("run-window").map((row) => plain(row.textContent))).toEqual([
      "0:00:005.00 sc",
      "0:00:105.00 sgone (not here)",
    ]);
    expect(all("open-window")).toHaveLength(1);
    act(() => void find(way).dispatchEvent(new MouseEvent("click", { bubbles: true })));
    expect([captureId.value, view.value]).toEqual(["exp1/c", "overview"]);
  }
});
