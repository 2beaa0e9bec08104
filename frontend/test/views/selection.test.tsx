import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type DataSource, httpSource, useSource } from "../../src/data/source";
import { refreshRuns } from "../../src/state/actions";
import { chosenSteps, range, selectedGapUs } from "../../src/state/atoms";
import { capture, entry, runsOf, step } from "../build";
import { all, click, find, open, openAs, plain } from "../page";

const items = [1, 2, 3, 4].map((number) => step({ number, start_us: number * 100 }));
const steps = { count: 4, mean_us: 100, p50_us: 100, p95_us: 100, items };
const sentence = "Steps 2 to 3 only: 2 of 4 recorded steps, 200 µs of the 400 µs window.";
const selection = { first: 2, last: 3, count: 2, recorded_first: 1, recorded_last: 4, recorded_count: 4, sentence };

const asked: Array<string | null> = [];
const answer: { next: Awaited<ReturnType<DataSource["report"]>> } = {
  next: { kind: "ready", value: capture({ selection, steps: { ...steps, items: items.slice(1, 3) } }) },
};

beforeEach(() => {
  asked.length = 0;
  useSource({
    ...httpSource,
    runs: () => Promise.resolve({ kind: "ready", value: runsOf({ captures: [entry({})] }) }),
    report: (_id, wanted) => {
      asked.push(wanted);
      return Promise.resolve(answer.next);
    },
  });
});

afterEach(() => useSource(httpSource));

function write(name: string, text: string): void {
  const field = find(name) as HTMLInputElement;
  act(() => {
    field.value = text;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

async function submit(): Promise<void> {
  await act(async () => {
    find("step-fields").dispatchEvent(new Event("submit", { bubbles: true, cancelable: true }));
    await Promise.resolve();
  });
}

it("asks for the numbers of the steps in the fields, says which they are, and has a way back", async () => {
  open({ steps }, "overview");
  range.value = { startUs: 1, endUs: 2 };
  selectedGapUs.value = 5;
  write("step-first", "2");
  write("step-last", "3");
  await submit();
  expect([asked, chosenSteps.value]).toEqual([["2..3"], "2..3"]);
  expect([range.value, selectedGapUs.value]).toEqual([null, null]);
  expect(plain(find("selection").textContent)).toContain(sentence);
  expect(all("step-bar").map((bar) => [bar.dataset.step, bar.getAttribute("class")])).toEqual([
    ["1", "dim"],
    ["2", ""],
    ["3", ""],
    ["4", "dim"],
  ]);
  expect(find("step-band").textContent).toBe("steps 2 to 3");
  expect((find("step-first") as HTMLInputElement).value).toBe("2");
  click(find("step-fields").querySelector<HTMLElement>('[data-testid="all-steps"]'));
  expect(chosenSteps.value).toBeNull();
  expect(all("step-bar").length).toBe(4);
  expect(all("selection")).toEqual([]);
});

it("says in one line what is wrong with the fields, and asks for nothing", async () => {
  open({ steps }, "overview");
  write("step-first", "7");
  write("step-last", "9");
  expect(find("step-fields").textContent).toContain("This capture has steps 1 to 4.");
  await submit();
  write("step-last", "x");
  expect(find("step-fields").textContent).toContain("Write two step numbers.");
  await submit();
  write("step-first", "4");
  write("step-last", "2");
  expect(find("step-fields").textContent).toContain("Write the smaller step number first.");
  await submit();
  expect(asked).toEqual([]);
});

it("says that it shows the part of a range that was recorded", async () => {
  open({ steps }, "overview");
  write("step-first", "3");
  write("step-last", "9");
  expect(find("step-fields").textContent).toContain("steps 1 to 4: of these, steps 3 to 4 will be shown.");
  await submit();
  expect(chosenSteps.value).toBe("3..4");
});

it("takes all recorded steps for no choice", async () => {
  open({ steps }, "overview");
  await submit();
  expect([asked, chosenSteps.value]).toEqual([[], null]);
});

it("offers all recorded steps while some are chosen", () => {
  open({ steps: { ...steps, items: items.slice(1, 3) }, selection }, "overview");
  write("step-last", "4");
  expect(find("step-fields").textContent).not.toContain("This capture has");
});

it("chooses the bars that are dragged over, and none by a click", async () => {
  open({ steps }, "overview");
  const chart = find("step-chart");
  vi.spyOn(chart, "getBoundingClientRect").mockReturnValue({ left: 0 } as DOMRect);
  const slot = Number(chart.querySelector(".step-target")?.getAttribute("width"));
  const at = (index: number): number => 56 + (index + 0.5) * slot;
  const point = (type: string, clientX: number): void => {
    act(() => void chart.dispatchEvent(new PointerEvent(type, { clientX, button: 0, bubbles: true })));
  };
  point("pointerdown", at(1));
  point("pointerup", at(1));
  expect(asked).toEqual([]);
  point("pointerdown", at(2));
  point("pointermove", at(1));
  expect(find("step-band").textContent).toBe("steps 2 to 3");
  act(() => void document.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" })));
  point("pointerup", at(1));
  expect(asked).toEqual([]);
  point("pointerdown", at(2));
  point("pointermove", at(1));
  point("pointerup", at(1));
  expect(asked).toEqual(["2..3"]);
});

it("has a way back where the steps cannot be shown", () => {
  chosenSteps.value = "7..9";
  openAs({ kind: "failed", message: "it has steps 1..4; choose among those", version: "10:1" }, "overview");
  expect(find("error-state").textContent).toContain("cannot be shown");
});

it("says of Compare that it is about whole captures", () => {
  open({ steps, selection }, "compare");
  expect(find("selection").textContent).toMatch(/^Compare is about whole captures\./);
  expect(find("selection").querySelector("strong")).toBeNull();
  open({ steps, selection }, "captures");
  expect(find("selection").textContent).toContain("All captures is about whole captures.");
  open({ steps, selection }, "ranks");
  expect(find("selection").textContent).toContain("Ranks is about whole captures.");
});

it("does not say so in a report of chosen steps, whose list of captures is of these", () => {
  useSource({ ...httpSource, live: false });
  open({ steps, selection }, "captures");
  expect(find("selection").textContent).not.toContain("whole captures");
});

it("shows the steps that a link names once their report is there", async () => {
  chosenSteps.value = "2..3";
  openAs({ kind: "pending", state: "queued" }, "overview");
  await act(() => refreshRuns());
  expect(asked, "the chart shows all steps").toEqual(["2..3", null]);
  expect(find("selection").textContent).toContain("Steps 2 to 3 only");
});

it("leads the focus back to the fields once the steps that they asked for are there", async () => {
  let arrive: () => void = () => undefined;
  const arrived = new Promise<void>((done) => {
    arrive = done;
  });
  useSource({ ...httpSource, report: () => arrived.then(() => answer.next) });
  open({ steps }, "overview");
  write("step-first", "2");
  write("step-last", "3");
  find("step-last").focus();
  await submit();
  expect(all("step-fields")).toEqual([]);
  await act(async () => {
    arrive();
    await arrived;
    await Promise.resolve();
  });
  expect(document.activeElement).toBe(find("step-first"));
});
