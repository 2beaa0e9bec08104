import { act } from "preact/test-utils";
import { expect, it } from "vitest";
import type { PartLines } from "../../src/contract/report";
import { currentPlace, selectView, showPlace } from "../../src/state/actions";
import * as atoms from "../../src/state/atoms";
import { fieldsOfPlace, placeOfFields, START } from "../../src/state/place";
import { device, type Part, stage } from "../build";
import { all, choose, click, find, open, plain } from "../page";

const NAMES = ["sample::D", "transform::Mask", "dilate", "/me/train.py", "train.py:41", "x = convolve(y)", "", "load"];

/** 100 us: sample::D 90 (transform::Mask 60 (dilate 50)), load 10. */
const TREE = {
  names: NAMES,
  function: [0, 1, 2, 7],
  label: [0, 1, 2, 7],
  file: [6, 6, 3, 6],
  place: [6, 6, 4, 6],
  line: [0, 0, 41, 0],
  depth: [0, 1, 2, 0],
  total_us: [90, 60, 50, 10],
  self_us: [30, 10, 50, 10],
  waited_us: [40, 40, 40, 0],
  idle_us: [9, 6, 5, 1],
  origin: ["stage", "stage", "user", "library"],
  samples: [900, 600, 500, 100],
  source: [-1, -1, 5, -1],
  left_out: 2,
  left_out_us: 1,
};

const PART: Part<PartLines> = {
  name: "pipeline",
  samples: 1000,
  time_us: 100,
  tree: TREE,
  sentence: "Of the stages (100 µs by stack samples), the hottest line has 50.0%: dilate at train.py:41.",
  lines: [{ place: "train.py:41", text: "dilate at train.py:41", share: 0.5, error: 0.1, samples: 500, time_us: 50 }],
};
const FEW: Part<PartLines> = { name: "read::open", samples: 9, text: "too few samples, 9 of 100" };
const LINES = { pipeline: PART, stages: [{ ...PART, name: "transform::Mask" }, FEW], sentence: "Sampled well." };

const names = (): string[] => all("frame").map((frame) => frame.dataset.name ?? "");
const frame = (name: string): HTMLElement => {
  const found = all("frame").find((one) => one.dataset.name === name);
  if (found === undefined) throw new Error(`no frame ${name}`);
  return found;
};
const press = (key: string): void => {
  const target = document.activeElement ?? document.body;
  act(() => {
    target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  });
};

it("draws the whole pipeline, callers above what they call", () => {
  open({ lines: LINES }, "flame");
  expect(find("flame-sentence").textContent).toBe(PART.sentence);
  expect(names()).toEqual(["Whole pipeline", "sample::D", "load", "transform::Mask", "dilate"]);
  expect(frame("dilate").style.width).toBe("50%");
  expect(frame("dilate").getAttribute("aria-label")).toBe("dilate train.py:41");
  act(() => frame("Whole pipeline").focus());
  for (const key of ["ArrowDown", "ArrowDown", "ArrowDown"]) press(key);
  expect(plain(frame("dilate").getAttribute("aria-label"))).toBe(
    "dilate train.py:41, x = convolve(y), total 50.0 µs, 50.0% of Whole pipeline, self 50.0 µs, 500 samples",
  );
  expect(plain(find("flame-left-out").textContent)).toContain("2 frames with 1.00% of all time are left out");
});

it("zooms to a frame by a click, and back by the crumbs, Backspace and Escape", () => {
  open({ lines: LINES }, "flame");
  click(frame("transform::Mask"));
  expect(frame("dilate").style.width).toMatch(/^83\.33/);
  expect(atoms.flameZoom.value).toBe("2~transform::Mask");
  click(find("flame-crumbs").querySelector<HTMLElement>("button"));
  expect(atoms.flameZoom.value).toBeNull();
  click(frame("dilate"));
  act(() => frame("dilate").focus());
  press("Backspace");
  expect(atoms.flameZoom.value).toBe("2~transform::Mask");
  press("Escape");
  expect(atoms.flameZoom.value).toBeNull();
});

it("is walked by arrow keys from one stop of the Tab key", () => {
  open({ lines: LINES }, "flame");
  expect(all("frame").filter((one) => one.tabIndex === 0)).toHaveLength(1);
  act(() => frame("Whole pipeline").focus());
  for (const key of ["ArrowDown", "ArrowDown", "ArrowDown"]) press(key);
  expect((document.activeElement as HTMLElement).dataset.name).toBe("dilate");
  expect(document.querySelector('[role="tooltip"]')?.textContent ?? "").toContain("x = convolve(y)");
  press("Enter");
  expect(atoms.flameZoom.value).toBe("3~dilate");
});

it("points out what is searched, with its share", () => {
  open({ lines: LINES }, "flame");
  const search = find("flame-search") as HTMLInputElement;
  act(() => {
    search.value = "train.py";
    search.dispatchEvent(new Event("input", { bubbles: true }));
  });
  expect(plain(find("flame-found").textContent)).toBe("1 frame, 50.0% of all time");
  expect([frame("dilate").dataset.found, frame("load").dataset.found]).toEqual(["true", "false"]);
});

it("measures the data wait that frames caused, and idle time where there is a device", () => {
  open({ lines: LINES }, "flame");
  expect(all("flame-idle")).toHaveLength(0);
  click(find("flame-wait"));
  expect(names()).toEqual(["Whole pipeline, data wait it caused", "sample::D", "transform::Mask", "dilate"]);
  expect(frame("dilate").style.width).toBe("100%");
  expect(plain(find("flame-spans").textContent)).toBe(
    "Shares are of the 40.0 µs of data wait that these frames caused, by stack samples. ",
  );
  act(() => {
    atoms.flameSearch.value = "dilate";
  });
  expect(plain(find("flame-found").textContent)).toBe("1 frame, 100% of data wait");
  open({ lines: LINES, devices: [device({})] }, "flame");
  click(find("flame-idle"));
  expect(frame("sample::D").style.width).toBe("90%");
});

/** load 5, sample::D 45, load 5, sample::D 45. */
const IN_ORDER = {
  ...TREE,
  function: [7, 0, 7, 0],
  label: [7, 0, 7, 0],
  file: [6, 6, 6, 6],
  place: [6, 6, 6, 6],
  line: [0, 0, 0, 0],
  depth: [0, 0, 0, 0],
  total_us: [5, 45, 5, 45],
  self_us: [5, 45, 5, 45],
  waited_us: [0, 20, 0, 20],
  idle_us: [0, 0, 0, 0],
  origin: ["library", "stage", "library", "stage"],
  samples: [50, 450, 50, 450],
  source: [-1, -1, -1, -1],
  left_out: 0,
};

it("draws the same in time order, by a button, by the keyboard and from a link", () => {
  open({ lines: LINES }, "flame");
  expect(all("flame-time")).toHaveLength(0);
  const lines = { ...LINES, pipeline: { ...PART, in_order: IN_ORDER } };
  open({ lines }, "flame");
  click(frame("transform::Mask"));
  click(find("flame-time"));
  expect(atoms.flameZoom.value).toBeNull();
  expect(atoms.flameOrder.value).toBe("time");
  expect(names()).toEqual(["Whole pipeline", "load", "sample::D", "load", "sample::D"]);
  expect(all("frame").map((one) => Math.round(Number.parseFloat(one.style.left)))).toEqual([0, 0, 5, 50, 55]);
  expect(find("flame-in-order").textContent).toContain("as time passes");
  act(() => frame("Whole pipeline").focus());
  for (const key of ["ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight", "Enter"]) press(key);
  expect(atoms.flameZoom.value).toBe("4~sample::D");
  click(find("flame-heavy"));
  expect(names()).toEqual(["Whole pipeline", "sample::D", "load", "transform::Mask", "dilate"]);
});

it("says the time of what is searched in time order, too, where its short frames are left out", () => {
  open({ lines: { ...LINES, pipeline: { ...PART, in_order: IN_ORDER } } }, "flame");
  click(find("flame-time"));
  act(() => {
    atoms.flameSearch.value = "dilate";
  });
  expect(plain(find("flame-found").textContent)).toBe("0 frames drawn, 50.0% of all time");
});

it("says where there are too few samples, and which parts have a picture", () => {
  open({ lines: LINES }, "flame");
  expect([...find("flame-part").querySelectorAll("option")].map((one) => one.textContent)).toEqual([
    "Whole pipeline",
    "transform::Mask",
    "read::open (too few samples for a picture)",
  ]);
  choose(find("flame-part"), "read::open");
  expect(find("flame-sentence").textContent).toBe("read::open: too few samples, 9 of 100.");
  expect(all("icicle")).toHaveLength(0);
});

it("says why it is not of the whole pipeline, where nobody chose another part", () => {
  open({ lines: { ...LINES, pipeline: { ...FEW, name: "pipeline" } } }, "flame");
  expect(find("flame-why").textContent).toBe("Whole pipeline: too few samples, 9 of 100.");
  choose(find("flame-part"), "transform::Mask");
  expect(all("flame-why")).toHaveLength(0);
});

it("says why there is no flame graph", () => {
  const why = { topic: "lines", code: "lines_unknown", count: 1, message: "Lines were not sampled: no permission." };
  open({ diagnostics: [why] }, "flame");
  expect(find("unavailable-state").textContent).toContain("no permission");
  open({}, "flame");
  expect(find("unavailable-state").textContent).toContain("lines=True");
});

it("looks for a hot line in the graph", () => {
  open({ lines: LINES }, "flame");
  click(find("hot-line").querySelector<HTMLElement>("button"));
  expect(atoms.flameSearch.value).toBe("train.py:41");
  expect(frame("dilate").dataset.found).toBe("true");
});

it("sorts the hottest lines by any column", () => {
  const second = {
    place: "train.py:9",
    line: 9,
    text: "blend at train.py:9",
    share: 0.3,
    error: 0.2,
    samples: 700,
    time_us: 30,
  };
  open({ lines: { ...LINES, pipeline: { ...PART, lines: [...(PART.lines ?? []), second] } } }, "flame");
  const press = (column: string): void =>
    click(find("hot-lines").querySelector<HTMLElement>(`[data-head="${column}"] button`));
  const places = (): Array<string | undefined> => all("hot-line").map((row) => row.dataset.place);
  press("line");
  expect(places()).toEqual(["train.py:9", "train.py:41"]);
  press("share");
  expect(places()).toEqual(["train.py:41", "train.py:9"]);
  press("samples");
  expect(places()).toEqual(["train.py:9", "train.py:41"]);
});

it("leaves out lines whose share may be none, and counts them", () => {
  const noise = { place: "a.py:1", line: 1, text: "f at a.py:1", share: 0.02, error: 0.03, samples: 2, time_us: 2 };
  open({ lines: { ...LINES, pipeline: { ...PART, others: 3, lines: [...(PART.lines ?? []), noise] } } }, "flame");
  expect(all("hot-line")).toHaveLength(1);
  expect(find("hot-lines").closest("section")?.textContent).toMatch(
    /4\smore lines have less time, or an interval that reaches 0%/,
  );
});

it("has the same frames as a list", () => {
  const root = open({ lines: LINES }, "flame");
  const details = root.querySelector<HTMLDetailsElement>("details.frame-list");
  act(() => {
    if (details !== null) details.open = true;
    details?.dispatchEvent(new Event("toggle"));
  });
  expect(find("frame-list").querySelectorAll("tbody tr")).toHaveLength(5);
  const copied = [...find("frame-list").querySelectorAll<HTMLElement>("tbody th")].map((cell) => cell.dataset.copied);
  expect(copied[2]).toBe(
    `${copied[1]} › ${plain(find("frame-list").querySelectorAll("tbody th")[2]?.textContent).replace(/^level 3: /, "")}`,
  );
  click(find("frame-list").querySelector<HTMLElement>('[data-head="self"] button'));
  const names = [...find("frame-list").querySelectorAll("tbody th")].map((cell) => plain(cell.textContent));
  expect(names.map((name) => name.replace(/^level \d+: /, "")).slice(0, 2)).toEqual(["dilate", "sample::D"]);
});

it("says of a stage's frame what the table of stages has, and why the two differ", () => {
  const stages = [
    stage(["sample::D", "transform::Mask"], { total_us: 70, self_us: 20 }),
    stage(["transform::Mask"], { total_us: 5, self_us: 5 }),
  ];
  open({ lines: { ...LINES, pipeline: { ...PART, recorder_us: 12 } }, stages }, "flame");
  expect(plain(find("flame-spans").textContent)).toContain(
    "Shares are of the 100 µs of stack samples in this graph. Stages has times by spans, 25.0 µs, and the frame of a stage shows both. Left out: 10.7% of all thread time (12.0 µs of 112 µs of stack samples), which met the recorder's own code, mostly while its thread had no CPU: it is of no line of yours.",
  );
  act(() => frame("Whole pipeline").focus());
  for (const key of ["ArrowDown", "ArrowDown"]) press(key);
  expect(plain(frame("transform::Mask").getAttribute("aria-label"))).toContain("total 75.0 µs by spans, as in Stages");
  press("ArrowDown");
  expect(frame("dilate").getAttribute("aria-label")).not.toContain("by spans");
});

it("says which line caused the data wait, and lists the lines by that, where the picture is of it", () => {
  const [hottest] = PART.lines ?? [];
  const lines = [
    { ...hottest, waited_share: 0.2 },
    { ...hottest, place: "train.py:9", text: "`open(path)` in load", share: 0.3, waited_share: 0.75 },
  ];
  open({ lines: { ...LINES, pipeline: { ...PART, lines } } }, "flame");
  expect(find("flame-sentence").textContent).toBe(PART.sentence);
  expect(all("hot-line").map((row) => row.dataset.place)).toEqual(["train.py:41", "train.py:9"]);
  click(find("flame-wait"));
  expect(find("flame-sentence").textContent).toBe(
    "Whole pipeline: of the data wait that it caused, 75.0% is in open(path) in load.",
  );
  expect(find("flame-sentence").querySelector("code")?.textContent).toBe("open(path)");
  expect(all("hot-line").map((row) => row.dataset.place)).toEqual(["train.py:9", "train.py:41"]);
  expect(find("hot-line").querySelector<HTMLElement>('[data-column="part"]')?.dataset.value).toBe("0.75");
  const head = (column: string): string =>
    plain(find("hot-lines").querySelector(`[data-head="${column}"]`)?.textContent);
  expect(["part", "share", "interval", "time"].map(head)).toEqual([
    "of data wait",
    "of all time",
    "95% interval of all time",
    "All time, µs",
  ]);
  expect(find("hot-line").querySelector("button code")?.textContent).toBe("open(path)");
});

it("is restored by a link with its list, the order of its tables and the words searched", () => {
  const root = open({ lines: LINES }, "flame");
  act(() => {
    const details = root.querySelector<HTMLDetailsElement>("details.frame-list");
    if (details !== null) details.open = true;
    details?.dispatchEvent(new Event("toggle"));
  });
  click(find("frame-list").querySelector<HTMLElement>('[data-head="self"] button'));
  act(() => {
    atoms.flameSearch.value = "dilate";
  });
  const fields = fieldsOfPlace(currentPlace());
  expect(fields).toMatchObject({ list: "on", search: "dilate", sort: "frames-of-the-flame-graph.-self" });
  act(() => selectView("overview"));
  expect(fieldsOfPlace(currentPlace()).sort).toBeUndefined();
  act(() => showPlace(placeOfFields({ view: "overview" }) ?? START));
  expect([atoms.flameSearch.value, atoms.flameListed.value]).toEqual(["", false]);
  act(() => showPlace(placeOfFields(fields) ?? START));
  expect((find("flame-search") as HTMLInputElement).value).toBe("dilate");
  expect(find("frame-list").dataset.sorted).toBe("self");
  expect(plain(find("frame-list").querySelector("tbody th")?.textContent)).toContain("dilate");
});

it("leads from chosen steps with too few samples to the graph of all", () => {
  open({ lines: { ...LINES, pipeline: FEW, stages: [] } }, "flame");
  expect(all("all-steps")).toEqual([]);
  act(() => {
    atoms.chosenSteps.value = "1..2";
  });
  open({ lines: { ...LINES, pipeline: { ...FEW, sentence: "Few." }, stages: [] } }, "flame");
  expect(all("all-steps").length).toBeGreaterThan(0);
});
