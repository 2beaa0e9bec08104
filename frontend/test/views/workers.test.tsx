import { act } from "preact/test-utils";
import { expect, it } from "vitest";
import type { Capture } from "../../src/contract/report";
import { currentPlace } from "../../src/state/actions";
import { range, selectedSample, view } from "../../src/state/atoms";
import { fieldsOfPlace } from "../../src/state/place";
import { lane, type Part, worker } from "../build";
import { all, choose, click, csvOf, find, open as openView, plain, withTimeline } from "../page";

const open = (over: Part<Capture>): HTMLElement => openView(over, "workers");
const loader = { wait_us: 38, wait_count: 1, start_method: "fork", dataset: "D" };
const summary = {
  loader: 0,
  workers: 2,
  processes: 2,
  batches: 2,
  busy_us: 96,
  starved_us: 1,
  startup_us: 2,
  head_of_line_us: 4.5,
};
const workers = [
  worker({ busy_us: 96.25, starved_us: 1.5, startup_us: 2 }),
  worker({ worker: 1, pid: 2, busy_us: 95.75, starved_us: 0.5, startup_us: 1, skew: 1 }),
];
const known = {
  workers,
  worker_summaries: [{ ...summary, sentence: "They cannot keep up." }],
  sample_loaders: [{ loader: 0 }],
  loader,
};

it("says plainly that a loader has no workers, and leads to the stages", () => {
  open({ loader: { ...loader, num_workers: 0 }, stages: [{ path: ["decode::D"] }] });
  const state = find("unavailable-state");
  expect(state.textContent).toContain(
    "This DataLoader has no workers: the training thread builds the batches itself. See Stages",
  );
  click(state.querySelector("button"));
  expect(view.value).toBe("stages");
});

it("does not lead to the stages of a capture that has none", () => {
  open({ loader: { ...loader, num_workers: 0 } });
  expect(find("unavailable-state").textContent).toContain("the training thread builds the batches itself.");
  expect(find("unavailable-state").querySelector("button")).toBeNull();
});

it("does not speak of a loader's workers in a replay, which uses none", () => {
  open({ mode: "replay", loader: { ...loader, num_workers: 4 } });
  expect(find("unavailable-state").textContent).toContain("A replay runs without DataLoader workers");
});

it.each(["workers", "wait_by_stage"])("says why there are no records, by the diagnostic about %s", (topic) => {
  open({
    loader: { ...loader, num_workers: 4 },
    diagnostics: [{ topic, code: "c", count: 1, message: "None of them recorded anything" }],
  });
  expect(plain(find("unavailable-state").textContent)).toContain("No data from 4 DataLoader workers.");
  expect(find("unavailable-state").textContent).toContain("None of them recorded anything");
});

it("counts the workers of loaders without batches in one line", () => {
  const quiet_workers_sentence = "Not listed: 4 DataLoader workers of a DataLoader without batches in this window.";
  const idle = [0, 1, 2, 3].map((number) => worker({ loader: 1, worker: number, pid: 90 + number }));
  const summaries = [...known.worker_summaries, { ...summary, loader: 1, quiet: true }];
  open({ ...known, workers: [...workers, ...idle], worker_summaries: summaries, quiet_workers_sentence });
  expect(all("worker-row")).toHaveLength(2);
  expect(find("quiet-workers").textContent).toBe(quiet_workers_sentence);
  expect(document.querySelector('[data-testid="loader-select"]')).toBeNull();
});

it("carries the report's exact numbers beside the rounded ones", () => {
  open(known);
  expect(find("workers-sentence").textContent).toBe("They cannot keep up.");
  expect(find("number-workers-busy").dataset.value).toBe("96");
  expect(find("number-workers-starved").dataset.value).toBe("1");
  expect(find("number-head-of-line").dataset.value).toBe("4.5");
  expect(find("number-startup").dataset.value).toBe("2");
  const cells = all("worker-row").map((row) => [
    row.dataset.worker,
    row.querySelector<HTMLElement>('[data-column="busy_us"]')?.dataset.valueUs,
  ]);
  expect(cells).toEqual([
    ["0", "96.25"],
    ["1", "95.75"],
  ]);
});

it("has no startup where every worker ran when the window began", () => {
  open({ ...known, worker_summaries: known.worker_summaries.map((one) => ({ ...one, startup_us: 0 })) });
  expect(all("number-startup")).toHaveLength(0);
});

it("gives the time of a worker before and after an epoch's indices a name, and leaves its bar blank there", () => {
  const one = worker({ busy_us: 60, idle_us: 40, alive_us: 100, starved_us: 10, epoch_over_us: 25 });
  open({ ...known, workers: [one], worker_summaries: [{ ...summary, alive_us: 100, epoch_over_us: 25 }] });
  expect(find("number-workers-over").textContent).toBe("25.0%");
  const row = find("worker-row");
  expect(row.querySelector<HTMLElement>('[data-column="epoch_over_us"]')?.dataset.valueUs).toBe("25");
  const widths = [...row.querySelectorAll<HTMLElement>(".life-bar span")].map(({ style }) => style.width);
  expect(widths).toEqual(["60%", "10%", "0%"]);
});

it("has no such number where no epoch ended", () => {
  open(known);
  expect(all("number-workers-over")).toEqual([]);
});

it("leads from a slow sample's stage to the stage, and not to the sample", () => {
  const slow_samples = [{ index: 3, duration_us: 9, stage: "decode::D", stage_us: 8, worker: 0, loader: 0 }];
  open({ ...known, slow_samples, stages: [{ kind: "decode", label: "D", path: ["decode::D"] }] });
  click(find("slow-sample-row").querySelector<HTMLElement>("[data-testid=stage-ref]"));
  expect(view.value).toBe("stages");
  expect(selectedSample.value).toBeNull();
});

it("has no column of indices where the dataset is iterable", () => {
  const columns = (): (string | undefined)[] =>
    [...find("slow-sample-row").querySelectorAll("td")].map((cell) => cell.dataset.column);
  const sample = { duration_us: 9, worker: 0, batch: 1 };
  open({ ...known, slow_samples: [{ ...sample, index: -1 }] });
  expect(columns()).not.toContain("index");
  open({ ...known, slow_samples: [{ ...sample, index: 3 }] });
  expect(columns()).toContain("index");
});

it("says how fast each worker builds, also where all are equally busy", () => {
  const build = [
    { mean_build_us: 7e5, longest_build_us: 1.2e6 },
    { mean_build_us: 5e5, longest_build_us: 6e5 },
    {},
  ].map((times, number) => worker({ worker: number, pid: number, ...times }));
  open({ ...known, workers: build });
  const cells = (column: string): string[] =>
    all("worker-row").map((row) => row.querySelector(`[data-column="${column}"]`)?.textContent ?? "");
  expect(cells("mean_build_us")).toEqual(["700", "500", "–"]);
  expect(cells("longest_build_us")).toEqual(["1,200", "600", "–"]);
});

it("writes an en dash with its reason for what no worker tells", () => {
  open({ workers: [worker({})], worker_summaries: [{ workers: 1 }] });
  expect(find("number-workers-starved").textContent).toBe("–");
  expect(find("number-workers-starved").title).toContain("when indices were put into");
  expect(find("worker-row").querySelector('[data-column="skew"] abbr')?.getAttribute("title")).toContain(
    "no other DataLoader worker",
  );
});

it("lists batches by wait, fifty at first", () => {
  open({
    ...known,
    batches: Array.from({ length: 60 }, (_, number) => ({ number, wait_us: number, started_us: number })),
    batch_count: 60,
  });
  expect(all("batch-row").length).toBe(12);
  expect(find("batch-row").dataset).toMatchObject({ number: "59", epoch: "0" });
  click(find("more-batches"));
  expect(all("batch-row").length).toBe(60);
});

it("draws the arrow of the chosen batch, goes there, and lets go at Escape", () => {
  withTimeline([
    { ...lane([[20, 10]]), id: "main", kind: "stages", title: "Training thread", training_thread: true },
    { ...lane([[0, 25]]), id: "builder", kind: "worker", title: "DataLoader worker 0", worker: 0, loader: 0 },
  ]);
  open({
    ...known,
    batches: [{ started_us: 0, finished_us: 25, consumed_us: 29, wait_us: 10 }],
    batch_count: 1,
    queues: [{ time_us: [0, 25], ready: [0, 1], in_flight: [1, 0], loader: 0 }],
  });
  expect(find("timeline-canvas").dataset.link).toBeUndefined();
  click(find("batch-row"));
  expect(find("timeline-canvas").dataset.link).toBe("builder main");
  expect(find("batch-row").getAttribute("aria-current")).toBe("true");
  expect(range.value).not.toBeNull();
  expect(find("queue-chart").dataset.endUs).toBe(String(range.value?.endUs));
  act(() => void document.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" })));
  expect(find("timeline-canvas").dataset.link).toBeUndefined();
});

it("leads to a slow sample also where its batch was never finished, and frames it", () => {
  withTimeline([
    { ...lane([[0, 25]]), id: "builder", kind: "worker", title: "DataLoader worker 0", worker: 0, loader: 0 },
  ]);
  const sample = { index: 5, start_us: 40, duration_us: 15, span_us: 20, worker: 0, batch: 3, stage: "decode::PIL" };
  open({ ...known, batches: [{ number: 3, started_us: 30, finished_us: undefined }], slow_samples: [sample] });
  const row = find("slow-sample-row");
  click(row.querySelector<HTMLElement>('[data-column="duration_us"] button'));
  expect(range.value).toEqual({ startUs: 30, endUs: 70 });
  expect(find("timeline-canvas").dataset.marked).toBe("builder");
  expect(row.getAttribute("aria-current")).toBe("true");
  expect(fieldsOfPlace(currentPlace()).sample).toBe("5:0:0:40");
  click(row.querySelector<HTMLElement>('[data-column="batch"] button'));
  expect(range.value).toEqual({ startUs: 0, endUs: 100 });
  expect(find("timeline-canvas").dataset.marked).toBeUndefined();
  expect(row.getAttribute("aria-current")).toBeNull();
});

it("lists slow samples with their dataset index, and an en dash for what has none", () => {
  const sample = {
    index: 5,
    duration_us: 9.5,
    worker: 0,
    batch: 0,
    epoch: 0,
    stage: "decode::PIL",
    stage_us: 7,
    loader: 0,
  };
  open({ ...known, slow_samples: [sample, { ...sample, index: -1 }] });
  expect(all("slow-sample-row").map((row) => row.dataset.index)).toEqual(["5", "-1"]);
  expect(all("slow-sample-row")[1]?.querySelector("abbr")?.title).toContain("iterable");
  expect(find("slow-sample-row").querySelector<HTMLElement>('[data-column="stage_us"]')?.dataset.valueUs).toBe("7");
});

it("lets several loaders be told apart", () => {
  const named = { loader: 1, name: "Photos (batches of 8, num_workers=1), an evaluation?" };
  open({ workers: [...workers, worker({ worker: 5, pid: 9, loader: 1 })], worker_summaries: [summary, named] });
  const select = find("loader-select") as HTMLSelectElement;
  expect([...select.options].map((option) => option.textContent)).toEqual(["DataLoader 0", named.name]);
  choose(select, "1");
  expect(all("worker-row").map((row) => row.dataset.worker)).toEqual(["5"]);
});

it("heads the batches in the vocabulary, and says build time and time in queue", () => {
  open({ ...known, batches: [{ build_us: 5, in_queue_us: 2, head_of_line_us: 1 }], batch_count: 1 });
  const heads = [...find("batch-table").querySelectorAll("thead th")].map((head) => head.textContent?.replace("↓", ""));
  expect(heads).toEqual([
    "Batch",
    "Epoch",
    "DataLoader worker",
    "Build time, µs",
    "Data wait, µs",
    "Time in queue, µs",
    "Head-of-line wait, µs",
  ]);
  expect(find("batch-row").querySelector<HTMLElement>('[data-column="build_us"]')?.dataset.valueUs).toBe("5");
});

it("shows the load of the host also where there are no DataLoader workers", () => {
  const row = { counter: "host::memory", title: "Memory", unit: "bytes", mean: 1e9, low: 1e9, high: 2e9 };
  open({ load_rows: [row] });
  expect(plain(find("load-row").textContent)).toBe("Memory1.00 GB1.00 GB2.00 GB");
});

it("names the counters that are 0 throughout in one line, and copies them with the others", async () => {
  const rows = [
    { counter: "host::disk", title: "Disk busy", unit: "%", mean: 0, low: 0, high: 4 },
    { counter: "host::net", title: "Network: sent", unit: "bytes/s", mean: 0, low: 0, high: 0 },
  ];
  open({ load_rows: rows });
  expect(all("load-row").map((row) => row.dataset.counter)).toEqual(["host::disk"]);
  expect(find("load-zero").textContent).toBe("0 throughout: Network: sent.");
  expect((await csvOf("Host and device load")).join("\n")).toContain("Network: sent");
});

it("says what of a slow sample is Python's garbage collector", () => {
  const sample = { index: 3, duration_us: 340_000, stage: "sample::D", stage_us: 340_000, worker: 0, loader: 0 };
  open({ ...known, slow_samples: [{ ...sample, collected_us: 336_000 }, sample] });
  expect(all("collected").length).toBe(1);
  expect(find("collected").textContent).toContain("Python's garbage collector");
});

it("says what of waiting for a CPU in the recorder's own code is no part of a slow sample", () => {
  const sample = { index: 3, duration_us: 17_000, stage: "sample::D", stage_us: 17_000, worker: 0, loader: 0 };
  open({ ...known, slow_samples: [{ ...sample, span_us: sample.duration_us + 13_000 }, sample] });
  expect(all("reading").length).toBe(1);
  expect(find("reading").textContent).toContain("of waiting for a CPU in annotate's own code");
});

it("names the files of slow samples, and the command that loads them again", () => {
  const sample = { index: 5, duration_us: 9, worker: 0, batch: 3, epoch: 0, stage: "read::D", stage_us: 7, files: [] };
  const files = ["/data/a.jpg", "/data/b.json"];
  const sample_loaders = [{ loader: 0, replay_command: "python -m annotate replay" }];
  open({ ...known, slow_samples: [{ ...sample, files }, sample], sample_loaders });
  const cells = all("slow-sample-row").map((row) => row.querySelector('[data-column="files"]'));
  expect([...(cells[0]?.querySelectorAll("p") ?? [])].map((line) => line.textContent?.trim())).toEqual(files);
  expect(cells[1]?.querySelector("abbr")?.title).toContain("saw no file");
  expect(find("replay-command").querySelector("code")?.textContent).toBe("python -m annotate replay");
});

const ofTwo = {
  slow_samples: [0, 1].map((loader) => ({ index: 5 + loader, duration_us: 9, worker: 0, loader, stage: "read::D" })),
  sample_loaders: [0, 1].map((loader) => ({
    loader,
    name: `the DataLoader of Photos (batches of ${loader})`,
    replay_command: "python -m annotate replay",
    replay_code: `annotate.replay(loader, indices=[${5 + loader}])`,
  })),
};

it("loads samples of the shown DataLoader again, and of no other", () => {
  open({ ...known, ...ofTwo, worker_summaries: [summary, { ...summary, loader: 1 }] });
  expect(find("replay-code").querySelector("code")?.textContent).toBe("annotate.replay(loader, indices=[5])");
  expect(find("slow-samples").closest("section")?.textContent).toContain("MAKE_LOADER is the DataLoader of Photos");
  choose(find("loader-select") as HTMLSelectElement, "1");
  expect(find("replay-code").querySelector("code")?.textContent).toBe("annotate.replay(loader, indices=[6])");
});

it("has a table for each DataLoader where the training thread builds the batches", () => {
  const slow_samples = ofTwo.slow_samples.map((sample) => ({ ...sample, worker: -1 }));
  open({ ...ofTwo, slow_samples, loader: { ...loader, num_workers: 0 } });
  expect(all("slow-samples").map((table) => table.querySelectorAll("tbody tr").length)).toEqual([1, 1]);
  expect(all("replay-code").map((code) => code.textContent?.includes("indices=[6]"))).toEqual([false, true]);
});

it("has no column of files where none was seen, and no command where the capture has none", () => {
  const sample = { index: 5, duration_us: 9, worker: 0, batch: 3, epoch: 0, stage: "read::D", stage_us: 7, files: [] };
  open({ ...known, slow_samples: [sample] });
  expect(find("slow-samples").querySelector('[data-head="files"]')).toBeNull();
  expect(all("replay-command")).toEqual([]);
});

it("says which data wait it has where other DataLoaders have a part of it", () => {
  const waited = { ...known, worker_summaries: [{ ...summary, wait_us: 38 }], window_us: 100 };
  open(waited);
  expect(plain(find("number-workers-wait").parentElement?.textContent)).toContain("on the training thread");
  open({ ...waited, loader: { ...loader, wait_us: 60 } });
  expect(plain(find("number-workers-wait").parentElement?.textContent)).toContain(
    "for this DataLoader's batches; all data wait: 60.0 µs",
  );
});

it("copies every process that a DataLoader worker had", async () => {
  open({ ...known, workers: [worker({ pid: 5829, pids: [5819, 5829] }), worker({ worker: 1, pid: 7, pids: [7] })] });
  const [head, ...lines] = await csvOf("DataLoader workers");
  expect(head).toMatch(/^DataLoader worker,Process,/);
  expect(lines.map((line) => line.split(",")[1])).toEqual(["5819 5829", "7"]);
  expect(find("worker-row").textContent).toContain("2 processes");
});
