import type { Capture } from "../../contract/report";
import { SETTINGS } from "../../contract/words";
import { formatBytes, formatCount, formatDuration, plural, significant } from "../../model/format";
import { labelOf } from "../../model/words";
import { DataTable } from "../../ui/data-table";

type Row = { readonly name: string; readonly value: string; readonly exact?: number };

function known<T>(name: string, value: T | undefined, words: (value: T) => string): Row[] {
  if (value === undefined) return [];
  return [typeof value === "number" ? { name, value: words(value), exact: value } : { name, value: words(value) }];
}

function filled(name: string, value: string): Row[] {
  return value === "" ? [] : [{ name, value }];
}

/** The name that settings have wherever they stand. */
function setting(id: (typeof SETTINGS)[number]["id"]): string {
  return labelOf(SETTINGS, id);
}

const yesNo = (value: boolean): string => (value ? "yes" : "no");

function loaderRows({ loader }: Capture): Row[] {
  if (loader === undefined) return [];
  return [
    ...filled(setting("dataset"), loader.dataset),
    ...known(setting("num_workers"), loader.num_workers, formatCount),
    ...known(setting("batch_size"), loader.batch_size, formatCount),
    ...known(setting("prefetch_factor"), loader.prefetch_factor, formatCount),
    ...known(setting("pin_memory"), loader.pin_memory, yesNo),
    ...known(setting("persistent_workers"), loader.persistent_workers, yesNo),
    ...known(setting("in_order"), loader.in_order, yesNo),
    ...filled(setting("start_method"), loader.start_method),
    ...known("First-batch wait", loader.first_batch_wait_us, formatDuration),
    ...known("Median data wait", loader.wait_p50_us, formatDuration),
    ...known("Longest data wait", loader.wait_max_us, formatDuration),
  ];
}

function hostRows(capture: Capture): Row[] {
  const { environment } = capture;
  return [
    ...filled(setting("host"), capture.host),
    ...known("Rank", capture.rank, (rank) =>
      capture.world_size === undefined ? `${rank}` : `${rank} of ${capture.world_size}`,
    ),
    ...known(setting("cores"), environment?.cores, formatCount),
    ...known(setting("cpu_quota"), environment?.cpu_quota, coreWords),
    ...known(setting("memory_bytes"), environment?.memory_bytes, formatBytes),
    ...known(setting("shm_bytes"), environment?.shm_bytes, formatBytes),
    ...known(setting("torch_threads"), environment?.torch_threads, formatCount),
    ...recordingRows(capture),
  ];
}

/** All that recording took, in the words of the terminal; it is known of the whole window only. */
function recordingRows({ environment }: Capture): Row[] {
  const { recording_cost_text: parts = "" } = environment ?? {};
  return [
    ...known("Recording cost", environment?.recording_cost_us, (us) => `${formatDuration(us)}, ${parts}`),
    ...known("Dropped spans", environment?.dropped_spans, formatCount),
  ];
}

/** A quota may be a part of a core. */
function coreWords(cores: number): string {
  return Number.isInteger(cores) ? plural(cores, "core") : `${significant(cores)} cores`;
}

function versionRows(capture: Capture): Row[] {
  const versions = Object.entries(capture.environment?.versions ?? {});
  const torch = versions.some(([name]) => name === "torch") ? [] : filled("torch", capture.torch_version);
  const all = [...torch, ...versions.map(([name, value]) => ({ name, value }))];
  return all.toSorted((a, b) => a.name.toLowerCase().localeCompare(b.name.toLowerCase()));
}

/** How the run was set up: loader, host, library versions. */
export function Settings({ capture }: { capture: Capture }) {
  const isReplay = capture.mode === "replay";
  const groups = [
    { title: isReplay ? "Loader that was replayed" : "Loader", rows: loaderRows(capture) },
    { title: "Host", rows: hostRows(capture) },
    { title: "Versions", rows: versionRows(capture) },
  ].filter((group) => group.rows.length > 0);
  return (
    <section data-testid="settings">
      <h2>Settings and environment</h2>
      {isReplay && capture.loader !== undefined && (
        <p class="muted" data-testid="replay-settings">
          The replay itself built its batches in one process: no DataLoader workers, no prefetching.
        </p>
      )}
      <div class="columns narrow">
        {groups.map((group) => (
          <div key={group.title}>
            <DataTable name={`Settings: ${group.title}`} class="settings">
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
            </DataTable>
          </div>
        ))}
      </div>
      <p class="muted file">
        File: <span class="mono">{capture.file || capture.name}</span>
      </p>
    </section>
  );
}
