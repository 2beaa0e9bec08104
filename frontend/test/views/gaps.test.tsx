import { act } from "preact/test-utils";
import { expect, it } from "vitest";
import type { Chain } from "../../src/contract/report";
import { buildTimeline } from "../../src/model/lanes";
import { chainLink, timeline as drawn, range, selectedBatch, selectedGapUs, view } from "../../src/state/atoms";
import { device, gap, lane, type Part, timeline } from "../build";
import { all, choose, click, find, open, plain, withTimeline } from "../page";

const link = (name: string, start_us: number, duration_us: number, laneId: string) => ({
  name,
  start_us,
  duration_us,
  lane: laneId,
});
const chain: Part<Chain> = {
  launch: link("cudaLaunchKernel", 38, 1, "main"),
  wait: link("wait", 12, 25, "main"),
  batch: link("batch 4", 2, 33, "builder"),
  batch_number: 4,
  epoch: 0,
  loader: 0,
  worker: 3,
  sample: link("sample::D", 5, 20, "builder"),
  sample_index: 19,
  stage: link("decode::PIL", 8, 15, "builder"),
};
const gaps = [
  gap({
    start_us: 10,
    duration_us: 30,
    cause: "data_wait",
    stage: "decode::PIL",
    step: 2,
    exposed_wait_us: 25,
    idle_by_cause_us: { data_wait: 25, launch: 5 },
    chain,
  }),
  gap({ start_us: 60, duration_us: 10, cause: "launch", idle_by_cause_us: { launch: 10 } }),
];
const idle = device({
  gaps,
  idle_by_cause_us: { data_wait: 25, launch: 15 },
  idle_queued_us: 5,
  sentence: "Device 0 was idle.",
});

it("says in the report's words how idle the device was, and lists the largest gaps with exact values", () => {
  open({ devices: [idle] }, "gaps");
  expect(find("gaps-sentence").textContent).toBe("Device 0 was idle.");
  expect(all("gap-row").map((row) => [row.dataset.startUs, row.dataset.durationUs])).toEqual([
    ["10", "30"],
    ["60", "10"],
  ]);
});

it("goes by l from the longest gap to the next shorter one, and with Shift back", () => {
  withTimeline([{ ...lane([[0, 90]]), id: "idle", kind: "gaps", device: 0 }]);
  open({ devices: [idle] }, "gaps");
  const press = (key: string, shiftKey: boolean): string | undefined => {
    act(() => void document.body.dispatchEvent(new KeyboardEvent("keydown", { key, shiftKey, bubbles: true })));
    return find("gap-detail").dataset.startUs;
  };
  expect([press("l", false), press("l", false), press("L", true)]).toEqual(["60", "60", "10"]);
  expect([...document.querySelectorAll(".keys kbd")].map((key) => key.textContent)).toContain("l");
});

it("says of a gap that the window cuts that it may have been longer", () => {
  open({ devices: [idle] }, "gaps");
  expect(all("gap-note")).toEqual([]);
  open({ devices: [idle], window_start_us: 10 }, "gaps");
  expect(find("gap-note").textContent).toContain("begins with the window");
});

it("says why idle gaps are unknown without a device", () => {
  open({}, "gaps");
  expect(find("unavailable-state").textContent).toContain("No device activity");
});

it("draws no axis where nothing lies on it", () => {
  withTimeline([]);
  open({}, "gaps");
  expect(all("unavailable-state").map((state) => state.textContent)).toEqual([
    expect.stringContaining("No device activity"),
    "There is no timeline.No step, data wait, stage or operator lies in the window.",
  ]);
});

it("lets several devices be told apart", () => {
  open({ devices: [device({ id: 0, idle_us: 40 }), device({ id: 1, idle_us: 70 })] }, "gaps");
  const select = find("device-select") as HTMLSelectElement;
  expect([...select.options].map((option) => option.textContent)).toEqual(["Device 0", "Device 1"]);
  choose(select, "1");
  expect(find("number-gaps-idle").dataset.value).toBe("70");
});

it("shows the longest gap before one is chosen, and the next at a click", () => {
  open({ devices: [idle] }, "gaps");
  expect(find("gap-detail").dataset.startUs).toBe("10");
  expect(all("gap-cause").map((cause) => [cause.dataset.cause, cause.dataset.valueUs])).toEqual([
    ["data_wait", "25"],
    ["launch", "5"],
  ]);
  click(all("gap-row")[1]);
  expect(find("gap-detail").dataset.startUs).toBe("60");
  expect(all("chain-row").length).toBe(3);
  click(find("longer-gap"));
  expect(find("gap-detail").dataset.startUs).toBe("10");
});

it("says how much of the gap the host was in an operator or a call, which may take far longer", () => {
  const during = { operator: link("aten::conv2d", 0, 400, "main"), call: link("cudaFree", 64, 100, "main") };
  const launched = gap({
    start_us: 60,
    duration_us: 10,
    cause: "launch",
    idle_by_cause_us: { launch: 10 },
    chain: during,
  });
  open({ devices: [device({ gaps: [launched] })] }, "gaps");
  const notes = [...document.querySelectorAll(".chain-note")].map((note) => plain(note.textContent));
  const inAll = document.querySelector<HTMLElement>(".chain li:last-child .chain-note")?.title;
  expect(plain(inAll)).toContain("takes 100 µs");
  expect(notes.slice(-2)).toEqual(["10.0 µs of the gap", "6.00 µs of the gap"]);
});

it("zooms to every link of the chain, the gap in the lane of its device", () => {
  withTimeline([
    { ...lane([[8, 15]]), id: "builder", kind: "worker", title: "DataLoader worker 3", worker: 3, loader: 0 },
    { ...lane([[10, 30]]), id: "idle", kind: "gaps", device: 0 },
  ]);
  open({ devices: [idle] }, "gaps");
  const ranges: string[] = [];
  const marked: (string | undefined)[] = [];
  for (const button of all("chain-link")) {
    click(button);
    ranges.push(`${range.value?.startUs} ${range.value?.endUs}`);
    marked.push(find("timeline-canvas").dataset.marked);
  }
  expect(new Set(ranges).size).toBe(7);
  expect(marked).toEqual(["idle", "main", "main", "builder", "builder", "builder", "builder"]);
  expect(range.value).toEqual({ startUs: 0.5, endUs: 30.5 });
  expect(
    all("chain-row")
      .map((row) => row.getAttribute("aria-current"))
      .indexOf("true"),
  ).toBe(6);
});

it("opens the chain's batch among those of the DataLoader workers", () => {
  open({ devices: [idle], batches: [{ number: 4, worker: 3 }], batch_count: 1 }, "gaps");
  click(find("chain-batch"));
  expect([view.value, selectedBatch.value]).toEqual(["workers", "0:0:3:4:"]);
});

it("filters gaps by cause, and shows all again at a second click", () => {
  open({ devices: [idle] }, "gaps");
  const launch = () => all("cause-filter").find((button) => button.dataset.cause === "launch");
  expect(launch()?.title).toContain("had been launched (its call had returned), and had not started");
  click(launch());
  expect(all("gap-row").map((row) => row.dataset.cause)).toEqual(["launch"]);
  expect(find("gap-detail").dataset.startUs).toBe("60");
  expect(find("gap-cover").textContent).toContain("1 whose main cause is launch");
  click(launch());
  expect(all("gap-row").length).toBe(2);
});

it("sorts gaps by any column, unknown values last, equal ones by their length", () => {
  const third = gap({ start_us: 80, duration_us: 5, cause: "launch", step: 1, idle_by_cause_us: { launch: 5 } });
  open({ devices: [device({ gaps: [...gaps, third] })] }, "gaps");
  const starts = (): Array<string | undefined> => all("gap-row").map((row) => row.dataset.startUs);
  const press = (column: string): void =>
    click(find("gap-table").querySelector<HTMLElement>(`[data-head="${column}"] button`));
  press("cause");
  expect(starts()).toEqual(["10", "60", "80"]);
  press("cause");
  expect(starts()).toEqual(["60", "80", "10"]);
  press("step");
  expect(starts()).toEqual(["80", "10", "60"]);
  press("stage");
  expect(starts()[0]).toBe("10");
});

it("says what the training thread did in a cause, and what part that is: no verdict on the loop", () => {
  const limits = { gil: 12, gil_error: 2, samples: 60, text: "waiting for Python's lock (GIL) 12 µs (80.0%)" };
  const limited_by_us = { launch: limits, data_wait: { ...limits, text: "" } };
  const idle_by_cause_us = { launch: 12, data_wait: 40 };
  open({ window_us: 100, devices: [device({ gaps, idle_by_cause_us, limited_by_us })] }, "gaps");
  expect(find("thread-limits").textContent).toBe(
    "Idle: launch, 12.0% of the windowwaiting for Python's lock (GIL) 12 µs (80.0%)",
  );
  const heading = find("thread-limits").previousElementSibling?.querySelector("button");
  expect(heading?.textContent).toBe("What the training thread did meanwhile");
  expect(heading?.title).toContain("Python's lock (GIL)");
});

function press(key: string, shiftKey = false): void {
  act(() => {
    find("timeline-canvas").dispatchEvent(new KeyboardEvent("keydown", { key, shiftKey, bubbles: true }));
  });
}

it("goes to the next gap by g wherever the focus is, but where somebody types", () => {
  withTimeline([{ ...lane([[0, 90]]), id: "idle", kind: "gaps", device: 0 }]);
  open({ devices: [idle] }, "gaps");
  const pressOn = (element: Element | null): void => {
    act(() => {
      element?.dispatchEvent(new KeyboardEvent("keydown", { key: "g", bubbles: true }));
    });
  };
  pressOn(find("span-search"));
  expect(selectedGapUs.value).toBeNull();
  pressOn(find("tab-gaps"));
  expect(selectedGapUs.value).toBe(10);
});

it("says why links of the chain are absent, each reason once", () => {
  open({ devices: [device({ gaps: [gaps[1] ?? gap({})] })] }, "gaps");
  const reasons = [...find("chain-absent").querySelectorAll("li")].map((line) => line.textContent);
  expect(reasons.some((text) => text?.includes("The training thread did not wait for data in this gap."))).toBe(true);
  expect(new Set(reasons).size).toBe(reasons.length);
});

it("goes from gap to gap in time by g, from the left edge on, and explains each", () => {
  withTimeline([{ ...lane([[0, 90]]), id: "idle", kind: "gaps", device: 0 }]);
  const third = gap({ start_us: 80, duration_us: 5, cause: "launch", idle_by_cause_us: { launch: 5 } });
  open({ devices: [device({ gaps: [...gaps, third] })] }, "gaps");
  const seen = ["g", "g", "g", "g"].map((key) => {
    press(key);
    return [selectedGapUs.value, find("gap-detail").dataset.startUs];
  });
  expect(seen).toEqual([
    [10, "10"],
    [60, "60"],
    [80, "80"],
    [80, "80"],
  ]);
  expect(find("jump-said").textContent).toBe("No idle gap after this one.");
  press("G", true);
  expect(find("gap-detail").dataset.startUs).toBe("60");
});

it("goes to the first data wait by n while the whole window is on screen", () => {
  const waits = {
    ...lane([
      [2, 4],
      [70, 10],
    ]),
    id: "t",
    kind: "thread",
    training_thread: true,
    color: [1, 1],
  };
  const whole = buildTimeline({ ...timeline([waits]), names: ["wait::DataLoader", "wait"] });
  drawn.value = { whole, detail: null, error: null };
  open({ devices: [device({ gaps })] }, "gaps");
  press("n");
  expect(range.value !== null && range.value.startUs < 10).toBe(true);
  expect(find("gap-elsewhere").textContent).toContain("not in what the timeline shows");
});

it("says where the timeline has left the gap that is explained, and leads back to it", () => {
  withTimeline([{ ...lane([[0, 90]]), id: "idle", kind: "gaps", device: 0 }]);
  open({ devices: [idle] }, "gaps");
  expect(all("gap-elsewhere")).toEqual([]);
  act(() => {
    range.value = { startUs: 65, endUs: 85 };
  });
  expect(find("gap-elsewhere").textContent).toContain("This gap is not in what the timeline shows.");
  click(find("gap-show"));
  expect([all("gap-elsewhere"), find("gap-detail").dataset.startUs]).toEqual([[], "10"]);
  press("g");
  expect([all("gap-elsewhere"), find("gap-detail").dataset.startUs]).toEqual([[], "60"]);
});

it("gives up a chosen gap that the filter leaves out: panel, timeline and address are of the same one", () => {
  withTimeline([{ ...lane([[0, 90]]), id: "idle", kind: "gaps", device: 0 }]);
  open({ devices: [idle] }, "gaps");
  click(find("gap-row").querySelector<HTMLElement>("button"));
  click(all("chain-link")[1]);
  expect([selectedGapUs.value, chainLink.value]).not.toContain(null);
  click(all("cause-filter").find((button) => button.dataset.cause === "launch"));
  expect([find("gap-detail").dataset.startUs, selectedGapUs.value, chainLink.value]).toEqual(["60", 60, null]);
  expect(range.value).toEqual({ startUs: 55, endUs: 75 });
  click(all("cause-filter").find((button) => button.dataset.cause === "launch"));
  expect([find("gap-detail").dataset.startUs, selectedGapUs.value]).toEqual(["60", 60]);
});

it("has its timeline among the sections that j goes through", () => {
  withTimeline([{ ...lane([[0, 90]]), id: "idle", kind: "gaps", device: 0 }]);
  const root = open({ devices: [idle] }, "gaps");
  const heading = root.querySelector<HTMLElement>(".cause-bar h2");
  if (heading !== null) heading.tabIndex = -1;
  heading?.focus();
  act(() => void heading?.dispatchEvent(new KeyboardEvent("keydown", { key: "j", bubbles: true })));
  expect(document.activeElement?.textContent).toBe("Timeline");
});

it("leads nowhere from the links of a gap where a file has no timeline of the capture", () => {
  withTimeline([{ ...lane([[0, 90]]), id: "idle", kind: "gaps", device: 0 }]);
  selectedGapUs.value = 10;
  open({ devices: [idle] }, "gaps");
  expect(all("chain-link").length).toBeGreaterThan(3);
  act(() => {
    drawn.value = { whole: null, detail: null, error: "no room" };
  });
  expect(all("chain-link")).toEqual([]);
  expect(find("chain").textContent).toContain("cudaLaunchKernel");
});
