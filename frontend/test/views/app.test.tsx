import { act } from "preact/test-utils";
import { expect, it } from "vitest";
import { httpSource, useSource } from "../../src/data/source";
import { captureId, listSearch, printing, runs, runsError, view } from "../../src/state/atoms";
import { entry, runsOf, stage } from "../build";
import { all, click, draw, find, open, openAs } from "../page";

it("says that it looks for captures before the first answer", () => {
  draw();
  expect(find("loading-state").textContent).toContain("Looking for captures");
});

it("shows the one line of an error, and no blank page", () => {
  runsError.value = "TensorBoard does not answer. Is it still running?";
  draw();
  expect(find("error-state").textContent).toContain("does not answer");
});

it("shows the three lines to type when there is no capture", () => {
  runs.value = runsOf({ problems: ["/data/runs/x: permission denied"] });
  draw();
  expect(find("empty-command").textContent).toContain("tb-dataplugin run --logdir /data/runs/exp1 -- python train.py");
  expect(find("empty-code").textContent).toContain('with annotate.profile("/data/runs/exp1") as prof:');
  expect(find("problems").textContent).toContain("permission denied");
});

it("does not call the log directory empty while it is still being scanned", () => {
  runs.value = runsOf({ scanning: true });
  draw();
  expect(all("empty-state")).toEqual([]);
});

it("folds more than two lines on files that a page is without, but on paper, and none of the log directory", () => {
  const problems = (count: number) => {
    act(() => {
      runs.value = runsOf({
        captures: [entry({})],
        problems: Array.from({ length: count }, (_, at) => `cannot read ${at}: it is empty`),
      });
    });
  };
  open({}, "overview");
  problems(3);
  expect(find("problems").children).toHaveLength(3);
  expect(all("problems-folded"), "with a server").toEqual([]);
  useSource({ ...httpSource, live: false });
  open({}, "overview");
  problems(2);
  expect(all("problems-folded")).toEqual([]);
  expect(find("problems").children).toHaveLength(2);
  problems(3);
  const folded = find("problems-folded") as HTMLDetailsElement;
  expect(folded.open).toBe(false);
  expect(folded.querySelector("summary")?.textContent).toBe("3 files are not in this report");
  expect(folded.querySelectorAll("li")).toHaveLength(3);
  act(() => {
    printing.value = true;
  });
  expect(all("problems-folded")).toEqual([]);
  expect(find("problems").children).toHaveLength(3);
  act(() => {
    printing.value = false;
  });
  useSource(httpSource);
});

it("says that a capture is queued or being read", () => {
  openAs({ kind: "pending", state: "queued" }, "overview");
  expect(find("loading-state").textContent).toContain("queued");
});

it("does not say that a capture is being read by a TensorBoard that is gone", () => {
  openAs({ kind: "pending", state: "loading" }, "overview");
  act(() => {
    runsError.value = "TensorBoard does not answer.";
  });
  expect(find("error-state").textContent).toContain("cannot be shown.");
  expect(all("loading-state")).toEqual([]);
});

it("shows why a capture cannot be read", () => {
  const message = "c: the gzip stream ends early";
  openAs({ kind: "failed", message, version: "" }, "overview", entry({ state: "error" }));
  expect(find("error-state").textContent).toContain("exp1 / c cannot be shown.");
  expect(find("error-state").textContent).toContain("ends early");
});

it("has its tabs in the order of the questions, named in the vocabulary", () => {
  const root = open({}, "overview");
  const tabs = [...root.querySelectorAll<HTMLElement>('[role="tab"]')];
  expect(tabs.map((tab) => tab.textContent)).toEqual([
    "Overview",
    "Findings",
    "Stages",
    "Flame graph",
    "DataLoader workers",
    "Idle gaps",
    "Run",
    "Ranks",
    "Compare",
    "All captures",
    "Trace",
  ]);
});

it("goes from tab to tab by arrow keys, round the end", () => {
  const root = open({}, "overview");
  const tabs = root.querySelector<HTMLElement>('[role="tablist"]');
  act(() => void tabs?.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft" })));
  expect(view.value).toBe("trace");
  act(() => void tabs?.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" })));
  expect(view.value).toBe("overview");
});

it("moves no capture of the list under the pointer", () => {
  open({}, "overview");
  const ids = () => all("capture-option").map((option) => option.dataset.id);
  const list = () => document.querySelector(".captures-list");
  const answer = (...order: string[]) =>
    act(() => {
      runs.value = runsOf({ captures: order.map((id) => entry({ id })) });
    });
  answer("a", "b");
  act(() => void list()?.dispatchEvent(new Event("pointerenter")));
  answer("new", "b", "a");
  expect(ids()).toEqual(["a", "b", "new"]);
  act(() => void list()?.dispatchEvent(new Event("pointerleave")));
  expect(ids()).toEqual(["new", "b", "a"]);
});

it("lists captures with what they are", () => {
  open({}, "overview");
  expect(find("capture-option").title).toMatch(/^c\nWritten by annotate during training\.\nWhen its file was changed/);
  click(find("captures-toggle"));
  expect(find("captures-toggle").getAttribute("aria-expanded")).toBe("true");
});

it("has one tab stop for all captures, and arrow keys go from one to the next", () => {
  runs.value = runsOf({ captures: ["a", "b", "c"].map((id) => entry({ id, run: "exp1", name: id })) });
  captureId.value = "b";
  draw();
  const stops = (): Array<string | undefined> =>
    all("capture-option")
      .filter((option) => option.tabIndex === 0)
      .map((option) => option.dataset.id);
  const press = (key: string): void => {
    act(() => void document.activeElement?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })));
  };
  expect(stops()).toEqual(["b"]);
  act(() => all("capture-option")[1]?.focus());
  press("ArrowDown");
  expect([(document.activeElement as HTMLElement).dataset.id, stops()]).toEqual(["c", ["c"]]);
  press("Home");
  expect((document.activeElement as HTMLElement).dataset.id).toBe("a");
  expect(captureId.value).toBe("b");
});

it("shows the words that a link narrows the captures to, however few there are", () => {
  runs.value = runsOf({ captures: ["a", "b", "c"].map((id) => entry({ id, run: "exp1", name: id })) });
  listSearch.value = "b";
  draw();
  expect(all("capture-option").map((option) => option.dataset.id)).toEqual(["b"]);
  expect((find("search") as HTMLInputElement).value).toBe("b");
});

it("lets the keyboard skip the captures and the tabs", () => {
  open({}, "overview");
  click(find("skip"));
  expect(document.activeElement?.id).toBe("view");
});

it("shows by its tab that a view has nothing to show, and why", () => {
  open({ stages: [stage(["read::open"], {})] }, "overview");
  const empty = ["stages", "flame", "workers", "gaps", "run", "ranks", "compare", "trace", "findings"].filter((name) =>
    find(`tab-${name}`).classList.contains("empty"),
  );
  expect(empty).toEqual(["flame", "workers", "gaps", "run", "ranks", "compare"]);
  expect(find("tab-compare").title).toBe("Nothing to show: there is a single capture");
  click(find("tab-gaps"));
  expect(view.value).toBe("gaps");
});

it("goes from section to section by j and k", () => {
  open({ stages: [stage(["read::open"], {})], stage_summary: { self_by_kind_us: { read: 3 } } }, "stages");
  const press = (key: string): void => {
    act(() => void document.activeElement?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })));
  };
  click(find("skip"));
  const heads = [...document.querySelectorAll("#view h2")];
  heads.forEach((head, at) => {
    head.getBoundingClientRect = () => new DOMRect(0, 100 + at, 1, 1);
  });
  press("j");
  expect(document.activeElement).toBe(heads[0]);
  press("j");
  expect(document.activeElement?.textContent).toBe("Stages");
  press("k");
  expect(document.activeElement).toBe(heads[0]);
});

it("skips to the table of the view", () => {
  open({ stages: [stage(["read::open"], {})] }, "stages");
  click(find("skip-to-table"));
  expect((document.activeElement as HTMLElement).dataset.testid).toBe("stage-link");
});

it("has the focus on the tab of the view that Back led to", () => {
  open({}, "findings");
  find("tab-findings").focus();
  act(() => {
    view.value = "stages";
  });
  expect(document.activeElement).toBe(find("tab-stages"));
});
