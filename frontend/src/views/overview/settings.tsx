import type { Capture } from "../../contract/report";
import { SETTINGS } from "../../contract/words";
import { formatBytes, formatCount, formatDuration, plural, significant } from "../../model/format";
import { labelOf } from "../../model/words";
import { DataTable } from "../../ui/data-table";

type Row = {
  readonly name: string;
  readonly value: string;
  readonly exact?: Exact;
  /** What the value is the sum of, a line each. */
  readonly parts?: readonly string[];
};

/** For copies of the table: rows have units of their own. */
type Exact = { readonly value: number; readonly unit: string };

function known<T>(name: string, value: T | undefined, words: (value: T) => string): Row[] {
  return value === undefined ? [] : [{ name, value: words(value) }];
}

function number(name: string, value: number | undefined, words: (value: number) => string, unit = ""): Row[] {
  return value === undefined ? [] : [{ name, value: words(value), exact: { value, unit } }];
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
    ...number(setting("num_workers"), loader.num_workers, formatCount),
    ...number(setting("batch_size"), loader.batch_size, formatCount),
    ...number(setting("prefetch_factor"), loader.prefetch_factor, formatCount),
    ...known(setting("pin_memory"), loader.pin_memory, yesNo),
    ...known(setting("persistent_workers"), loader.persistent_workers, yesNo),
    ...known(setting("in_order"), loader.in_order, yesNo),
    ...filled(setting("start_method"), loader.start_method),
  ];
}

function hostRows(capture: Capture): Row[] {
  const { environment } = capture;
  return [
    ...filled(setting("host"), capture.host),
    ...known("Rank", capture.rank, (rank) =>
      capture.world_size === undefined ? `${rank}` : `${rank} of ${capture.world_size}`,
    ),
    ...number(setting("cores"), environment?.cores, formatCount),
    ...number(setting("cpu_quota"), environment?.cpu_quota, coreWords, "cores"),
    ...number(setting("memory_bytes"), environment?.memory_bytes, formatBytes, "B"),
    ...number(setting("shm_bytes"), environment?.shm_bytes, formatBytes, "B"),
    ...number(setting("torch_threads"), environment?.torch_threads, formatCount),
    ...recordingRows(capture),
  ];
}

/** All that recording took, in the words of the terminal; it is known of the whole window only. */
function recordingRows({ environment }: Capture): Row[] {
  const [share = "", ...parts] = environment?.recording_cost_text.split("; ") ?? [];
  const cost = number(
    "Recording cost",
    environment?.recording_cost_us,
    (us) => `${formatDuration(us)}, ${share}`,
    "µs",
  );
  return [
    ...cost.map((row) => ({ ...row, parts })),
    ...number("Dropped spans", environment?.dropped_spans, formatCount),
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
          <div key={group.title} class="parts-box">
            <DataTable name={`Settings: ${group.title}`} class="settings">
              <caption>{group.title}</caption>
              <tbody>
                {group.rows.map((row) => (
                  <tr key={row.name}>
                    <th scope="row">{row.name}</th>
                    <td class="num" data-value={row.exact?.value} data-unit={row.exact?.unit}>
                      {row.value}
                      {row.parts?.map((part) => (
                        <p key={part} class="muted">
                          {part}
                        </p>
                      ))}
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
