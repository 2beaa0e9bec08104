import { expect, it } from "vitest";
import { causeFilter, view } from "../../src/state/atoms";
import { device, finding, stage, step } from "../build";
import { all, click, find, open, plain } from "../page";

const steps = { count: 4, mean_us: 25, p50_us: 25, p95_us: 25, items: [step({})] };

it("carries the report's exact numbers beside the rounded ones", () => {
  open({ devices: [device({ idle_us: 40.125 })], loader: { wait_us: 12.5 } }, "overview");
  expect(find("number-idle").dataset.value).toBe("40.125");
  expect(find("number-idle").textContent).toBe("40.1%");
  expect(find("number-data-wait").dataset.value).toBe("12.5");
});

it("writes an en dash with its reason for what is unknown, in short below", () => {
  const message = "The trace has no device activity, so idle time is unknown.";
  const title = "The trace has no device activity";
  open({ diagnostics: [{ topic: "device", code: "no_device_activity", count: 1, message, title }] }, "overview");
  const number = find("number-idle");
  expect([number.textContent, number.title, number.dataset.value]).toEqual(["–", message, undefined]);
  expect(number.nextElementSibling?.textContent).toBe(title);
});

it("says of which step gains are shares, where that is not the mean step", () => {
  open({ steps: { ...steps, gains_of: "a step of 20 µs, without the other DataLoader" } }, "overview");
  const note = plain(find("number-step-mean").nextElementSibling?.textContent);
  expect(note).toMatch(/p95 25.0 µs; gains are of a step of 20 µs, without the other DataLoader$/);
});

it("goes by j to the tables without a heading as well", () => {
  const loader = { wait_us: 12, wait_by_stage_us: { "read::a": 12 } };
  open({ loader, devices: [device({})], steps }, "overview");
  find("wait-by-stage").closest("#view")?.querySelector<HTMLElement>(".explained")?.focus();
  const seen = [...Array(9)].map(() => {
    document.dispatchEvent(new KeyboardEvent("keydown", { key: "j" }));
    return document.activeElement?.textContent ?? "";
  });
  expect(seen.some((text) => text.startsWith("Data wait by stage"))).toBe(true);
});

it("relates the three numbers of data wait in the report's own line", () => {
  open({ loader: { wait_us: 12, wait_sentence: "Of 12 ms of data wait 9 ms are exposed." } }, "overview");
  expect(find("wait-sentence").textContent).toBe("Of 12 ms of data wait 9 ms are exposed.");
});

it("puts the steady state's data wait with its interval beside the measured one", () => {
  const steady_state = { state: "draining", share: 0.75, share_low: 0.7, share_high: 0.8 };
  open({ loader: { wait_us: 8, steady_state } }, "overview");
  expect(find("steady-share").textContent).toBe(
    "; the queue of finished batches empties in the window, steady state 75.0% (70.0% to 80.0%)",
  );
  expect(find("steady-share").querySelector<HTMLElement>("[data-value]")?.dataset.value).toBe("0.75");
});

it("says by the data wait that it is not the steady state's, also where that is unknown", () => {
  const sentence = "The queue of finished batches fills in the window.";
  open({ loader: { wait_us: 8, steady_state: { state: "filling", sentence } } }, "overview");
  expect(find("number-data-wait").closest("li, div")?.parentElement?.textContent).toContain(
    "; the queue of finished batches fills in the window, steady state unknown",
  );
  expect(find("steady-share").title).toBe(sentence);
});

it("says the steady state alone where the window is steady", () => {
  open({ loader: { wait_us: 8, steady_state: { state: "steady", share: 0.75 } } }, "overview");
  expect(find("steady-share").textContent).toBe("; steady state 75.0%");
});

it("has none where an epoch starts in the window", () => {
  open({ loader: { wait_us: 8, steady_state: { state: "epoch_start" } } }, "overview");
  expect(all("steady-share")).toEqual([]);
});

it("puts what makes the report doubtful right behind the verdict, before the numbers", () => {
  open({ doubts: [{ code: "cut_off", sentence: "The file is cut off." }], verdict: { sentence: "So." } }, "overview");
  const doubts = find("doubts");
  expect(doubts.textContent).toContain("The file is cut off.");
  expect(doubts.previousElementSibling?.contains(find("verdict"))).toBe(true);
});

it("leads from every stage that it names to the stage, and says what the other parts of the data wait are", () => {
  const stages = [stage(["transform::Mask"], {})];
  const evidence = [{ kind: "wait_by_stage", text: "transform::Mask: 36.4 ms, 22.2% of the data wait" }];
  const loader = { wait_us: 10, wait_by_stage_us: { "transform::Mask": 6, "transfer::deserialise": 3, transfer: 1 } };
  const verdict = { sentence: "It waits, most of it for transform::Mask (60.0%).", evidence };
  open({ stages, loader, verdict }, "overview");
  for (const testId of ["verdict", "verdict-evidence", "wait-by-stage"])
    expect(find(testId).querySelector("[data-testid=stage-ref]")?.textContent, testId).toBe("transform::Mask");
  const rest = [...find("wait-by-stage").querySelectorAll<HTMLElement>(".explained")].map((name) => name.textContent);
  expect(rest).toEqual(["transfer::deserialise", "the rest of transfer"]);
  click(find("verdict").querySelector<HTMLElement>("[data-testid=stage-ref]"));
  expect(find("stage-page").dataset.stage).toBe("transform::Mask");
});

it("has no such section without a doubt", () => {
  open({ verdict: { sentence: "So." } }, "overview");
  expect(all("doubts")).toEqual([]);
});

it("shows the evidence that the sentence and the bar do not", () => {
  const evidence = [
    { text: "said", in_sentence: true },
    { kind: "idle_by_cause", text: "drawn" },
    { kind: "workers_busy", text: "news" },
  ];
  open({ verdict: { bound: "cpu", sentence: "So.", evidence } }, "overview");
  expect(find("verdict").textContent).toBe("So.");
  expect(find("verdict-evidence").textContent).toBe("news");
});

it("draws one bar per step, and the teeth that the report found", () => {
  const items = [step({ number: 5, duration_us: 181_565 }), step({ number: 6 })];
  const sawtooth = { period: 2, steps: [6], sentence: "1 step in 2 has 90.0% of the data wait." };
  const root = open({ steps: { ...steps, items, sawtooth }, loader: { wait_us: 20 } }, "overview");
  expect(all("step-bar").map((bar) => bar.dataset.valueUs)).toEqual(["181565", "100"]);
  expect(find("sawtooth").textContent?.trim()).toBe(sawtooth.sentence);
  expect(find("sawtooth").querySelectorAll("svg .tooth").length).toBe(1);
  expect(root.querySelectorAll('[data-testid="step-chart"] .tooth').length).toBe(1);
});

it("shows the window as one bar: busy and every cause, with exact numbers", () => {
  open({ devices: [device({ idle_by_cause_us: { data_wait: 25, launch: 15 } })] }, "overview");
  const pieces = [...find("cause-bar").querySelectorAll<HTMLElement>(".share-bar > span")];
  expect(pieces.map((piece) => [piece.dataset.token, piece.dataset.valueUs])).toEqual([
    ["kernel", "60"],
    ["idle:data_wait", "25"],
    ["idle:launch", "15"],
  ]);
  const numbers = [...find("idle-by-cause").querySelectorAll<HTMLElement>("[data-value]")];
  expect(numbers.map((number) => [number.textContent, number.dataset.value])).toEqual([
    ["60.0%", "60"],
    ["25.0%", "25"],
    ["15.0%", "15"],
  ]);
});

it("shows three findings and the way to all of them", () => {
  const findings = ["a", "b", "c", "d"].map((rule) => finding({ rule }));
  open({ steps, findings, abstained: [{ rule: "x", reason: "y" }] }, "overview");
  expect(all("finding").map((item) => item.dataset.rule)).toEqual(["a", "b", "c"]);
  expect(find("all-findings").textContent).toBe("All 4 findings, missing data and warnings (1)");
  click(find("all-findings"));
  expect(view.value).toBe("findings");
});

it("says in the report's words why there is nothing to change", () => {
  open({ findings_sentence: "All checks were conclusive, and found nothing to change." }, "overview");
  expect(find("no-findings").textContent).toContain("found nothing to change");
});

it("counts in whole numbers, one of a kind in the singular", () => {
  const root = open(
    { throughput: { samples_per_s: 2, samples: 24 }, steps: { ...steps, count: 1, items: [] } },
    "overview",
  );
  const text = plain(root.textContent);
  expect(text).toContain("24 samples in the window");
  expect(text).toContain("1 step; p50");
});

it("names settings as everywhere", () => {
  open({ loader: { num_workers: 4, pin_memory: true }, environment: { memory_bytes: 25_276_502_016 } }, "overview");
  const rows = [...find("settings").querySelectorAll("tr")].map((row) => plain(row.textContent));
  expect(rows).toContain("DataLoader workers4");
  expect(rows).toContain("Pinned memoryyes");
  expect(rows).toContain("Memory25.3 GB");
});

it("says that a replay had none of the DataLoader workers that its loader has", () => {
  const loader = { num_workers: 4 };
  open({ loader }, "overview");
  expect(plain(find("settings").textContent)).not.toContain("replay");
  open({ loader, mode: "replay" }, "overview");
  expect(plain(find("settings").textContent)).toContain("Loader that was replayed");
  expect(plain(find("replay-settings").textContent)).toContain("no DataLoader workers, no prefetching");
});

it("says what recording cost in the report's words, the sampler included", () => {
  const environment = {
    recording_cost_us: 132_000,
    recording_cost_text: "8.49% of one CPU; 3 markers: 1 ms; stacks: 131 ms",
  };
  open({ environment: { ...environment, recorder_overhead_us: 0, marker_count: 0 } }, "overview");
  const row = [...find("settings").querySelectorAll("tr")].find((one) => one.textContent?.startsWith("Recording cost"));
  const lines = [...(row?.querySelectorAll("td p") ?? [])].map((line) => plain(line.textContent));
  expect(plain(row?.textContent)).toContain("Recording cost132 ms, 8.49% of one CPU");
  expect(lines).toEqual(["3 markers: 1 ms", "stacks: 131 ms"]);
  expect(row?.querySelector("td")?.dataset.value).toBe("132000");
  open({ environment: {} }, "overview");
  expect(find("settings").textContent).not.toContain("Recording cost");
});

it("draws rates that differ a hundredfold so that the small ones can be told apart", () => {
  open({ throughput: { samples_per_s: 154, read_per_s: 22_400, prepare_per_s: 199 } }, "overview");
  const widths = [...find("rates").querySelectorAll<HTMLElement>(".bar")].map((bar) =>
    Number.parseFloat(bar.style.width),
  );
  expect(widths.map(Math.round)).toEqual([8, 100, 13]);
});

it("shows what reading and preparation sustain together, and which of loading and the step limits", () => {
  const rates = { samples_per_s: 13, read_per_s: 29.9, prepare_per_s: 33.1, load_per_s: 15.7, device_per_s: 17.3 };
  open({ throughput: { ...rates, slowest_text: "loading limits, most of it reading" } }, "overview");
  const rows = [...find("rates").querySelectorAll("tbody tr")].map((row) => plain(row.textContent));
  expect(rows[3]).toBe("both by turns15.7");
  expect(find("rates-limit").textContent).toBe("Loading limits, most of it reading.");
  open({ throughput: { ...rates, read_per_s: undefined, load_per_s: 33.1 } }, "overview");
  expect(find("rates").textContent).not.toContain("by turns");
  expect(all("rates-limit")).toHaveLength(0);
});

it("says below the rates what is in them", () => {
  const message = "The training step's samples/s are by the clock, with step 7";
  const note = { code: "rates_with_lone_step", message };
  open({ throughput: { samples_per_s: 13, device_per_s: 17.3 }, diagnostics: [note] }, "overview");
  expect(find("rates_with_lone_step").textContent).toBe(`${message}.`);
});

it("leads from a cause of idle time to its gaps", () => {
  open({ devices: [device({})] }, "overview");
  click(all("cause-filter").find((button) => button.dataset.cause === "data_wait"));
  expect([view.value, causeFilter.value]).toEqual(["gaps", "data_wait"]);
});

it("says that the data wait by stage has what the verdict has apart", () => {
  const loader = { wait_us: 8, wait_by_stage_us: { "sample::A": 8 } };
  open({ loader }, "overview");
  expect(find("wait-by-stage").textContent).not.toContain("starts of epochs");
  open({ loader: { ...loader, apart: { wait_us: 2, wait_names: "the epoch's end" } } }, "overview");
  expect(find("wait-by-stage").textContent).toContain("Includes the epoch's end, which the verdict leaves out");
});

it("names the whole of what the training thread did, also where its data wait is unknown", () => {
  const thread_samples = { host_limited_by_us: { text: "blocked" } };
  open({ window_us: 10, thread_samples, loader: { wait_us: 8 } }, "overview");
  expect(find("thread-limits").textContent).toBe("Outside data wait, 20.0% of the windowblocked");
  open({ window_us: 10, thread_samples }, "overview");
  expect(find("thread-limits").textContent).toBe("Whole windowblocked");
});

it("says whose first batches were waited for, where there are several DataLoaders", () => {
  const loader = { wait_us: 12, first_batch_wait_us: 5, first_batch_of: "the DataLoader of Photos" };
  open({ loader, steps }, "overview");
  expect(plain(find("single-waits").textContent)).toContain("for the first batch of the DataLoader of Photos 5.00 µs");
});

it("shows what a replay of slow samples found, with the report's words, before what to change", () => {
  const itself = { index: 37, warm_us: 50, cold_us: 54, captured_us: 64, loads: 22, cause: "itself" };
  const replayed_samples = [
    { ...itself, text: "Slow in itself: alone it takes 50 µs.", files: ["/data/0037.npy"] },
    { index: 239, warm_us: 1, captured_us: 23, loads: 198, cause: "contention", text: "Contention: it is fast." },
  ];
  open({ mode: "replay", replayed_samples }, "overview");
  const [first, second] = all("replayed-sample").map((row) => [...row.querySelectorAll("th, td")]);
  const words = (cells?: Element[]) => cells?.map((cell) => plain(cell.textContent).trim());
  const said = "Slow in itself: alone it takes 50 µs.";
  expect(words(first)).toEqual(["37", "64.0", "54.0", "50.0", "22", said, "/data/0037.npy"]);
  expect(words(second)).toEqual(["239", "23.0", "–", "1.00", "198", "Contention: it is fast.", "–"]);
  const heading = document.querySelector("#findings-title");
  const follows = Node.DOCUMENT_POSITION_FOLLOWING;
  expect(find("replayed-samples").compareDocumentPosition(heading as Node) & follows).toBe(follows);
  open(
    { mode: "replay", replayed_samples: [{ index: 3, warm_us: 5, loads: 9, text: "90.0% in read::a." }] },
    "overview",
  );
  expect(plain(find("replayed-samples").querySelector("thead")?.textContent)).toContain("Where its time goes");
  open({ mode: "replay" }, "overview");
  expect(all("replayed-sample")).toEqual([]);
});
