// Made-up reports in the shape of the contract, the same at every start.

import { random, sum } from "./tools.mjs";
import { workersSample } from "./worker-samples.mjs";

const CAUSES = ["data_wait", "launch", "sync", "host"];

function trainSteps(next) {
  const items = [];
  let start = 26_996.5;
  for (let i = 0; i < 24; i += 1) {
    const wait = i % 8 === 0 ? 62_000 + 9000 * next() : 900 + 3000 * next();
    const busy = 71_000 + 3000 * next();
    const other = 9000 + 4000 * next();
    items.push({
      number: 5 + i, start_us: start, duration_us: busy + wait + other, data_wait_us: wait + 40,
      device_busy_us: busy, idle_data_wait_us: wait, idle_other_us: other,
      idle_by_cause_us: { data_wait: wait, launch: other * 0.6, sync: other * 0.3, host: other * 0.1 },
    });
    start += busy + wait + other;
  }
  return items;
}

function spans(next, items) {
  const kernels = [];
  const gaps = [];
  for (const step of items) {
    let at = step.start_us + step.data_wait_us;
    gaps.push({ start_us: step.start_us, duration_us: step.data_wait_us, cause: "data_wait" });
    const end = step.start_us + step.duration_us;
    while (at < end) {
      const kernel = Math.min(end - at, 30 + 900 * next() ** 3);
      kernels.push({ start_us: at, duration_us: kernel, copy: next() < 0.05 });
      at += kernel;
      const gap = Math.min(end - at, 1 + 90 * next() ** 4);
      if (gap > 0) gaps.push({ start_us: at, duration_us: gap, cause: CAUSES[1 + Math.floor(3 * next())] });
      at += gap;
    }
  }
  return { kernels, gaps };
}

function stage(path, count, total, self, blame, spread = 1) {
  const [kind, label] = path.at(-1).split("::");
  const mean = total / count;
  return {
    kind, label, parent: path.at(-2) ?? "", count, total_us: total, self_us: self, p50_us: mean * 0.92,
    p95_us: mean * (1 + spread), max_us: mean * (1 + 4 * spread), blame_us: blame, path,
  };
}

function stageTree(scale, wait) {
  const s = "sample::ImageFolder";
  const c = "transform::Compose";
  const r = "transform::RandomCrop";
  return [
    stage([s], 6144, 4.21e6 * scale, 0.05e6 * scale, 0.01 * wait),
    stage([s, c], 6144, 3.51e6 * scale, 0.03e6 * scale, 0.01 * wait),
    stage([s, c, r], 6144, 2.62e6 * scale, 0.11e6 * scale, 0.02 * wait),
    stage([s, c, r, "decode::PIL.Image"], 6144, 2.51e6 * scale, 2.51e6 * scale, 0.61 * wait, 1.7),
    stage([s, c, "transform::RandomMask"], 6144, 0.61e6 * scale, 0.61e6 * scale, 0.14 * wait),
    stage([s, c, "transform::PILToTensor"], 6144, 0.25e6 * scale, 0.25e6 * scale, 0.06 * wait),
    stage([s, "read::open"], 6144, 0.42e6 * scale, 0.42e6 * scale, 0.09 * wait, 3),
    stage([s, "decode::probe"], 6144, 0.23e6 * scale, 0.23e6 * scale, 0.04 * wait),
    stage(["collate::default_collate"], 24, 0.31e6 * scale, 0.31e6 * scale, 0.02 * wait),
  ];
}

const FINDINGS = [
  {
    rule: "decode_full_image", severity: "high", title: "Images are decoded in full and then cropped to a fraction",
    advice: "Decode only what the crop keeps: ask the JPEG decoder for a reduced scale before the crop.",
    stage: "decode::PIL.Image", gain_us_per_step: 8123.4, confidence: "measured",
    evidence: ["decode::PIL.Image has 61 % of the data wait", "RandomCrop keeps 4.7 % of the pixels"],
    code: "img = Image.open(path)\nimg.draft('RGB', (512, 512))   # JPEG decodes at 1/2, 1/4 or 1/8\nreturn transform(img)",
  },
  {
    rule: "workers_below_cores", severity: "medium", title: "8 DataLoader workers on 24 cores",
    confidence: "likely", confidence_reason: "the load of the cores was not recorded", advice: "Use more DataLoader workers: preparation alone sustains fewer samples per second than the device.",
    stage: "", evidence: ["24 cores, 8 DataLoader workers, each 97 % busy"], code: "DataLoader(..., num_workers=16, persistent_workers=True)",
  },
];

/** Only a wait for data has more than a launch. */
function chainOf(gap) {
  const launch = { name: "cudaLaunchKernel", start_us: gap.start_us + gap.duration_us - 12, duration_us: 9, lane: "thread:1" };
  if (gap.cause !== "data_wait") return { launch };
  return { launch, wait: { name: "wait", start_us: gap.start_us, duration_us: gap.duration_us - 20, lane: "thread:1" } };
}

function train() {
  const next = random(7);
  const items = trainSteps(next);
  const { kernels, gaps } = spans(next, items);
  const window = sum(items, "duration_us");
  const wait = sum(items, "data_wait_us");
  const idle = sum(gaps, "duration_us");
  const byCause = Object.fromEntries(CAUSES.map((cause) => [cause, sum(gaps.filter((gap) => gap.cause === cause), "duration_us")]));
  const largest = gaps.toSorted((a, b) => b.duration_us - a.duration_us).slice(0, 1000);
  const capture = {
    name: "resnet50/gpu01_4242.1718000000", mode: "train", host: "gpu01", torch_version: "2.4.1", window_us: window,
    window_start_us: items[0].start_us, file: "resnet50/gpu01_4242.1718000000.pt.trace.json.gz",
    steps: { count: items.length, mean_us: window / items.length, p50_us: 86_012.25, p95_us: 147_551.5, items },
    devices: [{
      id: 0, name: "Tesla V100-SXM2-32GB", busy_us: window - idle, kernel_busy_us: (window - idle) * 0.97, idle_us: idle,
      gap_count: gaps.length, longest_gap_us: largest[0].duration_us, idle_by_cause_us: byCause,
      idle_by_stage_us: { "decode::PIL.Image": byCause.data_wait * 0.6, other: byCause.data_wait * 0.4 },
      gaps: largest.map((gap) => ({
        ...gap, idle_by_cause_us: { [gap.cause]: gap.duration_us * 0.9, launch: gap.duration_us * (gap.cause === "launch" ? 1 : 0.1) }, chain: chainOf(gap),
        stage: gap.cause === "data_wait" ? "decode::PIL.Image" : "",
        step: items.findLast((step) => step.start_us <= gap.start_us).number, data_wait_us: gap.cause === "data_wait" ? gap.duration_us : 0,
      })),
    }],
    loader: {
      wait_us: wait, wait_count: items.length, exposed_wait_us: wait * 0.96, hidden_wait_us: wait * 0.04, first_batch_wait_us: 66_000.5,
      wait_by_stage_us: { "decode::PIL.Image": wait * 0.61, "transform::RandomMask": wait * 0.14, "read::open": wait * 0.09, transfer: wait * 0.07, starved: wait * 0.05, other: wait * 0.04 },
      wait_p50_us: 2100, wait_max_us: 71_000, num_workers: 8, batch_size: 256, prefetch_factor: 2, pin_memory: true,
      persistent_workers: false, in_order: true, start_method: "fork", dataset: "ImageFolder",
    },
    stages: stageTree(4, wait),
    workers: Array.from({ length: 8 }, (_, worker) => ({ worker, pid: 4300 + worker, batches: 3, busy_us: window * 0.93, idle_us: window * 0.07 })),
    throughput: { samples_per_s: 2741.2, read_per_s: 9120, prepare_per_s: 2802, device_per_s: 3555, samples: 6144 },
    verdict: {
      bound: "cpu", sentence: "The GPU waits for data: 25.1 % of the window goes to loading, most of it in decode::PIL.Image (61 % of the data wait).",
      evidence: ["Every 8th step waits for 66 ms: 8 DataLoader workers finish their batches together", "Preparation alone sustains 2,800 samples/s, the device 3,560"],
    },
    findings: FINDINGS,
    abstained: [{ rule: "persistent_workers", reason: "the capture has one epoch only" }],
    diagnostics: [{ code: "dropped_spans", count: 3, message: "3 spans were dropped because their buffer was full; shares of stages are that much too low." }],
    environment: { cores: 24, cpu_quota: 24, memory_bytes: 2.5e11, shm_bytes: 6.7e7, torch_threads: 12, versions: { torch: "2.4.1", torchvision: "0.19.1", Pillow: "10.4.0" }, dropped_spans: 3, recorder_overhead_us: 14_212.5, marker_count: 61_440 },
  };
  return { capture, timeline: { items, kernels, gaps } };
}

function replay() {
  const items = Array.from({ length: 12 }, (_, i) => ({ number: i, start_us: i * 410_000, duration_us: 410_000, data_wait_us: 402_000 + 500 * (i % 3) }));
  const wait = sum(items, "data_wait_us");
  const capture = {
    name: "resnet50-replay/cpu_77.1718000100", mode: "replay", host: "cpu", torch_version: "2.4.1", window_us: 12 * 410_000, window_start_us: 0,
    steps: { count: 12, mean_us: 410_000, p50_us: 410_000, p95_us: 410_000, items }, devices: [],
    loader: { wait_us: wait, wait_count: 12, wait_by_stage_us: { "decode::PIL.Image": wait * 0.7, "read::open": wait * 0.3 }, num_workers: 0, batch_size: 256, dataset: "ImageFolder", start_method: "" },
    stages: [...stageTree(1, wait), stage(["wait::DataLoader"], 12, wait, wait * 0.03, undefined)], workers: [],
    throughput: { samples_per_s: 624.1, read_per_s: 7300, prepare_per_s: 650, samples: 3072 },
    verdict: { bound: "cpu", sentence: "The loader alone reaches 624 samples/s; 60 % of its time is decode::PIL.Image.", evidence: [] },
    findings: [], diagnostics: [{ code: "no_device", count: 1, message: "No device activity: this is a replay of the loader, which runs without training." }],
    file: "resnet50-replay/cpu_77.1718000100.pt.trace.json.gz",
  };
  return { capture, timeline: { items, kernels: [], gaps: [] } };
}

const WORKERS = workersSample({ name: "four-workers/gpu01_51.1717960000", workers: 4, perWorker: 40, slowWorker: 3, validation: false });
const MANY = workersSample({ name: "two-loaders/gpu01_52.1717950000", workers: 12, perWorker: 20, validation: true });
const SAMPLES = { train: train(), replay: replay() };
const BY_ID = { [`${WORKERS.capture.name}`]: WORKERS, [`${MANY.capture.name}`]: MANY };
WORKERS.capture.stages = stageTree(3, WORKERS.capture.loader.wait_us).map((stage, i) =>
  i === 7 ? stage : { ...stage, replay_mean_us: (stage.self_us / stage.count) / (1.2 + 0.17 * i), replay_ratio: 1.2 + 0.17 * i });

function entry(run, name, state, mode, age, error = null) {
  return { id: `${run}/${name}`, run, name, state, error, bytes: 35_123_456, modified: 1_718_000_000 - age, mode };
}

const ENTRIES = [
  entry("resnet50", "gpu01_4242.1718000000", "ready", "train", 0),
  entry("resnet50", "gpu01_4242.1717990000", "ready", "train", 9000),
  entry("resnet50-replay", "cpu_77.1718000100", "ready", "replay", 9500),
  entry("baseline/plain-profiler", "gpu01_3999.1717980000", "loading", null, 20_000),
  entry("baseline/plain-profiler", "gpu01_3999.1717970000", "error", null, 30_000, "gpu01_3999.1717970000.pt.trace.json.gz: the gzip stream ends early at byte 1,048,576; the file was cut off while it was written. Capture it again."),
  entry("four-workers", "gpu01_51.1717960000", "ready", "train", 40_000),
  entry("two-loaders", "gpu01_52.1717950000", "ready", "train", 50_000),
];

const FIRST = { train: 0, replay: 2, loading: 3, workers: 5, loaders: 6 };

function columns(id, kind, title, boxes, names, range, width) {
  const lane = { id, kind, title, start_us: [], duration_us: [], name: [], depth: [], merged: [], color: [], index: [] };
  const grain = (2 * (range.end - range.start)) / width;
  const index = (text) => (names.includes(text) ? names.indexOf(text) : names.push(text) - 1);
  const last = new Map();
  for (const box of boxes) {
    if (box.start_us + box.duration_us < range.start || box.start_us > range.end) continue;
    const depth = box.depth ?? 0;
    const at = last.get(depth);
    if (at !== undefined && box.duration_us < grain && box.start_us + box.duration_us - lane.start_us[at] < grain) {
      lane.duration_us[at] = box.start_us + box.duration_us - lane.start_us[at];
      lane.merged[at] += 1;
      continue;
    }
    last.set(depth, lane.start_us.push(box.start_us) - 1);
    lane.duration_us.push(box.duration_us);
    lane.name.push(index(box.name));
    lane.depth.push(depth);
    lane.merged.push(1);
    lane.color.push(index(box.color));
    lane.index.push(box.index ?? -1);
  }
  return lane;
}

/** As the server sends it: row by row, distances in nanoseconds; here every name has one colour. */
function wire({ id, kind, title, ...lane }, range, names, colors) {
  const ns = (us) => Math.round(us * 1e3);
  const out = { id, kind, title, boxes: [], start_ns: [], duration_ns: [], name: [], merged: [], index: [] };
  for (let depth = 0; depth <= Math.max(0, ...lane.depth); depth += 1) {
    let before = ns(range.start);
    const rows = lane.depth.flatMap((at, i) => (at === depth ? [i] : [])).sort((a, b) => lane.start_us[a] - lane.start_us[b]);
    out.boxes.push(rows.length);
    for (const i of rows) {
      out.start_ns.push(ns(lane.start_us[i]) - before);
      before = ns(lane.start_us[i]);
      out.duration_ns.push(ns(lane.duration_us[i]));
      out.name.push(lane.name[i]);
      out.merged.push(lane.merged[i]);
      out.index.push(lane.index[i]);
      colors[lane.name[i]] = names[lane.color[i]];
    }
  }
  return out;
}

function counterLanes(range) {
  const wave = (low, high, period) => Array.from({ length: 200 }, (_, i) => low + (high - low) * (0.5 + 0.5 * Math.sin((i * 2 * Math.PI) / period)));
  const time_ns = Array.from({ length: 200 }, (_, i) => (i === 0 ? 0 : ((range.end - range.start) * 1e3) / 199));
  const cpu = wave(35, 95, 25);
  const line = (name, mean, spread = 0) => ({ name, time_ns, mean, ...(spread ? { low: mean.map((v) => v - spread), high: mean.map((v) => Math.min(100, v + spread)) } : {}) });
  return [
    { id: "counter:host::cpu", kind: "counter", title: "CPU cores", unit: "%", top: 100, lines: [line("mean of 8 cores, and their spread", cpu, 20)] },
    { id: "counter:host::disk", kind: "counter", title: "Disk", unit: "bytes/s", top: 3.2e8, lines: [line("read", wave(0, 3.2e8, 60))] },
  ];
}

function workerBoxes(items, worker) {
  const boxes = [];
  for (let i = worker; i + 8 <= items.length; i += 8) {
    const from = items[i].start_us;
    const length = (items[Math.min(items.length - 1, i + 8)].start_us - from) * 0.95;
    boxes.push({ start_us: from, duration_us: length, name: "sample::ImageFolder", color: "sample", depth: 0 });
    for (let n = 0; n < 32; n += 1) {
      const at = from + (n * length) / 32;
      boxes.push({ start_us: at, duration_us: length / 330, name: "read::open", color: "read", depth: 1 });
      boxes.push({ start_us: at + length / 300, duration_us: length / 36, name: "transform::Compose", color: "transform", depth: 1 });
      boxes.push({ start_us: at + length / 290, duration_us: length / 45, name: "decode::PIL.Image", color: "decode", depth: 2 });
    }
  }
  return boxes.sort((a, b) => a.start_us - b.start_us);
}

function timeline({ capture, timeline: { items, kernels, gaps, lanes: workerLanes = [] } }, query) {
  const window = { start: capture.window_start_us, end: capture.window_start_us + capture.window_us };
  const range = { start: Number(query.get("start_us") ?? window.start), end: Number(query.get("end_us") ?? window.end) };
  const names = [];
  const width = Number(query.get("width"));
  const lane = (id, kind, title, boxes) => columns(id, kind, title, boxes, names, range, width);
  const lanes = [
    lane("steps", "steps", "Steps", items.map((s) => ({ ...s, name: `ProfilerStep#${s.number}`, color: "step" }))),
    lane("thread:1", "stages", "Training thread", items.map((s) => ({ start_us: s.start_us, duration_us: s.data_wait_us, name: "wait::DataLoader", color: "wait" }))),
  ];
  for (const { id, title, boxes } of workerLanes) lanes.push(lane(id, "worker", title, boxes));
  if (capture.devices.length > 0) {
    for (const w of [0, 1, 2]) lanes.push(lane(`worker:${w}`, "worker", `DataLoader worker ${w}`, workerBoxes(items, w)));
    lanes.push(lane("device:0:7", "device", "Device 0, stream 7", kernels.map((k) => ({ ...k, name: k.copy ? "Memcpy HtoD" : "volta_scudnn_128x64_relu_interior_nn_v1", color: k.copy ? "copy" : "kernel" }))));
    lanes.push(lane("gaps:0", "gaps", "Device 0, gaps", gaps.map((g) => ({ ...g, name: g.cause, color: `idle:${g.cause}` }))));
  }
  const colors = [];
  const sent = lanes.map((one) => wire(one, range, names, colors));
  const under = sent.findLastIndex(({ kind }) => kind === "worker" || kind === "stages") + 1;
  sent.splice(under, 0, ...counterLanes(range));
  const tokens = names.map((_, i) => colors[i] ?? "");
  return { start_us: range.start, end_us: range.end, window_start_us: window.start, window_end_us: window.end, lanes: sent, names, colors: tokens };
}

export function answer(scenario, route, query) {
  if (scenario === "down") return { status: 503, json: { error: "the log directory cannot be read: /data/runs: permission denied; check its owner." } };
  if (route === "runs") {
    const first = FIRST[scenario] ?? 0;
    const captures = scenario === "empty" ? [] : [...ENTRIES.slice(first), ...ENTRIES.slice(0, first)];
    return { status: 200, json: { logdir: "/data/runs", scanning: false, perfetto: false, captures, problems: [] } };
  }
  const item = ENTRIES.find((candidate) => candidate.id === query.get("id"));
  if (item === undefined) return { status: 404, json: { error: `no capture ${query.get("id")}; press Refresh.` } };
  if (item.state === "loading") return { status: 202, json: { state: "loading" } };
  if (item.state === "error") return { status: 422, json: { error: item.error } };
  const sample = BY_ID[item.id] ?? (item.mode === "replay" ? SAMPLES.replay : SAMPLES.train);
  if (route === "report") return { status: 200, json: { schema_version: 1, captures: [sample.capture] } };
  if (route === "timeline") return { status: 200, json: timeline(sample, query) };
  return { status: 404, json: { error: "no such route" } };
}
