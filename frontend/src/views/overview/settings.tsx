import type { Capture } from "../../contract/report";
import { formatBytes, formatCount, formatDuration, plural, sig3 } from "../../model/format";
import { shareWords } from "../../model/shares";

type Row = { readonly name: string; readonly value: string; readonly exact?: number };

function known<T>(name: string, value: T | undefined, words: (value: T) => string): Row[] {
  if (value === undefined) return [];
  return [typeof value === "number" ? { name, value: words(value), exact: value } : { name, value: words(value) }];
}

function filled(name: string, value: string): Row[] {
  return value === "" ? [] : [{ name, value }];
}

const yesNo = (value: boolean): string => (value ? "yes" : "no");

function loaderRows({ loader }: Capture): Row[] {
  if (loader === undefined) return [];
  return [
    ...filled("Dataset", loader.dataset),
    ...known("DataLoader workers", loader.num_workers, formatCount),
    ...known("Batch size", loader.batch_size, formatCount),
    ...known("Prefetch factor", loader.prefetch_factor, formatCount),
    ...known("Pinned memory", loader.pin_memory, yesNo),
    ...known("Persistent DataLoader workers", loader.persistent_workers, yesNo),
    ...known("Batches in order", loader.in_order, yesNo),
    ...filled("Start method", loader.start_method),
    ...known("First-batch wait", loader.first_batch_wait_us, formatDuration),
    ...known("Median data wait", loader.wait_p50_us, formatDuration),
    ...known("Longest data wait", loader.wait_max_us, formatDuration),
  ];
}

function hostRows(capture: Capture): Row[] {
  const { environment } = capture;
  return [
    ...filled("Host", capture.host),
    ...known("Rank", capture.rank, (rank) =>
      capture.world_size === undefined ? `${rank}` : `${rank} of ${capture.world_size}`,
    ),
    ...known("CPU cores", environment?.cores, formatCount),
    ...known("CPU quota", environment?.cpu_quota, coreWords),
    ...known("Memory", environment?.memory_bytes, formatBytes),
    ...known("/dev/shm", environment?.shm_bytes, formatBytes),
    ...known("torch threads", environment?.torch_threads, formatCount),
    ...known("Recording cost", environment?.recorder_overhead_us, (us) => costWords(us, capture)),
    ...known("Markers", environment?.marker_count, formatCount),
    ...known("Recording cost in the workers", workerCost(capture), formatDuration),
    ...known(
      "Spans in the workers",
      capture.workers.length === 0 ? undefined : environment?.worker_span_count,
      formatCount,
    ),
    ...known("Spans dropped", environment?.dropped_spans, formatCount),
  ];
}

/** Without workers there is nothing to say of their cost. */
function workerCost({ workers, environment }: Capture): number | undefined {
  return workers.length === 0 ? undefined : environment?.worker_overhead_us;
}

/** A quota may be a part of a core. */
function coreWords(cores: number): string {
  return Number.isInteger(cores) ? plural(cores, "core") : `${sig3(cores)} cores`;
}

function costWords(us: number, { window_us: windowUs }: Capture): string {
  return windowUs === undefined
    ? formatDuration(us)
    : `${formatDuration(us)}, ${shareWords(us, windowUs)} of the window`;
}

function versionRows(capture: Capture): Row[] {
  const versions = Object.entries(capture.environment?.versions ?? {});
  const torch = versions.some(([name]) => name === "torch") ? [] : filled("torch", capture.torch_version);
  return [...torch, ...versions.map(([name, value]) => ({ name, value }))];
}

/** How the run was set up: loader, host, library versions. */
export function Settings({ capture }: { capture: Capture }) {
  const groups = [
    { title: "Loader", rows: loaderRows(capture) },
    { title: "Host", rows: hostRows(capture) },
    { title: "Versions", rows: versionRows(capture) },
  ].filter((group) => group.rows.length > 0);
  return (
    <section data-testid="settings">
      <h2>How it ran</h2>
      <div class="columns narrow">
        {groups.map((group) => (
          <table key={group.title} class="settings">
            <caption>{group.title}</caption>
            <tbody>
              {group.rows.map((row) => (
                <tr key={row.name}>
                  <th scope="row">{row.name}</th>
                  <td class="num" data-value={row.exact}>
                    {row.value}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        ))}
      </div>
      <p class="muted file">
        File: <span class="mono">{capture.file || capture.name}</span>
      </p>
    </section>
  );
}
